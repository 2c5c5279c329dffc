"""What happened while measuring that the risk of a verdict does not cover, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speedproof.measure.outcome import Tally

__all__ = ["of_blocks", "of_programs", "of_runs"]

# Where more blocks than this are cut short, their lengths choose which blocks count.
_CUT_SHARE = 0.1


def of_runs(tallies: Sequence[Tally], metric: str) -> Iterator[str]:
    """Runs that were left out, and processes that were left behind.

    Parameters
    ----------
    tallies : sequence of Tally
        Of the versions that are compared.
    metric : str
        The one that decides.

    Yields
    ------
    str
        Dropping a block for what happened in it may drop the slow ones: nothing is proven of those left.

    Examples
    --------
    >>> print(*of_runs([Tally("b", "new", runs=8, failed=2)], "time"))
    2 of 8 runs of new failed: what is said holds for those that succeed, and the bounds are not proven
    """
    for t in tallies:
        if t.failed:
            yield (
                f"{t.failed} of {t.runs} runs of {t.version} failed: what is said holds for those that succeed, "
                "and the bounds are not proven"
            )
        if t.lacking:
            yield (
                f"{t.lacking} of {t.runs} runs of {t.version} had no value of {metric!r} to compare: what is said "
                "holds for those that have one, and the bounds are not proven"
            )
        if t.left_behind:
            yield (
                f"{t.left_behind} of {t.runs} runs of {t.version} left processes running, whose work is not in "
                "its values and disturbs the next runs"
            )


def of_programs(replaced: Sequence[str]) -> Iterator[str]:
    """Versions whose program was another one at the end."""
    for name in replaced:
        yield f"the program of {name} was replaced while it was measured: its runs are of two programs"


def of_blocks(cut: int, blocks: int) -> Iterator[str]:
    """Blocks that an interrupt cut short, of all blocks of the earlier sessions."""
    if cut > _CUT_SHARE * blocks:
        yield (
            f"{cut} of {blocks} earlier blocks were cut short and left out: long ones are cut more often, which "
            "may favour a version"
        )
