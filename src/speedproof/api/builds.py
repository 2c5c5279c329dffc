"""The builds that measuring revisions keeps, and what becomes of them."""

from speedproof.measuring.build import BuildCache

__all__ = ["BuildCache"]
