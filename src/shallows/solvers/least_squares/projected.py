"""EigenPro for models with fewer centers than data: the preconditioned gradient, projected onto the span."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ... import arrays, kernels, spectrum
from ...arrays import Array
from ...kernels import Kernel
from ...spectrum import Preconditioner, eigensystem, filtered, top_eigensystem
from ..settings import SMALL, Settings, at_least_zero, count, setting, share
from .kernel_problem import DeviceState, KernelFit, SpanProblem, residual
from .projection import Projection, make_projection
from .step_rules import SMALL_FLOOR, StepPlan, given_step, named_step, one_step

FORGETTING = 8.0
"""Exponent of the running average: the last ninth of the iterates has about two thirds of the weight."""


@dataclass(frozen=True, kw_only=True)
class CentersProblem(SpanProblem):
    """The problem of the centers with their projection; the preconditioner's subsample is the first M centers."""

    projection: Projection  # Onto the span of the centers

    @cached_property
    def functions_at_centers(self) -> Array:
        """Vᵀ K_MZ, shape (q, p), for the part of the ridge that the preconditioner flattens."""
        p, xp = self.preconditioner, arrays.namespace(self.centers)
        out = xp.empty((p.rank, self.centers.shape[0]), dtype=self.centers.dtype)
        for rows in arrays.blocks(self.centers.shape[0], 1024):
            columns = kernels.values(self.kernel, self.centers[rows, :], self.centers[: p.n_subsample, :])
            out[:, rows] = (columns @ p.vectors).T
        return out


@dataclass
class ProjectedState(DeviceState):
    """The state of `ProjectedEigenProStepper`."""

    kept: ClassVar[tuple[str, ...]] = ("iterate", "coefficients")

    # (p, c): the model: the average of the iterates, or the last one without averaging
    coefficients: Array
    iterate: Array  # (p, c)
    step_size: float  # η, for a sum over a batch
    loss: float = 0.0  # Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, of the iterate before the step that used it
    n_steps: int = 0


@dataclass(frozen=True, kw_only=True)
class ProjectedPlan(StepPlan):
    """The batches and steps of EigenPro in the span of the centers."""

    projection: Projection  # Onto the functions of the centers


@dataclass(frozen=True, kw_only=True)
class ProjectedEigenPro(Settings):
    """EigenPro in the span of centers: preconditioned gradients of batches, each projected onto the span.

    The model is an average of the iterates. It needs memory for p² numbers with p centers.

    Parameters
    ----------
    rank : int, optional
        q, the most eigendirections that the preconditioner flattens. None: a quarter of the subsample, or all large
        ones for up to 1,000 points.
    n_subsample : int, optional
        M, the centers from which the eigensystem is computed. None: 6,000, or twice the rank if that is more.
    damping : float
        τ in (0, 1]: the flattened eigenvalues become τ λ_{q+1}.
    batch_size : int, optional
        m, the rows of a step. None: half of the critical size, but at least min(2p, n/5); all rows of up to 1,000.
    step : float or "certified"
        η for a sum over the batch. "certified": measured on training points.
    max_epochs : int
        The most passes over the training data.
    tol : float
        Stop after an epoch whose training loss is at most this share of the loss of the zero function.

    Source: A. Abedsoltan, M. Belkin and P. Pandit (2023), "Toward large kernel models", ICML.

    Examples
    --------
    >>> from shallows import KernelRidgeClassifier
    >>> from shallows.solvers import ProjectedEigenPro
    >>> model = KernelRidgeClassifier(centers=5000, solver=ProjectedEigenPro(batch_size=1024))
    """

    rank: int | None = setting(count(0))
    n_subsample: int | None = setting(count())
    damping: float = setting(share(1.0))
    batch_size: int | None = setting(count())
    step: float | str = setting(named_step("certified"))
    max_epochs: int = setting(count(default=20))
    tol: float = setting(at_least_zero(5e-3))

    on_centers: ClassVar[bool] = True
    limit: ClassVar[str] = "max_epochs"
    takes_ranks: ClassVar[bool] = True

    def plan(self, fit: KernelFit, fresh: Array, of_fresh: Array | None, n: int, most_rows: int) -> ProjectedPlan:
        """Decide the preconditioner, the batch size (at most ``most_rows``) and the step for n rows.

        The points of ``fit`` are the centers; ``fresh`` are other points, with the weights ``of_fresh``.
        """
        kernel, centers, weights, ridge = fit.kernel, fit.points, fit.weights, fit.ridge
        p, xp = centers.shape[0], arrays.namespace(centers)
        n_subsample = min(p, self.n_subsample or max(6000, 2 * (self.rank or 0)))
        rank, smallest, smallest_share = self.rank, ridge / n, 0.0
        if rank is None:
            # As in `EigenPro`: in a small problem every batch has all rows, and in a large one directions below 1/n
            # are not preconditioned.
            rank = n_subsample if n <= SMALL else n_subsample // 4
            smallest, smallest_share = (0.0, SMALL_FLOOR) if n <= SMALL and not ridge else ((ridge or 1.0) / n, 0.0)
        preconditioner = spectrum.make_preconditioner(
            kernel,
            xp.concat([centers[:n_subsample, :], fresh]),
            rank=min(rank, n_subsample - 1),
            n_subsample=n_subsample,
            seed=fit.seed,
            damping=self.damping,
            weights=None if weights is None else xp.concat([weights[:n_subsample], of_fresh]),
            smallest=smallest,
            smallest_share=smallest_share,
            known=fit.eigensystem if n_subsample == n else None,
            resolves_more=ridge > 0,
        )
        onto = make_projection(kernel, centers)
        found = certificate(kernel, centers, onto, preconditioner, fresh, of_fresh, fit.seed)
        batch_size = self.batch_size
        if batch_size is None:
            # A batch of up to half of the critical size costs no progress. Twice p keeps the solve with p² numbers near
            # a tenth of the time of a step; with 4p/3 it was a sixth, and the loss after some epochs about the same.
            # If an epoch then had few batches, progress counts more.
            batch_size = n if n <= SMALL else max(16, min(2 * p, n // 5), int(found.critical_batch_size / 2))
            batch_size = min(batch_size, most_rows)
        batch_size = min(n, batch_size)
        step = given_step(self) or 1.0 / (1.0 / step_size(found, batch_size) + ridge * batch_size / n)
        of_batch = found.eigenvalue(batch_size), found.largest_diagonal
        plan = ProjectedPlan(kernel, preconditioner, batch_size, step, *of_batch, projection=onto)
        return one_step(self, plan, n) if fit.all_equal else plan


@dataclass(frozen=True)
class ProjectedEigenProStepper:
    """A step of EigenPro in the span of p centers.

    For a batch S with g = w (K_SZ α − y_S) and P of `shallows.spectrum`, whose eigenfunctions lie in the span since the
    subsample M is part of the centers, the step along P Σ gᵢ k(xᵢ, ·) and the projection onto the span commute, and are

        α   ← α − η K_ZZ⁻¹ h,                              h = K_ZS g (with a ridge + λ K_ZZ α |S|/n)
        α_M ← α_M + η V diag((1 − τ λ_{q+1}/λᵢ)/σᵢ) Vᵀ h_M

    If the centers are the data, this is `EigenProStepper`. With fewer centers the residuals do not go to zero, and
    steps of constant size leave the iterate away from the minimizer, so the model is an average over the last iterates
    (Shamir and Zhang 2013, "Stochastic gradient descent for non-smooth optimization", ICML).
    """

    step_size: float  # η, for a sum over the batch
    average: bool = True  # Without noise, if every batch has all rows, the last iterate is better

    def init(self, problem: CentersProblem) -> ProjectedState:
        xp = arrays.namespace(problem.targets)
        shape, dtype = (problem.centers.shape[0], problem.targets.shape[1]), problem.targets.dtype
        return ProjectedState(xp.zeros(shape, dtype=dtype), xp.zeros(shape, dtype=dtype), self.step_size)

    def step(self, problem: CentersProblem, state: ProjectedState, batch: slice) -> ProjectedState:
        h, loss = problem.forward_and_back(state.iterate, batch, lambda values, here: residual(problem, values, here))
        state.loss = loss if isinstance(loss, float) else float(loss[0, 0])
        direction = problem.projection.solve(h)
        p = problem.preconditioner
        direction[: p.n_subsample, :] -= filtered(p.vectors, p.scale, h[: p.n_subsample, :])
        if problem.regularization:
            # The batch's share of the gradient λ f, which is in the span and has the values K_MZ α at the subsample.
            share = problem.regularization * (batch.stop - batch.start) / problem.targets.shape[0]
            projected = p.scale[:, None] * (problem.functions_at_centers @ state.iterate)
            direction += share * state.iterate
            direction[: p.n_subsample, :] -= share * (p.vectors @ projected)
        state.iterate -= state.step_size * direction
        state.n_steps += 1
        share = (FORGETTING + 1.0) / (state.n_steps + FORGETTING) if self.average else 1.0
        state.coefficients += share * (state.iterate - state.coefficients)
        return state


@dataclass(frozen=True)
class SpanCertificate:
    """Measurements of the projected, preconditioned operator, from which the step follows."""

    largest_diagonal: float  # β, the largest value of the operator's kernel at a point
    n: int  # The number of measured points
    top: float  # The largest eigenvalue of the kernel's matrix on these points
    half: float  # The mean of the largest eigenvalues on both halves of the points

    def eigenvalue(self, batch_size: int) -> float:
        """λ of a batch of m: in the mean the largest eigenvalue of its matrix is at most β + (m − 1) λ.

        It is concave in the number of points, so beyond the points measured it is at most on the line through both
        measurements.
        """
        if batch_size <= self.n:
            return self.top / self.n
        slope = max(self.top - self.half, 0.0) / (self.n - self.n // 2)
        return (self.top + (batch_size - self.n) * slope) / batch_size

    @property
    def critical_batch_size(self) -> float:
        """β/λ: up to about this size an epoch makes the same progress."""
        size = self.largest_diagonal / max(self.eigenvalue(self.n), 1e-300)
        return self.largest_diagonal / max(self.eigenvalue(max(1, int(size))), 1e-300)


def step_size(found: SpanCertificate, batch_size: int) -> float:
    """2 / (β + (m − 1) λ), and at most 1/(mλ), or large batches would reflect the flattened directions."""
    eigenvalue = found.eigenvalue(batch_size)
    return min(2.0 / (found.largest_diagonal + (batch_size - 1) * eigenvalue), 1.0 / (batch_size * eigenvalue))


def certificate(
    kernel: Kernel,
    centers: Array,
    projection: Projection,
    preconditioner: Preconditioner,
    fresh: Array,
    weights: Array | None = None,
    seed: int = 0,
) -> SpanCertificate:
    """Measure the operator of `ProjectedEigenProStepper` on fresh points, which are not centers.

    Its kernel is k_Z(x, ·)ᵀ (K_ZZ⁻¹ − D) k_Z(z, ·), where D is what the preconditioner removes.
    """
    xp = arrays.namespace(fresh)
    m, n = preconditioner.n_subsample, fresh.shape[0]
    values = kernels.values(kernel, fresh, centers)
    scale = xp.sqrt(xp.clip(preconditioner.scale, 0.0, None))
    flattened = (values[:, :m] @ preconditioner.vectors) * scale[None, :]
    whitened = projection.whiten(values)
    del values
    if weights is not None:
        root = xp.sqrt(weights)[:, None]
        flattened, whitened = flattened * root, whitened * root
    matrix = whitened @ whitened.T
    for rows in arrays.blocks(n, 512):
        matrix[rows, :] -= flattened[rows, :] @ flattened.T
    halves = [slice(0, n // 2), slice(n // 2, n)] if n > 1 else [slice(0, n)]
    whole = xp.sum(whitened * whitened, axis=1)
    # A difference of much larger terms is rounding, and no reason for a large step.
    rounding = 32.0 * float(xp.finfo(fresh.dtype).eps) * float(xp.max(whole))
    largest = max(float(xp.max(whole - xp.sum(flattened * flattened, axis=1))), rounding)
    least = rounding
    if float(xp.max(whole)) < REACHED * preconditioner.bound:
        # With a narrow kernel the centers have no influence on other points. A step of one over the kernel's diagonal
        # fits the centers themselves.
        largest, least = 2.0 * preconditioner.bound, preconditioner.bound
    parts = [matrix, *(arrays.contiguous(matrix[half, half]) for half in halves)]
    tops = [max(_top(part, seed), least) for part in parts]
    return SpanCertificate(max(largest, tops[0] / n), n, tops[0], sum(tops[1:]) / len(halves))


REACHED = 0.5
"""The smallest share of the kernel's diagonal that the span must have at one of the points of the certificate."""

EXACT_BELOW = 1000
"""Up to this number of points the largest eigenvalue is exact to rounding, with more points to two percent."""


def _top(matrix: Array, seed: int) -> float:
    if matrix.shape[0] <= EXACT_BELOW:
        return float(eigensystem(matrix, 1, seed=seed)[0][0])
    values, _ = top_eigensystem(matrix.__matmul__, matrix.shape[0], 1, like=matrix, seed=seed, tolerance=0.02)
    return float(values[0])
