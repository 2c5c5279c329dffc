"""What records make: pooled samples, pairs and tables, against loops over plain lists."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest

from speedproof.data.record import Order, RecordTable, order_of_measuring
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Record, Skipped, Suite
from speedproof.data.units import Direction

BAD = {Trait.TRIMMED, Trait.SORTED, Trait.FAILED_RUNS, Trait.SUMMARY_ONLY}
TRAITS = (Trait.ORDER_KNOWN, Trait.ONE_PROCESS, Trait.IN_TURN, Trait.TRIMMED, Trait.MILLI)


def made_up(rng: np.random.Generator, number: int) -> Record:
    """A record of any kind, of which few are unfit."""
    n = int(rng.integers(1, 5))
    values = rng.integers(1, 9, n).astype(float)
    if rng.random() < 0.2:
        values[rng.integers(n)] = rng.choice([np.nan, np.inf, -1.0])
    metric, processes = str(rng.choice(["time", "memory"])), rng.integers(3, 6, n)
    return Record(
        str(rng.choice(["b", "c"])), values, "s" if metric == "time" or rng.random() < 0.1 else "B", metric,
        direction=Direction.HIGHER if rng.random() < 0.1 else None, version=str(rng.choice(["old", "new"])),
        processes=processes if rng.random() < 0.4 else None, path=f"{rng.integers(3)}.json", where=f"[{number}]",
        fields=(("cpu", str(rng.choice(["x", "x", "y"]))), ("session", str(number))),
        traits=frozenset(t for t in TRAITS if rng.random() < 0.8), notes=(f"note {rng.integers(2)}",),
        tool=str(rng.choice(["go", "go", "jmh"])), position=number, session=str(rng.choice(["", "mon", "tue"])),
        span=(float(number), float(rng.integers(9, 20))) if rng.random() < 0.8 else None,
        blocks=rng.integers(0, 4, n) if rng.random() < 0.8 else None,
    )  # fmt: skip


def first_seen(items: Sequence[Any]) -> list[int]:
    """The number of each by first appearance."""
    return [list(dict.fromkeys(items)).index(item) for item in items]


def naive_sample(group: list[Record], version: str) -> dict[str, Any]:
    """What a sample of some records holds."""
    values = [(k, v) for k, r in enumerate(group) for v in r.values.tolist()]
    sittings, paths = [r.session or r.path for r in group], [r.path for r in group]
    traits = set.intersection(*({*r.traits} for r in group))
    traits |= {t for r in group for t in r.traits if t in BAD}
    processes: list[Any] | None = None
    if len(group) > 1:
        traits -= {Trait.IN_TURN}
        if Trait.ONE_PROCESS in traits and len(set(paths)) > 1:
            traits -= {Trait.ONE_PROCESS}
            processes = [paths[k] for k, _ in values]
    if any(r.processes is not None for r in group):
        own = [r.processes.tolist() if r.processes is not None else range(r.values.size) for r in group]
        processes = [(k, of) for k, some in enumerate(own) for of in some]
    sessions = [sittings[k] for k, _ in values]
    spans: list[Any] = [r.span for r in group]
    blocks: list[Any] = [r.blocks for r in group]
    return {
        "values": [v for _, v in values], "unit": group[0].unit, "label": version, "tool": group[0].tool if
        len({r.tool for r in group}) == 1 else "", "traits": traits, "position": group[0].position,
        "direction": group[0].direction or Direction.LOWER, "source": f"{group[0].path} {group[0].where}",
        "notes": tuple(dict.fromkeys(note for r in group for note in r.notes)),
        "processes": None if processes is None else first_seen(processes),
        "sessions": first_seen(sessions) if len(set(sittings)) > 1 else None,
        "session_names": tuple(dict.fromkeys(sittings)),
        "span": (min(a for a, _ in spans), max(b for _, b in spans)) if None not in spans else None,
        "blocks": [v for of in blocks for v in of.tolist()] if all(of is not None for of in blocks) else None,
        "fields": tuple(f for f in group[0].fields if all(f in r.fields for r in group)),
    }  # fmt: skip


def naive_suite(
    records: Sequence[Record],
) -> tuple[dict[Any, dict[str, Any]], Counter[tuple[str, str]], dict[str, Any]]:
    """The samples by benchmark, metric and version, what is left out and why, and what was pooled over."""
    groups: dict[Any, list[Record]] = {}
    lost: Counter[tuple[str, str]] = Counter()
    for r in records:
        good = np.isfinite(r.values)
        if not good.all():
            lost[r.where, "not a finite number"] += 1
            nested, blocks = (of if of is None else of[good] for of in (r.processes, r.blocks))
            r = Record(**{f: getattr(r, f) for f in r.__struct_fields__} | {
                "values": r.values[good], "processes": nested, "blocks": blocks})  # fmt: skip
        if not good.any():
            continue
        group = groups.setdefault((r.benchmark, r.metric, r.version), [])
        if group and r.unit != group[0].unit:
            lost[r.where, "its unit is"] += 1
        elif group and (r.direction or Direction.LOWER) != (group[0].direction or Direction.LOWER):
            lost[r.where, "its direction differs"] += 1
        elif r.metric == "time" and r.values.min() < 0:
            lost[r.where, "never negative"] += 1
        else:
            group.append(r)
    samples = {}
    for place, group in groups.items():
        if group and group[0].unit == "s" and min(r.values.min() for r in group) < 0:
            lost[group[0].where, "never negative"] += 1
        elif group:
            samples[place] = naive_sample(group, place[2])
    pooled: dict[str, Any] = {}
    for (benchmark, *_), group in groups.items():
        cpus = [r.fields[0][1] for r in group]
        if len(set(cpus)) > 1:
            values, benchmarks = pooled.setdefault("cpu", ({}, {}))
            values.update(dict.fromkeys(cpus))
            benchmarks[benchmark] = None
    return samples, lost, {field: (tuple(v), tuple(b)) for field, (v, b) in pooled.items()}


def test_a_place_that_names_the_benchmark_does_so_once() -> None:
    assert str(Skipped("a.json", "results.sort", "sort", "it failed")) == "a.json: results.sort: it failed"


@pytest.mark.parametrize("seed", range(40))
def test_records_make_the_samples_of_a_naive_twin(seed: int) -> None:
    """Of files, sessions, processes and blocks; what is unfit is named with its reason, and nothing is lost."""
    rng = np.random.default_rng(seed)
    records = [made_up(rng, number) for number in range(14)]
    left = Skipped("f", "line 2", "b", "no number")
    suite = Suite.from_records([("old", left), *((r.version or "", r) for r in records)])
    expected, lost, pooled = naive_suite(records)
    assert {(k.benchmark, k.metric, v) for k, v in suite.samples} == expected.keys()
    for (key, version), sample in suite.samples.items():
        for name, value in expected[key.benchmark, key.metric, version].items():
            own = getattr(sample, name)
            if name == "processes" and own is not None:
                own = first_seen(own.tolist())
            assert (own.tolist() if isinstance(own, np.ndarray) else own) == value, (key, version, name)
    reasons = ("not a finite number", "its unit is", "its direction differs", "never negative")
    told = Counter((s.where, next(r for r in reasons if r in s.reason)) for s in suite.skipped if s != left)
    assert (told, left in suite.skipped) == (lost, True)
    assert {r.field: (r.values, r.benchmarks) for r in suite.residue} == pooled
    listed = dict.fromkeys(["old", *(r.version for r in records)])
    assert suite.versions == tuple(name for name in listed if name in {version for *_, version in expected})


@pytest.mark.parametrize("seed", range(12))
def test_a_table_is_its_records(seed: int) -> None:
    """However often it is looked at, also in part and when it was kept; unfit rows are left out alike."""
    rng = np.random.default_rng(seed)
    kinds = [
        Record("", np.ones(1), path="f", where=f"at {k}", direction=Direction.LOWER, session="s",
               traits=frozenset(TRAITS[:k]), processes=np.arange(3) // 2 if k == 2 else None)
        for k in range(3)
    ]  # fmt: skip
    rows = []
    for k in range(9):
        kind = kinds[int(rng.integers(3))]
        values = rng.integers(1, 9, 3 if kind.processes is not None else int(rng.integers(1, 4))).astype(
            float
        )
        if seed % 3 == 0 and k == 5:
            values[0] = -1.0 if seed % 2 else np.inf
        rows.append((Key(f"b{k}", "time"), values.tolist(), kind))
    table = RecordTable.of(rows)
    assert [values.tolist() for values in table.values] == [values for _, values, _ in rows]
    table = RecordTable(table.keys, table.values, table.known, range(2, 11) if seed % 2 else (), "go", 4)
    whole = Suite.from_records([("v", table)])
    plain = Suite.from_records(("v", table.record(k)) for k in range(len(table)))
    assert (whole.versions, whole.keys, whole.skipped) == (plain.versions, plain.keys, plain.skipped)
    for suite, other in (
        (whole, plain),
        (whole["b3"], plain["b3"]),
        (pickle.loads(pickle.dumps(whole)), plain),
    ):
        assert [*suite.samples] == [*other.samples]
        assert {place: suite.samples[place] for _ in range(2) for place in suite.samples} == dict(
            other.samples
        )
        assert [values.tolist() for values in suite.arrays[0]] == [
            values.tolist() for values in other.arrays[0]
        ]
    twice = Suite.from_records([("v", table), ("v", table)])
    assert all(s.n == 2 * plain.samples[place].n for place, s in twice.samples.items())


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("location", ["mean", "median"])
def test_one_value_a_process_and_a_session(seed: int, location: Literal["mean", "median"]) -> None:
    rng = np.random.default_rng(seed)
    processes = rng.integers(0, 5, 12)
    sessions = processes % 2 if seed % 2 else None  # no process is in two
    sample = Sample(
        rng.random(12), processes=processes, sessions=sessions, label="v", blocks=np.zeros(12, int)
    )
    middle: Any = {"mean": np.mean, "median": np.median}[location]
    order = list(dict.fromkeys(processes.tolist()))
    values = [middle(sample.values[processes == p]) for p in order]
    found = sample.per_process(location)
    assert found.values.tolist() == pytest.approx(values)
    assert (found.processes, found.blocks, found.label) == (None, None, "v")
    of = [p % 2 if seed % 2 else 0 for p in order]
    assert (None if found.sessions is None else found.sessions.tolist()) == (of if seed % 2 else None)
    by_session = sample.per_session(location)
    expected = [middle([v for v, s in zip(values, of, strict=True) if s == one]) for one in dict.fromkeys(of)]
    assert by_session.values.tolist() == pytest.approx(expected)
    assert (by_session.sessions is not None, by_session.processes) == (True, None)
    assert np.asarray(by_session.sessions).tolist() == list(dict.fromkeys(of))
    assert (sample.session_count, sample.process_count) == (len(set(of)), len(order))


MIXED: dict[str, Any] = {"session_names": ("a",), "traits": frozenset({Trait.RANDOM_ORDER})}
TURNS: dict[str, Any] = {"session_names": ("a",), "traits": frozenset({Trait.IN_TURN})}
FILE: dict[str, Any] = {"session_names": ("a",), "tool": "go"}
TWO: dict[str, Any] = FILE | {"session_names": ("a", "b"), "sessions": np.arange(2)}


@pytest.mark.parametrize(("x", "y", "order"), [
    (MIXED, MIXED, Order.MIXED), (MIXED, {**MIXED, "session_names": ("b",)}, Order.UNKNOWN),
    (MIXED, {**MIXED, "session_names": ("b", "a")}, Order.MIXED),
    ({"span": (0.0, 1.0)}, {"span": (1.0, 2.0)}, Order.X_FIRST),
    ({"span": (3.0, 4.0)}, {"span": (1.0, 3.0)}, Order.Y_FIRST),
    ({"span": (0.0, 3.0)}, {"span": (1.0, 2.0)}, Order.MIXED), ({}, {}, Order.UNKNOWN),
    ({"span": (0.0, 1.0)}, {}, Order.UNKNOWN),
    (TURNS, {**TURNS, "position": 1}, Order.X_FIRST), ({**TURNS, "position": 2}, TURNS, Order.Y_FIRST),
    ({**TURNS, "traits": TURNS["traits"] | {Trait.SORTED}}, {**TURNS, "position": 1}, Order.UNKNOWN),
    (FILE, {**FILE, "position": 1}, Order.X_FIRST), ({**FILE, "position": 2}, FILE, Order.Y_FIRST),
    (FILE, FILE, Order.APART), (FILE, {**FILE, "session_names": ("b",), "position": 1}, Order.APART),
    (FILE, {**FILE, "tool": "csv", "position": 1}, Order.UNKNOWN),
    # The runner mixes runs of one sitting; of two it says when each was; tools measure commands in their order.
    (FILE | MIXED, FILE | {"position": 1}, Order.X_FIRST),
    (FILE | MIXED, FILE | MIXED | {"session_names": ("b",), "position": 1}, Order.APART),
    (TWO, TWO | {"position": 1}, Order.APART),
    (FILE | {"span": (1.0, 2.5)}, FILE | {"span": (2.0, 3.0), "position": 1}, Order.MIXED),
    (FILE | {"span": (1.0, 3.0)}, FILE | {"span": (1.0, 3.0), "position": 1}, Order.X_FIRST),
    (FILE | {"span": (1.0, 2.0), "session_names": ("b",)}, FILE | {"position": 1}, Order.APART),
    (TURNS, FILE | {"position": 1}, Order.UNKNOWN),
])  # fmt: skip
def test_the_order_of_measuring(x: dict[str, Any], y: dict[str, Any], order: Order) -> None:
    """Of sittings, moments, rows in turn and places in one file; of what somebody wrote down nobody knows it."""
    assert order_of_measuring(Sample(np.ones(2), **x), Sample(np.ones(2), **y)) is order
