"""What a command can write: a module a format, made from the same reports and imported when it is asked."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from speedproof.declaring import check_place
from speedproof.errors import UsageError

if TYPE_CHECKING:  # and where it is used: not for the help alone
    from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> int:
    """Write a file so that it is the old one or the new one whole, whatever happens in between; its size."""
    content = content.encode() if isinstance(content, str) else content
    check_place(path)
    path = path.resolve()
    with writing(path):
        mode = path.stat().st_mode if path.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            return path.write_bytes(content)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            unfinished.write_bytes(content)
            if mode is not None:
                unfinished.chmod(stat.S_IMODE(mode))
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    return len(content)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name a file that cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
