"""Files without a name for what is too large for memory; they vanish with whoever holds them."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref

from speedproof.errors import SpeedproofError


class Scratch:
    """A file that is read and written at any place."""

    def __init__(self, number: int | None = None) -> None:
        if number is None:
            try:
                with tempfile.TemporaryFile(buffering=0) as file:
                    number = os.dup(file.fileno())
            except OSError as error:
                raise _no_room(error) from None
        self._number = number
        self.size = os.fstat(number).st_size
        weakref.finalize(self, os.close, number)

    def read(self, start: int, size: int) -> bytes:
        """Bytes from a place on; fewer at the end."""
        found = os.pread(self._number, size, start)
        if not 0 < len(found) < size:
            return found
        parts = [found]
        while part := os.pread(self._number, size - (done := sum(map(len, parts))), start + done):
            parts.append(part)
        return b"".join(parts)

    def write(self, data: bytes | memoryview, start: int | None = None) -> None:
        """Put bytes at a place, by default at the end."""
        view, at = memoryview(data).cast("B"), self.size if start is None else start
        try:
            while view:
                done = os.pwrite(self._number, view, at)
                view, at = view[done:], at + done
        except OSError as error:
            raise _no_room(error) from None
        self.size = max(self.size, at)

    def mapped(self, size: int) -> mmap.mmap:
        """Make it so large, and give it as memory."""
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._number, 0, size)  # else a full disk would kill whoever writes
            else:
                os.ftruncate(self._number, size)
        except OSError as error:
            raise _no_room(error) from None
        self.size = size
        return mmap.mmap(self._number, size)


def _no_room(error: OSError) -> SpeedproofError:
    return SpeedproofError(
        f"cannot write a temporary file in {tempfile.gettempdir()}: {error.strerror or error}; "
        "make room, or name another folder with TMPDIR"
    )
