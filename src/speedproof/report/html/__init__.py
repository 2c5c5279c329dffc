"""Comparisons as one HTML file that needs nothing else: no network, no other file, no library of charts."""

from speedproof.report.html.page import html_report

__all__ = ["html_report"]
