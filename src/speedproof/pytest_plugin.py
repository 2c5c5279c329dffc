"""The fixture ``race`` for pytest: a test fails when a slowdown beyond a margin is proven.

::

    def test_the_new_parser_is_not_slower(race):
        race(old_parse, new_parse, args=[TEXT], margin=0.05)
"""

from __future__ import annotations

import time
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
        default="2",
        metavar="S",
        help="what each race() may take before it is undecided, which passes (default: 2)",
    )


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

        Arguments are as of :func:`speedproof.race`; ``max_time`` is by default what ``--race-seconds`` says, 2.
        The result's ``verdict``, ``lower`` and ``upper`` may be asserted, too.
        """
        from speedproof.api.run_plan import Request
        from speedproof.api.sessions import raced, seconds_given
        from speedproof.conclude.claims import Outcome
        from speedproof.declaring import proportion_given
        from speedproof.errors import SpeedproofError
        from speedproof.measuring.runs import seed_or_new
        from speedproof.measuring_options import until_decided
        from speedproof.reporting.numbers import share

        __tracebackhide__ = True
        seed = seed_or_new(seed)
        limit = ("--race-seconds", self._seconds) if max_time is None else ("max_time", max_time)
        try:
            margin = proportion_given("margin", margin)
            confidence = proportion_given("confidence", confidence, '0.99 or "99%"')
            m = until_decided(margin, confidence, seconds_given(*limit), seed)
            result = raced((reference, candidate), Request(m), args, kwargs, clock=clock)
        except SpeedproofError as error:
            raise error.with_traceback(None) from None  # the line of the test tells more
        if result.finding.outcome is Outcome.FAIL:
            (report,) = result.reports()
            answer = report.headline[0]
            pytest.fail(
                f"slower by more than {share(margin)}: {answer.text}; {answer.aside}, "
                f"{result.blocks} runs of each in the order of seed={seed}",
                pytrace=False,
            )
        return result


@pytest.fixture
def race(request: pytest.FixtureRequest) -> Racer:
    """Race two functions; the test fails when a slowdown beyond the margin is proven."""
    return Racer(request)
