"""Solvers of components of features: Oja's rule, VR-PCA, the noisy power method, and matrix stochastic gradient."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import arrays
from ...arrays import Array
from ...errors import ShallowsError
from ...spectrum.eigensystems import orthonormal
from ..components.component_steps import default_decrease
from ..examples import Examples
from ..settings import count, positive, setting
from .problem import FeaturePCAPlan, FeaturePCAProblem, FeaturePCASettings, FeaturePCAState


@dataclass(frozen=True)
class FeatureOjaStepper:
    """W ← orth(W + η_t A_S W), with the covariance A_S = ZᵀZ/m of a batch and η_t = η₁ / (1 + ρ (t − 1)).

    Sources: the source of `FeatureOja`; A. Balsubramani, S. Dasgupta and Y. Freund (2013), NIPS 26.
    """

    step_size: float  # η₁, in units of one over an eigenvalue
    decrease: float = 0.0  # ρ ≥ 0

    def init(self, problem: FeaturePCAProblem) -> FeaturePCAState:
        return FeaturePCAState.at(problem)

    def step(self, problem: FeaturePCAProblem, state: FeaturePCAState, batch: slice | Examples) -> FeaturePCAState:
        Z, H = state.take(problem, batch)
        eta = self.step_size / (1.0 + self.decrease * state.n_steps)
        # In units of 1 + η no step overflows; the columns are normalized anyway.
        moved = state.coefficients * (1.0 / (1.0 + eta)) + Z.T @ H * (eta / (1.0 + eta) / Z.shape[0])
        return state.advance(orthonormal(moved))


@dataclass
class VRState(FeaturePCAState):
    """A `FeaturePCAState` with a snapshot."""

    snapshot: Array | None = None  # (D, k): W̃
    product: Array | None = None  # (D, k): A W̃
    left: int = 0  # examples until the next snapshot


@dataclass(frozen=True)
class VRPCAStepper:
    r"""W ← polar(W + η (A_S (W − W̃B) + A W̃ B)), with a new snapshot W̃ = W after every ``period`` passes.

    A_S is the covariance of a batch, A of all rows. B is the rotation that brings W̃ nearest to W: VUᵀ for WᵀW̃ = USVᵀ.
    polar(W) = W (WᵀW)^{−½}. Near the solution W − W̃B vanishes, and with it the noise: the error falls by a factor in
    each epoch, where with Oja's rule it falls as 1/t.
    """

    step_size: float  # η, for the mean over a batch
    period: float = 1.0  # passes between snapshots, each of which costs another pass

    def init(self, problem: FeaturePCAProblem) -> VRState:
        W = problem.start
        return VRState.at(problem, snapshot=W, product=arrays.namespace(W).zeros_like(W))

    def step(self, problem: FeaturePCAProblem, state: VRState, batch: slice | Examples) -> VRState:
        xp = arrays.namespace(state.coefficients)
        if state.left <= 0:
            state.snapshot, state.left = state.coefficients, max(1, round(self.period * problem.training_set.n))
            total = xp.zeros_like(state.snapshot)
            for Z in problem.passes_over(state.mean):
                total += Z.T @ (Z @ state.snapshot)
            state.product = total / problem.training_set.n
        W = state.coefficients
        Z, H = state.take(problem, batch)
        state.left -= Z.shape[0]
        if not math.isfinite(state.explained):
            return state  # The training loop sees it in `monitored`.
        U, _, Vt = xp.linalg.svd(W.T @ state.snapshot, full_matrices=False)
        B = (U @ Vt).T
        of_batch = Z.T @ (H - Z @ (state.snapshot @ B)) * (1.0 / Z.shape[0])
        # In units of 1 + η no step overflows; the columns are normalized anyway.
        share = self.step_size / (1.0 + self.step_size)
        U, _, Vt = xp.linalg.svd(W * (1.0 - share) + (of_batch + state.product @ B) * share, full_matrices=False)
        return state.advance(U @ Vt)


@dataclass
class PowerState(FeaturePCAState):
    """A `FeaturePCAState` with the block that is collected."""

    product: Array | None = None  # (D, k): Σ z zᵀ W over the examples of the block so far
    n_gathered: int = 0  # examples of the block so far


@dataclass(frozen=True)
class NoisyPowerMethodStepper:
    """W ← orth(A_S W), with the covariance A_S of a block of examples, which consists of whole batches.

    The error falls by λ_{k+1}/λ_k for each block, to a level that depends on the noise A_S − A.
    """

    rows: int  # smallest number of examples of a block

    def init(self, problem: FeaturePCAProblem) -> PowerState:
        return PowerState.at(problem, product=arrays.namespace(problem.start).zeros_like(problem.start))

    def step(self, problem: FeaturePCAProblem, state: PowerState, batch: slice | Examples) -> PowerState:
        """One batch; after the last of a block, an iteration."""
        Z, H = state.take(problem, batch)
        state.product = state.product + Z.T @ H
        state.n_gathered += Z.shape[0]
        if state.n_gathered < self.rows:
            return state.advance()
        W = orthonormal(state.product / state.n_gathered)
        state.product, state.n_gathered = arrays.namespace(W).zeros_like(W), 0
        return state.advance(W)


@dataclass
class MatrixGradientState(FeaturePCAState):
    """A `FeaturePCAState` whose coefficients are the eigenvectors of M, the largest eigenvalue first."""

    eigenvalues: Array | None = None  # (r,): of M, from 0 to 1, with the sum k


@dataclass(frozen=True)
class MatrixStochasticGradientStepper:
    """M ← P(M + η_t A_S), with the covariance A_S = ZᵀZ/m of a batch and η_t = η₁/√t.

    P projects onto the matrices with eigenvalues from 0 to 1, trace k and at most ``rank`` eigenvalues above 0, see
    `capped_eigenvalues`. The components are the k leading eigenvectors of M, which is stored as U diag(σ) Uᵀ.
    """

    step_size: float  # η₁, in units of one over an eigenvalue
    rank: int  # more than k: a matrix of rank k never gets a new direction

    def init(self, problem: FeaturePCAProblem) -> MatrixGradientState:
        ones = arrays.namespace(problem.start).ones_like(problem.start[0, :])
        return MatrixGradientState.at(problem, eigenvalues=ones)

    def step(
        self, problem: FeaturePCAProblem, state: MatrixGradientState, batch: slice | Examples
    ) -> MatrixGradientState:
        Z, _ = state.take(problem, batch)
        xp, eta = arrays.namespace(Z), self.step_size / math.sqrt(state.n_steps + 1)
        # M + ηA_S = LLᵀ. The smaller of LᵀL and LLᵀ is decomposed, in float64, because roots enlarge rounding.
        U, Z64 = (arrays.astype(part, xp.float64) for part in (state.coefficients, Z))
        L = xp.concat([U * xp.sqrt(state.eigenvalues), Z64.T * math.sqrt(eta / Z.shape[0])], axis=1)
        wide = L.shape[1] > L.shape[0]
        small = L @ L.T if wide else L.T @ L
        if not bool(xp.all(xp.isfinite(small))):
            state.explained = math.nan  # The training loop sees it in `monitored`.
            return state
        values, U = xp.linalg.eigh(small)
        values, U = xp.flip(values)[: self.rank], xp.flip(U, axis=1)[:, : self.rank]
        if not wide:
            U = L @ (U / xp.sqrt(xp.maximum(values, xp.asarray(1e-300))))
        capped = capped_eigenvalues(arrays.to_numpy(values), problem.n_components)
        kept = max(problem.n_components, int(np.sum(capped > 0)))
        state.eigenvalues = arrays.like(capped[:kept], Z, Z.dtype)
        return state.advance(arrays.contiguous(arrays.astype(U[:, :kept], Z.dtype)))


def capped_eigenvalues(values: np.ndarray, total: int) -> np.ndarray:
    """min(1, max(0, σ + s)) of at least ``total`` eigenvalues σ, with the s for which their sum is ``total``."""
    # The sum is linear in s between these places.
    places = np.sort(np.concatenate([-values, 1.0 - values]))
    sums = np.clip(values[None, :] + places[:, None], 0.0, 1.0).sum(axis=1)
    return np.clip(values + np.interp(total, sums, places), 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class FeatureOja(FeaturePCASettings):
    """Oja's rule for kernel PCA on explicit features.

    Parameters
    ----------
    step_size : float, optional
        η₁ of the steps η₁ / (1 + ρ (t − 1)). None: half of 1/λ_k, with the last eigenvalue.
    decrease : float, optional
        ρ. None: the steps tend to c/t, with c twice the inverse of the gap after the last component.
    batch_size : int, optional
        Rows of a step. None: 256. Smaller batches of a stream wait for more rows.
    n_iter, max_epochs : int, optional
        Most steps and passes. If both are None: three passes, and at least 200 steps.

    Source: E. Oja (1982), "A simplified neuron model as a principal component analyzer", Journal of Mathematical
    Biology 15.

    Examples
    --------
    >>> from shallows.decomposition import FeatureKernelPCA
    >>> from shallows.solvers import FeatureOja
    >>> model = FeatureKernelPCA(3, solver=FeatureOja(batch_size=64))
    """

    step_size: float | None = setting(positive())
    decrease: float | None = setting(positive())

    def build(self, plan: FeaturePCAPlan) -> FeatureOjaStepper:
        step = self.step_size or plan.step_size
        decrease = self.decrease or default_decrease(step, plan.eigenvalues, plan.n_components)
        return FeatureOjaStepper(float(step), float(decrease))


@dataclass(frozen=True, kw_only=True)
class VRPCA(FeaturePCASettings):
    """VR-PCA: Oja's rule with reduced noise, for rows that are visited again and again.

    Parameters
    ----------
    step_size : float, optional
        η. None: half of 1/λ_k, with the last eigenvalue.
    period : float
        Passes between two products with the whole covariance, each of which costs a pass that is not counted.
    batch_size : int, optional
        Rows of a step. None: 256.
    n_iter, max_epochs : int, optional
        Most steps and passes. If both are None: three passes, and at least 200 steps.

    Source: O. Shamir (2015), "A stochastic PCA and SVD algorithm with an exponential convergence rate", ICML 32.
    """

    step_size: float | None = setting(positive())
    period: float = setting(positive(1.0))

    is_online: ClassVar[bool] = False

    def build(self, plan: FeaturePCAPlan) -> VRPCAStepper:
        # The step of the papers for single examples, 1/(√n E‖z‖²), is several times shorter: on digits it needed five
        # epochs instead of one.
        return VRPCAStepper(float(self.step_size or plan.step_size), float(self.period))


@dataclass(frozen=True, kw_only=True)
class NoisyPowerMethod(FeaturePCASettings):
    """The noisy power method: each step multiplies by the covariance of a block of rows.

    Parameters
    ----------
    rows : int, optional
        The fewest rows of a block. None: all rows of a fit, or the number of first rows of a stream.
    batch_size : int, optional
        Rows of a step. None: 256. Smaller batches of a stream wait for more rows.
    n_iter, max_epochs : int, optional
        Most steps and passes. If both are None: ten passes, and at least 200 steps.

    Source: M. Hardt and E. Price (2014), "The noisy power method: a meta algorithm with applications", NIPS 27.
    """

    rows: int | None = setting(count())

    n_passes: ClassVar[int] = 10

    def build(self, plan: FeaturePCAPlan) -> NoisyPowerMethodStepper:
        return NoisyPowerMethodStepper(self.rows or plan.n_rows)


@dataclass(frozen=True, kw_only=True)
class MatrixStochasticGradient(FeaturePCASettings):
    """Matrix stochastic gradient (MSG): steps of a covariance matrix whose eigenvalues are capped.

    Parameters
    ----------
    step_size : float, optional
        η₁ of the steps η₁/√t. None: half of 1/λ_k, with the last eigenvalue.
    rank : int, optional
        The most eigenvalues above 0, more than k. None: k + 1.
    batch_size : int, optional
        Rows of a step. None: 64. Smaller batches of a stream wait for more rows.
    n_iter, max_epochs : int, optional
        Most steps and passes. If both are None: three passes, and at least 200 steps.

    Source: R. Arora, A. Cotter and N. Srebro (2013), "Stochastic optimization of PCA with capped MSG", NIPS 26.
    """

    step_size: float | None = setting(positive())
    rank: int | None = setting(count())

    # A step of m rows costs (rank + m)² products for each feature.
    default_batch_size: ClassVar[int] = 64

    def build(self, plan: FeaturePCAPlan) -> MatrixStochasticGradientStepper:
        rank = self.rank or plan.n_components + 1
        if rank <= plan.n_components:
            raise ShallowsError(f"rank must be more than n_components={plan.n_components}, got {rank!r}.")
        return MatrixStochasticGradientStepper(float(self.step_size or plan.step_size), int(rank))
