"""Fitted mixtures in words: how many modes, whether the fit is rejected, and what was asked of them.

Of two versions: which modes moved, came, went; and the states of their runs by several metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.data.units import format_value, format_values
from speedproof.mixture.results import (
    ALPHA,
    FEW_RUNS,
    LIMITS_RISK,
    Analysis,
    Answered,
    Indices,
    Models,
    Questions,
    too_few,
)
from speedproof.protocols.modes import JointModel, ModeComparison
from speedproof.reporting.model import (
    MANY,
    Cell,
    Column,
    Report,
    Row,
    Table,
    Text,
    folded,
    hint_of_all,
    right,
)
from speedproof.reporting.names import benchmark_column, called, spoken
from speedproof.reporting.numbers import case_share, p_is, percent, plural, value_of
from speedproof.reporting.words import interval, of_metric
from speedproof.stats.quantile_ratio import least_runs
from speedproof.stats.scaling import usual

_BARS = " ▁▂▃▄▅▆▇█"
_BINS = 44
_REJECTED, _SEVERAL, _ONE = "without a fit", "with several modes", "with one mode"
_SIZES = ("median", "scale", "start")  # parameters in the unit of the values
_ORDERS = {
    "blocks": "in blocks: drift, frequency or neighbours",
    "alternating": "alternating",
    "warm-up": "one of them only at the beginning: warm-up",
}


def report(
    models: Models,
    asked: Questions,
    answers: Sequence[Answered],
    indices: Sequence[Indices | None],
    *,
    everything: bool,
    details: bool,
) -> Report:
    """One sample: its components. Several: a row each, ``details`` adds the components of each."""
    if len(models) == 1:
        made = _one(*models[0], answers[0], asked)
        return replace(made, sections=tuple(_metrics(asked, models, indices)))
    kinds = [_kind(a) for *_, a in models]
    several = sum(len(a.modes) > 1 for *_, a in models)
    tested = sum(a.test is not None for *_, a in models)
    fits = f"{kinds.count(_REJECTED) or 'none'} rejected (risk {percent(ALPHA)} each)"
    has = f"{several or 'None'} of {len(models)} samples {'has' if several < 2 else 'have'}"
    table = folded(_samples(models, asked, answers), _REJECTED, _SEVERAL, everything=everything)
    peak = f"a peak of {FEW_RUNS} runs or more"
    if models[0][3].compatible:
        peak = "every peak of the density (VARCORE's I4)"
    each = zip(models, answers, strict=True) if details or asked.observations else ()
    meant = f"Mode: {peak}. K: components of one deviation (E) or more (V)."
    return Report(
        "Gaussian mixtures",
        (Text(f"{has} several modes; fits: {fits if tested else 'not tested'}", "strong"),),
        (table,),
        (Text(meant, "dim"),),
        (*hint_of_all("sample", table), "--details: components"),
        (*(_one(*model, answered) for model, answered in each), *_metrics(asked, models, indices)),
    )


def _kind(a: Analysis) -> str:
    if a.test is not None and a.test.pvalue <= ALPHA:
        return _REJECTED
    return _SEVERAL if len(a.modes) > 1 else _ONE


def _fit(a: Analysis) -> Cell:
    if a.test is None:
        return Cell("not tested", "dim")
    return _judged(a.test.pvalue, a.test.bootstraps)


def _judged(pvalue: float, bootstraps: int) -> Cell:
    rejected = pvalue <= ALPHA
    answer = "rejected" if rejected else "not rejected"
    return Cell(f"{answer} ({p_is(pvalue, 1 / bootstraps)})", "bad" if rejected else "", (answer,))


def _samples(models: Models, asked: Questions, answers: Sequence[Answered]) -> Table:
    """A row a sample; those that no mixture describes first, then those with several modes."""
    versions = list(dict.fromkeys(version for _, version, *_ in models))
    metrics = {key.metric for key, *_ in models}
    names = {
        key: f"{key.benchmark} {key.metric}" if len(metrics) > 1 else key.benchmark for key, *_ in models
    }
    benchmarks, named = benchmark_column([names[key] for key, *_ in models], "benchmark")
    columns = (
        benchmarks,
        Column("version", names=True),
        Column("modes"),
        Column("fit"),
        Column("largest BIC" if any(a.families for *_, a in models) else "", drop=1),
        Column("order", drop=2),
        *right("K", drop=3),
        *right("runs", drop=1),
        *_asked_columns(asked),
    )
    order = (_REJECTED, _SEVERAL, _ONE)
    # Of few samples the order of the files says more than any other.
    key = (lambda m: order.index(_kind(m[0][3]))) if len(models) > MANY else (lambda m: 0)
    short = called(versions)
    rows = []
    for model, answered in sorted(zip(models, answers, strict=True), key=key):
        benchmark, version, sample, a = names[model[0]], *model[1:]
        places = _shown([mode.place for mode in a.modes], sample)
        modes = (
            ", ".join(f"{p} {case_share(m.share)}" for p, m in zip(places, a.modes, strict=True)) or "none"
        )
        brief = ", ".join(places) or "none"
        kind, best = a.order.kind, max(a.families, key=lambda family: family.bic, default=None)
        family = "" if best is None else best.name if best.bic >= a.bic else "mixture"
        order_of = Cell(kind, "warning" if kind in _ORDERS else "")
        count = f"{'≥ ' * a.at_limit}{len(a.components)}{a.kind if a.kind != 'X' else ''}"
        shown = Cell(modes, shorter=(brief, plural(len(a.modes), "mode")))
        cells: list[Cell | str] = [named(benchmark), short[version], shown, _fit(a), family]
        cells += [order_of, count, str(a.n), *_answered(sample, answered)]
        rows.append(Row.of(*cells, name=f"{benchmark} ({version})", message=modes, kind=_kind(a)))
    # Without the benchmarks or the versions where there is only one of them.
    repeated = [i for i in (0, 1) if len({row.cells[i].text for row in rows}) == 1]
    repeated = repeated[len(repeated) == 2 :]
    table = Table(columns, tuple(rows)).of_columns([i for i in range(len(columns)) if i not in repeated])
    return Table.of(table.columns, table.rows)


def _asked_columns(asked: Questions) -> Iterator[Column]:
    yield from right(*(f"{100 * p:g} % quantile" for p in asked.quantiles))
    yield from right(*(f"P[X <= {format_value(v, unit)}]" for v, unit in asked.below))


def _answered(sample: Sample, answered: Answered) -> Iterator[Cell]:
    for (p, q), (low, high) in zip(answered.quantiles, answered.limits, strict=True):
        shown = format_value(q, sample.unit)
        ends = [format_value(end, sample.unit) if math.isfinite(end) else "" for end in (low, high)]
        if all(ends):
            limits = f"{ends[0]} to {ends[1]}"
        else:
            of = f"at least {ends[0]}, " if ends[0] else f"at most {ends[1]}, " if ends[1] else ""
            limits = (
                f"{of}{'upper' if p > 0.5 else 'lower'} limit from {least_runs(p, LIMITS_RISK):,} runs on"
            )
        yield Cell(f"{shown} by the mixture; by the runs {limits} (95 % each)", shorter=(shown,))
    yield from (Cell(f"{100 * p:.4g} %") for _, p in answered.below)


def _one(
    key: Key, version: str, sample: Sample, a: Analysis, answers: Answered, asked: Questions | None = None
) -> Report:
    """One sample: its modes in a sentence, its components, its histogram; what was asked, where it is alone."""
    modes = a.modes
    places = _shown([mode.place for mode in modes], sample)
    name = f"{key.benchmark} ({version})" if version != key.benchmark else version
    if len(modes) > 1:
        first, *rest = (f"{case_share(m.share)} at {p}" for p, m in zip(places, modes, strict=True))
        at = ", ".join((first.replace(" at ", " of runs at "), *rest))
        order = _ORDERS.get(a.order.kind)
        line = f"{name}: {len(modes)} modes, {at}{f'; {order}' if order else ''}"
    else:
        line = f"{name}: one mode at {places[0]}" if modes else f"{name}: no mode of {FEW_RUNS} runs or more"
    notes = [Text(_histogram(sample), "dim")]
    if a.note:
        notes.append(Text(f"{a.note[:1].upper()}{a.note[1:]}.", "warning"))
    if a.test is not None and a.test.drawn is not None:
        notes.append(Text(f"Tested on {a.test.drawn:,} of the {a.n:,} values, drawn at random."))
    if a.compatible:
        count = plural(len(a.components), "component")
        notes.append(Text(f"VARCORE's rules: mclust's {count}, each peak of their density a mode (I4)."))
    if a.resolution is not None:
        grid = format_value(a.resolution, sample.unit)
        notes.append(Text(f"Values lie on a grid of {grid}; fit and test know of it."))
    if asked:
        titles = (column.title for column in _asked_columns(asked))
        answered = zip(titles, _answered(sample, answers), strict=True)
        notes += [Text(f"{title}: {answer.text}") for title, answer in answered]
    for k, part in enumerate(answers.observations or (), 1):
        if part:
            listed = ", ".join(format_values(part, sample.unit))
            notes.append(Text(f"Component {k}, {plural(len(part), 'value')}: {listed}"))
    if a.at_limit:
        most = f"{plural(len(a.components), 'component')}, the largest number tried: there may be more"
        notes.append(Text(f"{most} (--max-components).", "warning"))
    if too_few(a.n, len(a.components)):
        notes.append(Text(f"Fewer than {FEW_RUNS} values a component, which may be chance.", "warning"))
    fit = f"fit {_fit(a).text}"
    tables = (*((_families(a, sample.unit),) if a.families else ()), _components(sample, a))
    return Report(name, (Text(line, "strong", fit),), tables, tuple(notes))


def _families(a: Analysis, unit: str) -> Table:
    """The mixture among the families, the best first, by how much BIC falls short; their parameters."""
    mixture = f"mixture ({plural(len(a.components), 'component')})"
    rows = [
        (
            f.bic,
            f.name,
            "" if f.pvalue is None or a.test is None else _judged(f.pvalue, a.test.bootstraps),
            ", ".join(f"{of} {format_value(v, unit if of in _SIZES else '', 3)}" for of, v in f.parameters),
        )
        for f in a.families
    ]
    rows.append((a.bic, mixture, "" if a.test is None else _fit(a), ""))
    rows.sort(key=lambda row: -row[0])
    return Table.of(
        (Column("family"), *right("BIC"), Column("fit"), Column("parameters")),
        [(name, f"{bic - rows[0][0]:.1f}" if k else "best", *of) for k, (bic, name, *of) in enumerate(rows)],
    )


def _shown(places: Sequence[float], sample: Sample, digits: int = 4) -> list[str]:
    """Places among values, those beside which the values are huge as zero."""
    least = 1e-9 * float(abs(sample.values).max())
    kept = [place if abs(place) >= least else 0.0 for place in places]
    return format_values(kept, sample.unit, digits) if kept else []


def _components(sample: Sample, a: Analysis) -> Table:
    means = _shown([c.mean for c in a.components], sample, 5)
    sds = format_values([c.sd for c in a.components], sample.unit, 3)
    rows = (
        (str(k), f"{100 * c.weight:.1f} %", mean, sd)
        for k, (c, mean, sd) in enumerate(zip(a.components, means, sds, strict=True), start=1)
    )
    return Table.of(right("component", "weight", "mean", "deviation"), rows)


def _histogram(sample: Sample) -> str:
    """One line of block characters between the smallest and the largest value."""
    counts, _ = np.histogram(usual(sample.values), bins=_BINS)
    heights = np.ceil(counts / counts.max() * (len(_BARS) - 1)).astype(int)
    low, high = format_values([float(sample.values.min()), float(sample.values.max())], sample.unit)
    return f"{low} |{''.join(_BARS[h] for h in heights)}| {high}"


def _metrics(asked: Questions, models: Models, indices: Sequence[Indices | None]) -> Iterator[Report]:
    """I1 to I4 of every benchmark, counted in the samples and by the mixtures."""
    compared = [(*model[:3], of) for model, of in zip(models, indices, strict=True) if of]
    for key in dict.fromkeys(key for key, *_ in compared):
        group = [(version, sample.unit, of) for k, version, sample, of in compared if k == key]
        yield _metrics_of(key, group, *asked.delta)


def _metrics_of(key: Key, group: Sequence[tuple[str, str, Indices]], delta: float, unit: str) -> Report:
    base, others = group[0][1], len(group) > 1
    rows = [
        Row.of(
            Cell(name, "strong"),
            versus.other,
            *(format_value(gap, base, 3) for gap in versus.gap),
            *(f"{below:.4f}" for below in versus.below),
        )
        for name, _, indices in group
        for versus in indices.versus
    ]
    ahead = f" + {format_value(delta, unit or base)}" if delta else ""
    titles = right("I1 = E|X-Y|", "mixtures", f"I2 = P[X < Y{ahead}]", "mixtures")
    pairs = Table.of((Column("X", names=True), Column("Y", names=True), *titles), rows)
    alone = (
        Row.of(Cell(name, "strong"), *(f"{v:.4f}" for v in indices.least if others), str(indices.peaks))
        for name, _, indices in group
    )
    titles = right(*("I3 = P[X < all others]", "mixtures") * others, "I4 = peaks")
    tables = (*((pairs,) if rows else ()), Table.of((Column("version", names=True), *titles), alone))
    title = (
        "I1 to I4, counted in the samples and by the mixtures" if others else "I4, the peaks of its mixture"
    )
    return Report(f"{key.benchmark}: {title}", (), tables)


_KINDS = ("changed", "without a shown change", "without a claim")


def modes_report(
    comparisons: Sequence[ModeComparison],
    versions: tuple[str, str],
    *,
    everything: bool,
    details: bool,
) -> Report:
    """A row a benchmark, those whose modes changed first; ``details`` tells how far each mode moved."""
    old, new = names = spoken(versions)
    kinds = [_kind_of_modes(c) for c in comparisons]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in _KINDS if kind in kinds)
    counts = counts or "none; a mixture takes ten runs (processes) of each that are positive and differ"
    column, named = benchmark_column([c.benchmark for c in comparisons])
    before, after = (Column(f"modes of {name}", brief=name) for name in names)
    table = Table.by(
        sorted(comparisons, key=lambda c: (_KINDS.index(_kind_of_modes(c)), c.pvalue)),
        (column, lambda c: named(c.benchmark)),
        (before, lambda c: _places(c.reference_modes, c.unit)),
        (after, lambda c: _places(c.candidate_modes, c.unit)),
        (
            Column("what changed"),
            lambda c: Cell(_change(c), "strong" if _kind_of_modes(c) == "changed" else "dim"),
        ),
        (Column("E|X-Y|", right=True, drop=1), lambda c: format_value(c.gap, c.unit, 3)),
        (Column("P[Y<X]", right=True, drop=2), lambda c: f"{c.candidate_lower:.2f}"),
        row=lambda c: {"name": c.benchmark, "message": c.conclusion, "kind": _kind_of_modes(c)},
    )
    notes = [text for c in comparisons for text in _moves(c)] if details else []
    risk = f"(risk {percent(comparisons[0].alpha)} in each)" if comparisons else ""
    return Report(
        f"{new} against {old}: modes",
        (Text(f"Modes of {new} against {old}: {counts}", "strong", risk),),
        (folded(table, "changed", everything=everything),) if comparisons else (),
        tuple(notes),
    )


def _kind_of_modes(c: ModeComparison) -> str:
    if c.undermining:
        return "without a claim"
    return "changed" if c.vanished or c.appeared or c.moved or c.reweighted else "without a shown change"


def _change(c: ModeComparison) -> str:
    """The changes of the modes, in a few words."""
    if c.undermining:
        return f"no claim: {c.undermining[0].violated}"
    counts = (("vanished", len(c.vanished)), ("appeared", len(c.appeared)))
    parts = [f"{n} {what}" for what, n in counts if n]
    parts += ["moved"] if c.moved and not parts else []
    parts += ["other shares"] if c.reweighted else []
    return ", ".join(parts) or "no change shown"


def _moves(c: ModeComparison) -> Iterator[Text]:
    """Each mode of a benchmark that has several: where it was, where it is, how often."""
    if len(c.matched) < 2 or not (c.moved or c.reweighted):
        return
    for mode in c.matched:
        places = format_values([mode.reference, mode.candidate], c.unit)
        moved = f"{interval(mode.ratio, *of_metric(c.metric))}{'' if mode.moved else ' (not shown)'}"
        shares = f"{percent(mode.reference_share, 2)} to {percent(mode.candidate_share, 2)} of the runs"
        line = f"{c.benchmark}: the mode at {places[0]} is at {places[1]}, {moved}"
        yield Text(f"  {line}; from {shares}{'' if mode.reweighted else ' (not shown)'}.", "dim")


def _places(places: Sequence[float], unit: str) -> Cell:
    """The places of the modes, or their number if there is no room."""
    if not places:
        return Cell("-")
    shown = format_values(list(places), unit, 4)
    first = shown[0] if len(shown) == 1 else f"{shown[0]}, {len(shown) - 1} more"
    return Cell(", ".join(shown), shorter=(first,))


def states(models: Sequence[JointModel]) -> Report:
    """A row for each state of each version."""
    metrics = models[0].metrics
    several = len({m.benchmark for m in models}) > 1
    columns = (
        Column("benchmark" if several else "version", names=True),
        Column("version" if several else ""),
    )
    rows = []
    for m in models:
        for k, state in enumerate(m.states):
            names = (Cell(m.benchmark, "strong"), m.version) if several else (Cell(m.version, "strong"), "")
            levels = (
                f"{value_of(mean, unit)} ± {value_of(sd, unit)}"
                for mean, sd, unit in zip(state.means, state.deviations, m.units, strict=True)
            )
            shown = names if k == 0 else ("", "")
            rows.append(Row.of(*shown, percent(state.weight, 2), *levels, name=f"{m.benchmark} {m.version}"))
    counts = ", ".join(f"{plural(len(m.states), 'state')} of {m.version}" for m in models)
    if several:
        ends = sorted({len(m.states) for m in models})
        span = " to ".join(map(str, ends[:: max(len(ends) - 1, 1)]))
        counts = f"{span} {'state' if ends == [1] else 'states'} in {plural(len(models), 'sample')}"
    return Report(
        f"States of runs by {' and '.join(metrics)}",
        (Text(f"Runs by {' and '.join(metrics)}: {counts}", "strong", "(normal mixtures)"),),
        (Table.of((*columns, *right("runs", *metrics)), rows),),
        tuple(_compared(models, several=several)),
    )


def _compared(models: Sequence[JointModel], *, several: bool) -> Iterator[Text]:
    said: set[tuple[str, str, str]] = set()
    for m in models:
        where = f"{m.benchmark}: " if several else ""
        for other in m.others:
            often = f"a run of {m.version} is better than one of {other.version} in every metric in "
            often += f"{case_share(other.better)} of cases"
            gaps = ""
            if (m.benchmark, other.version, m.version) not in said:  # the distance back is the same
                far = zip(other.distances, m.units, m.metrics, strict=True)
                gaps = (
                    f"; mean distance {', '.join(f'{value_of(d, unit)} in {name}' for d, unit, name in far)}"
                )
            said.add((m.benchmark, m.version, other.version))
            yield Text(f"{where}{often}{gaps}.")
        if len(m.others) > 1:
            yield Text(
                f"{where}a run of {m.version} is better than one of each other version in {case_share(m.best)} "
                "of cases."
            )
