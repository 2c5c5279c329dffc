"""The HTML page: one file that holds everything it shows."""

from speedproof.reporting.html.page import render
from speedproof.reporting.html.panels import panels

__all__ = ["panels", "render"]
