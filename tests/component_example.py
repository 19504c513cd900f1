"""Small solvers of component analysis (SPEC 11) on the seams that they need: mixed blocks, two views, snapshots that
transform. They are the mathematics and nothing else."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from shallows import arrays, kernels, streams
from shallows.features import FourierMap
from shallows.fitting.snapshot import ComponentSnapshot
from shallows.solvers.examples import Examples, ExampleSet
from shallows.solvers.expansions.growing_expansion import GrowingExpansion, zeros


def points(n: int = 120, seed: int = 0) -> np.ndarray:
    """Points with directions of different weight, so that the eigenvalues of their kernel lie apart."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) * np.array([1.5, 0.7, 0.3])


def two_views(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Views that share two directions, one well and one less well."""
    rng = np.random.default_rng(5)
    shared = rng.normal(size=(n, 2))
    return (
        np.concatenate([shared + 0.2 * rng.normal(size=(n, 2)), rng.normal(size=(n, 1))], axis=1),
        np.concatenate([shared[:, ::-1] + 0.4 * rng.normal(size=(n, 2)), rng.normal(size=(n, 2))], axis=1),
    )


def features(block_size: int, seed: int = 0, d: int = 3) -> FourierMap:
    return FourierMap(kernels.make("gaussian", 2.0), d, block_size, seed)


# ------------------------------------------------------------------------------------------- kernel PCA (11.1)


@dataclass(frozen=True)
class ComponentProblem(ExampleSet):
    features: FourierMap
    n_components: int
    points: np.ndarray | None = None


@dataclass
class OjaState(GrowingExpansion):
    """No loss, no targets, no number to watch."""

    _: KW_ONLY
    step_size: float
    n_steps: int = 0


@dataclass(frozen=True)
class Oja:
    """h = G(X);  A_new = η/(BF) Φᵀh;  A_j ← A_j (I − η/B hᵀh) for all old blocks j; η_t = η₁/(1 + ρt).

    With ``revisits`` the features of block 0 are all there are, and A_new is added to its coefficients.
    """

    step_size: float
    decrease: float = 0.0
    revisits: bool = False

    def init(self, problem: ComponentProblem) -> OjaState:
        """Random coefficients: from zero nothing moves (K3)."""
        state = OjaState(zeros(problem.features, problem.n_components, np.empty(0)), step_size=self.step_size)
        shape = (problem.features.width, problem.n_components)
        # GᵀG is about the identity.
        state.grow(streams.normal(0, "start", 0, shape) / np.sqrt(problem.features.block_size * shape[0]))
        return state

    def step(self, problem: ComponentProblem, state: OjaState, batch: slice | Examples) -> OjaState:
        x, f = problem.take(batch).points, problem.features
        B, eta = x.shape[0], state.step_size / (1.0 + self.decrease * state.n_steps)
        h = state.evaluate(f, x)
        block = 0 if self.revisits else state.n_blocks
        change = f.block(block, x).T @ h * (eta / (B * f.block_size))
        state.mix(np.eye(h.shape[1]) - (eta / B) * h.T @ h)
        if self.revisits:
            state.add(block, change)
        else:
            state.grow(change)
        state.n_steps += 1
        return state


class OjaSnapshot(ComponentSnapshot):
    """Kernel PCA in the middle of its training, whose model counts evaluations."""

    def __init__(self, problem: ComponentProblem, state: OjaState, epoch: int):
        super().__init__(self.Model(problem, state), state, epoch, arrays.Device("cpu"))

    class Model:
        def __init__(self, problem: ComponentProblem, state: OjaState):
            self.problem, self.state, self.n_evaluations = problem, state, 0

        def transform(self, X: np.ndarray, device: arrays.Device) -> np.ndarray:
            self.n_evaluations += 1
            return self.state.evaluate(self.problem.features, X)

    @property
    def n_evaluations(self) -> int:
        return self.model.n_evaluations


def sine_squared(V: np.ndarray, G: np.ndarray) -> float:
    """sin² of the largest angle between the spans of two sets of columns."""
    V, G = np.linalg.qr(V)[0], np.linalg.qr(G)[0]
    return 1.0 - float(np.linalg.svd(V.T @ G, compute_uv=False)[-1]) ** 2


# ------------------------------------------------------------------------------------------- kernel CCA (11.3)


@dataclass(frozen=True)
class TwoViewProblem(ExampleSet):
    features: FourierMap
    second_features: FourierMap
    n_components: int
    points: np.ndarray | None = None
    second_view: np.ndarray | None = None


@dataclass
class TwoViewState:
    """u = F(x) and v = G(y). The number that is watched is the covariance of the two, which grows up to k/2."""

    first: OjaState
    second: OjaState
    step_size: float
    covariance: float = 0.0
    sizes: list[tuple[int, int]] = field(default_factory=list)

    def monitored(self) -> tuple[float, float]:
        return abs(self.covariance), float(self.first.buffer.shape[2])

    def remember(self):
        kept = {name: getattr(self, name).remember() for name in ("first", "second")}
        held = {f"{name}.{part}": array for name, (parts, _) in kept.items() for part, array in parts.items()}
        return held, {name: numbers for name, (_, numbers) in kept.items()}

    def recall(self, held, numbers):
        for name in ("first", "second"):
            parts = {key.partition(".")[2]: array for key, array in held.items() if key.startswith(f"{name}.")}
            getattr(self, name).recall(parts, numbers[name])

    def is_finite(self) -> bool:
        return self.first.is_finite() and self.second.is_finite()


@dataclass(frozen=True)
class KernelCCA:
    """α = (η/(BF)) Φ(x)ᵀ(v − uW), β = (η/(BF)) Φ(y)ᵀ(u − vW), W = (uᵀv + vᵀu)/B, on one block of features a view."""

    step_size: float

    def init(self, problem: TwoViewProblem) -> TwoViewState:
        start = Oja(self.step_size, revisits=True)
        views = (problem.features, problem.second_features)
        parts = [start.init(ComponentProblem(f, problem.n_components)) for f in views]
        return TwoViewState(*parts, self.step_size)

    def step(self, problem: TwoViewProblem, state: TwoViewState, batch: slice | Examples) -> TwoViewState:
        examples = problem.take(batch)
        x, y = examples.points, examples.second_view
        u, v = state.first.evaluate(problem.features, x), state.second.evaluate(problem.second_features, y)
        B = len(x)
        W = (u.T @ v + v.T @ u) / B
        for part, f, z, change in (
            (state.first, problem.features, x, v - u @ W),
            (state.second, problem.second_features, y, u - v @ W),
        ):
            part.add(0, f.block(0, z).T @ change * (state.step_size / (B * f.block_size)))
        state.covariance = float(np.trace(u.T @ v)) / B
        state.sizes.append((len(x), len(y)))
        return state


def exact_correlations(P: np.ndarray, Q: np.ndarray, k: int) -> np.ndarray:
    """The k largest canonical correlations, uncentred, of two sets of columns."""
    return np.linalg.svd(np.linalg.qr(P)[0].T @ np.linalg.qr(Q)[0], compute_uv=False)[:k]
