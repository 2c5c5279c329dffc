"""Special functions, the gamma distribution, and where a monotone function crosses a level.

References for the gamma distribution: M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 6.3.18,
6.5.29; N. M. Temme, SIAM Journal on Mathematical Analysis 10, 1979, 757-766; T. P. Minka, Estimating a gamma
distribution, 2002.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from speedproof.arrays import ArrayLike, ArrayPair, BoolArray, FloatArray, extension

COMPILED = extension("stats._scores")
# The inner formulas are plain arithmetic: the same text serves one float (a single pair is cheap) and arrays.
Number = float | FloatArray

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2PI = math.sqrt(2.0 * math.pi)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_FEW = 16
_EPS = 2.0**-52
_MOST_TERMS = 10_000  # of the fraction; it takes tens, and the square root of the largest parameter at worst


def ndtr(x: ArrayLike) -> FloatArray:
    """Distribution function of the standard normal distribution."""
    z = np.asarray(x, dtype=np.float64) * -_SQRT_HALF
    return 0.5 * np.fromiter(map(math.erfc, z.ravel().tolist()), np.float64, z.size).reshape(z.shape)


def ndtri(p: ArrayLike) -> FloatArray:
    """Quantile of the standard normal distribution."""
    q = np.atleast_1d(np.asarray(p, dtype=np.float64))
    centred = q - 0.5
    quantile = _rational(_CENTRAL, 0.180625 - centred * centred) * centred
    beyond = np.abs(centred) > 0.425
    if beyond.any():
        outer = q[beyond]
        least = np.minimum(outer, 1.0 - outer)
        r = np.sqrt(-np.log(np.where(least > 0.0, least, 0.5)))
        tail, far = _rational(_MIDDLE, r - 1.6), r > 5.0
        tail[far] = _rational(_FAR, r[far] - 5.0)
        tail = np.where(least > 0.0, tail, np.where(least == 0.0, np.inf, np.nan))
        quantile[beyond] = np.copysign(tail, outer - 0.5)
    return quantile.reshape(np.shape(p))


def _rational(coefficients: tuple[tuple[float, ...], tuple[float, ...]], r: FloatArray) -> FloatArray:
    above, below = (np.full(r.shape, of[-1]) for of in coefficients)
    for value, of in zip((above, below), coefficients, strict=True):
        for coefficient in of[-2::-1]:
            value *= r
            value += coefficient
    return np.asarray(above / below)


# M. J. Wichura, "Algorithm AS 241", Applied Statistics 37(3), 1988: numerator and denominator, lowest power
# first, near the median, in the tails and far out.
_CENTRAL = (
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
     21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
_MIDDLE = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230,
     0.0265321895265761230930, 1.24266094738807843860e-3, 2.71155556874348757815e-5,
     2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


@lru_cache(maxsize=256)
def normal_quantile(p: float) -> float:
    """`ndtri` of one probability, remembered: a whole suite asks for the same few."""
    return float(ndtri(p))


def _stirling_series(z: Number) -> Number:
    r = 1.0 / (z * z)
    tail = r * (1 / 1188 - r * (691 / 360360 - r / 156))
    return (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - tail)))) / z


def _stirling_error(z: Number) -> Number:
    """Log of gamma(z) minus Stirling's formula, z > 0."""
    if isinstance(z, float):
        if z >= 10.0:
            return float(_stirling_series(z))
        return math.lgamma(z) - (z - 0.5) * math.log(z) + z - _HALF_LOG_2PI
    error = np.asarray(_stirling_series(np.maximum(z, 10.0)))
    small = z < 10.0
    v = z[small]
    logs = np.array([*map(math.lgamma, v.tolist())])
    error[small] = logs - (v - 0.5) * np.log(v) + v - _HALF_LOG_2PI
    return error


def _ordered(keep: bool | BoolArray, a: Number, b: Number) -> tuple[Number, Number]:
    """(a, b), or (b, a) where ``keep`` is false."""
    if isinstance(keep, bool):
        return (a, b) if keep else (b, a)
    return np.where(keep, a, b), np.where(keep, b, a)


def _both(function: Callable[..., tuple[Number, Number]], *given: FloatArray) -> ArrayPair:
    """Both values of a function of floats or arrays: up to so many elements a loop over floats is quicker."""
    shape = np.broadcast_shapes(*(v.shape for v in given))
    if math.prod(shape) > _FEW:
        first, second = function(*given)
        return np.asarray(first), np.asarray(second)
    rows = zip(*(np.broadcast_to(v, shape).ravel().tolist() for v in given), strict=True)
    pairs = np.array([function(*row) for row in rows], dtype=np.float64).reshape(*shape, 2)
    return pairs[..., 0], pairs[..., 1]


def _fraction(a: Number, b: Number, x: Number, y: Number) -> Number:
    """Continued fraction of the incomplete beta function: I_x(a, b) = power term / fraction.

    Evaluated by Lentz's method; wants x <= (a + 1) / (a + b + 2), y = 1 - x.
    """
    start = a * y - b * x + 1.0
    fraction = a * start / (a + 1.0)
    c, d = fraction, 0.0 * fraction
    if COMPILED is not None and isinstance(start, np.ndarray):
        table = np.array([a, b, x, y, start, fraction, c, d])
        COMPILED.fraction(table, _MOST_TERMS, _EPS)
        return np.asarray(table[5])
    for m in map(float, range(1, _MOST_TERMS)):
        am = a + m
        ratio = x / (am + (m - 1.0))
        cross = m * (b - m) * ratio
        numerator = (am - 1.0) * (a + b + (m - 1.0)) * ratio * cross
        term = m + cross + am * (start + m * (1.0 + y)) / (am + (m + 1.0))
        d = 1.0 / (term + numerator * d)
        c = term + numerator / c
        step = c * d
        fraction = fraction * step
        # asked so that NaN, which no term will mend, does not go on
        if not ((abs(step - 1.0) > _EPS).any() if isinstance(step, np.ndarray) else abs(step - 1.0) > _EPS):
            break
    return fraction


def _beta_tails(a: Number, b: Number, x: Number, y: Number) -> tuple[Number, Number]:
    """I_x(a, b) and its complement for 0 < x < 1, each accurate where it is small; y = 1 - x."""
    s = a + b
    # x^a y^b / B(a, b) with the leading terms of the exponent cancelled by hand: what remains are Loader's
    # deviances r - 1 - log(r), which vanish at the mean
    at_x, at_y = x * s / a, y * s / b
    exponent = _stirling_error(s) - _stirling_error(a) - _stirling_error(b)
    exponent = exponent - a * (at_x - 1.0 - np.log(at_x)) - b * (at_y - 1.0 - np.log(at_y))
    power = np.exp(exponent) * np.sqrt(a / s * b) / _SQRT_2PI
    # the side of the mean on which the fraction converges; the power term is the same on both
    below = x * (s + 2.0) <= a + 1.0
    tail = power / _fraction(*_ordered(below, a, b), *_ordered(below, x, y))
    return _ordered(below, tail, 1.0 - tail)


def _tails(a: FloatArray, b: FloatArray, x: FloatArray, y: FloatArray) -> ArrayPair:
    """I_x(a, b) and its complement; broadcasts; 0, 1 and NaN are their own images."""
    inside = (x > 0.0) & (y > 0.0)
    lower, upper = _both(_beta_tails, a, b, np.where(inside, x, 0.5), np.where(inside, y, 0.5))
    return np.where(inside, lower, x), np.where(inside, upper, y)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> FloatArray:
    """Regularised incomplete beta function I_x(a, b)."""
    a, b, x = (np.asarray(v, dtype=np.float64) for v in (a, b, x))
    return _tails(a, b, x, 1.0 - x)[0]


def beta_ppf(q: float, a: float, b: float) -> float:
    """Quantile of the beta distribution, by bisection down to neighbouring floats."""
    if q <= 0.0 or q >= 1.0:
        return float(q >= 1.0)
    shapes = float(a), float(b)
    return halved(lambda x: float(_beta_tails(*shapes, x, 1.0 - x)[0]) >= q, 0.0, 1.0)


def f_tails(f: ArrayLike, d1: ArrayLike, d2: ArrayLike) -> ArrayPair:
    """Lower and upper tail of the F distribution, each accurate where it is small."""
    f, d1, d2 = (np.asarray(v, dtype=np.float64) for v in (f, d1, d2))
    most = 1e300 / (d1 / d2)
    odds = np.minimum(f, most) * (d1 / d2)
    y = 1.0 / (1.0 + odds)
    return _tails(0.5 * d1, 0.5 * d2, np.where(odds < 1.0, odds * y, 1.0 - y), np.where(f >= most, 0.0, y))


def _t_tail_and_density(t: Number, df: Number) -> tuple[Number, Number]:
    """Upper tail and density of Student's distribution for 0 <= t <= 1e150."""
    a = 0.5 * df
    w = t * t / df
    # gamma(a + 1/2) / (sqrt(a) gamma(a)) tends to 1; its logarithm without cancellation
    exponent = a * np.log1p(0.5 / a) - 0.5 + _stirling_error(a + 0.5) - _stirling_error(a)
    density: Number = np.exp(exponent - (a + 0.5) * np.log1p(w)) / _SQRT_2PI
    x = 1.0 / (1.0 + w)
    far = t * t > 3.0
    # The power term of the incomplete beta function is t times the density.
    tail = 0.5 * t * density / _fraction(*_ordered(far, a, 0.5), *_ordered(far, x, w * x))
    return _ordered(far, tail, 0.5 - tail)[0], density


def t_sf_pdf(t: ArrayLike, df: ArrayLike) -> ArrayPair:
    """Upper tail and density of Student's t distribution: what a step of Newton's method needs."""
    t, df = np.asarray(t, dtype=np.float64), np.asarray(df, dtype=np.float64)
    tail, density = _both(_t_tail_and_density, np.minimum(np.abs(t), 1e150), df)
    tail = np.where(np.isinf(t), 0.0, tail)
    return np.where(t < 0.0, 1.0 - tail, tail), density


def t_sf(t: ArrayLike, df: ArrayLike) -> FloatArray:
    """Upper tail of Student's t distribution; see `t_sf_pdf`."""
    return t_sf_pdf(t, df)[0]


def t_ppf(q: ArrayLike, df: ArrayLike) -> FloatArray:
    """Quantile of Student's t distribution."""
    q, df = np.broadcast_arrays(np.asarray(q, dtype=np.float64), np.asarray(df, dtype=np.float64))
    p = np.minimum(q, 1.0 - q)
    inside = p > 0.0
    p = np.where(inside, p, 0.25)
    z = -ndtri(p)
    # Start: the normal quantile with two terms in 1 / df (Abramowitz and Stegun, 26.7.5), or the power law of the
    # tail where it is heavy.
    t = z + z * (z * z + 1.0) / (4.0 * df) + z * (3.0 + z * z * (16.0 + 5.0 * z * z)) / (96.0 * df * df)
    heavy = z * z > df
    if heavy.any():
        # sf(t) < t_pdf(0) df^((df + 1) / 2) t^-df / df; its root lies to the right of the quantile
        log_t = (np.log(t_sf_pdf(0.0, df)[1]) + 0.5 * (df - 1.0) * np.log(df) - np.log(p)) / df
        t = np.where(heavy, np.exp(np.minimum(log_t, 345.0)), t)
    # Newton's method on the side where the tail is convex and, in the tail, on logarithms, where it is concave:
    # both converge from any start.
    in_logs = p < 0.1
    for _ in range(100):
        tail, slope = t_sf_pdf(t, df)
        logarithmic = t * np.expm1(np.log(tail / p) * tail / (t * slope + (t == 0.0)))
        step = np.where(in_logs, logarithmic, (tail - p) / slope)
        t = np.maximum(t + step, 0.0)
        if not (np.abs(step) > 1e-8 * t).any():  # the error now is the square of that
            break
    t = np.where(inside, np.where(q < 0.5, -t, t), np.where(q == 0.0, -np.inf, np.inf))
    return np.where((q >= 0.0) & (q <= 1.0), t, np.nan)


@lru_cache(maxsize=256)
def t_quantile(q: float, df: float) -> float:
    """`t_ppf` of one probability, remembered: pairs of the same sizes ask for the same one."""
    return float(t_ppf(q, df))


_WIDEST = 1500.0  # logarithms of doubles lie within
_NARROW = 1e-11
_MOST_STEPS = 200


def halved(upper: Callable[[float], bool], low: float, high: float) -> float:
    """The first double between two that lies in the upper part, by bisection down to neighbours."""
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if upper(middle) else (middle, high)
    return high


def bisected(
    upper: Callable[[FloatArray], BoolArray], low: FloatArray, high: FloatArray, times: int
) -> ArrayPair:
    """Intervals halved so many times: a middle in the upper part is the new high end."""
    for _ in range(times):
        middle = 0.5 * (low + high)
        above = upper(middle)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return low, high


def decreasing_roots(
    function: Callable[[FloatArray], FloatArray],
    low: FloatArray,
    high: FloatArray,
    narrow: float | FloatArray = _NARROW,
) -> ArrayPair:
    """The ends of narrow intervals in which decreasing functions, possibly in steps, change their signs.

    They are widened where they hold no change, and narrowed to the width `narrow`, relative where their ends
    exceed 1, by the Illinois variant of false position, with a halving whenever two steps did not halve the
    interval. An end is infinite where the sign never changes within the logarithms of doubles.
    """
    width = high - low
    at_low, at_high = function(low), function(high)
    while (early := ~(at_low > 0.0) & (low > -_WIDEST)).any():
        high, at_high = np.where(early, low, high), np.where(early, at_low, at_high)
        width = np.where(early, 4.0 * width, width)
        low = np.where(early, low - width, low)
        at_low = np.where(early, function(low), at_low)
    while (late := (at_high > 0.0) & (high < _WIDEST)).any():
        low, at_low = np.where(late, high, low), np.where(late, at_high, at_low)
        width = np.where(late, 4.0 * width, width)
        high = np.where(late, high + width, high)
        at_high = np.where(late, function(high), at_high)
    crossing = (at_low > 0.0) & ~(at_high > 0.0)
    before, since = high - low, np.zeros(low.shape, dtype=np.int64)
    for _ in range(_MOST_STEPS):
        wide = crossing & (high - low > narrow * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high))))
        if not wide.any():
            break
        share = np.divide(at_low, at_low - at_high, out=np.full(low.shape, 0.5), where=wide)
        middle = low + (high - low) * share
        stuck = since == 2
        middle = np.where(stuck | (middle <= low) | (middle >= high), 0.5 * (low + high), middle)
        before, since = np.where(stuck, high - low, before), np.where(stuck, 0, since)
        value = function(middle)
        rises, falls = wide & (value > 0.0), wide & ~(value > 0.0)
        at_low, at_high = (
            np.where(rises, value, np.where(falls, 0.5 * at_low, at_low)),
            np.where(falls, value, np.where(rises, 0.5 * at_high, at_high)),
        )
        low, high = np.where(rises, middle, low), np.where(falls, middle, high)
        slow = high - low > 0.5 * before
        before, since = np.where(slow, before, high - low), np.where(slow, since + 1, 0)
    return np.where(at_low > 0.0, low, -np.inf), np.where(at_high > 0.0, np.inf, high)


_LARGE = 200.0  # a shape from which on Temme's expansion errs by less than 1e-6
_NEAR = 0.3
_SERIES = (-1 / 3, 1 / 12, -2 / 135)
_MOST_SUMMED = 2000


def digamma(x: ArrayLike) -> FloatArray:
    """The derivative of log gamma, of positive numbers.

    Examples
    --------
    >>> round(float(digamma(1.0)), 6)
    -0.577216
    """
    x = np.asarray(x, dtype=np.float64)
    below = np.zeros_like(x)
    for _ in range(8):  # up to where the series is exact
        small = x < 8.0
        below, x = below - np.where(small, 1.0 / x, 0.0), x + small
    s = 1.0 / x**2
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))
    return np.asarray(below + np.log(x) - 0.5 / x - series)


def gamma_cdf(x: ArrayLike, shape: ArrayLike) -> FloatArray:
    """P[X <= x] for scale 1, of positive x; shapes are broadcast.

    Examples
    --------
    >>> gamma_cdf([1.0, 2.0], 1.0).round(6).tolist()  # exponential
    [0.632121, 0.864665]
    """
    x, a = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(shape, dtype=np.float64))
    tail, large = np.empty(x.shape), a >= _LARGE
    tail[large] = _temme(x[large], a[large])
    tail[~large] = _summed(x[~large], a[~large])
    return tail


def _summed(x: FloatArray, a: FloatArray) -> FloatArray:
    """The series e^-x x^a / Gamma(a + 1) (1 + x / (a + 1) + x^2 / (a + 1)(a + 2) + ...)."""
    far = a + 40.0 * np.sqrt(a) + 60.0  # beyond it nothing is left
    inside = np.minimum(x, far)
    term, total = np.ones_like(x), np.ones_like(x)
    for k in range(1, _MOST_SUMMED):
        term = term * inside / (a + k)
        total += term
        if not (term > 1e-17 * total).any():
            break
    shapes, at = np.unique(a, return_inverse=True)
    constant = np.array([math.lgamma(s + 1.0) for s in shapes.tolist()])[at.reshape(a.shape)]
    return np.asarray(np.minimum(total * np.exp(a * np.log(inside) - inside - constant), 1.0))


def _temme(x: FloatArray, a: FloatArray) -> FloatArray:
    """Temme's approximation: the normal distribution and the first term of its correction."""
    mu = (x - a) / a
    eta = np.sign(mu) * np.sqrt(2.0 * np.maximum(mu - np.log1p(mu), 0.0))
    near = np.abs(eta) < _NEAR
    far = 1.0 / np.where(near, 1.0, mu) - 1.0 / np.where(near, 1.0, eta)
    correction = np.where(near, np.polyval(_SERIES[::-1], eta), far)
    return np.asarray(
        ndtr(eta * np.sqrt(a)) - np.exp(-0.5 * a * eta**2) / np.sqrt(2.0 * np.pi * a) * correction
    )


def gamma_shape(gap: ArrayLike) -> FloatArray:
    """The shape of largest likelihood, from log of the mean less mean of the logs, which is positive.

    Examples
    --------
    >>> round(float(gamma_shape(0.5772156649)), 6)  # an exponential's
    1.0
    """
    gap = np.asarray(gap, dtype=np.float64)
    shape = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(6):
        step = 1e-5 * shape
        slope = (digamma(shape + step) - digamma(shape - step)) / (2.0 * step)
        at = np.log(shape) - digamma(shape) - gap
        shape = 1.0 / (1.0 / shape + at / (shape**2 * (1.0 / shape - slope)))
    return shape
