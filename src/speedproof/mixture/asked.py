"""What people ask of fitted mixtures: quantiles, shares below a value, and how versions compare by I1 to I4."""

from __future__ import annotations

from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.errors import UsageError
from speedproof.mixture.metrics import compare
from speedproof.mixture.model import MixtureModel
from speedproof.mixture.results import LIMITS_RISK, Analysis, Answered, Indices, Models, Questions, Versus
from speedproof.stats.quantile_ratio import quantile_limits


def answers(asked: Questions, sample: Sample, a: Analysis) -> Answered:
    """What the mixture of one sample answers."""
    model = _model(a)
    units = sample.per_process("median") if sample.nested else sample
    return Answered(
        [(p, float(model.ppf(p))) for p in asked.quantiles],
        [quantile_limits(units.values, p, LIMITS_RISK) for p in asked.quantiles],
        [(v, float(model.cdf(v))) for v, unit in asked.below if _fits(unit, sample)],
        [part.tolist() for part in model.clusters(sample.values)] if asked.observations else None,
    )


def indices(asked: Questions, models: Models) -> list[Indices | None]:
    """I1 to I4 of each version of each benchmark, where they are asked for."""
    delta, unit = asked.delta
    if not asked.metrics or (delta and not all(_fits(unit, sample) for _, _, sample, _ in models)):
        return [None] * len(models)
    of: dict[tuple[Key, str], Indices] = {}
    for key in dict.fromkeys(key for key, *_ in models):
        group = [m for m in models if m[0] == key]
        forms = (
            compare([s.values for _, _, s, _ in group], delta=delta),
            compare([_model(a) for *_, a in group], delta=delta),
        )
        for i, (_, version, _, _) in enumerate(group):
            others = tuple(
                Versus(
                    other,
                    (float(forms[0].gaps[i, j]), float(forms[1].gaps[i, j])),
                    (float(forms[0].below[i, j]), float(forms[1].below[i, j])),
                )
                for j, (_, other, _, _) in enumerate(group)
                if i != j
            )
            least = (float(forms[0].least[i]), float(forms[1].least[i]))
            of[key, version] = Indices(others, least, (forms[1].modes or ())[i])
    return [of[key, version] for key, version, *_ in models]


def _model(a: Analysis) -> MixtureModel:
    return MixtureModel(*zip(*((c.weight, c.mean, c.sd) for c in a.components), strict=True))


def _fits(unit: str, sample: Sample) -> bool:
    if unit in ("", sample.unit):
        return True
    raise UsageError(
        f"the values of {sample.label or 'a sample'} are in {sample.unit or 'no unit'}, not in {unit}"
    )
