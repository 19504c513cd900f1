"""Convergence of doubly stochastic gradients to a known minimum over many trajectories, compared with proved bounds.

Theorems 4 to 6 of Dai et al. (2014), Theorems 3, 4 and 14 of Li and Póczos. As in the papers, each iteration has one
point, one random feature and the step θ/t. The population is a sample, so the minimum f* of E ℓ(f(x), y) + ν/2 ‖f‖² is
known from Newton's method with the kernel matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shallows.errors import ShallowsError, UnknownNameError
from shallows.solvers.expansions.block_policies import POLICIES, CheckedBlocks, Fresh, UniformReuse

from ..results import AnalysisResult, curves_of, log_marks
from ..resumable import ResumableLoop
from .batched_trajectories import Population, Trajectories, by_the_solver, feature_variance


def errors_by_iteration(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    loss: str = "logistic",
    method: str = "dsg",
    theta_nu: float = 1.5,
    regularisation: float = 0.1,
    n_points: int = 100,
    n_places: int = 25,
    n_iterations: int = 2000,
    n_repeats: int = 16,
    fresh: int = 1,
    reused: int = 1,
    cap: float = 2.0,
    noise: str = "corrected",
    delta: float = 0.05,
    random_state: int = 0,
) -> AnalysisResult:
    """Compare |f_t(x) − f*(x)|² and the excess risk of many trajectories with the bounds.

    The population has `n_points` points; f is compared with f* at `n_places` others. `theta_nu` is θν, `regularisation`
    ν, `fresh` and `reused` G and U of udsg, `cap` θ'/θ of cdsg, and `noise` the noise term of its rule
    (`shallows.solvers.expansions.block_policies.CheckedBlocks`). The square loss has unbounded slopes; M is then the
    largest observed slope.

    Over t: ``error`` (mean over trajectories and places), ``feature_part`` |f − h|² and ``data_part`` |h − f*|² of it,
    ``quantile`` (that of 1 − 3δ), ``excess`` (mean |R(f) − R(f*)|), their bounds ``bound``, ``quantile_bound``,
    ``excess_bound``, ``share_within`` the bound of Theorem 5, ``n_features`` (mean), ``feature_count`` (over that of
    DSG), ``relative_error`` (error over the mean of f*²). Numbers: ``solver_difference``, from the solver itself after
    100 iterations, over the largest value; of that solver's trajectory with dsg ``coefficient``, the largest |aᵗᵢ| in
    units of θ/t over these iterations, and ``later_coefficient``, the same from t = θν on; ``minimum_square``,
    ``slope_bound`` M, ``feature_variance`` σ², ``longest`` step over γ.
    """
    p, trajectories = _start(
        data, kernel, bandwidth, loss, method, theta_nu, regularisation, n_points, n_places, n_repeats,
        fresh, reused, cap, random_state, noise,
    )  # fmt: skip
    marks = log_marks(n_iterations, 24, first=10)
    checked = min(100, n_iterations)
    least = p.risk(p.minimum[None, :])[0]
    difference, coefficients = math.nan, {}
    kept: list[tuple[int, dict[str, float], np.ndarray]] = []
    for t in trajectories.run(sorted({*marks, checked})):
        if t == checked:
            by_solver, sizes = by_the_solver(trajectories, t)
            difference = float(np.abs(by_solver - trajectories.values[0]).max() / np.abs(by_solver).max())
            if method == "dsg":
                later = sizes[math.ceil(theta_nu) - 1 :]
                coefficients = {"coefficient": float(sizes.max()), "later_coefficient": float(later.max())}
        if t not in marks:
            continue
        off = (trajectories.values[:, p.n :] - p.minimum[p.n :]) ** 2
        excess = np.abs(p.risk(trajectories.values) - least)
        kept.append(
            (
                t,
                {
                    "error": off.mean(),
                    "feature_part": ((trajectories.values - trajectories.companions)[:, p.n :] ** 2).mean(),
                    "data_part": ((trajectories.companions[:, p.n :] - p.minimum[p.n :]) ** 2).mean(),
                    "quantile": np.quantile(off, 1.0 - 3.0 * delta),
                    "excess": excess.mean(),
                    "n_features": trajectories.in_use.mean(),
                    "feature_count": trajectories.in_use.mean() / t,
                },
                off,
            )
        )
    slope = p.loss.slope_bound
    slope = trajectories.largest_slope if math.isinf(slope) else slope
    # The theorems take one L for the loss and for its derivative.
    longest = cap if method == "cdsg" else 1.0
    bounds = Bounds(
        longest * theta_nu / regularisation, regularisation, slope, max(slope, p.loss.smoothness), p.norm,
        kappa=float(p.rows.max()),
    )  # fmt: skip
    square = float((p.minimum[p.n :] ** 2).mean())
    for t, values, off in kept:
        within = bounds.with_probability(t, delta)
        values |= {
            "relative_error": values["error"] / square,
            "bound": bounds.expected(t, fresh, reused if method == "udsg" else 0),
            "quantile_bound": within,
            "excess_bound": bounds.of_risk(t, delta),
            "share_within": float((off <= within).mean()),
        }
    rows = [{name: float(value) for name, value in values.items()} for _, values, _ in kept]
    numbers = {
        "solver_difference": difference,
        **coefficients,
        "minimum_square": square,
        "slope_bound": slope,
        "feature_variance": trajectories.variance,
        "longest": trajectories.longest,
    }
    return AnalysisResult(marks, curves_of(rows), numbers, _setting(p, theta_nu, n_repeats, method))


def cost_of_reuse(
    data: Any,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    *,
    rounds: Sequence[Sequence[int]] = ((2, 1), (1, 1), (1, 2), (1, 3)),
    loss: str = "logistic",
    theta_nu: float = 1.5,
    regularisation: float = 0.1,
    n_points: int = 100,
    n_places: int = 25,
    n_iterations: int = 1200,
    n_repeats: int = 24,
    random_state: int = 0,
    progress: ResumableLoop | None = None,
) -> AnalysisResult:
    """Compare the cost of UDSG with DSG for the same error, from the errors of both.

    With errors c/t, UDSG needs c_U/c_D times the iterations; the cost is quadratic in them and proportional to the
    share of features.

    `rounds` are pairs (G, U). `progress` stores the errors of finished pairs. The other parameters are those of
    `errors_by_iteration`.

    Over U/G: ``sample_ratio`` c_U/c_D, ``feature_ratio`` the same of |f − h|² alone, ``predicted`` 1 + 2U/G,
    ``feature_share`` and ``predicted_share`` G/(G + U), ``cost_ratio``, its ``printed_bound`` (G + 2U)/(G + U) and
    ``corrected`` (G + 2U)²/(G (G + U)).
    """
    marks = [t for t in log_marks(n_iterations, 24, first=10) if t >= n_iterations / 4]

    def constants(setting: tuple[str, int, int]) -> tuple[float, float, float]:
        method, G, U = setting
        p, trajectories = _start(
            data, kernel, bandwidth, loss, method, theta_nu, regularisation, n_points, n_places, n_repeats,
            G, U, 2.0, random_state,
        )  # fmt: skip
        errors, parts = [], []
        for t in trajectories.run(marks):
            errors.append(t * ((trajectories.values[:, p.n :] - p.minimum[p.n :]) ** 2).mean())
            parts.append(t * ((trajectories.values - trajectories.companions)[:, p.n :] ** 2).mean())
        return float(np.mean(errors)), float(np.mean(parts)), float(trajectories.in_use.mean() / n_iterations)

    progress = progress or ResumableLoop()
    rounds = sorted(rounds, key=lambda one: one[1] / one[0])
    plain, *with_reuse = progress.map(
        "rounds of re-use", constants, [("dsg", 1, 0), *(("udsg", G, U) for G, U in rounds)]
    )
    rows = []
    for (G, U), (error, part, share) in zip(rounds, with_reuse, strict=True):
        ratio = error / plain[0]
        values = {
            "sample_ratio": ratio,
            "feature_ratio": part / plain[1],
            "predicted": 1.0 + 2.0 * U / G,
            "feature_share": share,
            "predicted_share": G / (G + U),
            "cost_ratio": ratio * ratio * share,
            "printed_bound": (G + 2.0 * U) / (G + U),
            "corrected": (G + 2.0 * U) ** 2 / (G * (G + U)),
        }
        rows.append(values)
    effective = {"n_iterations": n_iterations, "n_repeats": n_repeats}
    return AnalysisResult([U / G for G, U in rounds], curves_of(rows), effective=effective)


@dataclass(frozen=True)
class Bounds:
    """The bounds of the theorems, with their constants θ, ν, M (slope), L (lipschitz), ‖f*‖, κ and φ.

    Theorems 4 to 6 of Dai et al. (2014); Theorems 3, 4 and 14 of Li and Póczos, which have the same constants if
    features are not reused.
    """

    theta: float
    nu: float
    slope: float
    lipschitz: float
    norm: float
    kappa: float = 1.0
    phi: float = 2.0

    def expected(self, t: float, fresh: int = 1, reused: int = 0) -> float:
        """Return the bound of E|f_{t+1}(x) − f*(x)|²: Theorem 4 of Dai et al., or of Li and Póczos with reuse."""
        G, U = fresh, reused
        more = 1.0 + 2.0 * U / (G + U) + 2.0 * U * U / (G * (G + U)) + 2.0 * U * (U - 1) / (G * t)
        C = 2.0 * (self.kappa + self.phi) * self.slope * self.theta * math.sqrt(max(more, 1.0))
        Q0 = math.sqrt(2.0 * self.kappa) * self.lipschitz * C * self.theta
        z, tn = 2.0 * self.theta * self.nu - 1.0, 1.0 + self.theta * self.nu
        root = math.sqrt(Q0 * Q0 + z * tn * tn * self.theta**2 * self.kappa * self.slope**2)
        Q1 = max(self.norm, (Q0 + root) / z)
        return (2.0 * C * C + 2.0 * self.kappa * Q1 * Q1) / t

    @property
    def constant(self) -> float:
        """The constant C of the theorems of Dai et al."""
        return 2.0 * (self.kappa + self.phi) * self.slope * self.theta

    @property
    def high(self) -> float:
        """The constant Q₂ of Theorems 5 and 6."""
        k, M, theta = math.sqrt(self.kappa), self.slope, self.theta
        Q0 = 4.0 * math.sqrt(2.0) * k * M * theta * (8.0 + (self.kappa + self.phi) * theta * self.lipschitz)
        tn = 1.0 + theta * self.nu
        return max(self.norm, Q0 + math.sqrt(Q0**2 + self.kappa * M**2 * tn**2 * (theta**2 + 16.0 * theta / self.nu)))

    def with_probability(self, t: float, delta: float) -> float:
        """Return the bound of |f_{t+1}(x) − f*(x)|² with probability 1 − 3δ: Theorem 5."""
        logs = math.log(2.0 * t / delta) * math.log(t) ** 2
        return (self.constant**2 * math.log(2.0 / delta) + 2.0 * self.kappa * self.high**2 * logs) / t

    def of_risk(self, t: float, delta: float) -> float:
        """Return the bound of R(f_{t+1}) − R(f*) with probability 1 − 3δ: Theorem 6."""
        first = self.constant * math.sqrt(math.log(8.0 * math.sqrt(math.e) * t / delta))
        second = math.sqrt(2.0 * self.kappa) * self.high * math.sqrt(math.log(2.0 * t / delta)) * math.log(t)
        return (first + second) * self.lipschitz / math.sqrt(t)


def _start(
    data: Any, kernel: str, bandwidth: float | None, loss: str, method: str, theta_nu: float, nu: float, n: int,
    n_places: int, n_repeats: int, G: int, U: int, cap: float, seed: int,
    noise: str = "corrected",
) -> tuple[Population, Trajectories]:  # fmt: skip
    UnknownNameError.check("method", method, POLICIES)
    # The population is the same for every seed. Only the drawn points and features differ.
    p = Population.of(data, kernel, bandwidth, loss, nu, n, n_places, 0)
    policy: Any = Fresh()
    variance = 0.0
    if method == "udsg":
        policy = UniformReuse(G, U)
    elif method == "cdsg":
        variance, bound = feature_variance(p, seed), p.loss.slope_bound
        if math.isinf(bound):
            raise ShallowsError("The rule of cdsg needs a loss with bounded slopes.")
        policy = CheckedBlocks(variance, bound, cap, noise, product_bound=p.rows.max() + 2.0)
    seeds = [n_repeats * seed + r for r in range(n_repeats)]
    return p, Trajectories(p, theta_nu / nu, policy, seeds, variance)


def _setting(p: Population, theta_nu: float, n_repeats: int, method: str) -> dict[str, Any]:
    return {
        "method": method,
        "kernel": p.kernel.name,
        "bandwidth": p.kernel.bandwidth,
        "loss": p.loss.name,
        "regularisation": p.regularisation,
        "theta_nu": theta_nu,
        "n_points": p.n,
        "n_places": len(p.points) - p.n,
        "n_repeats": n_repeats,
        "precision": "float64",
    }
