"""Go benchmark text: against a reading by regular expressions, and line by line for what is odd."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple
from tests.formats.reading import split

from speedproof.data.record import each_record
from speedproof.data.suite import Record
from speedproof.formats import go
from speedproof.formats.source import ReadOptions, source_of


@given(
    st.lists(st.tuples(st.integers(1, 10**9 - 1), st.integers(0, 9)), min_size=1, max_size=40), st.booleans()
)
def test_decimals_are_rounded_once(digits: list[tuple[int, int]], odd: bool) -> None:
    """Whatever other numbers stand beside them, in lines that are alike or not: against exact fractions."""
    texts = [str(Decimal(number).scaleb(-places)) for number, places in digits]
    lines = [
        f"BenchmarkA 1 {t} ns/op {t} MB/s {t} B/op" + " 1 x/op" * (odd and i % 2) for i, t in enumerate(texts)
    ]
    source = source_of("a.txt", BytesIO("\n".join(lines).encode()).read)
    records = each_record(go.read(source, ReadOptions()))
    of = {r.metric: r.values.tolist() for r in records if isinstance(r, Record)}
    for metric, factor in (
        ("time", Fraction(1, 10**9)), ("throughput", Fraction(10**6)), ("memory", Fraction(1)),
    ):  # fmt: skip
        assert of[metric] == [float(Fraction(t) * factor) for t in texts]


def line_by_line(text: str) -> tuple[dict[tuple[str, str], list[float]], int]:
    """Values by name and unit, and how many lines have something wrong, by the words of each line."""
    values: dict[tuple[str, str], list[float]] = {}
    wrong = 0
    for line in text.split("\n"):
        words = line.split()
        if not line.startswith("Benchmark") or line[9:10].islower() or len(words) < 2:
            continue
        try:
            if not words[1].isdecimal() or len(words) % 2 or len(words) < 4:
                raise ValueError
            found = [float(word) for word in words[2::2]]
        except ValueError:
            wrong += 1
            continue
        for value, unit in zip(found, words[3::2], strict=True):
            values.setdefault((words[0][9:], unit), []).append(value)
    return values, wrong


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_lines_among_odd_ones(
    seed: int, compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines with other units, with a value too few or too many, and what only looks like a result among many."""
    if not compiled:
        monkeypatch.setattr(go, "COMPILED", None)
    elif go.COMPILED is None:
        pytest.skip("the kernel is not compiled")
    rng = np.random.default_rng(seed)
    odd = [
        "BenchmarkA 10 1.5 hits 2 misses", "BenchmarkB 10 1.5", "BenchmarkB", "Benchmarking: x", "", "ok  \tp\t1s",
        "BenchmarkC 1e3 2.5 hits", "BenchmarkA 7 x hits", "BenchmarkA 7 2 BenchmarkA", "BenchmarkA\u00a07 2 hits",
        "BenchmarkA 7 2 hits BenchmarkB 7 2 hits", "BenchmarkD 7 3 hits 4 hits", " BenchmarkA 7 2 hits\r",
    ]  # fmt: skip
    lines = [
        f"Benchmark{rng.choice(['A', 'B', 'C/x=1'])}\t {rng.integers(1, 99)}\t{rng.uniform(1, 9):.6g} hits"
        + seed % 2 * f"\t{rng.integers(64)} misses"
        for _ in range(1500)
    ]
    for _ in range(seed // 2 % 12):
        lines.insert(int(rng.integers(len(lines))), str(rng.choice(odd)))
    text = "\n".join(lines)
    path = tmp_path / "go.txt"
    path.write_text(text)
    records, skipped = split(path)
    expected, wrong = line_by_line(text)
    assert ({(r.benchmark, r.metric): r.values.tolist() for r in records}, len(skipped)) == (expected, wrong)


def items_of(text: bytes) -> list[object]:
    """All that a file says, comparable to the bit."""
    items: list[object] = []
    for item in each_record(go.read(source_of("a.txt", BytesIO(b"PASS\n" + text).read), ReadOptions())):
        parts = astuple(item)
        items.append(
            [(part.dtype, part.tobytes()) if isinstance(part, np.ndarray) else part for part in parts]
        )
    return items


def read_both_ways(text: bytes) -> tuple[list[object], list[object]]:
    """With the kernel, and line by line in Python."""
    if go.COMPILED is None:
        pytest.skip("the kernel is not compiled")
    with pytest.MonkeyPatch.context() as patch:
        ways = [items_of(text)]
        patch.setattr(go, "COMPILED", None)
        return ways[0], items_of(text)


NUMBERS = st.one_of(
    st.floats().map(repr),
    st.integers(0, 10**18).map(str),
    st.from_regex(r"[+-]?[0-9]{0,20}\.?[0-9]{0,20}([eE][+-]?[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(
        ["NaN", "+Inf", "-0", "-0.0", "1e999", "1e-400", "0" * 120 + "1", "1,5", "0x1p3", "1_0", "\u0663"]
    ),
)
UNITS = st.sampled_from(
    ["ns/op", "B/op", "MB/s", "p99-ns", "\u00b5s/op", "BenchmarkA", "\u65e5\u672c", "x", "1"]
)
BLANKS = st.sampled_from(
    [" ", "\t", " \t ", "\x0b", "\x1f", "\x85", "\u00a0", "\u2003", "\u3000", "\u200b", ""]
)
RESULTS = st.builds(
    lambda name, blanks, words: "Benchmark" + name + "".join(map("".join, zip(blanks, words, strict=False))),
    st.sampled_from(["A", "A-8", "B/\u00e9-8", "B/\u65e5\u672c", "", "ing", "\u00df", "1", "_"]),
    st.lists(st.one_of(st.just(" "), BLANKS), min_size=9, max_size=9),
    st.tuples(
        st.sampled_from(["10", "1", "x", "1.5", "\u0661"]), NUMBERS, UNITS, NUMBERS, UNITS, NUMBERS, UNITS
    ).flatmap(lambda words: st.integers(0, len(words)).map(lambda count: words[:count])),
)
GOOD = st.builds(
    lambda name, pairs: f"Benchmark{name}\t10" + "".join(f"\t{value!r} {unit}" for value, unit in pairs),
    st.sampled_from(["A", "A-8", "A-4", "B/\u65e5\u672c"]),
    st.lists(st.tuples(st.floats(0, 1e9), UNITS), min_size=1, max_size=4),
)
OTHERS = st.one_of(
    st.sampled_from(
        ["goos: linux", "pkg: x", "pkg: y", "pkg:", "note:\ta b", "K: v", "\u00e9: v", "Unit x",
         "Unit x better=lower", "Unit x better=higher", "Unit\tx better=up", "--- FAIL: BenchmarkA",
         "\u2003--- FAIL: BenchmarkB-8", "ok  \tx\t1.2s", "", "Benchmark", "Benc"]
    ),
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
)  # fmt: skip
LINES = st.lists(
    st.tuples(
        st.one_of(GOOD, GOOD, RESULTS, OTHERS), st.sampled_from(["\n", "\n", "\r\n", "\r", "\x0c\n", " \n"])
    ),
    max_size=30,
)


# Each number in a line of its own, too: a double of its decimal, to the bit, or left out.
ALONE = st.lists(NUMBERS, min_size=1, max_size=9).map(
    lambda texts: [(f"BenchmarkA{i} 1 {number} x", "\n") for i, number in enumerate(texts)]
)


@given(LINES | ALONE, st.booleans(), st.integers(1, 3))
def test_the_kernel_reads_as_python_does(lines: list[tuple[str, str]], ended: bool, times: int) -> None:
    """Names, blanks, numbers and line ends of all kinds, good and bad ones."""
    text = "".join(map("".join, lines)) * times
    one, other = read_both_ways(text.encode() if ended else text.rstrip().encode())
    assert one == other


def test_every_blank_of_unicode_ends_a_word() -> None:
    blanks = [c for c in map(chr, range(1, 0x110000)) if c.isspace() and c not in "\n\r"]
    assert len(blanks) > 20
    neighbours = [chr(ord(c) + step) for c in blanks for step in (-1, 1) if ord(c) + step != 13]
    lines = [f"BenchmarkA{c}b 1 2 x{c}y 3 z\n" for c in (*blanks, *neighbours)]
    one, other = read_both_ways("".join(lines).encode())
    assert one == other


def test_the_kernel_refuses_what_is_no_text() -> None:
    if go.COMPILED is None:
        pytest.skip("the kernel is not compiled")
    results = go.COMPILED.results
    line = b"BenchmarkA 1 2 \xff"
    assert results(line[:-1], 0)[:3] == (0, 0, [])
    with pytest.raises(UnicodeDecodeError):
        results(line, 0)
    for at in (-1, len(line) + 1):
        with pytest.raises(ValueError, match="ends before"):
            results(line, at)
    with pytest.raises(TypeError):
        results("text", 0)
