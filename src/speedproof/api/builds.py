"""The builds that measuring revisions keeps, and what becomes of them."""

from speedproof.measure.build import BuildCache

__all__ = ["BuildCache"]
