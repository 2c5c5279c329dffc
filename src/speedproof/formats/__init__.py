"""Readers of benchmarking tools' result files: one module a format.

:func:`read_suite` turns what a user names into a suite, :func:`read` one path into records, :func:`detect` tells
a file's format; :data:`FORMATS` lists all of them.
"""

from __future__ import annotations

from speedproof.formats.folder import detect, read
from speedproof.formats.options import ROLES, ReadOptions
from speedproof.formats.registry import FORMATS, Format
from speedproof.formats.suites import read_suite

__all__ = ["FORMATS", "ROLES", "Format", "ReadOptions", "detect", "read", "read_suite"]
