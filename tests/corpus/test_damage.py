"""However a file of a corpus is damaged, every command answers or names it in words."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.command import speedproof

RESULTS = Path(__file__).parents[1] / "data" / "formats" / "jmh.json"
READING = [
    ("corpus", "info", "{c}"), ("corpus", "query", "{c}", "FROM corpus"), ("show", "{c}", "--where", "n > 1"),
    ("corpus", "changes", "{c}", "--workers", "1"),
]  # fmt: skip
OTHERS = [
    ("corpus", "query", "{c}", "FROM rejects"),
    ("corpus", "compare", "{c}", "--workers", "1", "--all"),
    ("corpus", "build", str(RESULTS), "-o", "{c}", "--append"),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of two versions with a reject, and the answers to a comparison."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "bad.json").write_text("{")
    (folder / "a.csv").write_text(
        "benchmark,version,value,unit\n" + "".join(f"b,{k % 2},{10 + k % 5},ms\n" for k in range(24))
    )
    assert speedproof("corpus", "build", *map(str, sorted(folder.iterdir())), "-o", str(folder / "c"))[0] == 0
    assert speedproof("corpus", "compare", str(folder / "c"), "--workers", "1", "--all")[0] == 0
    return folder / "c"


def columns_damaged(content: bytes) -> Iterator[bytes]:
    """A Parquet file without one of its columns, or with one of another type."""
    rows = pq.read_table(io.BytesIO(content))
    for i, name in enumerate(rows.column_names):
        other = pa.array([k % 2 == 0 for k in range(rows.num_rows)])
        for changed in (rows.drop_columns([name]), rows.set_column(i, name, other)):
            out = io.BytesIO()
            pq.write_table(changed, out)
            yield out.getvalue()


def bytes_damaged(content: bytes) -> Iterator[bytes]:
    """Cut, with another end, or with bytes flipped."""
    rng = np.random.default_rng(len(content))
    yield from (b"", content[: len(content) // 2], content[:-1])
    yield from (content[:-8] + b"\xff" * 8, content[:-40] + b"\r" * 32 + content[-8:])
    for count in (1, 8):
        changed = np.frombuffer(content, dtype=np.uint8).copy()
        changed[rng.integers(0, changed.size, count)] ^= rng.integers(1, 256, count, dtype=np.uint8)
        yield changed.tobytes()


def named_or_answered(whole: Path, corpus: Path, name: str, damage: bytes, words: tuple[str, ...]) -> int:
    """The code of a command on a corpus of which one file is damaged: 0, or 2 and a line that names an error."""
    shutil.copytree(whole, corpus)
    (corpus / name).write_bytes(damage)
    code, _, err = speedproof(*(word.format(c=corpus) for word in words))
    shutil.rmtree(corpus)
    assert code in (0, 2)
    assert (code == 2) == ("error: " in err)
    return code


@pytest.mark.slow
@pytest.mark.parametrize("words", [*READING, *OTHERS], ids=" ".join)
def test_damaged_bytes(whole: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Of the manifest, the rows, the rejects, inputs and answers; who reads rows without an end fails."""
    for path in sorted(whole.rglob("*.*")):
        content = path.read_bytes() if path.is_file() and path.name != ".lock" else b""
        name = str(path.relative_to(whole))
        for damage in bytes_damaged(content) if content else ():
            code = named_or_answered(whole, tmp_path / "c", name, damage, words)
            if words in READING and name.startswith("data") and damage[-8:] != content[-8:]:
                assert code == 2


@pytest.mark.slow
@pytest.mark.parametrize("words", [*READING, OTHERS[-1]], ids=" ".join)
def test_damaged_columns(whole: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Rows, or the list of inputs, that lack a column or have one of another type are no answer."""
    (path,) = whole.glob("inputs/*.parquet" if "build" in words else "data/*.parquet")
    for damage in columns_damaged(path.read_bytes()):
        assert named_or_answered(whole, tmp_path / "c", str(path.relative_to(whole)), damage, words) == 2
