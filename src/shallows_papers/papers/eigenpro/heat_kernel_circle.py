"""Gradient descent with the heat kernel on the circle, in closed form: which functions it fits in how many steps.

The operator's eigenvalues are exp(−j² s), with sines and cosines as eigenfunctions, so t steps of size η
multiply the error at the frequency j by (1 − η exp(−j² s))ᵗ (Ma and Belkin 2017, section 2.1). The code uses logarithms
of numbers of steps, because a step function soon needs exp(800) steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shallows.errors import ShallowsError, UnknownNameError
from shallows.kernels.heat import HeatCircle

from ...datasets.synthetic.circle import HeavisideCircle
from ..results import AnalysisResult

#: Number of summed frequencies; the remaining ones are summed in closed form or are negligible.
N_FREQUENCIES = 4000


@dataclass(frozen=True)
class Function:
    """A function of norm one on the circle: shares of its squared norm at the frequencies 1, 2, ..., and beyond."""

    energies: np.ndarray
    beyond: float = 0.0

    def log_residual(self, log_steps: float, width: float, step_size: float = 1.0) -> float:
        """Return the logarithm of ‖residual‖ / ‖f‖ after exp(log_steps) steps."""
        with np.errstate(over="ignore"):
            left = np.exp(-2.0 * np.exp(log_steps + _log_rates(len(self.energies), width, step_size)))
        return 0.5 * math.log(max(float(self.energies @ left) + self.beyond, 1e-305))

    def log_steps(self, error: float, width: float, step_size: float = 1.0) -> float:
        """Return the logarithm of the number of steps to the relative error ``error``, by bisection."""
        if error**2 < 4.0 * self.beyond:
            raise ShallowsError(
                f"An error of {error:g} needs more than the {len(self.energies)} available frequencies."
            )
        low, high = -40.0, width * len(self.energies) ** 2
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (
                (middle, high) if self.log_residual(middle, width, step_size) > math.log(error) else (low, middle)
            )
        return high


def _log_rates(n: int, width: float, step_size: float) -> np.ndarray:
    """ln(−ln |1 − η exp(−j² s)|) for j = 1..n."""
    log_eigenvalues = -width * np.arange(1, n + 1, dtype=np.float64) ** 2
    fitted = step_size * np.exp(log_eigenvalues)
    with np.errstate(divide="ignore"):
        rates = -np.log(np.abs(1.0 - fitted))
        return np.where(fitted < 1e-8, math.log(step_size) + log_eigenvalues, np.log(np.maximum(rates, 1e-300)))


def function(name: str, rate: float = 1.0) -> Function:
    """A function by name.

    The names power, exponential and gaussian have coefficients j^(−r), exp(−rj) and exp(−r j²).
    """
    j = np.arange(1, N_FREQUENCIES + 1, dtype=np.float64)
    if name == "step":
        step = HeavisideCircle()
        return Function(step.energies(j), max(step.energy_above(N_FREQUENCIES), 0.0))
    falling = {
        "power": lambda: j ** (-2.0 * rate),
        "exponential": lambda: np.exp(-2.0 * rate * j),
        "gaussian": lambda: np.exp(-2.0 * rate * j**2),
        "sine": lambda: (j == 1).astype(np.float64),
    }
    UnknownNameError.check("function", name, ("step", *falling))
    energies = falling[name]()
    return Function(energies / energies.sum())


def approximation(
    data: Any,
    *,
    iterations: int | None = None,
    frequencies: int | None = None,
    width: float = 0.5,
    n_angles: int = 720,
) -> AnalysisResult:
    """Approximate the step function on the circle by gradient descent or by a truncated Fourier series.

    Gradient descent starts from zero with steps of size 1/λ₁ = 1. The highest frequency of the series is `frequencies`.

    Over the angle in degrees: ``approximation``, ``step``. Numbers: ``relative_error`` in L₂; for gradient descent also
    ``matrix_difference``, the largest difference between the closed form and the iteration done with the kernel matrix
    of 256 angles.
    """
    step = HeavisideCircle(width=width)
    degrees = (np.arange(n_angles) + 0.5) * (360.0 / n_angles)
    j = np.arange(1, (frequencies or 60) + 1, 2, dtype=np.float64)
    fitted = np.ones_like(j) if iterations is None else -np.expm1(iterations * np.log1p(-step.eigenvalues(j)))
    values = np.sin(np.outer(np.radians(degrees), j)) @ (4.0 / (math.pi * j) * fitted)
    numbers = {"relative_error": step.truncation_error(frequencies) if frequencies else step.residual(iterations)}
    if iterations is not None:
        numbers["matrix_difference"] = _matrix_difference(iterations, width)
    return AnalysisResult(degrees, {"approximation": values, "step": step.truth(np.radians(degrees))}, numbers)


def _matrix_difference(iterations: int, width: float, n: int = 256) -> float:
    """Compare gradient descent with the kernel matrix of a grid and by the discrete Fourier transform."""
    angles = (np.arange(n) + 0.5)[:, None] * (2.0 * math.pi / n)
    target = HeavisideCircle().truth(angles)
    kernel = HeatCircle(width)
    operator = (2.0 * math.pi / n) * kernel(angles, angles)
    power = np.linalg.matrix_power(np.eye(n) - operator, iterations)
    shares = -np.expm1(iterations * np.log1p(-np.minimum(np.exp(-width * np.fft.fftfreq(n, 1 / n) ** 2), 1 - 1e-16)))
    closed = np.fft.ifft(shares * np.fft.fft(target)).real
    return float(np.max(np.abs(target - power @ target - closed)))


def computational_reach(
    data: Any,
    *,
    width: float = 0.5,
    most: int = 12,
    ridge: float = 1e-16,
) -> AnalysisResult:
    """Compare the reach of gradient descent after t = 10, 100, ..., 10^most steps with the paper's band edges.

    Over t: ``fitted_frequency``, the largest frequency of which half is fitted, and ``edge`` = √(ln(2t)/s), where the
    eigenvalue falls below λ₁/(2t); ``beyond`` and ``beyond_printed`` test the statement that a function
    reached within ε has less than 3ε² of its squared norm beyond the edge, corrected and as printed (there an index,
    √(2 ln 2t)/s): for the first harmonic beyond the edge, 1/(3ε²) with its residual ε, at most 1 if the statement is
    right. Numbers: ``ridge_frequency`` and ``ridge_functions``, how far ridge regression with the parameter ``ridge``
    reaches, as a frequency and as a number of basis functions.
    """
    steps = [10**power for power in range(1, most + 1)]
    found: dict[str, list[float]] = {name: [] for name in ("fitted_frequency", "edge", "beyond", "beyond_printed")}
    for t in steps:
        log_left = -np.exp(math.log(t) + _log_rates(200, width, 1.0))
        found["fitted_frequency"].append(float(np.sum(log_left <= math.log(0.5))))
        edge = math.sqrt(math.log(2 * t) / width)
        found["edge"].append(edge)
        # The sine of the frequency j has the index 2j − 1 in the order 1, sin x, cos x, sin 2x, ...
        printed = math.floor((math.sqrt(2.0 * math.log(2 * t)) / width + 1.0) / 2.0)
        for name, last in (("beyond", math.floor(edge)), ("beyond_printed", printed)):
            found[name].append(math.exp(min(-2.0 * log_left[last], 600.0)) / 3.0)
    highest = math.floor(math.sqrt(-math.log(ridge) / width))
    return AnalysisResult(steps, found, {"ridge_frequency": highest, "ridge_functions": 2 * highest + 1})


def fitted_functions(
    data: Any,
    *,
    dimension: int = 1,
    most: int = 1024,
) -> AnalysisResult:
    """Count the eigenfunctions of the heat kernel on a torus that t steps reach.

    Over ln(2t)/s: ``n_functions``, the number of frequencies j in Zᵈ with exp(−‖j‖² s) ≥ 1/(2t).
    """
    radius = math.isqrt(most)
    along = np.arange(-radius, radius + 1) ** 2
    total = along
    for _ in range(dimension - 1):
        total = (total[:, None] + along[None, :]).ravel()
        total = total[total <= most]
    counts = np.cumsum(np.bincount(total, minlength=most + 1)[: most + 1])
    index = [2**power for power in range(2, int(math.log2(most)) + 1)]
    return AnalysisResult(
        index, {"n_functions": [float(counts[place]) for place in index]}, effective={"dimension": dimension}
    )


def iterations_needed(
    data: Any,
    *,
    name: str = "step",
    rate: float = 1.0,
    width: float = 0.5,
    step_size: float = 1.0,
    inverse_errors: Sequence[float] = (2, 3, 4, 6, 8, 12, 16, 24, 32),
) -> AnalysisResult:
    """Compute the steps of gradient descent for a given accuracy of a function on the circle.

    The step is η in units of 1/λ₁, and `inverse_errors` are ascending and above 1.

    Over 1/ε: ``log_iterations`` = ln t; ``exponent``, the slope of ln t against ln(1/ε) between neighbors (at the
    first place the second's); ``lower_bound`` and ``lower_bound_printed``, the largest over the frequencies of (λ₁/(2λ)
    − 1) ln(a/ε) and of λ₁/(2λ) ln(a/ε), over t; ``unfitted``, the largest coefficient at the frequencies with λ <
    λ₁/(2t), over √3 ε. If a statement is right, its number is at most 1.
    """
    target = function(name, rate)
    j = np.arange(1, len(target.energies) + 1, dtype=np.float64)
    size = np.sqrt(target.energies)
    found: dict[str, list[float]] = {
        key: [] for key in ("log_iterations", "lower_bound", "lower_bound_printed", "unfitted")
    }
    for inverse in inverse_errors:
        error = 1.0 / inverse
        log_steps = max(target.log_steps(error, width, step_size), 0.0)  # one step at least
        found["log_iterations"].append(log_steps)
        matters = (size > error) & (width * j**2 > math.log(2.0))  # λ below λ₁/2, a above ε
        logs = np.log(np.log(size[matters] / error)) if matters.any() else np.array([-np.inf])
        half = width * j[matters] ** 2 - math.log(2.0) if matters.any() else np.array([0.0])  # ln(λ₁/(2λ))
        with np.errstate(over="ignore", divide="ignore"):
            less_one = half + np.log(-np.expm1(-half))
        found["lower_bound"].append(float(np.exp(np.max(less_one + logs) - log_steps)))
        found["lower_bound_printed"].append(float(np.exp(np.max(half + logs) - log_steps)))
        beyond = size[width * j**2 > math.log(2.0) + log_steps]
        found["unfitted"].append(float(beyond.max(initial=0.0)) / (math.sqrt(3.0) * error))
    slopes = np.diff(found["log_iterations"]) / np.diff(np.log(np.asarray(inverse_errors, dtype=np.float64)))
    found["exponent"] = [float(slopes[0]), *map(float, slopes)] if len(slopes) else [None]
    return AnalysisResult(list(inverse_errors), found, effective={"function": name, "width": width})
