"""Which commit changed the speed: a bisection that may say "nothing changed"."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from numbers import Real
from pathlib import Path
from statistics import median

from speedproof.api.given import alpha_of
from speedproof.data.checked import checked
from speedproof.data.session_file import EndLine
from speedproof.declaring import proportion_given
from speedproof.errors import SpeedproofError, UsageError
from speedproof.measuring.commits import BisectRequest as BisectRequest
from speedproof.measuring.commits import CommitRunner, FailedRunError, head_of, recalled
from speedproof.measuring.execute import RunError
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.revisions import resolve
from speedproof.measuring.runs import RunLoop, block_order, seed_or_new
from speedproof.measuring.store import ResultsFile
from speedproof.measuring.system import busy
from speedproof.protocols.bisection import Bisection, Stage
from speedproof.protocols.bisection import BisectionFinding as BisectionFinding
from speedproof.reporting.bisection import BisectResult as BisectResult

INTERRUPTED = "interrupted"
"""The reason given when Ctrl-C ends a bisection."""


@checked()
def bisect(
    commits: Sequence[str],
    run: Callable[[str], float],
    *,
    confidence: float | str = 0.95,
    min_change: float | str = 0.01,
    max_pairs: int = 200,
    seed: int | None = None,
) -> BisectResult:
    """Find the commit that changed the speed, or learn that none did.

    Parameters
    ----------
    commits : sequence of str
        Oldest first, both ends included; different from each other.
    run : callable
        Measures one run of a commit: its time, positive. A SpeedproofError that it raises leaves the commit out,
        as one that cannot be built. Values that never vary count as
        exact to their last digit.
    confidence : float or str
        That a change is claimed only where there is one, and that the culprit differs from its parent.
    min_change : float or str
        Relative, ``0.01`` or ``"1%"``: the search ends when the ends are proven to differ by less.
    max_pairs : int
        Of runs.
    seed : int, optional
        Of the order within pairs; a fresh one by default.

    Returns
    -------
    BisectResult
        ``culprit``, ``credible`` and the proofs in ``finding``.

    Raises
    ------
    SpeedproofError
        Fewer than two commits, one given twice, a time that is not positive, or an end that cannot be measured.

    Examples
    --------
    >>> import speedproof as sp
    >>> seconds = {"v1": 1.0, "a": 1.01, "b": 1.3, "c": 1.31, "v2": 1.3}
    >>> r = sp.bisect(list(seconds), seconds.__getitem__, seed=1)
    >>> r.culprit, round(r.finding.step, 2)
    ('b', 1.29)
    """
    min_change = proportion_given("min_change", min_change, '0.01 or "1%"')
    _check(commits)
    search = Bisection(len(commits), alpha=alpha_of(confidence), min_change=min_change)
    drawn = seed_or_new(seed)
    for _ in _searched(search, commits, lambda name, block, place: run(name), drawn):
        if search.pairs >= max_pairs:
            break
    return BisectResult(search.finding(), tuple(commits), min_change)


def _check(commits: Sequence[str]) -> None:
    if len(commits) < 2:
        raise UsageError(
            "a bisection needs at least two commits: one from before the change, one from after it"
        )
    if twice := {name for name in commits if commits.count(name) > 1}:
        raise UsageError(f"{min(twice)} is among the commits twice")


def _searched(
    search: Bisection,
    commits: Sequence[str],
    run: Callable[[str, int, int], float],
    seed: int,
    *,
    ready: Callable[[str, int], object] = lambda name, block: None,
    runs: int = 1,
    spared: type[SpeedproofError] = SpeedproofError,
    forgiven: int = 0,
    tell: Callable[[str], object] = lambda text: None,
    higher: bool = False,
    block: int = 0,
) -> Iterator[Stage]:
    """Measure pair by pair, each in random order, until all is proven; a pair that fails is a block, too.

    What each pair was for. So many failed runs of a commit in a row are ``forgiven``, each with its pair.
    """
    in_a_row = dict.fromkeys(range(len(commits)), 0)
    while (pair := search.next()) is not None:
        stage = search.stage()
        orders = [
            block_order(pair, seed=seed, benchmark=0, block=block * runs + again) for again in range(runs)
        ]
        times: dict[int, list[float]] = {position: [] for position in pair}
        try:
            for position in orders[0]:
                ready(commits[position], block)
            for place, position in enumerate(itertools.chain.from_iterable(orders)):
                times[position].append(run(commits[position], block, place))
        except spared as error:
            # Both sides are made ready, and run, in turns: the one that failed is the last that was turned to.
            in_a_row[position] += 1
            if isinstance(error, FailedRunError) and in_a_row[position] <= forgiven:
                tell(f"does not count: {error.on_command_line()}")
            elif position in (0, len(commits) - 1):
                raise
            else:
                search.skip(position)
                tell(f"left out: {error.on_command_line()}")
        else:
            in_a_row |= dict.fromkeys(pair, 0)
            values = [_typical(commits[i], times[i]) for i in pair]
            search.add(*pair, *(reversed(values) if higher else values))
            yield stage
        block += 1


def _typical(name: str, times: Sequence[float]) -> float:
    """The median run of one side of a pair; refuse what is not a time."""
    for seconds in times:
        if not isinstance(seconds, Real):
            raise UsageError(
                f"run gave {seconds!r} for {name}: it is to return the time of one run, a number"
            )
        if not 0 <= seconds < math.inf:
            raise UsageError(f"{name} took {seconds!r}; a time is positive and finite")
    if not (typical := median(times)):
        raise UsageError(
            f"{name} took {typical!r}: too short for the clock that decides: make runs longer, or decide otherwise"
        )
    return typical


def bisect_revisions(
    request: BisectRequest,
    file: Path,
    *,
    max_time: float,
    tell: Callable[[str], object],
    watch: Callable[[str, Callable[[], BisectionFinding]], object],
) -> BisectResult:
    """Bisect revisions of a repository, building what is needed; every run is kept in a file.

    ``watch`` is told after each pair what it was for, and what finds out what is known.
    """
    revisions = {r.name: r for r in resolve(Path(request.repository), request.commits)}
    names = tuple(revisions)
    _check(names)
    search = Bisection(len(names), alpha=alpha_of(request.confidence), min_change=request.min_change)
    before = recalled(file, request, names)
    for block in before.pairs:
        if isinstance(block, int):
            search.skip(block)
        else:
            search.add(*block)
    head = head_of(request, names, before.heads)
    with ResultsFile(file) as store:
        store.append(head)
        reason = "stopped"
        try:
            with ExitStack() as held:
                output = request.output
                executor = CommandExecutor(
                    timeout=request.timeout, capture=bool(output), output_metrics=output
                )
                runs = RunLoop(
                    head, executor, time.monotonic, store.append, request.decide_by, ignore_failure=True
                )
                runner = CommitRunner(request, revisions, runs, held, builds=before.builds, tell=tell)
                for stage in _searched(
                    search,
                    names,
                    runner.run,
                    request.seed,
                    ready=runner.ready,
                    runs=request.runs,
                    spared=RunError,
                    forgiven=request.forgiven,
                    tell=tell,
                    higher=request.higher,
                    block=before.block,
                ):
                    watch(stage.value, search.finding)
                    if runner.spent >= max_time:
                        reason = f"{max_time:g} s were allowed"
                        break
                else:
                    reason = "decided"
        except KeyboardInterrupt:
            reason = INTERRUPTED
        except (SpeedproofError, OSError):
            if not (search.pairs or before.block):
                file.unlink(missing_ok=True)
            raise
        finally:
            store.append(EndLine(head.session, reason))
    varied = request.fresh if request.build else None
    load = busy(*(float(one.environment.get("load", "0")) for one in (*before.heads, head)))
    return BisectResult(
        search.finding(), names, request.min_change, request.decide_by, str(file), reason, varied, load
    )
