"""Results to text.

``speedproof.report(result, "out.html")`` is :func:`speedproof.api.reports.report`.
"""

from speedproof.callable_module import make_callable

make_callable(__name__, "speedproof.api.reports", "report")
