"""Many trajectories of doubly stochastic gradients, computed together as values at the points of a population.

The population is a small sample, so the minimum of its regularized risk can be computed exactly.

Each iteration has one point, one random feature (√2 cos(ωᵀx + b), so φ = 2) and the step θ/t. Updating the values of a
trajectory costs O(1) per iteration; coefficients would cost O(t). The random numbers are the same as in the solver
`shallows.solvers.expansions.doubly_stochastic`, which can run the first iterations as a check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shallows import arrays, losses, streams
from shallows.errors import ShallowsError
from shallows.features.fourier import FourierMap
from shallows.solvers.examples import Examples
from shallows.solvers.expansions.block_policies import CheckedBlocks, Fresh, UniformReuse
from shallows.solvers.expansions.doubly_stochastic import DoublyStochasticStepper
from shallows.solvers.expansions.expansion import ExpansionProblem, ExpansionState

from ..samples import sample

CHUNK = 128  # features per draw


@dataclass(frozen=True)
class Population:
    """A sample as the population, with the minimum of its regularized risk."""

    kernel: Any
    loss: Any
    regularisation: float
    points: np.ndarray  # (N, d): the n points of the sample, and other points
    targets: np.ndarray  # (n,)
    rows: np.ndarray  # (n, N): k between the sample and all points
    minimum: np.ndarray  # (N,): f* at all points
    norm: float  # ‖f*‖

    @property
    def n(self) -> int:
        """Points of the sample."""
        return len(self.targets)

    def risk(self, values: np.ndarray) -> np.ndarray:
        """Return E ℓ(f(x), y) over the sample, shape (R,), for functions with the given values, shape (R, N)."""
        return np.array([self.loss.value(one[: self.n, None], self.targets[:, None]).mean() for one in values])

    @classmethod
    def of(
        cls, data: Any, kernel: str, bandwidth: float | None, loss: str, nu: float, n: int, n_places: int, seed: int
    ) -> Population:
        """Make a population from a part of the training data in float64; regression targets are standardized."""
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
    raise ShallowsError("Newton's method did not find the minimum. Use a larger regularization.")


def curvature(loss: Any, u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """ℓ'' at scores u, shape (n,)."""
    if loss.name == "square":
        return np.ones_like(u)
    if loss.name == "logistic":
        return 0.25 / np.cosh(0.5 * u) ** 2
    raise ShallowsError(f"The minimum can be computed for the losses 'square' and 'logistic', not for {loss.name!r}.")


@dataclass(frozen=True)
class SingleFeatures(FourierMap):
    """Blocks of one frequency each, drawn `CHUNK` at a time."""

    def _draw(self, i: int, like: Any) -> Any:
        omega = self.kernel.frequencies(self.seed, "frequencies", i // CHUNK, CHUNK, self.n_inputs, like=like)
        return arrays.contiguous(arrays.astype(omega[i % CHUNK : i % CHUNK + 1, :], like.dtype))

    def _draw_phases(self, i: int, like: Any) -> Any:
        turns = streams.uniform(self.seed, "phases", i // CHUNK, (CHUNK,), like=like)[i % CHUNK : i % CHUNK + 1]
        return arrays.astype(turns * (2.0 * math.pi), like.dtype)


@dataclass
class Trajectories:
    """Many trajectories at the same iteration.

    ``values, companions`` (R, N): f, and h of the proofs, which uses the gradients of f and the kernel instead of the
    features.
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
    traces: np.ndarray = field(init=False)  # (R, capacity): β of each feature
    in_use: np.ndarray = field(init=False)  # (R,): number of features
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
        """Continue to each of the marks in turn."""
        p, R = self.population, len(self.seeds)
        last, each = max(marks), np.arange(R)
        drawn = np.array([point_numbers(seed, last, p.n) for seed in self.seeds])
        wanted = set(marks)
        for t in range(self.iteration + 1, last + 1):
            i = drawn[:, t - 1]
            g = p.loss.derivative(self.values[each, i][:, None], p.targets[i][:, None])[:, 0]
            self.largest_slope = max(self.largest_slope, float(np.abs(g).max()))
            gamma = self.theta / t
            k, s = self._choose_features(t, gamma, g)
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
        """Whether old features may be used again."""
        return not isinstance(self.policy, Fresh)

    @property
    def _forgotten(self) -> int:
        """The number of features before the first stored feature."""
        return self.drawn - self.made.shape[1]

    def _provide(self, n_features: int) -> None:
        """Draw features until there are `n_features`."""
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

    def _choose_features(self, t: int, gamma: float, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the feature and the step of each trajectory."""
        policy, gammas = self.policy, np.full(len(g), gamma)
        if isinstance(policy, UniformReuse) and (t - 1) % (policy.fresh + policy.reused) >= policy.fresh:
            drawn = [streams.integers(seed, "reuse", t - 1, 1)[0] for seed in self.seeds]
            return np.array([int(one) % int(m) for one, m in zip(drawn, self.in_use, strict=True)]), gammas
        if not isinstance(policy, CheckedBlocks) or t == 1:
            return self.in_use.copy(), gammas
        used = int(self.in_use.max())
        steps = longest_steps(self.traces[:, :used], g, gamma, policy.noise_term(None, 1))
        steps[np.arange(used)[None, :] >= self.in_use[:, None]] = 0.0
        best = steps.argmax(axis=1)
        s = np.minimum(steps[np.arange(len(g)), best], policy.cap * gamma)
        return np.where(s > gamma, best, self.in_use), np.where(s > gamma, s, gamma)


def longest_steps(traces: np.ndarray, g: np.ndarray, gamma: float, c: float) -> np.ndarray:
    """Compute `block_policies.admitted_steps` for many trajectories with one output; traces have shape (R, m)."""
    g = g[:, None]
    along = traces * g
    radicand = along**2 - 0.5 * (g * g + c) * (traces**2 - gamma**2 * g * g)
    steps = (along + np.sqrt(np.clip(radicand, 0.0, None))) / np.where(g == 0.0, 1.0, g * g + c)
    return np.where((radicand >= 0) & (g != 0.0), np.clip(steps, 0.0, None), 0.0)


def point_numbers(seed: int, n_iterations: int, n: int) -> np.ndarray:
    """Draw the point of each iteration, uniformly with replacement."""
    return (streams.integers(seed, "trajectory points", 0, n_iterations) % np.uint64(n)).astype(np.int64)


def by_the_solver(trajectories: Trajectories, n_iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute the first trajectory with the solver itself, and the size of its coefficients.

    Returns the values of f after all iterations, shape (N,), and the largest |aᵗᵢ| over the features i after each
    iteration t, in units of θ/t, for a solver with a new feature in each iteration. The coefficient of a feature is
    aᵗᵢ ℓ'ᵢ, where ℓ'ᵢ is the slope of the loss when the feature was added.
    """
    p, seed = trajectories.population, trajectories.seeds[0]
    problem = ExpansionProblem(trajectories.features[0], p.loss, 1, growth=math.inf)
    solver = DoublyStochasticStepper(
        trajectories.theta, 1.0, p.regularisation, trajectories.policy, preconditioning=None, seed=seed
    )
    state = ExpansionState.zero(problem, trajectories.theta, p.points)
    slopes, largest = np.zeros(n_iterations), np.zeros(n_iterations)
    for t, i in enumerate(point_numbers(seed, n_iterations, p.n), start=1):
        state = solver.step(problem, state, Examples(p.points[i : i + 1, :], p.targets[i : i + 1, None]))
        traces = np.abs(arrays.to_numpy(state.traces)[:, 0])
        used = len(traces)
        if used == t:  # made just now with the step θ/t
            slopes[t - 1] = traces[-1] * t / trajectories.theta
        known = slopes[:used] > 0
        largest[t - 1] = (traces[known] / slopes[:used][known]).max(initial=0.0) * t / trajectories.theta
    return state.values(problem, p.points)[:, 0], largest


def feature_variance(p: Population, seed: int) -> float:
    """σ² = E_ω Var_x[φ_ω(x)φ_ω(z) − k(x, z)] over points x of the sample, for z at all points."""
    omega = p.kernel.frequencies(seed, "frequencies of the variance", 0, CHUNK, p.points.shape[1], like=p.points)
    b = streams.uniform(seed, "phases of the variance", 0, (CHUNK,)) * (2.0 * math.pi)
    waves = math.sqrt(2.0) * np.cos(p.points @ omega.T + b)
    total = sum(np.var(np.outer(wave[: p.n], wave) - p.rows, axis=0).mean() for wave in waves.T)
    return float(total / CHUNK)
