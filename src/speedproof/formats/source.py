"""What a reader is given: the text of a result file, opened and decoded or refused, and how to read it.

A large file stays on disk: its readers take it block by block, and memory holds what they make of it.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISREG
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.record import Record, Skipped
from speedproof.errors import FormatError, Parameter, UsageError

if TYPE_CHECKING:
    from speedproof.formats.scratch import Scratch

STDIN = "-"
ROLES = ("benchmark", "version", "value", "unit", "process", "metric", "run")
_NO_VALUES = np.empty(0)
_LARGE = 1 << 24  # bytes of a file that stays on disk
_BEGIN = 1 << 24  # bytes of it that its format is told by
_BLOCK = 1 << 20  # bytes of it that are looked at in one go

# A byte-order mark and the encoding that it announces; UTF-32 first, its mark begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
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

    def error(self, where: str, *message: str | Parameter) -> FormatError:
        """An error that names this file."""
        return FormatError(self.name, where, *message)

    def skip(self, where: str, benchmark: str, reason: str, *, expected: bool = False) -> Skipped:
        """A remark that something of this file is left out."""
        return Skipped(self.name, where, benchmark, reason, expected)

    def frame(self, where: str, benchmark: str) -> Record:
        """What is known of a place of this file before its values are."""
        return Record(benchmark, _NO_VALUES, path=self.name, where=where)


class ReadOptions(Struct, frozen=True):
    """How to read raw text and CSV; the other formats describe themselves and need none of this."""

    unit: str | None = None  # of values that have none in the file
    # From a role to the name of the CSV column that plays it; the others are found by the obvious names
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # What the columns of a wide CSV file are; by default versions, or runs where their names are numbered
    wide: Literal["version", "benchmark"] | None = None
    where: str | None = None  # an SQL condition on the rows of a corpus

    def __post_init__(self) -> None:
        for role in self.columns:
            if role not in ROLES:
                raise UsageError(f"{role!r} is not a role of a CSV column; the roles are {', '.join(ROLES)}")


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
        mode = path.stat().st_mode
        if S_ISCHR(mode) or S_ISBLK(mode):
            raise FormatError(name, "", "this is a device, not a file")
        with path.open("rb") as file:
            found = source_of(name, file.read, file.fileno() if S_ISREG(mode) else None)
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


def source_of(name: str, take: Take, number: int | None = None) -> Source:
    """The same for the content of a file, of which a number may be open: see :func:`open_source`.

    A large file stays on disk: the user's own, of that number, where it can be as it is, else a temporary one.
    """
    head = take(_LARGE + 1)
    if unpacked := _unpacked(name, head, take):
        take, number = unpacked, None
        head = take(_LARGE + 1)
    empty = FormatError(name, "", "the file is empty; did the benchmark run end before it wrote results?")
    if len(head) <= _LARGE:
        data = b"".join(_text(name, [head]))
        if not data.strip():
            raise empty
        return Source(name, Path(name), data)
    from speedproof.formats.scratch import Scratch

    mark, encoding = _encoding(head)
    own = os.dup(number) if number is not None and encoding == "utf-8" else None
    scratch, blank = Scratch(own), True
    for text in _text(name, chain([head], iter(lambda: take(_BLOCK), b""))):
        blank = blank and not text.strip()
        if own is None:
            scratch.write(text)
    if blank:
        raise empty
    return Source(name, Path(name), scratch, 0 if own is None else len(mark))


def _unpacked(name: str, head: bytes, rest: Take) -> Take | None:
    """What gives the content of a compressed file."""
    for magic, what, remedy in _ARCHIVES:
        if head.startswith(magic):
            raise FormatError(name, "", f"the file is {what}; {remedy}")
    is_gzip = head.startswith(b"\x1f\x8b")
    if not is_gzip and not head.startswith(b"BZh"):
        return None
    # The modules are imported where they are needed: most files are not compressed.
    import bz2
    import gzip
    import zlib

    joined = _Joined(head, rest)
    packed = gzip.GzipFile(fileobj=joined) if is_gzip else bz2.BZ2File(joined)  # type: ignore[call-overload]

    def take(size: int) -> bytes:
        try:
            return bytes(packed.read(size))
        except (EOFError, OSError, ValueError, zlib.error) as error:
            reason = f"the bzip2 file is damaged or cut short ({error})"
            if is_gzip and isinstance(error, EOFError):
                reason = "the gzip file is cut short; copy or compress it again"
            elif is_gzip:
                reason = f"the gzip file is damaged ({error}); copy it again"
            raise FormatError(name, "", reason) from None

    return take


class _Joined:
    """A stream of which the begin has been read."""

    def __init__(self, head: bytes, rest: Take) -> None:
        self._head, self._rest = memoryview(head), rest

    def read(self, size: int) -> bytes:
        found = bytes(self._head[:size])
        self._head = self._head[size:]
        return found or self._rest(size)


def _encoding(head: bytes) -> tuple[bytes, str]:
    """The byte-order mark of a file, and its encoding."""
    return next((known for known in _MARKS if head.startswith(known[0])), (b"", "utf-8"))


def _text(name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """A file's text as UTF-8 without a mark, checked block by block."""
    decoder, encoding, lines = None, "", 1
    for block in chain(blocks, [b""]):
        if decoder is None:
            mark, encoding = _encoding(block)
            decoder = codecs.getincrementaldecoder(encoding)()
            block = block[len(mark) :] if encoding == "utf-8" else block
        if encoding == "utf-8" and b"\0" in block:
            reason = (
                "the file is binary, or UTF-16 without a byte-order mark (then: iconv -f UTF-16 -t UTF-8)"
            )
            raise FormatError(name, "", reason)
        if encoding != "utf-8" or not block.isascii() or not block or decoder.getstate()[0]:
            try:
                text = decoder.decode(block, not block)
            except UnicodeDecodeError as error:
                if encoding != "utf-8":
                    raise FormatError(name, "", f"the text is damaged: {error}") from None
                line, byte = lines + error.object.count(b"\n", 0, error.start), error.object[error.start]
                reason = (
                    f"byte 0x{byte:02x} is not UTF-8 text; if the file is Latin-1: iconv -f LATIN1 -t UTF-8"
                )
                raise FormatError(name, f"line {line}", reason) from None
            block = block if encoding == "utf-8" else text.encode()
        lines += block.count(b"\n")
        yield block
