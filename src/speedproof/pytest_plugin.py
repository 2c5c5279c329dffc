"""The fixture ``race`` for pytest: a test fails when a slowdown beyond a margin is proven.

::

    def test_the_new_parser_is_not_slower(race):
        race(old_parse, new_parse, args=[TEXT], margin=0.05)
"""

from __future__ import annotations

import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from speedproof import RaceResult


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare ``--race-seconds``."""
    group = parser.getgroup("speedproof")
    group.addoption(
        "--race-seconds",
        type=_seconds,
        default=2.0,
        metavar="S",
        help="what each race() may take before it is undecided, which passes (default: 2)",
    )


def _seconds(text: str) -> float:
    """A limit as argparse reads it."""
    from speedproof.values import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


class Racer:
    """What the fixture ``race`` is: call it with the old function and the new one."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._seconds = request.config.getoption("--race-seconds")

    def __call__(
        self,
        reference: Callable[..., object],
        candidate: Callable[..., object],
        *,
        margin: float | str = 0.05,
        confidence: float | str = 0.99,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        max_time: float | str | None = None,
        seed: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> RaceResult:
        """Race two functions; fail the test when the candidate is proven to be slower by more than the margin.

        Arguments are those of :func:`speedproof.race`, with defaults of their own: ``confidence`` is 0.99,
        ``margin`` 0.05, and ``max_time`` what ``--race-seconds`` says, 2.
        The result's ``verdict``, ``lower`` and ``upper`` may be asserted, too.
        """
        from speedproof.api.sessions import raced, request_of
        from speedproof.conclude.claims import Demand, Outcome
        from speedproof.errors import SpeedproofError
        from speedproof.measuring.runs import seed_or_new
        from speedproof.reporting.numbers import share

        __tracebackhide__ = True
        seed = seed_or_new(seed)
        longest = self._seconds if max_time is None else max_time
        try:
            # A race without a policy would stop at any difference.
            asked = request_of(
                longest, policy=Demand().policy, margin=margin, confidence=confidence, seed=seed
            )
            result = raced((reference, candidate), asked, args, kwargs, clock=clock)
        except SpeedproofError as error:
            raise error.with_traceback(None) from None  # the line of the test tells more
        if result.finding.outcome is Outcome.FAIL:
            (report,) = result.reports()
            answer = report.headline[0]
            pytest.fail(
                f"slower by more than {share(asked.measuring.margin or 0.0)}: {answer.text}; {answer.aside}, "
                f"{result.blocks} runs of each in the order of seed={seed}",
                pytrace=False,
            )
        return result


@pytest.fixture
def race(request: pytest.FixtureRequest) -> Racer:
    """Race two functions; the test fails when a slowdown beyond the margin is proven."""
    return Racer(request)
