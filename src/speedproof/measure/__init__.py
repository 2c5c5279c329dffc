"""The runner: commands executed in random order until the comparison is decided.

``speedproof.measure(...)`` is :func:`speedproof.api.sessions.measure`.
"""

from speedproof.callable_module import make_callable

make_callable(__name__, "speedproof.api.sessions", "measure")
