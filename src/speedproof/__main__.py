"""Allow ``python -m speedproof``."""

from speedproof.cli.main import entry

entry()
