"""Every procedure over a suite takes the session for its unit where every version has four or more."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from msgspec.structs import replace
from tests.protocols.asking import compare_2009, hpt_of_pairs, log_ratios, rank_runs

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols.caveats import few_values
from speedproof.protocols.pair import Rules
from speedproof.protocols.questions import ask
from speedproof.protocols.results import Verdict
from speedproof.protocols.units import compared, independent_units, matched_pair, paired_units, typical_units
from speedproof.reporting.notes import caveats


def measured(seed: int, sessions: int, label: str) -> Sample:
    """Five runs a session, which differ by 10 %, the runs by 1 %."""
    rng = np.random.default_rng(seed)
    values = (rng.normal(1.0, 0.1, (sessions, 1)) + rng.normal(0.0, 0.01, (sessions, 5))).ravel()
    return Sample(values, label=label, sessions=np.repeat(np.arange(sessions), 5))


def mean_ratio(x: Sample, y: Sample) -> object:
    return log_ratios([Pair(Key("b"), x, y)])


def duels(x: Sample, y: Sample) -> object:
    return hpt_of_pairs([Pair(Key(name), x, y) for name in "abcdef"], confidences=[0.9]).benchmarks


def ranks(x: Sample, y: Sample) -> object:
    found = rank_runs({"x": x, "y": y}, resamples=0)
    return found.pairs, found.enough_runs


def protocol_2009(x: Sample, y: Sample) -> object:
    found = compare_2009(x, y)
    return found.pvalue, found.state


@pytest.mark.parametrize("ask", [mean_ratio, duels, ranks, protocol_2009])
def test_four_sessions_are_the_units(ask: Callable[[Sample, Sample], object]) -> None:
    """Medians (means) a session given as runs have the same answer; three sessions are not the units."""
    location: Literal["mean", "median"] = "median" if ask in (duels, ranks) else "mean"
    x, y = measured(1, 4, "x"), measured(2, 6, "y")
    assert ask(x, y) == ask(x.per_session(location), y.per_session(location))
    x = measured(1, 3, "x")
    assert ask(x, y) != ask(x.per_session(location), y.per_session(location))


@pytest.mark.parametrize(("sizes", "first", "last"), [
    (((1, 3, 2), (2, 2)), 0, 1), (((5, 4), (7, 3)), 1, 3), (((4, 6), (5, 4)), 0, 4), (((2, 3), (3, 3)), 0, 2),
])  # fmt: skip
def test_the_last_places_that_every_process_has(
    sizes: tuple[tuple[int, ...], ...], first: int, last: int
) -> None:
    """By a loop over processes; an even number where there are two."""
    sides: list[Sample] = []
    expected: list[list[float]] = []
    for start, counts in zip((1.0, 101.0), sizes, strict=True):
        processes = np.repeat(np.arange(len(counts)), counts)
        values = np.arange(start, start + processes.size, dtype=np.float64)
        sides.append(Sample(values, processes=processes))
        expected.append([v for k in range(len(counts)) for v in values[processes == k][first:last].tolist()])
    found = matched_pair(Pair(Key("b"), sides[0], sides[1]))
    assert [found.reference.values.tolist(), found.candidate.values.tolist()] == expected
    told = {word for word in compared(Pair(Key("b"), sides[0], sides[1])).split() if word.isdigit()}
    assert (
        told == {str(first + 1), str(last)}
        if found.reference.n + found.candidate.n < sum(map(sum, sizes))
        else not told
    )


def warming(counts: tuple[int, ...], level: float, seed: int, sessions: int = 1) -> Sample:
    """Processes of so many values, of which every further one is faster, in equal parts of some sessions."""
    rng = np.random.default_rng(seed)
    values = [level * (1.0 - 0.01 * np.arange(k)) * np.exp(rng.normal(0.0, 1e-4, k)) for k in counts]
    processes = np.repeat(np.arange(len(counts)), counts)
    several = processes * sessions // len(counts) if sessions > 1 else None
    return Sample(np.concatenate(values), processes=processes, sessions=several)


@pytest.mark.parametrize("sessions", [1, 4])
@pytest.mark.parametrize("location", ["mean", "median"])
def test_every_question_compares_values_at_places_that_both_have(
    sessions: int, location: Literal["mean", "median"]
) -> None:
    """Three values against ten, each 1 % faster than the one before, of one version: no question finds a gain.

    Four processes of a side, with which no test sees the warm-up; and four sessions, of which none asked.
    """
    count = 4 * sessions
    x, y = warming((3,) * count, 1.0, 1, sessions), warming((10,) * count, 1.001, 2, sessions)
    for units in (typical_units(Pair(Key("b"), x, y)), independent_units((x, y), location)):
        assert units[0].values.mean() / units[1].values.mean() == pytest.approx(1 / 1.001, abs=5e-4)
    names = tuple("abcd")
    if sessions > 1:
        paired = paired_units(
            Pair(Key("b"), replace(x, session_names=names), replace(y, session_names=names))
        )
        assert paired is not None
        assert paired[0].values / paired[1].values == pytest.approx(1 / 1.001, abs=5e-4)
    for question in ("typical", "mean", "median"):
        assert ask(question, x, y, Rules()).verdict is not Verdict.FASTER
    assert rank_runs({"x": x, "y": y}, resamples=0).best_in_median == "x"


def test_values_that_were_left_out_are_said_of_a_suite() -> None:
    """Of one benchmark of two the processes of a side give ten values, else three: the last two of three count."""

    def side(size: int, label: str) -> Sample:
        values = 1.0 + 0.01 * np.random.default_rng(size).standard_normal(6 * size)
        return Sample(values, label=label, processes=np.repeat(np.arange(6), size))

    pairs = {name: Pair(Key(name), side(3, "x"), side(size, "y")) for name, size in (("a", 10), ("b", 3))}
    assert few_values([pairs["b"]]) == ()
    for chosen, where in (("a", ()), ("ab", ("a",))):
        (note,) = few_values([pairs[name] for name in chosen])
        assert note.benchmarks == where
        (said,) = caveats([note])
        some = " in 1 benchmark" if where else ""
        assert said.text == (
            f"Only values 2 to 3 of each process were compared, as some have only 3{some}: "
            "take as many from every process"
        )
