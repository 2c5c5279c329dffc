"""Axes by their definition, for any numbers."""

from __future__ import annotations

import itertools
import math
import re
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st

from speedproof.reporting.html.axis import LABEL_WIDTHS, linear_ticks, ratio_axis

positive = st.floats(1e-6, 1e6)


@given(st.lists(positive, max_size=20), st.lists(st.floats(0, math.inf), max_size=20))
def test_ratio_axis(values: list[float], bounds: list[float]) -> None:
    """Nine of ten observed speedups lie on it, 1 is a tick, ticks ascend and are neither few nor many."""
    axis = ratio_axis(values, bounds)
    assert axis.low < 1 < axis.high
    assert sum(axis.low <= v <= axis.high for v in values) >= 0.9 * len(values)
    assert 1.0 in axis.ticks
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert len(axis.ticks) <= 16
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


@given(st.lists(positive, max_size=20))
def test_labels_never_run_into_each_other(values: list[float]) -> None:
    """At any width those that are shown have room, with digits as wide as DejaVu's; 1 always is one of them."""
    ticks = ratio_axis(values).labelled()
    counts = []
    for step, width in enumerate(LABEL_WIDTHS):
        shown = [tick for tick in ticks if f"h{step}" not in tick.hidden.split()]
        ends = [
            (
                width * tick.at / 100 - 0.636 * len(tick.label) / 2,
                width * tick.at / 100 + 0.636 * len(tick.label) / 2,
            )
            for tick in shown
        ]
        assert all(right < left for (_, right), (left, _) in itertools.pairwise(ends))
        assert "1" in [tick.label for tick in shown]
        counts.append(len(shown))
    assert counts == sorted(counts), "a wider axis has no fewer labels"


def test_the_style_sheet_knows_the_same_widths() -> None:
    """From each width to the next one the labels of one class are hidden, with nothing between or beyond."""
    css = (files("speedproof.reporting.html") / "page.css").read_text(encoding="utf-8")
    starts = [*map(str, LABEL_WIDTHS), ""]
    found = re.findall(r"@container \((\d+)em <= width(?: < (\d+)em)?\) \{ \.h(\d) ", css)
    assert found == [(starts[i], starts[i + 1], str(i)) for i in range(len(LABEL_WIDTHS))]
