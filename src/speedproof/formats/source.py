"""From a path to the text of a result file: opened, decompressed, decoded, or refused with a reason.

A large file stays on disk: its readers take it block by block, and memory holds what they make of it.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISREG
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from speedproof.errors import FormatError

if TYPE_CHECKING:
    from speedproof.formats.scratch import Scratch

STDIN = "-"
_LARGE = 1 << 24  # bytes of a file that stays on disk
_BEGIN = 1 << 24  # bytes of it that its format is told by
_BLOCK = 1 << 20  # bytes of it that are looked at in one go

# A byte-order mark and the encoding that it announces; UTF-32 first, its mark begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ARCHIVES = (
    (b"PK\x03\x04", "a zip archive", "unpack it"),
    (b"\xfd7zXZ\x00", "xz-compressed", "decompress it with unxz"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", "decompress it with unzstd"),
    (b"\x7fELF", "a program, not its results", "give the file that the benchmark run wrote"),
    (b"SQLite format 3\x00", "an SQLite database", "export the measurements as CSV"),
)


class Source(Struct, frozen=True):
    """The content of a result file: valid UTF-8 without a byte-order mark."""

    name: str  # the file as the user named it, for messages
    path: Path  # the same as a path; ``Path("-")`` for standard input
    content: bytes | Scratch  # decompressed; on disk where it is large
    start: int = 0  # of the text in the content: behind a mark

    @property
    def data(self) -> bytes:
        """All of it, in memory."""
        return self.content if isinstance(self.content, bytes) else self.read(0, self.size)

    @property
    def large(self) -> bool:
        """Whether it is on disk."""
        return not isinstance(self.content, bytes)

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.size - self.start

    @property
    def begin(self) -> bytes:
        """What tells the format: all of a small file, of a large one the begin."""
        return self.content if isinstance(self.content, bytes) else self.read(0, _BEGIN)

    def read(self, start: int, size: int) -> bytes:
        """Some bytes of it."""
        if isinstance(self.content, bytes):
            return self.content[start : start + size]
        return self.content.read(self.start + start, size)

    def blocks(self, size: int = _BLOCK) -> Iterator[bytes]:
        """All of it, in pieces that end with a line; a line is in one piece."""
        at, parts = 0, list[bytes]()
        while block := self.read(at, size):
            cut = block.rfind(b"\n") + 1 or block.rfind(b"\r", 0, -1) + 1
            ends = cut > 0 or at + len(block) == self.size
            if cut and at + len(block) < self.size:
                block = block[:cut]
            at += len(block)
            parts.append(block)
            if ends:
                yield b"".join(parts) if len(parts) > 1 else block
                parts = []

    def texts(self, size: int = _BLOCK) -> Iterator[str]:
        """The text in pieces of whole lines; LF, CRLF and CR all end a line, and come out as LF between lines."""
        if self.size <= size:
            yield as_text(self.data)
            return
        before: str | None = None
        for block in self.blocks(size):
            if before is not None:
                yield before
            text = as_text(block)
            before = text.removesuffix("\n")
            ended = len(before) < len(text)
        if before is not None:
            yield before
            if ended:
                yield ""

    @property
    def lines(self) -> Iterator[str]:
        """The lines without their ends."""
        return chain.from_iterable(text.split("\n") for text in self.texts())

    def line_at(self, place: int) -> int:
        """The number of the line that a byte is in."""
        return 1 + sum(self.read(at, min(_BLOCK, place - at)).count(b"\n") for at in range(0, place, _BLOCK))

    @property
    def stem(self) -> str:
        """The file's name without folder, compression and last suffix."""
        if str(self.path) == STDIN:
            return "standard input"
        name = self.path.name
        for suffix in (".gz", ".bz2"):
            name = name.removesuffix(suffix)
        return Path(name).stem

    def error(self, where: str, message: str) -> FormatError:
        """An error that names this file."""
        return FormatError(self.name, where, message)


def as_text(block: bytes) -> str:
    """Whole lines as text; LF, CRLF and CR all end a line, and come out as LF."""
    text = block.decode()
    return text.replace("\r\n", "\n").replace("\r", "\n") if b"\r" in block else text


def open_source(path: str | Path) -> Source:
    """Read a result file, or standard input when the path is ``-``.

    gzip and bzip2 are recognised by their first bytes and undone. Text is UTF-8, with or without a
    byte-order mark, or UTF-16 or UTF-32 with one.
    """
    if str(path) == STDIN:
        return replace(source_of("standard input", sys.stdin.buffer.read), path=Path(path))
    name, path = str(path), Path(path)
    try:
        known = path.stat()
        if S_ISCHR(known.st_mode) or S_ISBLK(known.st_mode):
            raise FormatError(name, "", "this is a device, not a file")
        if S_ISREG(known.st_mode) and known.st_size <= _LARGE:
            return replace(source_of(name, path.read_bytes()), path=path)
        with path.open("rb") as file:
            found = source_of(name, file.read, file.fileno() if S_ISREG(known.st_mode) else None)
            return replace(found, path=path)
    except FileNotFoundError:
        raise FormatError(name, "", "no such file") from None
    except IsADirectoryError:
        raise FormatError(name, "", "this is a folder, not a file") from None
    except PermissionError:
        raise FormatError(name, "", "permission to read it is denied (see its mode with ls -l)") from None
    except (OSError, ValueError) as error:
        raise FormatError(name, "", f"cannot be read: {error}") from None


# Gives so many bytes, fewer at the end.
Take = Callable[[int], bytes]


def source_of(name: str, content: bytes | Take, number: int | None = None) -> Source:
    """The same for the content of a file, of which a number may be open: see :func:`open_source`."""
    take: Take | None = None
    if not isinstance(content, bytes):
        take = content
        content = take(_LARGE + 1)
        take = take if len(content) > _LARGE else None
    if unpacked := _unpacked(name, content, take):
        take, number = unpacked, None
        content = take(_LARGE + 1)
        take = take if len(content) > _LARGE else None
    if take is not None:
        return _on_disk(name, content, take, number)
    data = _decode(name, content)
    if not data.strip():
        raise _empty(name)
    return Source(name, Path(name), data)


def _empty(name: str) -> FormatError:
    return FormatError(name, "", "the file is empty; did the benchmark run end before it wrote results?")


def _unpacked(name: str, head: bytes, rest: Take | None) -> Take | None:
    """What gives the content of a compressed file."""
    # The modules are imported where they are needed: most files are not compressed.
    if head.startswith(b"\x1f\x8b"):
        import gzip
        import zlib

        unzip = gzip.GzipFile(fileobj=_Joined(head, rest)).read  # type: ignore[call-overload]

        def inflated(size: int) -> bytes:
            try:
                return bytes(unzip(size))
            except EOFError:
                raise FormatError(name, "", "the gzip file is cut short; copy or compress it again") from None
            except (OSError, zlib.error) as error:
                raise FormatError(name, "", f"the gzip file is damaged ({error}); copy it again") from None

        return inflated
    if head.startswith(b"BZh"):
        import bz2

        expand = bz2.BZ2File(_Joined(head, rest)).read  # type: ignore[call-overload]

        def expanded(size: int) -> bytes:
            try:
                return bytes(expand(size))
            except (OSError, ValueError, EOFError) as error:
                raise FormatError(name, "", f"the bzip2 file is damaged or cut short ({error})") from None

        return expanded
    for magic, what, remedy in _ARCHIVES:
        if head.startswith(magic):
            raise FormatError(name, "", f"the file is {what}; {remedy}")
    return None


class _Joined:
    """A stream of which the begin has been read."""

    def __init__(self, head: bytes, rest: Take | None) -> None:
        self._head, self._rest = memoryview(head), rest

    def read(self, size: int) -> bytes:
        found = bytes(self._head[:size])
        self._head = self._head[size:]
        return found or (self._rest(size) if self._rest else b"")


def _decode(name: str, data: bytes) -> bytes:
    """Check that the data are text and give them as UTF-8 without a mark."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding).encode()
            except UnicodeError as error:
                raise FormatError(name, "", f"the text is damaged: {error}") from None
    if not data.isascii() or b"\0" in data:
        check = _Check(name)
        check.take(data)
        check.end()
    return data


class _Check:
    """Whether bytes are text in UTF-8, block by block."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._lines = 0
        self._fault: FormatError | None = None

    def take(self, block: bytes, final: bool = False) -> None:
        if b"\0" in block:
            reason = (
                "the file is binary, or UTF-16 without a byte-order mark (then: iconv -f UTF-16 -t UTF-8)"
            )
            raise FormatError(self._name, "", reason)
        pending = self._decoder.getstate()[0]
        if self._fault is None and (pending or final or not block.isascii()):
            try:
                self._decoder.decode(block, final)
            except UnicodeDecodeError as error:
                line = self._lines + error.object.count(b"\n", 0, error.start) + 1
                self._fault = FormatError(
                    self._name,
                    f"line {line}",
                    f"byte 0x{error.object[error.start]:02x} is not UTF-8 text; "
                    "if the file is Latin-1: iconv -f LATIN1 -t UTF-8",
                )
        self._lines += block.count(b"\n")

    def end(self) -> None:
        self.take(b"", True)
        if self._fault is not None:
            raise self._fault


def _on_disk(name: str, head: bytes, take: Take, number: int | None) -> Source:
    """A large file: the user's own, of that number, where it can stay as it is, else a temporary one."""
    from speedproof.formats.scratch import Scratch

    mark, encoding = next(((m, e) for m, e in _MARKS if head.startswith(m)), (b"", "utf-8"))
    start = len(mark) if encoding == "utf-8-sig" else 0
    decoder = codecs.getincrementaldecoder(encoding)() if mark and not start else None
    keep = number is not None and decoder is None
    scratch = Scratch(os.dup(number) if keep and number is not None else None)
    check, empty = _Check(name), True
    for block in chain([head[start:]], iter(lambda: take(_BLOCK), b""), [b""]):
        text = block
        if decoder is not None:
            try:
                text = decoder.decode(block, not block).encode()
            except UnicodeError as error:
                reason = getattr(error, "reason", str(error))
                raise FormatError(name, "", f"the text is damaged: {reason}") from None
        else:
            check.take(text)
        empty = empty and not text.strip()
        if not keep:
            scratch.write(text)
    check.end()
    if empty:
        raise _empty(name)
    return Source(name, Path(name), scratch, 0 if not keep else start)
