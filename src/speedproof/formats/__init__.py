"""Readers of benchmarking tools' result files: one module a format.

:func:`speedproof.read` makes a suite of what a user names, :func:`read` records of one path; :func:`detect` tells
a file's format; :data:`FORMATS` lists all of them.
"""

from __future__ import annotations

from speedproof.formats.registry import FORMATS, Format
from speedproof.formats.source import ROLES, ReadOptions
from speedproof.formats.suites import detect
from speedproof.formats.suites import read_records as read

__all__ = ["FORMATS", "ROLES", "Format", "ReadOptions", "detect", "read"]
