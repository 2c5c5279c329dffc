"""The noise floor: how much sessions of identical code differ, estimated from a store."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import BoolArray, IntArray
from speedproof.data.suite import Key
from speedproof.history.rows import Measurements
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.stats.session_spread import SessionSpread, session_spreads

_AT_95 = 1.959964  # the normal quantile of the stored intervals


def noise_floor(measured: Measurements, keys: Mapping[int, Key], store: str) -> NoiseFloor | None:
    """How much sessions of a commit on one machine differ, metric by metric; None when no commit has two.

    Anchors count as well: they are the commits with the most sessions. A session of several commits, in which an
    alarm was measured again, does not count beside those of one: it tells ratios, on a day that the alarm chose.
    """
    # An anchor of exactly 1 is no measurement: another tool kept the ratios to it only.
    repeated = measured.where(_repeated(_cells(measured)))
    in_turns, cells = _of_several(measured)[repeated.session], _cells(repeated)
    several = _alone(repeated.where(~(in_turns & np.isin(cells, cells[~in_turns]))))
    spreads: dict[Key, SessionSpread] = {}
    others: dict[str, SessionSpread] = {}
    for metric in {key.metric for key in keys.values()}:
        of = np.array([number for number, key in keys.items() if key.metric == metric])
        of_metric = several.where(np.isin(several.series, of))
        inside = ((np.log(of_metric.high) - np.log(of_metric.low)) / (2.0 * _AT_95)) ** 2
        by_series, other = session_spreads(
            of_metric.series, _groups(of_metric), of_metric.session, np.log(of_metric.location), inside
        )
        spreads |= {keys[number]: spread for number, spread in by_series.items()}
        if other is not None:
            others[metric] = other
    return NoiseFloor(store, spreads, others) if spreads else None


def _of_several(measured: Measurements) -> BoolArray:
    """For each session number whether it measured several commits other than anchors."""
    of, commit = (column[~measured.anchor] for column in (measured.session, measured.commit))
    first = np.full(int(measured.session.max(initial=0)) + 1, len(measured.commits))
    last = np.zeros_like(first)
    np.minimum.at(first, of, commit)
    np.maximum.at(last, of, commit)
    return first < last


def _groups(measured: Measurements) -> IntArray:
    """A group number for each pair of commit and machine."""
    return measured.commit.astype(np.int64) * (int(measured.machine.max(initial=0)) + 1) + measured.machine


def _alone(measured: Measurements) -> Measurements:
    """The measurements of commits that have several sessions on a machine, one value a session."""
    several = measured.where(~(measured.anchor & (measured.location == 1.0)))
    positive = several.where((several.location > 0.0) & (np.fmin(several.low, 1.0) > 0.0))
    by_session = _cells(positive) * (int(positive.session.max(initial=0)) + 1) + positive.session
    _, first, at, count = np.unique(by_session, return_index=True, return_inverse=True, return_counts=True)
    mean = np.bincount(at, np.log(positive.location), minlength=count.size) / count
    once = replace(positive.where(first), location=np.exp(mean))
    return once.where(_repeated(_cells(once)))


def _cells(measured: Measurements) -> IntArray:
    """A group number for each triple of series, commit and machine."""
    groups = _groups(measured)
    return measured.series.astype(np.int64) * (int(groups.max(initial=0)) + 1) + groups


def _repeated(numbers: IntArray) -> BoolArray:
    """Which numbers occur more than once."""
    order = np.argsort(numbers)
    same = np.flatnonzero(numbers[order[1:]] == numbers[order[:-1]])
    repeated = np.zeros(numbers.size, dtype=np.bool_)
    repeated[order[same]] = repeated[order[same + 1]] = True
    return repeated
