"""The states of runs by several metrics at once, and how versions compare in all of them (VARCORE, section 8.1).

A run has a time, faults, an energy: its components are states of all of them together
(:mod:`speedproof.mixture.states`). The indices of one metric carry over where order does: I1 is a distance in each
metric, I2 and I3 ask for a run that is better in every metric, I4 counts the states. Runs that are better in one
metric and worse in another are ahead of neither, so that I2 of both directions may add up to less than 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from speedproof.arrays import FloatArray, IntArray
from speedproof.data.sample import Sample
from speedproof.errors import DataError
from speedproof.mixture.metrics import expected_gap
from speedproof.mixture.states import joint_states, step_of
from speedproof.protocols.why import same_runs

_AT_A_TIME = 4_000_000


class JointState(Struct, frozen=True):
    """A state of the runs of one version."""

    weight: float  # share of the runs
    # In each metric
    means: tuple[float, ...]
    deviations: tuple[float, ...]


class Ahead(Struct, frozen=True):
    """One version against another, over all pairs of a run of each."""

    version: str
    distances: tuple[float, ...]  # I1: mean distance, in each metric
    better: float  # I2: share of the pairs in which the run is better in every metric


class JointModel(Struct, frozen=True):
    """The states of one version's runs."""

    benchmark: str
    version: str
    metrics: tuple[str, ...]
    units: tuple[str, ...]
    runs: int
    states: tuple[JointState, ...]  # I4 is how many
    others: tuple[Ahead, ...]
    best: float  # I3: the chance that a run is better in every metric than one run of each other version


def states_of_runs(metrics: Sequence[Sample]) -> IntArray:
    """The state of every run of one version, shape (runs,), by several metrics of the same runs.

    Metrics whose values are all above zero enter by their logarithms: states are factors apart.
    """
    columns, steps = [], []
    for sample in metrics:
        x = sample.values
        step = step_of(x, whole=not sample.unit and not (x % 1.0).any())
        logs = x.min() > 0.0
        columns.append(np.log(x) if logs else x)
        steps.append(step / x.min() if logs else step)
    return joint_states(np.column_stack(columns), steps)


def joint_models(
    benchmark: str, versions: Mapping[str, Sequence[Sample]], names: Sequence[str]
) -> list[JointModel]:
    """The states of each version of a benchmark by these metrics, and how the versions compare.

    Raises
    ------
    DataError
        Metrics of a version that are not of the same runs.
    """
    for version, samples in versions.items():
        for name, sample in zip(names[1:], samples[1:], strict=True):
            if sample.n != samples[0].n or not same_runs(samples[0], sample):
                raise DataError(f"{benchmark} ({version}): {names[0]} and {name} are not of the same runs")
    runs = {v: np.column_stack([_costs(s) for s in samples]) for v, samples in versions.items()}
    made = []
    for version, samples in versions.items():
        values = np.column_stack([s.values for s in samples])
        labels = states_of_runs(samples)
        parts = [values[labels == k] for k in range(int(labels.max()) + 1)]
        states = tuple(
            JointState(len(p) / len(values), tuple(p.mean(axis=0).tolist()), tuple(p.std(axis=0).tolist()))
            for p in parts
        )
        ahead = {o: _ahead(runs[version], runs[o]) for o in runs if o != version}
        made.append(
            JointModel(
                benchmark,
                version,
                tuple(names),
                tuple(s.unit for s in samples),
                len(values),
                states,
                tuple(
                    Ahead(o, _distances(runs[version], runs[o]), float(share.mean()))
                    for o, share in ahead.items()
                ),
                float(np.prod([*ahead.values()], axis=0).mean()) if ahead else 1.0,
            )
        )
    return made


def _costs(sample: Sample) -> FloatArray:
    """Values of which lower ones are better."""
    return -sample.values if sample.higher_is_better else sample.values


def _ahead(x: FloatArray, y: FloatArray) -> FloatArray:
    """Of every run of x, in what share of the runs of y it is better in every metric, shape (runs of x,)."""
    step = max(1, _AT_A_TIME // len(y))
    return np.concatenate(
        [(x[i : i + step, None] < y).all(axis=2).mean(axis=1) for i in range(0, len(x), step)]
    )


def _distances(x: FloatArray, y: FloatArray) -> tuple[float, ...]:
    return tuple(expected_gap(a, b) for a, b in zip(x.T, y.T, strict=True))
