"""Numbers, names and axes in words: rounded away from the claim, nothing beside what contradicts it."""

import itertools
import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.command import speedproof
from tests.protocols.asking import compare_medians

from speedproof.data.sample import Sample
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Needed
from speedproof.reporting.formats.html.panels import RatioAxis, ratio_axis
from speedproof.reporting.history import brief_commit
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text
from speedproof.reporting.names import (
    benchmark_column,
    common_prefix,
    cut_left,
    file_names,
    labels,
    pad,
    short_names,
    shortened,
    spoken,
    width_of,
)
from speedproof.reporting.notes import up_to
from speedproof.reporting.numbers import (
    ONE,
    case_share,
    factor,
    level,
    p_is,
    percent,
    rough,
    share,
    sparkline,
    value_of,
    values,
)
from speedproof.reporting.rows import version_columns
from speedproof.reporting.text import render, wrapped
from speedproof.reporting.words import about, at_least, change, direction, interval, observed, span
from speedproof.stats.axes import linear_ticks
from speedproof.stats.estimate import Estimate

RATIOS = st.floats(1.0, 1e9)


def number(text: str) -> Fraction:
    """What a printed factor says, exactly."""
    return Fraction(Decimal(text.removesuffix("x")))


@given(RATIOS, RATIOS)
def test_bounds_are_rounded_outward(a: float, b: float) -> None:
    """A factor is no larger rounded down, no smaller rounded up, than as Python prints it; the order is kept."""
    low, high = sorted((a, b))
    assert number(factor(low, -1)) <= Fraction(Decimal(repr(low))) <= number(factor(low, 1))
    assert number(factor(low, -1)) <= number(factor(high))
    assert number(factor(low)) <= number(factor(high, 1))


@given(st.floats(1e-8, 1e6))
def test_a_change_is_never_printed_as_none(excess: float) -> None:
    """More than 1 does not look like 1."""
    assert number(factor(1 + excess)) > 1
    assert number(factor(1 + excess, 1)) > 1


@given(st.sampled_from([0.0, 0.005, 0.975, 0.995, 0.9999, 1.0]) | st.floats(1e-9, 1 - 1e-9))
def test_a_chance_is_told_in_whole_percent(share: float) -> None:
    """In tenths below 1 % and above 99 %; its bounds are rounded outward, and no estimate becomes certain."""
    low, nearest, high = (Fraction(case_share(share, towards).removesuffix(" %")) for towards in (-1, 0, 1))
    step = Fraction(1) if 0.01 <= share <= 0.99 else Fraction("0.1")
    slack = Fraction("1e-7")
    assert all(told % step == 0 for told in (low, nearest, high))
    assert low - slack <= 100 * Fraction(share) <= high + slack
    assert high - low <= step
    assert low <= nearest <= high
    assert abs(nearest - 100 * Fraction(share)) <= (step / 2 if 0.0005 <= share <= 0.9995 else step) + slack
    assert (nearest in (0, 100)) == (share in (0, 1))


BYTES = np.linspace(1e6, 1.1e6, 12)
NAME = Column("name", names=True)
ALIGNED = Table.of(
    (NAME, Column("n", right=True), Column("said"), Column("")),
    [("a", "1", "x", ""), ("long", "1000", Cell("runs over", spans=True), ""), ("b", "20", "", "end"),
     ("c", "", "", "")],
)  # fmt: skip
REMARKS = Table.of(
    (NAME, Column("time", right=True), Column("")),
    [("b1", "1 s", "a remark that is longer than the width is"), ("b", "2 s", "x")],
)
SAID: list[tuple[Callable[..., object], tuple[object, ...], object]] = [
    # A forecast is rounded up to the two digits that it is good for.
    *((about, (needed, "old", "new"), told) for needed, told in (
        (Needed(12, 12, ""), "needs about 12 runs"), (Needed(1234, 1201, ""), "needs about 1,300 runs"),
        (Needed(40, 60, ""), "needs about 40 runs of old and 60 of new"),
        (Needed(None, 60, ""), "needs about 60 runs of new"),
        (Needed(31, 31, "", least=True), "needs at least 31 runs"),
        (Needed(None, 101, "", least=True), "needs at least 101 runs of new"),
        (Needed(None, None, "no number of runs would tell"), "no number of runs would tell"),
    )),
    # Each end in its own direction, rounded outward; what has no end is any factor.
    *((span, (Estimate(1.0, low, high, 0.95),), told) for low, high, told in (
        (0.0, math.inf, "by any factor, faster or slower"), (0.0, 1.0, "at most 1.00x faster"),
        (0.0, 1.071, "at most 1.08x faster"),
        (0.0, 0.5, "slower by any factor"), (0.8, math.inf, "from 1.25x slower to any factor faster"),
        (1.259, math.inf, "from 1.25x faster to any factor faster"), (1.0, 1.0, "1.00x"),
        (1.029, 1.071, "1.02x to 1.08x faster"), (0.5, 0.8, "1.25x to 2.00x slower"),
        (0.8, 1.071, "1.25x slower to 1.08x faster"), (1.0, 1.071, "1.00x to 1.08x faster"),
        (0.5, 1.0, "1.00x to 2.00x slower"),
    )),
    # No bootstrap of 200 samples shows less than one in 200.
    (p_is, (0.03, 1e-300), "p = 0.03"), (p_is, (0.0, 1e-300), "p < 1e-300"),
    (p_is, (0.0, 1 / 200), "p < 0.005"), (p_is, (0.005, 1 / 200), "p = 0.005"),
    (up_to, ([0.1], 0.95), "up to 10 % (95 %)"), (up_to, ([0.1, math.inf], 0.95), "any factor (95 %)"),
    # Ratios that no digit tells from 1, and those that are none.
    (factor, (1 + 1e-13, 1), "1.00x"), (factor, (1 - 1e-13, -1), "1.00x"), (factor, (math.inf,), "∞"),
    (factor, (0.0,), "0x"), (factor, (math.nan,), "-"),
    # Two digits behind the point between a tenth and ten, three digits beyond, more where 1 is near.
    *((factor, (of, towards, most), told) for of, towards, most, told in (
        (0.1, 0, 9, "0.10x"), (9.99, 0, 9, "9.99x"), (10.0, 0, 9, "10.0x"), (123.456, -1, 9, "123x"),
        (123.456, 1, 9, "124x"), (0.0501, 1, 9, "0.0501x"), (999_999.0, 0, 9, "999999x"), (1e6, 0, 9, "1.00e+6x"),
        (1234567.0, 1, 9, "1.24e+6x"), (1.1e-4, 0, 9, "0.00011x"),
        (1.0999, -1, 9, "1.09x"), (1.0999, 1, 9, "1.10x"),
        (1.000012, 0, 9, "1.00001x"), (1.000012, 1, 9, "1.00002x"), (1.000012, 1, 3, "1.001x"),
        (1.0000000012, 1, 9, "1.000000002x"),
    )),
    # As many labels as have room on an axis of 8 em: here of half its ticks, and all of them.
    *((RatioAxis.labelled, (RatioAxis(1 / end, end, ticks),), list(zip(places, labels, strict=True)))
      for end, ticks, places, labels in (
        (10.0, (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0), (3.0, 17.148, 35.852, 50.0, 64.148, 82.852, 97.0),
         ("", "0.2", "", "1", "", "5", "")),
        (1 / 0.7, (0.8, 1.0, 1.25), (20.596, 50.0, 79.404), ("0.8", "1", "1.25")),
    )),
    (common_prefix, (["abc/x", "abc/y"],), "abc/"), (common_prefix, (["ab/x", "ab/y"],), ""),
    (up_to, ([0.2, 0.1], 0.95), "up to 20 % (95 %)"),
    (common_prefix, (["abc/", "abc/x"],), ""), (common_prefix, (["some/abc/", "some/abc/x"],), "some/"),
    (common_prefix, (['tool "a b"', 'tool "a c"'],), "tool "),
    # Whole words, both ends alike; a number where there is room for it; more of the end that tells two apart.
    (shortened, (["alpha beta gamma delta"], 17), ["alpha … delta"]),
    (shortened, (["alpha beta gamma delta"], 19), ["alpha … gamma delta"]),
    (shortened, (["encode 250000 words"], 16), ["enc…250000 words"]),
    (shortened, (["tool -a of the input", "tool -b of the input"], 14), ["tool -a …input", "tool -b …input"]),
    (shortened, (["all of one kind", "all of two kind"], 7), ["a…one…d", "a…two…d"]),
    *((version_columns, names, tuple(Column(name, right=True, brief=brief) for name, brief in zip(
        names, briefs, strict=True))) for names, briefs in (
        (("a" * 9, "b" * 9), ("a" * 9, "b" * 9)), (("a" * 10, "b" * 9), ("", "b" * 9)),
    )),
    (brief_commit, ("r" * 28,), "r" * 28), (brief_commit, ("r" * 29,), f"{'r' * 14}…{'r' * 13}"),
    # Without what all have, then without what is not needed to tell them apart.
    (labels, (["/data/run/old/results.json", "/data/run/new/results.json"], 10), ["old", "new"]),
    (labels, (["gcc-12-O2-lto", "gcc-13-O3-lto", "clang-12-O2-lto"], 8), ["gcc-O2", "gcc-O3", "clang-O2"]),
    (labels, (["gcc-12-O2-lto", "gcc-13-O3-lto", "O1-lto"], 8), ["gcc-O2", "gcc-O3", "O1"]),
    (labels, (["python 3.11", "python 3.12"], 8), ["3.11", "3.12"]),
    (labels, (["competing.no-sort+summary", "competing.summary"], 16), ["no-sort+summary", "summary"]),
    (labels, (["competing.no-sort", "competing.no-sort+summary"], 16), ["no-sort", "no-sort+summary"]),
    # What is not a number is not shown as one; of equal values and of tiny differences the usual digits do.
    (values, ([1e-3, 1e-3 * (1.0 + 1e-12)], "s"), ["1.000 ms"] * 2),
    (values, ([1e-3, 10.0], "s"), ["0.001000 s", "10.00 s"]),
    (values, ([1e-3, 10.01], "s"), ["1.000 ms", "10.01 s"]),
    (values, ([1.5e9, 0.0], ""), ["1.5e+09", "0"]), (values, ([999999999.0], ""), ["999999999"]),
    (values, ([math.nan, 1.0], "s"), ["-", "1.000 s"]), (at_least, (math.nan,), "size not proven"),
    (at_least, (1.0,), "size not proven"), (at_least, (ONE,), "size not proven"),
    (at_least, (1.129,), "1.12x"),
    (interval, (Estimate(1.5, math.nan, math.nan, 0.95),), "1.50x faster"),
    (interval, (Estimate(1.00005, 1.00001, 1.0001, 0.95),), "1.00005x faster [1.00001x, 1.0001x]"),
    # Only times and rates are fast or slow.
    (change, (compare_medians(Sample(BYTES, "B"), Sample(BYTES / 2, "B"), Rules()),), "2.00x better"),
    # Columns are aligned; what has no room beside a row goes below, and what is said at the end of a line, too.
    (render, (Report("", (), (ALIGNED,)),),
     "\nname     n  said\na        1  x\nlong  1000  runs over\nb       20        end\nc\n"),
    (render, (Report("", (), (REMARKS,)), 20),
     "\nname  time\nb1     1 s\n    a remark that is\n    longer than the\n    width is\nb      2 s  x\n"),
    *((render, (Report("", (), (Table.of((Column(title, names=True, brief="b"),), [("x",)]),)),), f"\n{told}\nx\n")
      for title, told in (("benchmarks", "benchmarks"), ("benchmarked", "b"))),
    # That the number of runs has no room is not told.
    *((render, (Report("", (), (Table.of((NAME, Column("time"), Column(of, drop=1)), [("a", "1 s", "9")]),)), 12),
       f"\nname  time\na     1 s\n{more}")
      for of, more in (("runs", ""), ("most", "(no room\nfor: most;\nCOLUMNS=16\nmakes room)\n"))),
    *((render, (Report("", *of), width), told) for of, width, told in (
        (((), (), (), ("alpha beta", "gamma delta")), 24, "\nalpha beta   gamma delta\n"),
        (((), (), (), ("alpha beta", "gamma delta")), 23, "\nalpha beta\ngamma delta\n"),
        (((Text("alpha beta", "", "(95 %)"),),), 20, "alpha beta    (95 %)\n"),
        (((Text("alpha beta", "", "(95 %)"),),), 19, "alpha beta\n(95 %)\n"),
        (((), (), (Text("one"), Text("alpha beta")), ("--all",)), 19, "\none\nalpha beta    --all\n"),
        (((), (), (Text("one"), Text("alpha beta")), ("--all",)), 18, "\none\nalpha beta\n--all\n"),
        (((), (), (Text("alpha", "", "(1)"),), ("--all",)), 80, "\nalpha    (1)\n--all\n"),
        (((Text("h"),), (), (Text("n"),)), 80, "h\nn\n"),
        (((Text("h"),), (), (), (), (Report("More", (Text("m"),)), Report("", (Text("k"),)))), 80,
         "h\n\nMore\nm\n\nk\n"),
        (((Text("  alpha beta"),),), 9, "  alpha\n  beta\n"), (((Text("日本語日本語"),),), 6, "日本語\n日本語\n"),
        (((Text("alpha-beta"),),), 8, "alpha-be\nta\n"),
        (((Text("see 'speedproof run a b'"),),), 10, "see\n'speedproof run a b'\n"),
    )),
    (wrapped, ("  alpha beta", 9), ["  alpha", "    beta"]),
    # Commands lose whole words.
    (spoken, (["pdu --top-down tmp.sample", "dust --no-progress --reverse tmp.sample"],),
     ["pdu --top-down", "dust --no-progress --reverse"]),
    (spoken, (["pdu --no-sort --max-depth=1 tmp.sample", "pdu --no-sort --max-depth=2 tmp.sample"],),
     ["--max-depth=1", "--max-depth=2"]),
    (spoken, (["sort 'a b' --stable-order-of-all", "sort 'a c' --stable-order-of-all"],), ["'a b'", "'a c'"]),
    (spoken, (["dua tmp.sample-of-the-whole-disk", "du tmp.sample-of-the-whole-disk"],), ["dua", "du"]),
    (spoken, (["abff0c5 change 1", "d6c26ff change 4"],), ["abff0c5 change 1", "d6c26ff change 4"]),
    (short_names, (["first / results.json", "other / results.json"],),
     {"first / results.json": "first", "other / results.json": "other"}),
    (short_names, (["first / O2.json", "other / O3.json", "other / O4.json"],),
     {"first / O2.json": "O2.json", "other / O3.json": "O3.json", "other / O4.json": "O4.json"}),
    (file_names, (["A b", "a B", "a b"], 9), ["A-b", "a-B-2", "a-b-3"]), (pad, ("日", 4), "日  "),
    (file_names, (["é" * 5, "é" * 6], 7), ["ééé", "éé-2"]), (cut_left, ("日本語", 5), "本語"),
    (direction, (math.inf,), "-"), (direction, (0.0,), "-"), (direction, (1.02,), "1.02x faster"),
    (direction, (0.5, "better", "worse"), "2.00x worse"), (direction, (math.nan,), "-"),
    (observed, (0.0,), "slower"), (observed, (math.inf,), "faster"), (observed, (1 + 6e-12,), "1.00x"),
    (rough, (99,), "99"), (rough, (100,), "100"), (rough, (101,), "110"), (rough, (1234, 1), "2,000"),
    (level, (0.95,), "95 %"), (level, (0.999,), "99.9 %"), (level, (0.9987654,), "99.87 %"),
    (level, (0.9999,), "99.99 %"), (level, (1.0,), "99.9999 %"),
    (percent, (0.12345,), "12.3 %"), (percent, (math.inf,), "-"), (percent, (0.12345, 2), "12 %"),
    (share, (0.005,), "0.5 %"),
    (value_of, (1234.4, ""), "1,234"), (value_of, (12.0, ""), "12"), (value_of, (12.345, ""), "12.3"),
    (value_of, (0.0012345, "s"), "1.23 ms"), (value_of, (100.5, ""), "100"), (value_of, (-99.75, ""), "-99.8"),
    (values, ([9.9996e-3, 0.01002], "s"), ["10.00 ms", "10.02 ms"]), (values, ([0.00099996], "s"), ["1.000 ms"]),
    (sparkline, ([1.0, 2.0, 3.0],), "▁▅█"), (sparkline, ([2.0, 2.0],), "▁▁"), (sparkline, ([],), ""),
    (sparkline, ([1.0, 3.0, 9.0, 9.0, 0.0, 0.0], 3), "▃█▁"),
]  # fmt: skip


@pytest.mark.parametrize(("say", "of", "told"), SAID)
def test_what_is_said(say: Callable[..., object], of: tuple[object, ...], told: object) -> None:
    assert say(*of) == told


def test_values_have_digits_by_which_they_differ() -> None:
    """Up to two more than usual, and no more where these do not tell them apart."""
    assert values([1.0, 1.0], "s") == ["1.000 s", "1.000 s"]
    assert values([1.00001, 1.00002, 1.00002], "s") == ["1.00001 s", "1.00002 s", "1.00002 s"]
    assert values([1.0, 1.0 + 1e-9], "s") == ["1.000 s", "1.000 s"]


@given(st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=4))
@example([5e-4, 0.25])
def test_values_keep_their_order(measured: list[float]) -> None:
    """Times as printed are in the order of the times, in the unit of the largest unless they are worlds apart."""
    texts = [text.split() for text in values(measured, "s")]
    of_largest = values([max(measured)], "s")[0].split()[1]
    if max(measured) * 1e-4 > min(measured):
        assert [" ".join(text) for text in texts] == [values([value], "s")[0] for value in measured]
    else:
        assert {unit for _, unit in texts} == {of_largest}
    seconds = {"s": Decimal(1), "ms": Decimal("1e-3"), "µs": Decimal("1e-6"), "ns": Decimal("1e-9")}
    printed = [Decimal(number) * seconds[unit] for number, unit in texts]
    order = sorted(range(len(measured)), key=lambda i: measured[i])
    assert [printed[i] for i in order] == sorted(printed)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(8, 24))
def test_no_number_is_cut_where_it_can_be_left_out(one: int, other: int, width: int) -> None:
    """What is left of a number beside a cut would be read as another number."""
    (short,) = shortened([f"copy/{one}kB of {other}kB/x"], width)
    assert width_of(short) <= width
    assert {*re.findall("[0-9]+", short)} <= {str(one), str(other)}


@pytest.mark.parametrize("width", [20, 26])
def test_what_tells_names_apart_stands_between_both_ends(width: int) -> None:
    of, names = "the beginning of all {} and the ending of all".format, ("first", "second", "third")
    for name, short in zip(names, shortened([*map(of, names)], width), strict=True):
        head, which, tail = short.split("…")
        assert (which, bool(head), bool(tail)) == (name, True, True)
        assert of(name).startswith(head)
        assert of(name).endswith(tail)


@pytest.mark.parametrize("text", ["", "abc", "日本語", "ａＢ", "e\u0301a\u0308", "ｱ☃", "🐍x", "한글"])
def test_widths_are_those_of_a_terminal(text: str) -> None:
    assert width_of(text) == cell_len(text)


def test_benchmarks_are_counted_not_samples(tmp_path: Path) -> None:
    rows = [f"BenchmarkSort-8 100 {t} ns/op {b} B/op" for t, b in ((12, 3), (13, 4), (14, 5), (12, 9))]
    (path := tmp_path / "bench.txt").write_text("\n".join(rows) + "\n")
    told = speedproof("show", path)[1]
    assert told.startswith("1 benchmark of 1 version, 2 metrics")
    assert "only the processes" not in told


def test_columns_go_below_where_all_is_shown() -> None:
    """Each of them once, behind those that say of what a row is."""
    columns = (Column("name", names=True), *(Column(f"version{i}", drop=-i) for i in range(1, 9)))
    cells = [[Cell(name), *(Cell(f"{i}.00 ms faster") for i in range(1, 9))] for name in ("sort", "hash")]
    table = Table(columns, tuple(Row(tuple(row), row[0].text) for row in cells), repeats=1)
    told = render(Report("", (), (table,)), 60)
    assert max(map(len, told.splitlines())) <= 60
    assert all(told.count(f"version{i}") == 1 and told.count(f"{i}.00 ms") == 2 for i in range(1, 9))
    assert told.count("sort") == told.count("name") > 1
    assert "no room" not in told


def test_what_all_names_begin_with_makes_no_column_wider() -> None:
    column, cell = benchmark_column(names := [f"a/very/long/beginning/of/{x}" for x in ("one", "two")])
    rows = [Row.of(cell(name), "1 s") for name in names]
    head = render(Report("", (), (Table((column, Column("time")), tuple(rows)),))).splitlines()[1]
    assert re.split("  +", head) == ["a/very/lo…", "time"]


def test_what_goes_first_where_there_is_little_room() -> None:
    """In this order titles become brief, names short, columns go, texts become brief, and the last columns go."""
    long = "about twice as fast as it was before"
    columns = (
        Column("benchmark", names=True), Column("median time", brief="median", right=True),
        Column("min", right=True, drop=1), Column("max", right=True, drop=2), Column("change", drop=-1),
    )  # fmt: skip
    names = [
        "the quick brown fox jumps over one lazy dog and 0", "some other animals jump over the fence of 1",
        "nobody knows what this benchmark does in 2",
    ]  # fmt: skip
    cells = Cell("1.234 ms"), Cell("1.111"), Cell("1.999"), Cell(long, "", ("twice as fast", "2x"))
    table = Table(columns, tuple(Row((Cell(name), *cells)) for name in names))
    stages: list[tuple[str, int, str, str]] = []
    for width in range(140, 20, -1):
        head, *lines = filter(None, render(Report("", (), (table,)), width).splitlines())
        room = re.search(r"COLUMNS=(\d+)", " ".join(lines))
        if room is not None and width % 6 == 0:
            for less in (0, 1):  # what is named has room there, and not before
                wider = render(Report("", (), (table,)), int(room[1]) - less).splitlines()[1]
                assert all(c.title in wider for c in columns[2:] if c.title not in head) is (less == 0)
        assert max(map(len, [head, *lines[:3]])) <= width
        shown = [re.split("  +", line) for line in lines[:3]]
        gone = "".join(column.title[1] for column in columns[2:] if column.title not in head)
        text = shown[0][-1] if "change" in head else ""
        stage = (re.split("  +", head)[1], max(len(row[0]) for row in shown), gone, text)
        stages += [stage] if stages[-1:] != [stage] else []
    brief = "twice as fast"
    order = list(dict.fromkeys((title, gone, text) for title, _, gone, text in stages))
    assert order[:9] == [
        ("median time", "", long), ("median", "", long), ("median", "a", long), ("median", "ia", long),
        ("median", "", brief), ("median", "a", brief), ("median", "ia", brief), ("median", "ia", "2x"),
        ("median", "a", "2x"),
    ]  # fmt: skip
    for _, alike in itertools.groupby(stages, key=lambda stage: (stage[0], *stage[2:])):
        widths = [width for _, width, _, _ in alike]
        assert widths == sorted({*widths}, reverse=True)
    for text in (long, brief):
        assert min(width for _, width, *left in stages if left == ["ia", text]) == 24
    assert min(width for _, width, *_ in stages) == 10


words = st.sampled_from(["alpha", "beta", "a", "b", "gamma-delta", "12", "--opt=3", "x/y/z", "main.c", "sub"])
distinct = st.sampled_from([" ", "/"]).flatmap(
    lambda between: st.lists(
        st.lists(words, min_size=1, max_size=9).map(between.join), min_size=1, max_size=5, unique=True
    )
)


@given(
    distinct | st.lists(st.text("ab1/-.A", min_size=1, max_size=30), min_size=1, max_size=5, unique=True),
    st.integers(7, 40),
)
@example(["/", "11111111"], 7)
@example(["gamma-delta/gamma-delta", "alpha/3.12/v1/b", "gamma-delta/main.c/gamma-delta"], 11)
@example(["main.c", "b-b-a", "b-v1-gamma-delta", "a"], 10)
def test_short_names_are_distinct_and_no_wider_than_they_may_be(names: list[str], width: int) -> None:
    for short in (shortened(names, width), labels(names, width), file_names(names, width)):
        assert len({*short}) == len(names) == len(short)
        assert all(0 < width_of(name) <= width for name in short)
    for name, cut in zip(names, shortened(names, width), strict=True):  # what is left out is marked
        begin, *_, end = [cut, *cut.split("…")][-max(2, cut.count("…") + 1) :]
        assert name.startswith(begin)
        assert name.endswith(end) or re.fullmatch(r".*~\d", end)
    assert len({name.casefold() for name in file_names(names, width)}) == len(names)
    assert all(re.fullmatch(r"[\w.-]+", name) for name in file_names(names, width))
    by_name = short_names(names)
    assert ([*by_name], len({*by_name.values()})) == (names, len(names))


def test_fields_that_all_names_have_are_in_the_title() -> None:
    """Each is told once; names of other fields are told whole."""
    names = [
        "program=330.art_m/affinity=no affinity/threads=2",
        "program=312.swim_m/affinity=compact/threads=16",
    ]
    column, cell = benchmark_column(names)
    assert (column.title, column.names) == ("program/affinity/threads", True)
    assert [cell(name).text for name in names] == ["330.art_m/no affinity/2", "312.swim_m/compact/16"]
    column, cell = benchmark_column([f"omp/{name}" for name in names])
    assert (column.title, column.brief) == ("omp/program/affinity/threads", "program/affinity/threads")
    assert cell(f"omp/{names[0]}").text == "330.art_m/no affinity/2"
    for others in ([*names, "program=330.art_m/threads=2"], ["F/kind=map/n=2", "G/kind=map/n=3"]):
        column, cell = benchmark_column(others)
        assert [f"{column.title.removesuffix('…')}{cell(name).text}" for name in others] == others


positive = st.floats(1e-6, 1e6)


@given(st.lists(positive, max_size=20), st.lists(st.floats(0, math.inf), max_size=20))
def test_ratio_axis(values: list[float], bounds: list[float]) -> None:
    """All observed speedups but a few lie on it, 1 is a tick, ticks ascend and are neither few nor many."""
    axis = ratio_axis(values, bounds)
    assert axis.low < 1 < axis.high
    few = 0 if len(values) < 8 else 1 if len(values) < 20 else 2  # at either end
    assert sum(axis.low <= v <= axis.high for v in values) >= len(values) - 2 * few
    assert 1.0 in axis.ticks
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert len(axis.ticks) <= 16
    if 4 < axis.high / axis.low <= 15:
        assert all(y / x < 1.7 for x, y in itertools.pairwise(axis.ticks))
    shown = [(i, place, label) for i, (place, label) in enumerate(axis.labelled()) if label]
    assert {(axis.place(tick), f"{tick:g}") for tick in axis.ticks} >= {one[1:] for one in shown} > set()
    assert axis.ticks.index(1.0) in [i for i, *_ in shown]
    assert len({after[0] - before[0] for before, after in itertools.pairwise(shown)}) <= 1
    for (_, left, a), (_, right, b) in itertools.pairwise(shown):
        assert 0.08 * (right - left) > 0.636 * (len(a) + len(b)) / 2  # digits of DejaVu on an axis of 8 em
    places = [axis.place(t) for t in sorted([*axis.ticks, *values])]
    assert places == sorted(places)
    assert all(0 <= p <= 100 for p in places)


@given(positive)
def test_gain_and_loss_are_symmetric(value: float) -> None:
    """On an axis around 1, a speedup and its reciprocal are equally far from it."""
    axis = ratio_axis([value, 1 / value])
    assert math.isclose(axis.place(value) - 50, 50 - axis.place(1 / value), abs_tol=0.01)


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_linear_ticks(a: float, b: float) -> None:
    """Evenly spaced by 1, 2 or 5 times a power of ten, inside the ends, at most eight, at least one."""
    low, high = sorted((a, b))
    ticks = linear_ticks(low, high)
    assert 1 <= len(ticks) <= 8
    slack = 1e-6 * max(abs(low), abs(high), 1e-300)
    assert all(low - slack <= t <= high + slack for t in ticks)
    if len(ticks) > 2:
        step = (ticks[-1] - ticks[0]) / (len(ticks) - 1)
        mantissa = step / 10.0 ** math.floor(math.log10(step * (1 + 1e-6)))
        assert min(abs(mantissa - m) for m in (1, 2, 5, 10)) < 1e-3
        assert all(math.isclose(y - x, step, rel_tol=1e-3) for x, y in itertools.pairwise(ticks))


@pytest.mark.parametrize("width", range(12, 81))
def test_lines_break_between_words(width: int) -> None:
    """No line begins with a percent sign, and a quoted command is never wrapped where it fits a line."""
    command = "'speedproof run GOOD BAD'"
    said = f"with a confidence of 87.5 %, and of 5 % in 100 % of cases: {command} measures both, in turns"
    lines = wrapped(said, width)
    assert " ".join(line.strip() for line in lines).replace(" %", "%") == said.replace(" %", "%")
    assert not any(line.lstrip().startswith("%") for line in lines)
    assert width < 28 or (any(command in line for line in lines) and max(map(width_of, lines)) <= width)
