"""The noise floor: how much sessions of identical code differ, estimated from a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from speedproof.data.suite import Key
from speedproof.history.rows import IntArray, Measurements
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.stats.session_spread import SessionSpread, session_spreads

__all__ = ["noise_floor"]

_AT_95 = 1.959964  # the normal quantile of the stored intervals


def noise_floor(measured: Measurements, keys: Mapping[int, Key], store: str) -> NoiseFloor | None:
    """How much sessions of a commit on one machine differ, metric by metric; None when no commit has two.

    Anchors count as well: they are the commits with the most sessions.
    """
    several = _alone(measured)
    spreads: dict[Key, SessionSpread] = {}
    others: dict[str, SessionSpread] = {}
    for metric in {key.metric for key in keys.values()}:
        of = np.array([number for number, key in keys.items() if key.metric == metric])
        own = several.where(np.isin(several.series, of))
        inside = ((np.log(own.high) - np.log(own.low)) / (2.0 * _AT_95)) ** 2
        found, other = session_spreads(own.series, _groups(own), own.session, np.log(own.location), inside)
        spreads |= {keys[number]: spread for number, spread in found.items()}
        if other is not None:
            others[metric] = other
    return NoiseFloor(store, spreads, others) if spreads else None


def _groups(measured: Measurements) -> IntArray:
    """A number for each commit on each machine."""
    return measured.commit * (int(measured.machine.max(initial=0)) + 1) + measured.machine


def _alone(measured: Measurements) -> Measurements:
    """The measurements of commits that have several sessions on a machine, one value a session."""
    positive = measured.where((measured.location > 0.0) & (np.fmin(measured.low, 1.0) > 0.0))
    table = np.stack([positive.series, _groups(positive), positive.session], axis=1)
    _, first, at, count = np.unique(table, axis=0, return_index=True, return_inverse=True, return_counts=True)
    mean = np.bincount(at.reshape(-1), np.log(positive.location), minlength=count.size) / count
    once = replace(positive.where(first), location=np.exp(mean))
    _, cell, counts = np.unique(
        np.stack([once.series, _groups(once)], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    return once.where(counts[cell.reshape(-1)] > 1)
