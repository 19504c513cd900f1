"""Kernels of the Euclidean distance: a block of values is one matrix product and one pass over its result."""

import functools
import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, streams
from ..arrays import Array
from ..errors import PrecisionError, ShallowsError
from ..gpu import cuda
from ..utils.plain_numbers import takes_numpy_integers
from .base import DifferenceKernel, Kernel, check_positive, in_strips

_EQUAL = 1e-9
"""Points are equal for `RadialKernel.slope` if ``factor * ‖x − z‖²`` is at most this; rounding makes it uncertain."""


class RadialKernel(DifferenceKernel):
    """A kernel that is a function of ‖x − z‖²/σ², with k(x, x) = 1."""

    of_distance = True
    takes_sparse_points = True

    @property
    @abstractmethod
    def factor(self) -> float:
        """The factor of the squared distance before `apply_in_place`, as a part of the product."""
        raise NotImplementedError

    @abstractmethod
    def apply_in_place(self, scaled: Array) -> Array:
        """Kernel values from ``factor * ‖x − z‖²``, written over them.

        Rounding can make a squared distance negative; it is treated as zero, so that values stay within (0, 1].
        """
        raise NotImplementedError

    def slope(self, scaled: Array) -> Array:
        """The derivative of the kernel value by ``factor * ‖x − z‖²``; 0 at equal points if it is infinite there.

        A kernel without it can have no learned metric; see `gradients`.
        """
        raise ShallowsError(
            f"The kernel {self.name!r} has no derivative, which a learned metric needs. Set metric=None, or use "
            "kernel='gaussian', 'laplace', 'cauchy' or 'matern'."
        )

    def in_c(self, dtype: str) -> str | None:
        """`apply_in_place` for one number, as the body of ``REAL radial(REAL scaled)`` in C, or None.

        NaN stays NaN, so that errors are noticed. ``REAL`` is the C type of ``dtype``.
        """
        return None

    def check_values(self, points: Array) -> None:
        """Refuse bandwidths below the rounding error of distances."""
        # ‖x‖² + ‖z‖² − 2xᵀz has an error of about a unit in the last place of the largest term.
        eps, largest = float(np.finfo(np.dtype(str(points.dtype))).eps), float(points[:, -2].max())
        if self.bandwidth < math.sqrt(largest * eps):
            n_far = int((arrays.to_numpy(points[:, -2]) > self.bandwidth**2 / eps).sum())
            coarse = points.dtype != np.float64
            raise (PrecisionError if coarse else ShallowsError)(
                f"bandwidth={self.bandwidth:.3g} is too small for {points.dtype}: distances below "
                f"{math.sqrt(largest * eps):.1g} are lost in rounding, because {n_far:,} of {len(points):,} points "
                f"lie up to {math.sqrt(largest):.2g} from the center. Look for outliers, or use a larger bandwidth"
                f"{', or dtype=' + repr('float64') if coarse else ''}."
            )

    def left_factor(self, points: Array) -> Array:
        """``L`` with ``L @ augmented(z).T = factor * ‖x − z‖²`` for augmented points x: factor·[−2x, 1, ‖x‖²]."""
        xp = arrays.namespace(points)
        d = points.shape[1] - 2
        name = f"float{8 * arrays.itemsize(points)}"
        if not 2.0 * abs(self.factor) < float(np.finfo(name).max):
            other = ", or use dtype='float64'" if name != "float64" else ""
            raise ShallowsError(
                f"bandwidth={self.bandwidth:.3g} is too small for {name}: 1/bandwidth² overflows. Bring X to a usual "
                f"scale, for example with sklearn.preprocessing.StandardScaler{other}."
            )
        return xp.concat(
            [
                points[:, :d] * (-2.0 * self.factor),
                points[:, d + 1 :] * self.factor,
                points[:, d : d + 1] * self.factor,
            ],
            axis=1,
        )

    def fill(self, left: Array, others: Array, out: Array) -> Array:  # noqa: D102
        arrays.matmul_into(left, others.T, out)
        one_pass = self._in_one_pass(out) if cuda.is_enabled(out) else None
        if one_pass is not None:
            return one_pass(out, out)
        return in_strips(out, lambda strip: self.apply_in_place(out[strip, :]))

    def _in_one_pass(self, out: Array) -> Callable[[Array, Array], Array] | None:
        """A GPU function that reads and writes a block once, unlike the operations of `apply_in_place`."""
        dtype = str(out.dtype)
        body = self.in_c(dtype)
        if body is None:
            return None

        def make() -> Callable[[Array, Array], Array]:
            compiled = cuda.elementwise(arrays.namespace(out), f"shallows_{self.name}", body, dtype)
            # All magnitudes, zero, and a negative rounding error are compared with the plain expression in float64.
            scaled = np.concatenate([[-1e-6, 0.0], np.logspace(-12, 6, 500)])
            scaled = (math.copysign(1.0, self.factor) * scaled).astype(dtype)
            here = arrays.like(scaled, out)
            expected = self.apply_in_place(scaled.astype(np.float64))
            error = np.abs(arrays.to_numpy(compiled(here, here)) - expected).max()
            if not error < 32 * np.finfo(dtype).eps:
                raise ArithmeticError(f"values of {self.name} are off by {error:.1e}")
            return compiled

        return cuda.first_use(("values", body, dtype), make, out)


class WrappedKernel(Kernel):
    """A radial kernel whose blocks are computed in another way."""

    takes_bandwidth = shift_invariant = of_distance = takes_sparse_points = True

    def __init__(self, kernel: RadialKernel):
        self.kernel, self.name, self.bandwidth = kernel, kernel.name, kernel.bandwidth

    @property
    def parameters(self) -> dict[str, Any]:
        """The kernel's parameters."""
        return self.kernel.parameters

    def left_factor(self, points: Array) -> Array:  # noqa: D102
        return self.kernel.left_factor(points)

    def diagonal(self, x: Array) -> Array:
        """k(xᵢ, xᵢ), shape (len(x),)."""
        return self.kernel.diagonal(x)


class Gaussian(RadialKernel):
    """exp(−‖x − z‖² / (2σ²))."""

    name = "gaussian"

    @property
    def factor(self) -> float:  # noqa: D102
        return -0.5 / self.bandwidth**2

    def apply_in_place(self, scaled: Array) -> Array:  # noqa: D102
        return arrays.apply_in_place("exp", arrays.clip_in_place(scaled, at_most=0.0))

    def slope(self, scaled: Array) -> Array:  # noqa: D102
        return arrays.namespace(scaled).exp(scaled)

    def in_c(self, dtype: str) -> str:  # noqa: D102
        return "    return exp(scaled > 0 ? REAL(0) : scaled);"

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):  # noqa: D102
        return streams.normal(seed, purpose, counter, (n, d), like=like, dtype=dtype) / self.bandwidth


class Laplace(RadialKernel):
    """exp(−‖x − z‖ / σ), the Euclidean form."""

    name = "laplace"

    @property
    def factor(self) -> float:  # noqa: D102
        return 1.0 / self.bandwidth**2

    def apply_in_place(self, scaled: Array) -> Array:  # noqa: D102
        distance = arrays.apply_in_place("sqrt", arrays.clip_in_place(scaled, at_least=0.0))
        return arrays.apply_in_place("exp", arrays.apply_in_place("negative", distance))

    def slope(self, scaled: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(scaled)
        apart = scaled > _EQUAL
        distance = xp.sqrt(xp.where(apart, scaled, 1.0))
        return xp.where(apart, -xp.exp(-distance) / (2.0 * distance), 0.0)

    def in_c(self, dtype: str) -> str:  # noqa: D102
        return "    return exp(-sqrt(scaled < 0 ? REAL(0) : scaled));"

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):  # noqa: D102
        draws = streams.normal(seed, purpose, counter, (n, d + 1), like=like, dtype=dtype)
        return draws[:, :d] / (self.bandwidth * arrays.namespace(draws).abs(draws[:, d:]))


@takes_numpy_integers
@dataclass(frozen=True)
class ExponentialPower(RadialKernel):
    """exp(−(‖x − z‖ / σ)^q), for 0 < q ≤ 2.

    Parameters
    ----------
    bandwidth : float, optional
        σ. None: an estimator chooses it.
    exponent : float
        q. 1 is the Laplace kernel, and 2 a Gaussian kernel of bandwidth σ/√2. Smaller ones are rougher.
    """

    exponent: float = 1.0
    name = "exponential_power"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("exponent", self.exponent)
        if self.exponent > 2:
            raise ShallowsError(
                f"exponent={self.exponent!r} is above 2, with which the kernel is not positive definite. Set it to at "
                "most 2."
            )

    @property
    def factor(self) -> float:  # noqa: D102
        return 1.0 / self.bandwidth**2

    def apply_in_place(self, scaled: Array) -> Array:  # noqa: D102
        scaled = arrays.clip_in_place(scaled, at_least=0.0)
        scaled **= 0.5 * self.exponent
        return arrays.apply_in_place("exp", arrays.apply_in_place("negative", scaled))

    def slope(self, scaled: Array) -> Array:  # noqa: D102
        xp = arrays.namespace(scaled)
        half, apart = 0.5 * self.exponent, scaled > _EQUAL
        power = xp.where(apart, scaled, 1.0) ** half
        return xp.where(apart, -half * power / xp.where(apart, scaled, 1.0) * xp.exp(-power), 0.0)

    def in_c(self, dtype: str) -> str:  # noqa: D102
        return f"    return exp(-pow(scaled < 0 ? REAL(0) : scaled, REAL({0.5 * self.exponent!r})));"

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):
        """Normal with a variance from the positive stable law of index q/2 (Kanter 1975), shape (n, d)."""
        draws = streams.normal(seed, purpose, counter, (n, d), like=like, dtype=dtype)
        a = 0.5 * self.exponent
        # Drawn on the host, so that all devices get the same numbers.
        angle = np.pi * np.clip(streams.uniform(seed, f"{purpose}/angle", counter, (n, 1)), 1e-12, 1 - 1e-12)
        waiting = -np.log1p(-np.minimum(streams.uniform(seed, f"{purpose}/waiting", counter, (n, 1)), 1 - 1e-12))
        stable = np.sin(a * angle) / np.sin(angle) ** (1 / a)
        stable = stable * (np.sin((1 - a) * angle) / waiting) ** ((1 - a) / a) if a < 1 else np.ones_like(angle)
        return draws * arrays.like(np.sqrt(2.0 * stable) / self.bandwidth, draws)


class Cauchy(RadialKernel):
    """1 / (1 + ‖x − z‖² / σ²), the isotropic form."""

    name = "cauchy"

    @property
    def factor(self) -> float:  # noqa: D102
        return 1.0 / self.bandwidth**2

    def apply_in_place(self, scaled: Array) -> Array:  # noqa: D102
        scaled = arrays.clip_in_place(scaled, at_least=0.0)
        scaled += 1.0
        return arrays.apply_in_place("reciprocal", scaled)

    def slope(self, scaled: Array) -> Array:  # noqa: D102
        return -1.0 / (1.0 + scaled) ** 2

    def in_c(self, dtype: str) -> str:  # noqa: D102
        return "    return 1 / (1 + (scaled < 0 ? REAL(0) : scaled));"

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):  # noqa: D102
        draws = streams.normal(seed, purpose, counter, (n, d), like=like, dtype=dtype)
        xp = arrays.namespace(draws)
        mixing = -xp.log1p(-streams.uniform(seed, f"{purpose}/mixing", counter, (n, 1), like=like, dtype=dtype))
        return xp.sqrt(2.0 * mixing) * draws / self.bandwidth


@takes_numpy_integers
@dataclass(frozen=True)
class Matern(RadialKernel):
    """2^(1−ν)/Γ(ν) x^ν K_ν(x) with x = √(2ν) ‖x − z‖ / σ: functions are differentiable ν − ½ times.

    For ν of ½, 3/2 and 5/2 the values are a polynomial times an exponential. For every other ν they are a sum of
    Gaussians: k = E exp(−x²/(4u)) over u from the distribution Gamma(ν), computed by the trapezoidal rule in log u up
    to rounding. Positive weights keep the sum positive definite, and it is faster than Bessel functions. A ν much
    smaller than ½ is slow, because the range of log u is proportional to 1/ν.

    Parameters
    ----------
    bandwidth : float, optional
        σ (elsewhere the length scale l). None: an estimator chooses it.
    nu : float
        ν. ½ is the Laplace kernel, and ν → ∞ the Gaussian.
    """

    nu: float = 1.5
    name = "matern"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("nu", self.nu)

    @property
    def factor(self) -> float:  # noqa: D102
        return 2.0 * self.nu / self.bandwidth**2

    def apply_in_place(self, scaled: Array) -> Array:  # noqa: D102
        arrays.clip_in_place(scaled, at_least=0.0)
        if self.nu not in (0.5, 1.5, 2.5):
            return self._sum_of_gaussians(scaled)
        xp = arrays.namespace(scaled)
        third = scaled / 3.0 if self.nu == 2.5 else None
        distance = arrays.apply_in_place("sqrt", scaled)
        decay = xp.exp(-distance)
        if self.nu == 0.5:
            scaled[...] = decay
            return scaled
        distance += 1.0
        if third is not None:
            distance += third
        distance *= decay
        return distance

    def slope(self, scaled: Array) -> Array:
        """−tᵛ⁻¹ K_{ν−1}(t) / (2ᵛ Γ(ν)) at t = √scaled, where it is no polynomial by the sum of Gaussians."""
        xp = arrays.namespace(scaled)
        if self.nu == 0.5:
            return Laplace(self.bandwidth).slope(scaled)
        if self.nu in (1.5, 2.5):
            distance = xp.sqrt(xp.where(scaled > 0, scaled, 0.0))
            return xp.exp(-distance) * (-0.5 if self.nu == 1.5 else -(1.0 + distance) / 6.0)
        rates, weights, _ = self._gaussians(xp.finfo(scaled.dtype))
        apart = scaled > _EQUAL
        total = xp.zeros_like(scaled)
        for rate, weight in zip(rates, weights, strict=True):
            total -= rate * weight * xp.exp(-rate * xp.where(apart, scaled, 0.0))
        return xp.where(apart, total, 0.0) if self.nu <= 1.0 else total

    @functools.lru_cache(maxsize=32)  # noqa: B019
    def in_c(self, dtype: str) -> str:  # noqa: D102
        lines = ["    scaled = scaled < 0 ? REAL(0) : scaled;"]
        if self.nu in (0.5, 1.5, 2.5):
            polynomial = {0.5: "1", 1.5: "1 + distance", 2.5: "1 + distance + scaled / 3"}[self.nu]
            lines.append("    const REAL distance = sqrt(scaled), decay = exp(-distance);")
            # If the exponential is zero, the polynomial may be infinite.
            lines.append(f"    return decay == 0 ? REAL(0) : ({polynomial}) * decay;")
            return "\n".join(lines)
        limits = np.finfo(dtype)
        rates, weights, farthest = self._gaussians(limits)
        nodes = [pair for pair in zip(rates, weights, strict=True) if pair[1] > float(limits.tiny)]
        for name, column in zip(("rates", "weights"), zip(*nodes, strict=True), strict=True):
            lines.append(f"    static const REAL {name}[] = {{{', '.join(f'REAL({value!r})' for value in column)}}};")
        lines.append(f"    scaled = scaled > REAL({farthest!r}) ? REAL({farthest!r}) : scaled;")
        lines.append("    REAL total = 0;")
        # Unrolling all of these exponentials would need too many registers.
        lines.append("    #pragma unroll 2")
        lines.append(f"    for (int k = 0; k < {len(nodes)}; ++k)")
        lines.append("        total += weights[k] * exp(-rates[k] * scaled);")
        return "\n".join([*lines, "    return total > 1 ? REAL(1) : total;"])

    def _gaussians(self, limits: Any) -> tuple[list[float], list[float], float]:
        """Rates and weights of the sum of Gaussians, and its largest argument."""
        rates, weights = _gamma_nodes(float(self.nu), float(limits.eps))
        # Larger arguments underflow, and their product with the largest rate might overflow.
        farthest = 3200.0 * (self.nu + 100.0)
        return [min(rate, 0.1 * float(limits.max) / farthest) for rate in rates], weights, farthest

    def _sum_of_gaussians(self, scaled: Array) -> Array:
        xp = arrays.namespace(scaled)
        rates, weights, farthest = self._gaussians(xp.finfo(scaled.dtype))
        arrays.clip_in_place(scaled, at_most=farthest)
        total = xp.zeros_like(scaled)
        for rate, weight in zip(rates, weights, strict=True):
            term = arrays.apply_in_place("exp", scaled * -rate)
            term *= weight
            total += term
        # The sum of the weights is one, up to rounding.
        scaled[...] = arrays.clip_in_place(total, at_most=1.0)
        return scaled

    def frequencies(self, seed, purpose, counter, n, d, *, like=None, dtype=None):
        """A multivariate t distribution with 2ν degrees of freedom and scale 1/σ, shape (n, d)."""
        from scipy.special import gammainccinv

        draws = streams.normal(seed, purpose, counter, (n, d), like=like, dtype=dtype)
        # Drawn on the host, so that all devices get the same numbers; χ² with 2ν degrees is twice a Gamma(ν).
        uniform = streams.uniform(seed, f"{purpose}/mixing", counter, (n, 1))
        spread = np.sqrt(self.nu / gammainccinv(self.nu, uniform))
        return draws * arrays.like(spread / self.bandwidth, draws)


@functools.lru_cache(maxsize=32)
def _gamma_nodes(nu: float, eps: float) -> tuple[list[float], list[float]]:
    """Rates aₖ and weights wₖ with Matérn(x) = Σ wₖ exp(−aₖ x²): the trapezoidal rule for E exp(−x²/(4u)), u = eᵛ.

    At the height c < π/2 above the real line the integrand exp(νv − eᵛ) grows by at most (cos c)^(−ν), so the rule with
    step h has an error of about (cos c)^(−ν) exp(−2πc/h) for every c. The best c gives the largest possible step.
    """
    digits = -math.log(eps) + 3.0
    heights = np.linspace(0.005, math.pi / 2 - 0.005, 400)
    step = float(np.max(2.0 * math.pi * heights / (digits - nu * np.log(np.cos(heights)))))
    # Below the peak the integrand falls as exp(νv), above it doubly exponentially.
    peak = math.log(nu)
    lowest = peak - max(digits / nu, math.sqrt(2.0 * digits / nu))
    highest = peak + max(1.0, math.sqrt(2.0 * digits / nu))
    while nu * (highest - peak) - math.exp(highest) + nu > -digits:
        highest += step
    v = np.arange(lowest, highest, step)
    weights = np.exp(nu * (v - peak) - np.exp(v) + nu)
    return (0.25 * np.exp(-v)).tolist(), (weights / weights.sum()).tolist()
