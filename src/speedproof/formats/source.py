"""From a path to the text of a result file: opened, decompressed, decoded, or refused with a reason."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from speedproof.errors import FormatError

STDIN = "-"

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
    """The content of a result file."""

    name: str  # the file as the user named it, for messages
    path: Path  # the same as a path; ``Path("-")`` for standard input
    data: bytes  # the decompressed content as valid UTF-8 without a byte-order mark

    @property
    def lines(self) -> list[str]:
        """The lines without their ends; LF, CRLF and CR all end a line, and nothing else does."""
        return self.data.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")

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


def open_source(path: str | Path) -> Source:
    """Read a result file, or standard input when the path is ``-``.

    gzip and bzip2 are recognised by their first bytes and undone. Text is UTF-8, with or without a
    byte-order mark, or UTF-16 or UTF-32 with one.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    return replace(source_of(name, _bytes_of(name, path)), path=Path(path))


def source_of(name: str, content: bytes) -> Source:
    """The same for the content of a file: see :func:`open_source`."""
    data = _decode(name, _decompress(name, content))
    if not data.strip():
        raise FormatError(name, "", "the file is empty; did the benchmark run end before it wrote results?")
    return Source(name, Path(name), data)


def _bytes_of(name: str, path: str | Path) -> bytes:
    if str(path) == STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise FormatError(name, "", "no such file") from None
    except IsADirectoryError:
        raise FormatError(name, "", "this is a folder, not a file") from None
    except PermissionError:
        raise FormatError(name, "", "permission to read it is denied (see its mode with ls -l)") from None
    except (OSError, ValueError) as error:
        raise FormatError(name, "", f"cannot be read: {error}") from None


def _decompress(name: str, data: bytes) -> bytes:
    # The modules are imported where they are needed: most files are not compressed.
    if data.startswith(b"\x1f\x8b"):
        import gzip
        import zlib

        try:
            return gzip.decompress(data)
        except EOFError:
            raise FormatError(name, "", "the gzip file is cut short; copy or compress it again") from None
        except (OSError, zlib.error) as error:
            raise FormatError(name, "", f"the gzip file is damaged ({error}); copy it again") from None
    if data.startswith(b"BZh"):
        import bz2

        try:
            return bz2.decompress(data)
        except (OSError, ValueError) as error:
            raise FormatError(name, "", f"the bzip2 file is damaged or cut short ({error})") from None
    for magic, what, remedy in _ARCHIVES:
        if data.startswith(magic):
            raise FormatError(name, "", f"the file is {what}; {remedy}")
    return data


def _decode(name: str, data: bytes) -> bytes:
    """Check that the data are text and give them as UTF-8 without a mark."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding).encode()
            except UnicodeError as error:
                raise FormatError(name, "", f"the text is damaged: {error}") from None
    if b"\0" in data:
        raise FormatError(
            name,
            "",
            "the file is binary, or UTF-16 without a byte-order mark (then: iconv -f UTF-16 -t UTF-8)",
        )
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            name,
            f"line {line}",
            f"byte 0x{data[error.start]:02x} is not UTF-8 text; "
            "if the file is Latin-1: iconv -f LATIN1 -t UTF-8",
        ) from None
    return data
