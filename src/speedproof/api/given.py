"""What a user hands in, in Python or on the command line, checked once: choices, suites, functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from speedproof.data.checked import one_of
from speedproof.data.names import enumerate_names, version_of
from speedproof.errors import Parameter, UsageError
from speedproof.values import any_level, level, proportion

if TYPE_CHECKING:
    from speedproof.data.suite import Suite
    from speedproof.protocols.noise_floor import NoiseFloor


def proportion_given(
    name: str,
    given: object,
    example: str = '0.02 or "2%"',
    kind: Callable[[object], float] = proportion,
) -> float:
    """What an argument of this name says as a share; UsageError says what is wrong."""
    try:
        return kind(given)
    except (ValueError, TypeError) as error:
        remedy = "" if str(error).endswith("?") else f"; give {example}"
        raise UsageError(f"{name}={error}{remedy}") from None


def margin_given(margin: object) -> float | None:
    """The margin that somebody gave: 0.02, "2%" or None."""
    return None if margin is None else proportion_given("margin", margin)


def confidence_given(confidence: object) -> float:
    """A confidence that somebody gave: 0.95 or "95%"."""
    return proportion_given("confidence", confidence, '0.95 or "95%"', level)


def alpha_of(confidence: object, kind: Callable[[object], float] = level) -> float:
    """The risk that a confidence leaves."""
    from speedproof.stats.estimate import alpha_at

    return alpha_at(proportion_given("confidence", confidence, '0.95 or "95%"', kind))


def any_alpha(confidence: object) -> float:
    """The same of a confidence that may lie below one half."""
    return alpha_of(confidence, any_level)


def version_given(name: str, versions: Sequence[str], where: str = "") -> str:
    """The version that is meant: by its name, the short one of a report, part of its path, or a commit's hash."""
    meant = version_of(name, versions)
    if meant in versions:
        return meant
    from difflib import get_close_matches

    from speedproof.reporting.names import short_names, spoken

    short = short_names(versions)
    told = dict(zip(versions, spoken(versions), strict=True))
    for called in (
        [v for v in versions if name in (short[v], told[v])],
        [v for v in versions if name in v.split("/")],
        [v for v in versions if any(part.endswith(f"-{name}") for part in v.split("/"))],
    ):
        if len(called) == 1:
            return called[0]
    name = name if len(name) <= 40 else f"{name[:39]}…"
    near = get_close_matches(name[:200], short.values(), 3, 0.0)
    raise UsageError(
        f"{where and f'{where}: '}there is no version {name}; "
        + (
            f"available: {', '.join(short.values())}"
            if len(versions) <= 4
            else f"the nearest of {len(versions)} are {', '.join(near)}"
        )
    )


def components_given(**asked: int | None) -> None:
    """Refuse numbers of components that no mixture has."""
    from speedproof.mixture.em import K_LIMIT

    for name, given in asked.items():
        if given is not None and not 1 <= given <= K_LIMIT:
            raise UsageError(Parameter(name, given), f": expected 1 to {K_LIMIT} components")


def no_step() -> None:
    """What is called after each step by default: nothing."""


def two_versions(
    suite: Suite, reference: str | None, candidate: str | None, what: str = "a gate"
) -> tuple[str, str]:
    """The versions of what compares one with one other."""
    first, others = suite.sides(reference)
    if candidate is None and len(others) > 1:
        raise UsageError(
            f"{what} compares one version with one other, and there are {enumerate_names(suite.versions)}: choose "
            "with reference= and candidate="
        )
    if candidate is None:
        return first, others[0]
    candidate = version_of(candidate, others)
    one_of("candidate", candidate, others)
    return first, candidate


def of_metric(suite: Suite, metric: str | None) -> Suite:
    """The part of a suite that is asked for: one metric, by default the main one, as on the command line."""
    return suite.select(metric=metric) if suite.samples else suite


def floor_of(store: str | os.PathLike[str]) -> NoiseFloor:
    """How much sessions of one commit differ in a store; a store that cannot tell is refused."""
    where = os.fspath(store)
    from speedproof.api.history import History

    found = History(where).floor()
    if found is None:
        raise UsageError(
            f"{where}: no commit was measured in two sessions on one machine, so how much sessions differ is not "
            "known; measure one again and add it with 'speedproof history add FILE --commit REV'"
        )
    return found


def callable_given(given: Any) -> None:
    """Refuse what cannot be called, or runs nothing when it is."""
    from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

    if not callable(given):
        raise UsageError(
            f"a race is between functions, not {given!r}: sp.race(old, new); commands are sp.measure's"
        )
    if any(never(given) for never in (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)):
        raise UsageError(
            f"{getattr(given, '__name__', given)}: a call of it runs nothing yet; race functions that run it to "
            "its end"
        )
