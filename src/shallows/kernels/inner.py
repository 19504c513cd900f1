"""Kernels of inner products and norms. They depend on the origin, so data are not centered for them."""

import math
import numbers
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from .. import arrays, streams
from ..arrays import Array
from ..errors import ShallowsError
from ..utils.plain_numbers import takes_numpy_integers
from .base import Kernel, check_bandwidth, check_positive, in_strips

MOST_DEGREE = 1000
"""Higher powers usually under- or overflow."""


class PowerSeries(Kernel):
    """A kernel f(xᵀz) = Σₙ aₙ (xᵀz)ⁿ with aₙ ≥ 0, and its random Maclaurin features.

    A feature has the degree N with probability p_N and is √(a_N/p_N) Πⱼ wⱼᵀx over N vectors w of random signs, so its
    product at two points has the mean Σₙ pₙ (aₙ/pₙ) (xᵀz)ⁿ. Kar and Karnick choose pₙ = 2⁻⁽ⁿ⁺¹⁾. Here pₙ = aₙ R²ⁿ/f(R²)
    is the share of the n-th term at the mean square R² = E ‖x‖², and the feature is √f(R²) Πⱼ wⱼᵀx/R, equally large for
    all degrees. The degrees of a block are a systematic sample (one uniform number for all of them), so each degree has
    its share, rounded to at most one feature.

    References
    ----------
    P. Kar and H. Karnick (2012), "Random feature maps for dot product kernels", AISTATS 15.
    """

    takes_sparse_points = True

    @abstractmethod
    def log_value(self, t: float) -> float:
        """The logarithm of f(t), for t > 0."""
        raise NotImplementedError

    @abstractmethod
    def log_coefficients(self, t: float) -> np.ndarray:
        """The logarithms of aₙ for n = 0, 1, ..., until aₙ tⁿ/f(t) is zero up to rounding."""
        raise NotImplementedError

    def shares(self, t: float) -> np.ndarray:
        """aₙ tⁿ/f(t), the share of each term in the sum."""
        logs = self.log_coefficients(t)
        return np.exp(logs + np.arange(len(logs)) * math.log(t) - self.log_value(t))

    def relative_moment(self, mean_square: float) -> float:
        """f(3R²)/f(R²): E (wᵀx)⁴ is at most 3‖x‖⁴, and close to it unless one input dominates."""
        return math.exp(min(700.0, self.log_value(3.0 * mean_square) - self.log_value(mean_square)))

    def drawn_numbers(self, d: int, mean_square: float) -> float:
        """A vector of signs for each of the factors, of which there are E N on average."""
        shares = self.shares(mean_square)
        return d * float(np.arange(len(shares)) @ shares)

    def random_features(self, seed, counter, n, x, mean_square, kept):  # noqa: D102
        xp, reached = arrays.namespace(x), np.cumsum(self.shares(mean_square))
        at = (np.arange(n) + streams.uniform(seed, "degrees", counter, (1,))) / n * reached[-1]
        degrees = np.minimum(np.searchsorted(reached, at, side="right"), len(reached) - 1)
        shape = (int(degrees.sum()), x.shape[1])
        signs = kept("signs", lambda: streams.signs(seed, "signs", counter, shape, like=x, dtype=x.dtype))
        out = xp.full((x.shape[0], n), math.exp(0.5 * self.log_value(mean_square)), dtype=x.dtype)
        x, used = x * mean_square**-0.5, 0
        # Degrees ascend, so the features with another factor are the last columns.
        for factor in range(1, int(degrees[-1]) + 1):
            first = int(np.searchsorted(degrees, factor))
            out[:, first:] *= x @ signs[used : used + n - first, :].T
            used += n - first
        return out


@takes_numpy_integers
@dataclass(frozen=True)
class Polynomial(PowerSeries):
    """(scale · xᵀz + offset)^degree.

    Parameters
    ----------
    degree : int
        From 1 to `MOST_DEGREE`.
    offset : float
        Not negative, because the kernel would not be positive semi-definite.
    scale : float
        Positive. The reciprocal of the number of features, or of the mean squared norm, keeps values near one.
    """

    degree: int = 3
    offset: float = 1.0
    scale: float = 1.0
    name = "polynomial"

    def __post_init__(self) -> None:
        whole = isinstance(self.degree, numbers.Integral) and not isinstance(self.degree, bool)
        if not (whole and 1 <= self.degree <= MOST_DEGREE):
            raise ShallowsError(f"degree must be a whole number from 1 to {MOST_DEGREE}, got {self.degree!r}.")
        number = isinstance(self.offset, (int, float)) and not isinstance(self.offset, bool)
        if not (number and math.isfinite(self.offset) and self.offset >= 0):
            raise ShallowsError(f"offset must be a number of at least 0, got {self.offset!r}.")
        check_positive("scale", self.scale)

    def left_factor(self, points: Array) -> Array:
        """``L`` with ``L @ augmented(z).T = scale · xᵀz + offset``: [scale · x, 0, offset]."""
        xp = arrays.namespace(points)
        d = points.shape[1] - 2
        ones = points[:, d + 1 :]
        return xp.concat([points[:, :d] * float(self.scale), ones * 0.0, ones * float(self.offset)], axis=1)

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        arrays.matmul_into(left, others.T, out)
        if self.degree == 1:
            return out
        return in_strips(out, lambda strip: _power_in_place(out[strip, :], self.degree))

    def diagonal(self, x: Array) -> Array:
        """(scale · ‖xᵢ‖² + offset)^degree, shape (len(x),)."""
        return (float(self.scale) * arrays.row_norms_squared(x) + float(self.offset)) ** int(self.degree)

    def log_value(self, t: float) -> float:  # noqa: D102
        return self.degree * math.log(self.scale * t + self.offset)

    def log_coefficients(self, t: float) -> np.ndarray:  # noqa: D102
        n, factorials = np.arange(self.degree + 1), _log_factorials(self.degree + 1)
        # The logarithm of an offset of zero is replaced by a finite number.
        powers = n * math.log(self.scale) + n[::-1] * math.log(self.offset or 1e-300)
        return factorials[-1] - factorials - factorials[::-1] + powers


@takes_numpy_integers
@dataclass(frozen=True)
class Linear(Polynomial):
    """scale · xᵀz + offset."""

    degree: int = field(default=1, init=False, repr=False)
    offset: float = 0.0
    name = "linear"


@takes_numpy_integers
@dataclass(frozen=True)
class Exponential(PowerSeries):
    """exp(xᵀz / σ²), the Gaussian kernel times exp(‖x‖²/(2σ²)) of each point.

    Parameters
    ----------
    bandwidth : float
        σ, in the units of the features; positive and finite. A large distance from the origin needs a larger one.
    """

    bandwidth: float | None = None
    name = "exponential"
    takes_bandwidth = True

    def __post_init__(self) -> None:
        check_bandwidth(self.bandwidth)

    def left_factor(self, points: Array) -> Array:  # noqa: D102
        return points[:, :-2] * self.bandwidth**-2

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        arrays.matmul_into(left, others[:, :-2].T, out)
        return in_strips(out, lambda strip: arrays.apply_in_place("exp", out[strip, :]))

    def diagonal(self, x: Array) -> Array:
        """exp(‖xᵢ‖²/σ²), shape (len(x),)."""
        return arrays.namespace(x).exp(arrays.row_norms_squared(x) * self.bandwidth**-2)

    def log_value(self, t: float) -> float:  # noqa: D102
        return t / self.bandwidth**2

    def log_coefficients(self, t: float) -> np.ndarray:  # noqa: D102
        mean = self.log_value(t)  # The shares are a Poisson distribution.
        n = int(mean + 12.0 * math.sqrt(mean) + 40.0)
        return -2.0 * math.log(self.bandwidth) * np.arange(n) - _log_factorials(n)


def _log_factorials(n: int) -> np.ndarray:
    """The logarithms of 0!, 1!, ..., (n − 1)!."""
    return np.cumsum(np.log(np.maximum(np.arange(n), 1)))


def _power_in_place(x: Array, degree: int) -> Array:
    """``x ** degree`` by repeated squaring, which is many times faster than the general power."""
    xp = arrays.namespace(x)
    square, result, left = xp.asarray(x, copy=True), None, int(degree)
    while left:
        if left & 1:
            result = xp.asarray(square, copy=True) if result is None else result * square
        left >>= 1
        if left:
            square *= square
    x[...] = result
    return x


@takes_numpy_integers
@dataclass(frozen=True)
class ArcCosine(Kernel):
    """The arc-cosine kernel of order s: 2 E Θ(wᵀx) Θ(wᵀz) (wᵀx)^s (wᵀz)^s over w ~ N(0, I).

    It is (1/π) ‖x‖^s ‖z‖^s J_s(θ) for the angle θ between x and z, with J₀ = π − θ, J₁ = sin θ + (π − θ) cos θ and J₂ =
    3 sin θ cos θ + (π − θ)(1 + 2 cos² θ) (Cho and Saul 2009, "Kernel methods for deep learning"): the limit of a layer
    of infinitely many units, thresholds for s = 0 and rectified linear for s = 1. The threshold of zero is ½.

    Parameters
    ----------
    order : {0, 1, 2}
    """

    order: int = 1
    name = "arc_cosine"
    takes_sparse_points = True

    def __post_init__(self) -> None:
        if not isinstance(self.order, numbers.Integral) or self.order not in (0, 1, 2):
            raise ShallowsError(f"order must be 0, 1 or 2, got {self.order!r}.")

    def left_factor(self, points: Array) -> Array:
        """[x/‖x‖, ‖x‖^s]."""
        xp = arrays.namespace(points)
        norms = xp.sqrt(points[:, -2:-1])
        return xp.concat([points[:, :-2] * _reciprocal(norms), norms ** int(self.order)], axis=1)

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(out)
        norms = xp.sqrt(others[:, -2])
        reciprocals, powers = _reciprocal(norms), norms ** int(self.order)
        arrays.matmul_into(left[:, :-1], others[:, :-2].T, out)

        def work(strip: slice) -> None:
            part = out[strip, :]
            part *= reciprocals
            arrays.clip_in_place(part, at_least=-1.0, at_most=1.0)
            part[...] = _arc_cosine(part, int(self.order))
            if self.order:
                part *= powers
                part *= left[strip, -1:]

        return in_strips(out, work)

    def diagonal(self, x: Array) -> Array:
        """J_s(0)/π ‖xᵢ‖^(2s), shape (len(x),): 1, ‖x‖² and 3‖x‖⁴."""
        xp = arrays.namespace(x)
        squares = arrays.row_norms_squared(x)
        if self.order == 0:
            return xp.where(squares > 0, xp.ones_like(squares), 0.5 * xp.ones_like(squares))
        return squares if self.order == 1 else 3.0 * squares * squares

    def random_features(self, seed, counter, n, x, mean_square, kept):
        """√2 Θ(wᵀx) (wᵀx)^s for w ~ N(0, I): random units of a neural network."""
        xp, shape = arrays.namespace(x), (n, x.shape[1])
        projected = x @ kept("units", lambda: streams.normal(seed, "units", counter, shape, like=x)).T
        if self.order == 0:
            return (xp.sign(projected) + 1.0) * math.sqrt(0.5)
        return math.sqrt(2.0) * arrays.clip_in_place(projected, at_least=0.0) ** int(self.order)

    @property
    def product_bound(self) -> float | None:
        """1 + 2 for order 0, whose features are 0 and √2."""
        return 3.0 if self.order == 0 else None

    def relative_moment(self, mean_square: float) -> float:
        """4 E max(g, 0)^(4s) over (2 E max(g, 0)^(2s))², with g ~ N(0, 1)."""
        return (2.0, 6.0, 70.0 / 3.0)[self.order]


def _reciprocal(x: Array) -> Array:
    """1/x, and 0 for 0: the zero vector is orthogonal to every other vector."""
    xp = arrays.namespace(x)
    positive = x > 0
    return xp.where(positive, 1.0 / xp.where(positive, x, xp.ones_like(x)), xp.zeros_like(x))


def _arc_cosine(cosine: Array, order: int) -> Array:
    """J_s(θ)/π from cos θ."""
    xp = arrays.namespace(cosine)
    rest = math.pi - (xp.acos if hasattr(xp, "acos") else xp.arccos)(cosine)
    if order == 0:
        return rest / math.pi
    sine = xp.sqrt((1.0 - cosine) * (1.0 + cosine))
    if order == 1:
        return (sine + rest * cosine) / math.pi
    return (3.0 * sine * cosine + rest * (1.0 + 2.0 * cosine * cosine)) / math.pi
