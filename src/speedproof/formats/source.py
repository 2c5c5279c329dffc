"""What a reader is given: the text of a result file, opened and decoded or refused, and how to read it.

A large file stays on disk: its readers take it piece by piece, and memory holds what they make of it. They take it
from a copy that has no name: a mapped file that somebody cuts short would end the process.
"""

from __future__ import annotations

import codecs
import mmap
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from stat import S_ISBLK, S_ISCHR
from types import MappingProxyType
from typing import IO, Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.names import MANIFEST, is_url
from speedproof.data.record import Record, Skipped
from speedproof.data.units import misspelt
from speedproof.errors import FormatError, Parameter, SpeedproofError, UnknownFormatError, UsageError

STDIN = "-"
ROLES = ("benchmark", "version", "value", "unit", "process", "metric", "run")
_NO_VALUES = np.empty(0)
LARGE = 1 << 24  # bytes of a file that stays on disk
BEGIN = 1 << 24  # bytes of it that its format is recognised by
PIECE = 1 << 20  # bytes of it that are looked at in one go

# A byte-order mark and the encoding that it announces; UTF-32 first, its mark begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ARCHIVES = (
    (b"PK\x03\x04", FormatError, "a zip archive", "unpack it"),
    (b"\xfd7zXZ\x00", FormatError, "xz-compressed", "decompress it with unxz"),
    (b"\x28\xb5\x2f\xfd", FormatError, "zstd-compressed", "decompress it with unzstd"),
    (b"\x7fELF", UnknownFormatError, "a program", "give the file that the benchmark run wrote"),
    (b"SQLite format 3\x00", UnknownFormatError, "an SQLite database", "export the measurements as CSV"),
)


class Source(Struct, frozen=True):
    """The content of a result file: valid UTF-8 without a byte-order mark."""

    name: str  # the file as the user named it, for messages
    path: Path  # the same as a path; ``Path("-")`` for standard input
    content: bytes | mmap.mmap  # decompressed; of a large file a copy is mapped
    version: str | None = None  # which its folder names

    @property
    def begin(self) -> bytes:
        """All of a small file, of a large one the begin: what its format is recognised by."""
        return self.content[:BEGIN]

    def pieces(self, size: int = 0) -> Iterator[bytes]:
        """Pieces of whole lines, of about this size or, without one, that of all readers."""
        start, size = 0, size or PIECE
        while piece := self.content[start : self.content.find(b"\n", start + size) + 1 or None]:
            yield piece
            start += len(piece)

    def texts(self, size: int = 0) -> Iterator[str]:
        """The pieces as text, with LF, CRLF and CR normalised to LF."""
        for piece in self.pieces(size):
            yield as_text(piece).removesuffix("\n")

    @property
    def lines(self) -> Iterator[str]:
        """The lines without their ends."""
        return chain.from_iterable(text.split("\n") for text in self.texts())

    @property
    def stem(self) -> str:
        """The file name without folder, compression suffix and last suffix."""
        if str(self.path) == STDIN:
            return "standard input"
        return Path(self.path.name.removesuffix(".gz").removesuffix(".bz2")).stem

    def beside(self, name: str) -> Path | None:
        """A file of this name in the same folder."""
        path = self.path.parent / name
        try:
            return path if str(self.path) != STDIN and path.exists() else None
        except OSError:  # a name that no file can have
            return None

    def error(self, where: str, *message: str | Parameter) -> FormatError:
        """An error that names this file."""
        return FormatError(self.name, where, *message)

    def skip(self, where: str, benchmark: str, reason: str, *, expected: bool = False) -> Skipped:
        """A remark that something of this file is left out."""
        return Skipped(self.name, where, benchmark, reason, expected)

    def frame(self, where: str, benchmark: str) -> Record:
        """A record of a place of this file, before its values are known."""
        return Record(benchmark, _NO_VALUES, version=self.version, path=self.name, where=where)


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
        if wrong := misspelt(self.unit or ""):
            raise UsageError(wrong)


def as_text(piece: bytes) -> str:
    """Whole lines as text; LF, CRLF and CR all end a line, and come out as LF."""
    return with_line_feeds(piece).decode()


def with_line_feeds(piece: bytes) -> bytes:
    """The same, not decoded."""
    return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in piece else piece


def open_source(path: str | Path, version: str | None = None) -> Source:
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
            return replace(source_of(name, file.read), path=path, version=version)
    except FileNotFoundError:
        raise FormatError(name, "", "no such file") from None
    except IsADirectoryError:
        raise FormatError(name, "", "this is a folder, not a file") from None
    except PermissionError:
        raise FormatError(name, "", "permission to read it is denied (see its mode with ls -l)") from None
    except MemoryError:
        raise MemoryError(f"for {name}") from None
    except (OSError, ValueError) as error:
        raise FormatError(name, "", f"cannot be read: {error}") from None


# Gives so many bytes, fewer at the end.
Take = Callable[[int], bytes]


def source_of(name: str, take: Take) -> Source:
    """The same for the content of a file: see :func:`open_source`."""
    head = take(LARGE + 1)
    if unpacked := _unpacked(name, head, take):
        take = unpacked
        head = take(LARGE + 1)
    mark, encoding = next((entry for entry in _MARKS if head.startswith(entry[0])), (b"", "utf-8"))
    pieces: Iterable[bytes] = chain([head[len(mark) :]], iter(lambda: take(PIECE), b""))
    if encoding != "utf-8":
        pieces = _transcoded(name, pieces, encoding)
    content: bytes | mmap.mmap
    if len(head) <= LARGE:
        content = b"".join(pieces)
        is_ascii = content.isascii()
    else:
        is_ascii = True
        with room_on_disk() as new_file, new_file() as file:
            for piece in pieces:
                file.write(piece)
                is_ascii = is_ascii and piece.isascii()
            file.flush()
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if not re.search(rb"\S", content):
        raise FormatError(name, "", "the file is empty; did the benchmark run end before it wrote results?")
    source = Source(name, Path(name), content)
    _refuse_binary(source, is_ascii)
    return source


@contextmanager
def room_on_disk() -> Iterator[Callable[[], IO[bytes]]]:
    """A factory of temporary files; a full disk raises an error with advice."""
    import tempfile  # not for a small file

    try:
        yield tempfile.TemporaryFile
    except OSError as error:
        raise SpeedproofError(
            f"cannot write a temporary file in {tempfile.gettempdir()}: {error.strerror or error}; "
            "make room, or name another folder with TMPDIR"
        ) from None


def _unpacked(name: str, head: bytes, rest: Take) -> Take | None:
    """A reader of the decompressed content, or None if the file is not compressed."""
    for magic, kind, what, remedy in _ARCHIVES:
        if head.startswith(magic):
            raise kind(name, "", f"the file is {what}; {remedy}")
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
        part = bytes(self._head[:size])
        self._head = self._head[size:]
        return part or self._rest(size)


def _transcoded(name: str, pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Text of another encoding as UTF-8."""
    try:
        for text in codecs.iterdecode(pieces, encoding):
            yield text.encode()
    except UnicodeDecodeError as error:
        raise FormatError(name, "", f"the text is damaged: {error}") from None


def _refuse_binary(source: Source, is_ascii: bool) -> None:
    """Refuse a file that is not UTF-8."""
    if source.content.find(b"\0") >= 0:
        reason = "the file is binary, or UTF-16 without a byte-order mark (then: iconv -f UTF-16 -t UTF-8)"
        raise UnknownFormatError(source.name, "", reason)
    before = 0
    for piece in () if is_ascii else source.pieces():
        try:
            piece.isascii() or piece.decode()
        except UnicodeDecodeError as error:
            line = 1 + source.content[: before + error.start].count(b"\n")
            raise source.error(
                f"line {line}",
                f"byte 0x{piece[error.start]:02x} is not UTF-8 text; if the file is Latin-1: "
                "iconv -f LATIN1 -t UTF-8",
            ) from None
        before += len(piece)


def is_corpus(path: str) -> bool:
    """Whether a path or a URL is a corpus; costs a look at one file where it is a folder of this machine."""
    try:
        return is_url(path) or Path(path, MANIFEST).is_file()
    except (OSError, ValueError):  # no possible name
        return False
