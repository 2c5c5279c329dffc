"""Units: every factor against exact arithmetic, and printing that can be read back."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import speedproof as sp
from speedproof.data.units import (
    Direction,
    direction_of,
    format_value,
    format_values,
    known_unit,
    metric_of,
    parse_unit,
    scale_of,
)

EXACT = {
    "fs": Fraction(1, 10**15), "ps": Fraction(1, 10**12), "ns": Fraction(1, 10**9), "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6), "μs": Fraction(1, 10**6), "ms": Fraction(1, 1000), "s": Fraction(1),
    "sec": Fraction(1), "second": Fraction(1), "min": Fraction(60), "h": Fraction(3600), "d": Fraction(86400),
    "ns/op": Fraction(1, 10**9), "us/op": Fraction(1, 10**6), "s/op": Fraction(1), "ns/iter": Fraction(1, 10**9),
    "ops/s": Fraction(1), "ops/ms": Fraction(1000), "ops/us": Fraction(10**6), "ops/ns": Fraction(10**9),
    "ops/min": Fraction(1, 60), "ops/h": Fraction(1, 3600), "MB/s": Fraction(10**6), "KiB/ms": Fraction(1024000),
    "byte": Fraction(1), "kB": Fraction(1000), "KiB": Fraction(1024), "GiB": Fraction(2**30),
    "mJ": Fraction(1, 1000), "Mcycles": Fraction(10**6),
}  # fmt: skip


@pytest.mark.parametrize("text", EXACT)
def test_conversion_is_correctly_rounded(text: str) -> None:
    """Decimals of up to 15 digits times the exact factor; longer ones are doubles times the factor."""
    unit, factor = parse_unit(text), EXACT[text]
    rng = np.random.default_rng(7)
    for digits in (1, 3, 7, 11 if factor.numerator % 9 == 0 or text == "KiB/ms" else 15):
        decimals = [f"{rng.integers(1, 10**digits)}e{rng.integers(-7, 1)}" for _ in range(60)]
        exact = [float(Fraction(d) * factor) for d in decimals]
        assert unit.to_base(np.array([float(d) for d in decimals])).tolist() == exact
        assert [unit.convert(float(d)) for d in decimals] == exact
    if 1 in (factor.numerator, factor.denominator):
        doubles = [
            v for v in rng.lognormal(0, 5, 200).tolist() if len(repr(v).replace(".", "").strip("0")) > 16
        ]
        assert len(doubles) > 60
        exact = [float(Fraction(v) * factor) for v in doubles]
        assert unit.to_base(np.array(doubles)).tolist() == exact


@pytest.mark.parametrize(("small", "shift"), [("us", 6), ("ms", 3), ("ns", 9), ("kB", -3)])
def test_equal_quantities_in_two_units_are_equal(small: str, shift: int) -> None:
    """0.1 to 999.9, as one program writes them in a small unit (or a large one) and another one in the base."""
    tenths = range(1, 10_000)
    written_small = np.array([float(f"{t // 10}.{t % 10}") for t in tenths])
    written_in_seconds = np.array([float(f"{t}e{-shift - 1}") for t in tenths])
    np.testing.assert_array_equal(parse_unit(small).to_base(written_small), written_in_seconds)


@pytest.mark.parametrize(("text", "base"), [
    ("ns/op", "s"), (" ms ", "s"), ("B/op", "B/op"), ("allocs/op", "allocs/op"), ("MB/s", "B/s"),
    ("MB/sec", "B/s"), ("ops/min", "ops/s"), ("1/s", "1/s"), ("/s", "1/s"), ("integer", ""), ("none", ""),
    ("", ""), ("cycles/iter", "cycles/op"), ("text-bytes", "text-bytes"), ("Percent", "Percent"),
    ("x" + "/op" * 5000, "x" + "/op" * 5000),
])  # fmt: skip
def test_base_units(text: str, base: str) -> None:
    assert parse_unit(text).base == base


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_a_unit(text: str) -> None:
    unit = parse_unit(text)
    assert unit.factor > 0
    assert parse_unit(unit.base).base == unit.base, "a base unit is its own base"


def test_directions_and_metrics() -> None:
    assert direction_of("s") is direction_of("B") is direction_of("") is Direction.LOWER
    assert direction_of("ops/s") is direction_of("B/s") is direction_of("fps") is Direction.HIGHER
    assert direction_of("points", "score") is direction_of("", "throughput") is Direction.HIGHER
    assert direction_of("points", "rank") is direction_of("s", "ops per s") is Direction.LOWER
    assert [known_unit(word) for word in ("MIN", "min", "mb", "SECONDS")] == [None, "min", "MB", "seconds"]
    assert [metric_of(b) for b in ("s", "B", "J", "cycles", "", "B/s", "B/op")] == [
        "time", "memory", "energy", "cycles", "time", "throughput", "B/op",
    ]  # fmt: skip
    assert np.isinf(parse_unit("GB/s").to_base(np.array([1e305]))).all()


@given(st.floats(1e-15, 1e18), st.sampled_from(["s", "B", "cycles", "J", "B/s", "ops/s"]))
def test_printed_values_read_back(value: float, base: str) -> None:
    number, _, symbol = format_value(value, base, 6).partition(" ")
    unit = parse_unit(symbol.replace(" ", ""))
    if unit.base == base:
        assert float(number) * unit.factor == pytest.approx(value, rel=1e-5)


@given(st.floats(1e-16, 1e18), st.sampled_from(["s", "B", "B/op", "cycles", "J", "B/s", "1/s", "points"]))
@example(1000.0, "J")
def test_a_scale_is_readable(magnitude: float, base: str) -> None:
    """As shown from 1 to less than the next step, beyond the first and last too; its symbol says its factor."""
    factor, symbol = scale_of(magnitude, base)
    step = 1024 if base[:1] == "B" and base != "B/s" else 1000
    shown = float(f"{magnitude / factor:.4g}")
    assert shown >= 0.9995 or factor == min(1.0, 1e-12 if base == "s" else 1.0)
    assert shown < step or factor == {"s": 1.0, "B": 2.0**40, "B/op": 2.0**40}.get(base, 1e12)
    prefix = symbol.removesuffix(f"1{base[1:]}" if base[0] == "1" else base).removesuffix("/s").strip()
    powers = {"": 1.0, "m": 1e-3, "µ": 1e-6, "n": 1e-9, "p": 1e-12, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    assert factor == (powers | {f"{x}i": 1024.0 ** (k + 1) for k, x in enumerate("KMGT")})[prefix]
    assert scale_of(0.0, base) == scale_of(1.0, base)
    assert "1" not in symbol


def test_one_scale_for_several_values() -> None:
    assert format_values([0.5, 0.0005], "s") == ["500 ms", "0.5 ms"]
    assert format_values([float("nan"), 2.0], "s") == ["-", "2 s"]
    assert format_values([], "s") == []
    assert format_value(0.0, "s").startswith("0 ")


@pytest.mark.parametrize(
    ("typed", "meant"), [("mss", "ms"), ("MS", "ms"), ("MSEC", "msec"), ("mb", "MB"), ("fps", None)]
)
def test_a_unit_typed_wrongly_is_no_metric(typed: str, meant: str | None, tmp_path: Path) -> None:
    """Of arrays and of a file's numbers alike, whatever the case of its letters or their number."""
    (tmp_path / "times.txt").write_text("1\n2\n")
    for read in (
        lambda: sp.read(tmp_path / "times.txt", unit=typed),
        lambda: sp.sample([1.0, 2.0], unit=typed, higher_is_better=True),
    ):
        if meant is None:
            read()
            continue
        with pytest.raises(sp.SpeedproofError, match=f"^there is no unit '{typed}'; do you mean '{meant}'"):
            read()
