"""Doubly stochastic gradients with a known minimum: how fast many trajectories come to it, beside what is proved.

Theorems 4 to 6 of Dai et al. (2014), Theorems 3, 4 and 14 of Li and Póczos. The setting is theirs: one point and one
random feature (√2 cos(ωᵀx + b), so φ = 2) an iteration, steps θ/t. The population is a sample, so that the minimum f*
of E ℓ(f(x), y) + ν/2 ‖f‖² is known from Newton's method with the kernel matrix.

A trajectory is followed by its values at all points of the sample and at places beside it, which costs O(1) an
iteration where coefficients would cost O(t); many of them go in lockstep. Draws are those of the solver
`shallows.solvers.doubly_stochastic`, whose first iterations are done beside as a check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import arrays, losses, streams
from ..errors import ShallowsError
from ..features import FourierFeatures
from ..solvers.coordinates import Checked, Fresh, UniformReuse
from ..solvers.doubly_stochastic import DoublyStochastic
from ..solvers.expansion import Examples, ExpansionProblem, ExpansionState
from .bounds import Bounds, coefficient_ratio
from .findings import Findings, sample

CHUNK = 128
"""Features that are drawn together."""


@dataclass(frozen=True)
class SingleFeatures(FourierFeatures):
    """Blocks of one frequency each, which are drawn `CHUNK` at a time."""

    def _draw(self, i: int, like: Any) -> Any:
        omega = self.kernel.frequencies(self.seed, "frequencies", i // CHUNK, CHUNK, self.n_inputs, like=like)
        return arrays.contiguous(arrays.astype(omega[i % CHUNK : i % CHUNK + 1, :], like.dtype))

    def _draw_phases(self, i: int, like: Any) -> Any:
        turns = streams.uniform(self.seed, "phases", i // CHUNK, (CHUNK,), like=like)[i % CHUNK : i % CHUNK + 1]
        return arrays.astype(turns * (2.0 * math.pi), like.dtype)


@dataclass(frozen=True)
class Population:
    """A sample as the population, with the minimum of its regularised risk.

    Attributes
    ----------
    points : ndarray, shape (N, d)
        The n points of the sample, and places beside it.
    targets : ndarray, shape (n,)
    rows : ndarray, shape (n, N)
        k between the sample and all points.
    minimum : ndarray, shape (N,)
        f* at all points.
    norm : float
        ‖f*‖.
    """

    kernel: Any
    loss: Any
    regularisation: float
    points: np.ndarray
    targets: np.ndarray
    rows: np.ndarray
    minimum: np.ndarray
    norm: float

    @property
    def n(self) -> int:
        """Points of the sample."""
        return len(self.targets)

    @classmethod
    def of(
        cls, data: Any, kernel: str, bandwidth: float | None, loss: str, nu: float, n: int, n_places: int, seed: int
    ) -> Population:
        """A part of the training data in float64; the targets of a regression are standardised."""
        part = sample(data, kernel, bandwidth, n_points=n + n_places, random_state=seed, device="cpu")
        points, y = np.asarray(part.inputs), np.asarray(part.targets)[:, 0]
        if loss == "square":
            y = (y - y.mean()) / y.std()
        n = min(n, len(points) - 1)
        rows = np.asarray(part.matrix)[:n]
        loss = losses.make(loss)
        a = minimiser(rows[:, :n], y[:n], loss, nu)
        return cls(part.kernel, loss, nu, points, y[:n], rows, a @ rows, math.sqrt(a @ rows[:, :n] @ a))


def minimiser(K: np.ndarray, y: np.ndarray, loss: Any, nu: float) -> np.ndarray:
    """Coefficients a of the minimum f = Σ aᵢ k(xᵢ, ·) of (1/n) Σ ℓ(f(xᵢ), yᵢ) + ν/2 ‖f‖², by Newton's method.

    Where the gradient vanishes, ν a + ℓ'(Ka)/n = 0.

    Raises
    ------
    ShallowsError
        For losses that are not smooth, or where Newton's method does not arrive.
    """
    n, a = len(y), np.zeros(len(y))
    for _ in range(100):
        u = K @ a
        residual = nu * a + loss.derivative(u[:, None], y[:, None])[:, 0] / n
        if np.abs(residual).max() < 1e-14:
            return a
        change = np.linalg.solve(nu * np.eye(n) + curvature(loss, u, y)[:, None] * K / n, residual)
        a = a - change
        if np.abs(change).max() <= 1e-13 * max(1.0, np.abs(a).max()):
            return a
    raise ShallowsError("Newton's method did not find the minimum; take a larger regularisation.")


def curvature(loss: Any, u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """ℓ'' at scores u, shape (n,)."""
    if loss.name == "square":
        return np.ones_like(u)
    if loss.name == "logistic":
        return 0.25 / np.cosh(0.5 * u) ** 2
    raise ShallowsError(f"The minimum is known for the losses 'square' and 'logistic', not for {loss.name!r}.")


# The trajectories ----------------------------------------------------------------------------------------------------


@dataclass
class Trajectories:
    """Many trajectories at the same iteration.

    Attributes
    ----------
    values, companions : ndarray, shape (R, N)
        f, and h of the proofs, which is driven by f and has the kernel in place of the features.
    traces : ndarray, shape (R, capacity)
        β of each feature.
    in_use : ndarray of int, shape (R,)
        Features in use.
    """

    population: Population
    theta: float
    policy: Any
    seeds: Sequence[int]
    variance: float = 0.0
    largest_slope: float = 0.0
    longest: float = 1.0
    iteration: int = 0
    values: np.ndarray = field(init=False)
    companions: np.ndarray = field(init=False)
    traces: np.ndarray = field(init=False)
    in_use: np.ndarray = field(init=False)
    made: np.ndarray = field(init=False)
    drawn: int = 0

    def __post_init__(self) -> None:
        R, N = len(self.seeds), len(self.population.points)
        self.values, self.companions = np.zeros((R, N)), np.zeros((R, N))
        self.in_use = np.zeros(R, dtype=int)
        self.traces, self.made = np.zeros((R, 0)), np.empty((R, 0, N))
        p = self.population
        self.features = [SingleFeatures(p.kernel, p.points.shape[1], 1, seed, form="cosine") for seed in self.seeds]

    def run(self, marks: Sequence[int]) -> Iterator[int]:
        """Go on to each of the marks in turn."""
        p, R = self.population, len(self.seeds)
        last, each = max(marks), np.arange(R)
        drawn = np.array([point_numbers(seed, last, p.n) for seed in self.seeds])
        wanted = set(marks)
        for t in range(self.iteration + 1, last + 1):
            i = drawn[:, t - 1]
            g = p.loss.derivative(self.values[each, i][:, None], p.targets[i][:, None])[:, 0]
            self.largest_slope = max(self.largest_slope, float(np.abs(g).max()))
            gamma = self.theta / t
            k, s = self._chosen(t, gamma, g)
            fresh = k == self.in_use
            self._provide(int(k.max()) + 1)
            at = self.made[each, k - self._forgotten, :]
            self.in_use = self.in_use + fresh
            decay = (1.0 - s * p.regularisation)[:, None]
            self.values *= decay
            self.values -= (s * g * at[each, i])[:, None] * at
            self.companions *= decay
            self.companions -= (s * g)[:, None] * p.rows[i, :]
            if self._keeps:
                self.traces *= decay
                self.traces[each, k] -= s * g
            self.longest = max(self.longest, float((s / gamma).max()))
            self.iteration = t
            if t in wanted:
                yield t

    @property
    def _keeps(self) -> bool:
        """Whether old features may come back."""
        return not isinstance(self.policy, Fresh)

    @property
    def _forgotten(self) -> int:
        """Features before the first of those that are held."""
        return self.drawn - self.made.shape[1]

    def _provide(self, n_features: int) -> None:
        """Draw features until there are so many."""
        while self.drawn < n_features:
            p, first = self.population, self.drawn // CHUNK
            new = np.empty((len(self.seeds), CHUNK, len(p.points)))
            for r, seed in enumerate(self.seeds):
                like = p.points
                omega = p.kernel.frequencies(seed, "frequencies", first, CHUNK, like.shape[1], like=like)
                b = streams.uniform(seed, "phases", first, (CHUNK,)) * (2.0 * math.pi)
                new[r] = math.sqrt(2.0) * np.cos(omega @ like.T + b[:, None])
            self.made = np.concatenate([self.made, new], axis=1) if self._keeps else new
            self.drawn += CHUNK
            if self._keeps:
                self.traces = np.concatenate([self.traces, np.zeros((len(self.seeds), CHUNK))], axis=1)

    def _chosen(self, t: int, gamma: float, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The feature of each trajectory, and its step."""
        policy, gammas = self.policy, np.full(len(g), gamma)
        if isinstance(policy, UniformReuse) and (t - 1) % (policy.fresh + policy.reused) >= policy.fresh:
            drawn = [streams.integers(seed, "reuse", t - 1, 1)[0] for seed in self.seeds]
            return np.array([int(one) % int(m) for one, m in zip(drawn, self.in_use, strict=True)]), gammas
        if not isinstance(policy, Checked) or t == 1:
            return self.in_use.copy(), gammas
        used = int(self.in_use.max())
        steps = longest_steps(self.traces[:, :used], g, gamma, policy.gradient_bound**2 * policy.feature_variance)
        steps[np.arange(used)[None, :] >= self.in_use[:, None]] = 0.0
        best = steps.argmax(axis=1)
        s = np.minimum(steps[np.arange(len(g)), best], policy.cap * gamma)
        return np.where(s > gamma, best, self.in_use), np.where(s > gamma, s, gamma)


def longest_steps(traces: np.ndarray, g: np.ndarray, gamma: float, c: float) -> np.ndarray:
    """`solvers.coordinates.admitted_steps` of many trajectories with one output; traces of shape (R, m)."""
    g = g[:, None]
    along = traces * g
    radicand = along**2 - 0.5 * (g * g + c) * (traces**2 - gamma**2 * g * g)
    steps = (along + np.sqrt(np.clip(radicand, 0.0, None))) / np.where(g == 0.0, 1.0, g * g + c)
    return np.where((radicand >= 0) & (g != 0.0), np.clip(steps, 0.0, None), 0.0)


def point_numbers(seed: int, n_iterations: int, n: int) -> np.ndarray:
    """Which point each iteration takes, uniform with replacement."""
    return (streams.integers(seed, "trajectory points", 0, n_iterations) % np.uint64(n)).astype(np.int64)


def by_the_solver(trajectories: Trajectories, n_iterations: int) -> np.ndarray:
    """Values after some iterations of the first trajectory, by the solver itself, shape (N,)."""
    p, seed = trajectories.population, trajectories.seeds[0]
    problem = ExpansionProblem(trajectories.features[0], p.loss, 1, growth=math.inf)
    solver = DoublyStochastic(
        trajectories.theta, 1.0, p.regularisation, trajectories.policy, preconditioning=None, seed=seed
    )
    state = ExpansionState.zero(problem, trajectories.theta, p.points)
    for i in point_numbers(seed, n_iterations, p.n):
        state = solver.step(problem, state, Examples(p.points[i : i + 1, :], p.targets[i : i + 1, None]))
    return state.values(problem, p.points)[:, 0]


def feature_variance(p: Population, seed: int) -> float:
    """σ² = E_ω Var_x[φ_ω(x)φ_ω(z) − k(x, z)] over points x of the sample, for z at all points."""
    omega = p.kernel.frequencies(seed, "frequencies of the variance", 0, CHUNK, p.points.shape[1], like=p.points)
    b = streams.uniform(seed, "phases of the variance", 0, (CHUNK,)) * (2.0 * math.pi)
    waves = math.sqrt(2.0) * np.cos(p.points @ omega.T + b)
    total = sum(np.var(np.outer(wave[: p.n], wave) - p.rows, axis=0).mean() for wave in waves.T)
    return float(total / CHUNK)


# The analyses --------------------------------------------------------------------------------------------------------


def errors(
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
    delta: float = 0.05,
    random_state: int = 0,
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """|f_t(x) − f*(x)|² and the risk over it, of many trajectories, beside the bounds.

    Parameters
    ----------
    data
        Has ``x_train`` and ``y_train``.
    kernel, bandwidth
        As for `kernels.make`; the median rule where nothing is said.
    loss : {"logistic", "square"}
        The slopes of the square have no bound: M is then the largest that was seen.
    method : {"dsg", "udsg", "cdsg"}
    theta_nu : float
        θν.
    regularisation : float
        ν.
    n_points, n_places : int
        Points of the population, and places beside it where f is compared with f*.
    n_iterations, n_repeats : int
        t at most, and trajectories.
    fresh, reused : int
        G and U of udsg.
    cap : float
        θ'/θ of cdsg.
    delta : float
        δ.

    Returns
    -------
    Findings
        Over t: ``error`` (mean over trajectories and places), ``feature_part`` |f − h|² and ``data_part`` |h − f*|² of
        it, ``quantile`` (that of 1 − 3δ), ``excess`` (mean |R(f) − R(f*)|), their bounds ``bound``,
        ``quantile_bound``, ``excess_bound``, ``share_within`` the bound of Theorem 5, ``n_features`` (mean),
        ``feature_count`` (over that of DSG), ``coefficient`` (largest, in units of θ/t), ``relative_error`` (error over
        the mean of f*²). Numbers: ``solver_difference``, from the solver itself after 100 iterations, over the largest
        value; ``minimum_square``, ``slope_bound`` M, ``feature_variance`` σ², ``longest`` step over γ.
    """
    p, trajectories = _start(
        data, kernel, bandwidth, loss, method, theta_nu, regularisation, n_points, n_places, n_repeats,
        fresh, reused, cap, random_state,
    )  # fmt: skip
    marks = log_marks(n_iterations)
    checked = min(100, n_iterations)
    found: dict[str, list[float]] = {}
    least = _risk(p, p.minimum[None, :])[0]
    difference = math.nan
    kept: list[tuple[int, dict[str, float], np.ndarray]] = []
    for t in trajectories.run(sorted({*marks, checked})):
        if t == checked:
            by_solver = by_the_solver(trajectories, t)
            difference = float(np.abs(by_solver - trajectories.values[0]).max() / np.abs(by_solver).max())
        if t not in marks:
            continue
        off = (trajectories.values[:, p.n :] - p.minimum[p.n :]) ** 2
        excess = np.abs(_risk(p, trajectories.values) - least)
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
                    "coefficient": coefficient_ratio(theta_nu, t),
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
        for name, value in values.items():
            found.setdefault(name, []).append(float(value))
    numbers = {
        "solver_difference": difference,
        "minimum_square": square,
        "slope_bound": slope,
        "feature_variance": trajectories.variance,
        "longest": trajectories.longest,
    }
    return Findings(marks, found, numbers, _told(p, theta_nu, n_repeats, method))


def reuse(
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
    device: str = "auto",
    memory: int | str | None = None,
) -> Findings:
    """What UDSG costs beside DSG to the same error, from the errors of both.

    With errors c/t, UDSG needs c_U/c_D times the iterations; the cost is quadratic in them and proportional to the
    share of features.

    Parameters
    ----------
    rounds : sequence of pairs
        (G, U).

    Others are those of `errors`.

    Returns
    -------
    Findings
        Over U/G: ``sample_ratio`` c_U/c_D, ``feature_ratio`` the same of |f − h|² alone, ``predicted`` 1 + 2U/G,
        ``feature_share`` and ``predicted_share`` G/(G + U), ``cost_ratio``, its ``printed_bound`` (G + 2U)/(G + U) and
        ``corrected`` (G + 2U)²/(G (G + U)).
    """
    marks = [t for t in log_marks(n_iterations) if t >= n_iterations / 4]

    def constants(method: str, G: int, U: int) -> tuple[float, float, float]:
        p, trajectories = _start(
            data, kernel, bandwidth, loss, method, theta_nu, regularisation, n_points, n_places, n_repeats,
            G, U, 2.0, random_state,
        )  # fmt: skip
        errors, parts = [], []
        for t in trajectories.run(marks):
            errors.append(t * ((trajectories.values[:, p.n :] - p.minimum[p.n :]) ** 2).mean())
            parts.append(t * ((trajectories.values - trajectories.companions)[:, p.n :] ** 2).mean())
        return float(np.mean(errors)), float(np.mean(parts)), float(trajectories.in_use.mean() / n_iterations)

    plain = constants("dsg", 1, 0)
    rounds = sorted(rounds, key=lambda one: one[1] / one[0])
    found: dict[str, list[float]] = {}
    for G, U in rounds:
        error, part, share = constants("udsg", G, U)
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
        for name, value in values.items():
            found.setdefault(name, []).append(value)
    return Findings([U / G for G, U in rounds], found, effective={"n_iterations": n_iterations, "n_repeats": n_repeats})


def log_marks(last: int, count: int = 24) -> list[int]:
    """Iterations from 10 on, evenly spaced in the logarithm."""
    first = min(10, last)
    return sorted({round(first * (last / first) ** (i / (count - 1))) for i in range(count)})


def _start(
    data: Any, kernel: str, bandwidth: float | None, loss: str, method: str, theta_nu: float, nu: float, n: int,
    n_places: int, n_repeats: int, G: int, U: int, cap: float, seed: int,
) -> tuple[Population, Trajectories]:  # fmt: skip
    if method not in ("dsg", "udsg", "cdsg"):
        raise ShallowsError(f"method is 'dsg', 'udsg' or 'cdsg', not {method!r}.")
    # The population stays the same for every seed; what differs are points and features.
    p = Population.of(data, kernel, bandwidth, loss, nu, n, n_places, 0)
    policy: Any = Fresh()
    variance = 0.0
    if method == "udsg":
        policy = UniformReuse(G, U)
    elif method == "cdsg":
        variance, bound = feature_variance(p, seed), p.loss.slope_bound
        if math.isinf(bound):
            raise ShallowsError("The rule of cdsg needs a loss of bounded slopes.")
        policy = Checked(variance, bound, cap)
    seeds = [n_repeats * seed + r for r in range(n_repeats)]
    return p, Trajectories(p, theta_nu / nu, policy, seeds, variance)


def _risk(p: Population, values: np.ndarray) -> np.ndarray:
    """E ℓ(f(x), y) over the population, for each row of values."""
    return np.array([p.loss.value(one[: p.n, None], p.targets[:, None]).mean() for one in values])


def _told(p: Population, theta_nu: float, n_repeats: int, method: str) -> dict[str, Any]:
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
