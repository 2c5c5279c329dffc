"""What a user hands in, in Python or on the command line, checked once: shares, choices, suites, functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, SupportsFloat

from speedproof.data.checked import one_of
from speedproof.data.names import enumerate_names, version_of
from speedproof.errors import UsageError
from speedproof.stats.estimate import alpha_at

if TYPE_CHECKING:
    from speedproof.data.suite import Suite

_LEAST_RISK, _MOST_RISK = 1e-9, 0.5


def proportion(given: object) -> float:
    """A number between 0 and 1, or a percentage; neither end is allowed, and ValueError says what is wrong."""
    text = ""
    if isinstance(given, str):
        text = given.strip()
    elif isinstance(given, SupportsFloat) and not isinstance(given, bool):
        text = repr(float(given))
    number = text.removesuffix("%").rstrip()
    try:
        value = float(Decimal(number).scaleb(-2 if text.endswith("%") else 0))
    except InvalidOperation:
        raise ValueError(f"{given!r} is not a number") from None
    if not 0 < value < 1:
        percent = 1 <= value < 100 and number == text and not (isinstance(given, float) and value == 1)
        hint = f"; do you mean {Decimal(number).normalize():f}%?" if percent else ""
        raise ValueError(f"{given!r} does not lie between 0 and 1{hint}")
    return value


def risk(given: object) -> float:
    """A risk that the tests support; beyond one half a bound would fail more often than it holds."""
    value = proportion(given)
    if value > _MOST_RISK:
        raise ValueError(f"{given!r} is no risk but a confidence; do you mean {alpha_at(value):g}?")
    if value < _LEAST_RISK:
        raise ValueError(f"{given!r} is a risk below {_LEAST_RISK:g}, the smallest that the tests support")
    return value


def level(given: object) -> float:
    """A confidence, one minus such a risk."""
    value = proportion(given)
    if value < 1 - _MOST_RISK:
        raise ValueError(f"{given!r} is a risk; do you mean a confidence of {alpha_at(value):g}?")
    if 1 - value < 0.999999 * _LEAST_RISK:
        raise ValueError(
            f"{given!r} leaves a risk below {_LEAST_RISK:g}, the smallest that the tests support"
        )
    return value


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


def alpha_of(confidence: object) -> float:
    """The risk that a confidence leaves."""
    return alpha_at(confidence_given(confidence))


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


def callable_given(given: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(given):
        raise UsageError(
            f"a race is between functions, not {given!r}: sp.race(old, new); commands are sp.measure's"
        )
    if iscoroutinefunction(given) or isgeneratorfunction(given):
        raise UsageError(
            f"{given.__name__}: a call of it runs nothing yet; race functions that run it to its end"
        )
