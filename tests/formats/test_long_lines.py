"""However long a line is, each reader's work grows with the file, not with the square of a line.

The limit is on processor time, which a busy machine does not change, and is far from either side: in proportion a
file takes about 0.02 s, with the square of its line at least 10 s, and up to hours.
"""

from __future__ import annotations

import json
import re
import signal
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from speedproof.errors import SpeedproofError
from speedproof.formats.registry import FORMATS, detect_source, format_named
from speedproof.formats.source import ReadOptions, open_source

SECONDS = 3.0
SIZE = 100_000
UNITS = ["1", "a", " ", "1 ", "1,", "a=1,", '"', "("]
ELSEWHERE = {
    "asv": "asv/results/box/067eaa49-samples.json",
    "criterion": "criterion/Fibonacci/Iterative/new/sample.json",
    "speedup-test": "speedup-test/config.csv",
    "csv": "long.csv",
    "parsec": "parsec/baseline.log",
}
WORD = re.compile(r'"[^"]*"|[^\s,;:"]+')


@contextmanager
def limited(what: str) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise AssertionError(f"more than {SECONDS:g} s of processor time for {what}")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def with_a_long_line(text: str, unit: str) -> Iterator[str]:
    """A file with a long line before all others, after them, and in the place of some words."""
    long = unit * (SIZE // len(unit)) + "!"
    yield long + "\n" + text
    yield text + long + "\n"
    words = list(WORD.finditer(text))
    for word in words[:: len(words) // 3]:
        shown = json.dumps(long) if word[0].startswith('"') else long
        yield text[: word.start()] + shown + text[word.end() :]


@pytest.mark.slow
@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_every_reader(files: Path, tmp_path: Path, name: str) -> None:
    found = [files / ELSEWHERE.get(name, "none"), *files.glob(f"{name}.*")]
    file = next(path for path in found if path.exists())
    reader = format_named(name)
    path = tmp_path / file.name
    for unit in UNITS:
        for text in with_a_long_line(file.read_text(), unit):
            path.write_text(text)
            source = open_source(path)
            with limited(f"a line of {unit!r}"), suppress(SpeedproofError):
                detect_source(source)
            with limited(f"a line of {unit!r}"), suppress(SpeedproofError):
                deque(reader.read(source, ReadOptions()), maxlen=0)


@pytest.mark.parametrize("value", ["1" * SIZE, "1." * (SIZE // 2), "1e" * (SIZE // 2)])
def test_values_of_go(tmp_path: Path, value: str) -> None:
    """A word of digits where a value, or the iterations, stand: 20,000 took 25 s."""
    path = tmp_path / "go.txt"
    for line in (f"BenchmarkSort 10 {value}x ns/op", f"BenchmarkSort {value}x 12 ns/op"):
        path.write_text(f"BenchmarkMap 10 12 ns/op\n{line}\n")
        with limited(line[:20]):
            assert len(list(format_named("go").read(open_source(path), ReadOptions()))) == 2


def test_a_header_of_many_names(tmp_path: Path) -> None:
    """Each name is its own but the last."""
    path = tmp_path / "wide.csv"
    names = [f"v{number}" for number in range(SIZE // 2)]
    path.write_text(",".join([*names, names[-1]]) + "\n" + "1," * len(names) + "1\n")
    with limited("a header"), pytest.raises(SpeedproofError, match=f"two columns are named '{names[-1]}'"):
        deque(format_named("csv").read(open_source(path), ReadOptions()), maxlen=0)
