"""What a user hands in, in Python or on the command line, checked once: choices, suites, functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from speedproof.data.checked import one_of
from speedproof.data.names import enumerate_names, version_given
from speedproof.declaring import EXAMPLES, Option, fields, proportion_given, read_given
from speedproof.errors import Parameter, UsageError
from speedproof.options import ANY_LEVEL, decider_of, quantile_name, quantile_of
from speedproof.values import any_level, level, quantile, rest

if TYPE_CHECKING:
    from msgspec import Struct

    from speedproof.data.suite import Pairing, Suite
    from speedproof.measuring_options import Measuring
    from speedproof.options import Judging, QuestionName, SessionAsked
    from speedproof.protocols.noise_floor import NoiseFloor
    from speedproof.protocols.pair import Rules


def quantile_given(given: object) -> float:
    """Parse a quantile."""
    return proportion_given("quantile", given, EXAMPLES["Q"], quantile)


def question_given(
    protocol: Any, choices: Iterable[str], quantile: object = None, *, name: str = "protocol"
) -> Any:
    """The name of a question: one of the choices or of any quantile, which may be given as a number."""
    if quantile is not None:
        return quantile_name(quantile_given(quantile))
    if quantile_of(str(protocol)) is None:
        one_of(name, protocol, choices)
    return protocol


S = TypeVar("S", bound="Struct")
_SHOWN = 5  # lines of an error


def options_of(kind: type[S], **given: object) -> S:
    """An options struct from keyword arguments, each parsed as its field declares."""
    values = dict(given)
    for field in fields(kind):
        option, value = field.asked, given.get(field.name)
        if isinstance(option, Option) and option.parser is not None and value is not None:
            example = EXAMPLES.get(option.metavar, "")
            values[field.name] = read_given(field.name, value, example, option.parser)
    return kind(**values)


def confidence_of(risk: Judging | Measuring) -> float:
    """The confidence asked for, given directly or as a risk."""
    if risk.alpha is not None:
        return rest(risk.alpha)
    return 0.95 if risk.confidence is None else risk.confidence


def as_measured(judging: Judging, asked: SessionAsked) -> Judging:
    """Fill in the margin and confidence of sessions where none were given."""
    if judging.margin is None:
        judging = replace(judging, margin=asked.margin)
    if judging.alpha is None and judging.confidence is None:
        judging = replace(judging, confidence=asked.confidence)
    return judging


def quantile_measured(asked: SessionAsked) -> QuestionName | None:
    """The quantile question that sessions were measured to decide, or None."""
    _, q = decider_of(asked.decide_by)
    return None if q is None else quantile_name(q)


def rules_of(judging: Judging, protocols: Sequence[str] = ()) -> Rules:
    """The comparison rules that these options specify; the 2009 text alone has confidences below one half."""
    from speedproof.protocols.pair import Rules

    return Rules(
        alpha=alpha_of(confidence_of(judging), any_level if tuple(protocols) == ANY_LEVEL else level),
        nested=judging.nested,
        always_welch=judging.always_welch,
        ks_rule=judging.ks_rule,
        margin=judging.margin,
        bootstrap=judging.bootstrap,
    )


def sharing_risk(rules: Rules, suite: Suite, candidates: Sequence[str]) -> Rules:
    """The rules for each candidate: candidates measured in the same session share its risk."""
    return replace(rules, alpha=rules.alpha / sharing(suite, candidates))


def sharing(suite: Suite, candidates: Sequence[str]) -> int:
    """How many candidates share a risk: those measured in the same session."""
    from speedproof.data.sample import Trait

    if len(candidates) < 2 or not all(Trait.RANDOM_ORDER in s.traits for s in suite.samples.values()):
        return 1
    sessions: dict[str, set[str]] = {}  # that all versions of a benchmark have
    for (key, _), sample in suite.samples.items():
        names = set(sample.session_names or ("",))
        sessions[key.benchmark] = sessions.get(key.benchmark, names) & names
    return len(candidates) if all(sessions.values()) else 1


def alpha_of(confidence: object, kind: Callable[[object], float] = level) -> float:
    """The risk that corresponds to a confidence level."""
    return rest(proportion_given("confidence", confidence, EXAMPLES["LEVEL"], kind))


def components_given(**asked: int | None) -> None:
    """Refuse numbers of components that no mixture has."""
    from speedproof.mixture.em import K_LIMIT

    for name, given in asked.items():
        if given is not None and not 1 <= given <= K_LIMIT:
            raise UsageError(Parameter(name, given), f": expected 1 to {K_LIMIT} components")


def no_step() -> None:
    """The default callback after each step, which does nothing."""


def two_versions(suite: Suite, reference: str | None, candidate: str | None, what: str) -> tuple[str, str]:
    """The reference and the candidate of a command that compares exactly two versions."""
    first, others = suite.sides(reference)
    if candidate is None and len(others) > 1:
        raise UsageError(
            f"{what} compares one version with one other, and there are {enumerate_names(suite.versions)}: choose "
            "with reference= and candidate="
        )
    if candidate is None:
        return first, others[0]
    return first, version_given(candidate, others)


def of_metric(suite: Suite, metric: str | None) -> Suite:
    """The part of a suite that is asked for: one metric, by default the main one, as on the command line."""
    return suite.select(metric=metric) if suite.samples else suite


def floor_of(store: str | os.PathLike[str] | None) -> NoiseFloor | None:
    """How much sessions of one commit differ in a store, where one is given; one that cannot tell is refused."""
    if store is None:
        return None
    where = os.fspath(store)
    from speedproof.api.history import History

    floor = History(where).floor()
    if floor is None:
        raise UsageError(
            f"{where}: no commit was measured in two sessions on one machine, so how much sessions differ is not "
            "known; measure one again and add it with 'speedproof history add FILE --commit REV'"
        )
    return floor


def something_common(suite: Suite, reference: str, pairings: Mapping[str, Pairing]) -> None:
    """Refuse candidates none of which has a benchmark to compare, naming what each side has."""
    if any(pairing.pairs for pairing in pairings.values()):
        return
    lines, remedy = [], list[str | Parameter]()
    tools = {s.tool for s in suite.samples.values()}
    for candidate, pairing in pairings.items():
        lines += [why for _, why in pairing.incomparable]
        if not all(
            suite.samples[key, v].unit for key, _ in pairing.incomparable for v in (reference, candidate)
        ):
            remedy = [Parameter("unit", "UNIT"), " says what plain numbers are in"]
        lacking = {reference: pairing.only_reference, candidate: pairing.only_candidate}
        for metric in suite.metrics:
            sides = {v: [k.benchmark for k in keys if k.metric == metric] for v, keys in lacking.items()}
            lines += each_has(sides, metric)
            if any(tools) and len(sides[reference]) == len(sides[candidate]) > 0:
                remedy = [Parameter("match", "position"), " compares them by their places, "]
                remedy += [Parameter("by", "FIELD"), " makes versions of a parameter"]
            elif "hyperfine" in tools:
                remedy = ["FILE:COMMAND takes one command of a file"]
    raise nothing_common(lines, *remedy)


def each_has(sides: Mapping[str, Sequence[str]], metric: str) -> list[str]:
    """A line a version with the benchmarks that others lack; none where no version has any."""
    some = {version: enumerate_names(names, 5) or "none" for version, names in sides.items()}
    return [f"{version} has {names} ({metric})" for version, names in some.items() if any(sides.values())]


def nothing_common(lines: Iterable[str], *remedy: str | Parameter) -> UsageError:
    """The error of versions without a common benchmark: what each has, and what may match them."""
    lines = list(dict.fromkeys(lines))
    if len(lines) > _SHOWN + 1:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN} more"]
    detail = [f"\n  {line}" for line in lines]
    cure = ("\n  ", *remedy) if remedy else ()
    return UsageError("no benchmark and metric that all sides have can be compared:", *detail, *cure)
