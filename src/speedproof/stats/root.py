"""Where a decreasing function of one number changes its sign."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["decreasing_root"]

_WIDEST = 1500.0  # logarithms of doubles lie within
_NARROW = 1e-11
_MOST_STEPS = 200


def decreasing_root(
    function: Callable[[float], float], low: float, high: float, *, narrow: float = _NARROW
) -> tuple[float, float]:
    """The ends of a narrow interval in which a decreasing function changes its sign.

    Parameters
    ----------
    function : callable
        Decreasing, possibly in steps.
    low, high : float
        Where it probably changes its sign; the interval is widened where it does not.
    narrow : float
        Width of the interval at which to stop, relative where its ends exceed 1.

    Returns
    -------
    (float, float)
        The function is positive at the first and not at the second; infinities where its sign never changes
        within the logarithms of doubles.

    Notes
    -----
    The Illinois variant of false position, with a halving whenever two steps did not halve the interval.

    Examples
    --------
    >>> low, high = decreasing_root(lambda v: 2.0 - v**3, 0.0, 1.0)
    >>> round(low, 8), low <= 2 ** (1 / 3) <= high
    (1.25992105, True)
    """
    width = high - low
    at_low = function(low)
    while not at_low > 0.0:
        high, width = low, 4.0 * width
        low -= width
        if low < -_WIDEST:
            return -float("inf"), high
        at_low = function(low)
    at_high = function(high)
    while at_high > 0.0:
        low, at_low, width = high, at_high, 4.0 * width
        high += width
        if high > _WIDEST:
            return low, float("inf")
        at_high = function(high)
    weight_low, weight_high = at_low, at_high
    before, since = high - low, 0
    for _ in range(_MOST_STEPS):
        if high - low <= narrow * max(1.0, abs(low), abs(high)):
            break
        middle = low + (high - low) * (weight_low / (weight_low - weight_high))
        if since == 2 or not low < middle < high:
            middle = 0.5 * (low + high)
        if since == 2:
            before, since = high - low, 0
        value = function(middle)
        if value > 0.0:
            low, weight_low, weight_high = middle, value, 0.5 * weight_high
        else:
            high, weight_high, weight_low = middle, value, 0.5 * weight_low
        since = since + 1 if high - low > 0.5 * before else 0
        before = before if since else high - low
    return low, high
