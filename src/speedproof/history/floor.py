"""The noise floor: how much sessions of identical code differ, estimated from a store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from speedproof.history.tracks import Track

__all__ = ["NoiseFloor", "noise_floor"]


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """How much sessions of one commit differ.

    Attributes
    ----------
    deviation : float
        Standard deviation of a session's logarithm about its commit's mean.
    sessions : int
        Sessions of commits that were measured in more than one.
    degrees : int
        Degrees of freedom: sessions less commits.
    """

    deviation: float
    sessions: int
    degrees: int


def noise_floor(tracks: Sequence[Track]) -> NoiseFloor | None:
    """How much sessions of the same commit differ, pooled over tracks; None when no commit has two sessions."""
    squares, sessions, degrees = 0.0, 0, 0
    for track in tracks:
        counts = np.diff(track.starts, append=track.at.size)
        if counts.size == 0 or counts.max() < 2:
            continue
        rest = track.values - np.repeat(track.level, counts)
        squares += float(np.square(rest).sum())  # 0 where a commit has one session
        sessions += int(counts[counts > 1].sum())
        degrees += int((counts[counts > 1] - 1).sum())
    return NoiseFloor(math.sqrt(squares / degrees), sessions, degrees) if degrees else None
