"""EigenPro in large batches: the residual of all points is known, so each step is the best along many directions."""

from dataclasses import dataclass
from typing import ClassVar

from ... import arrays
from ...arrays import Array
from ...gpu.fused_expressions import fused
from .kernel_problem import DeviceState, KernelProblem, dots, ratio

CHECK_EVERY = 25
"""Epochs after which the residual is recomputed: in float32 the recursion drifts from the true residual."""


@fused("new_direction = direction - known_direction; new_image = image - known_image", (5, 3), (5, 3), (5, 3), (5, 3))
def beyond(
    direction: Array, image: Array, known_direction: Array, known_image: Array, new_direction: Array, new_image: Array
) -> None:
    """A direction and its image without their components along earlier steps."""
    new_direction[...] = direction - known_direction
    new_image[...] = image - known_image


@fused(
    "moves = energy > noise * square ? going : T(0); good = left > eps * own ? T(1) : T(0); "
    "norm = left > eps * own ? left : own",
    *((1, 3), (1, 3), (1, 3), (), (1, 3), (1, 3), ()),
)
def verdicts(going, energy, square, noise, left, own, eps, moves, good, norm):
    # type: (Array, Array, Array, float, Array, Array, float, Array, Array, Array) -> None
    """For each output: whether it moves, whether its new direction is more than rounding, and the norm of its image.

    An output does not move if the image of its residual is only rounding. It moves along its old direction if the new
    direction is only rounding.
    """
    moves[...] = going * (energy > noise * square)
    good[...] = left > eps * own
    norm[...] = arrays.namespace(norm).where(left > eps * own, left, own)


@fused("if (good < T(1)) { new_direction = direction; new_image = image; }", (5, 3), (5, 3), (1, 3))
def chosen(direction: Array, image: Array, good: Array, new_direction: Array, new_image: Array) -> None:
    """The new direction and image, or the old ones if the new direction is only rounding."""
    xp = arrays.namespace(image)
    new_direction[...] = xp.where(good < 1, direction, new_direction)
    new_image[...] = xp.where(good < 1, image, new_image)


@fused(
    "const T length = norm > 0 ? moves * (fitting / norm) : T(0); after = before + length * direction; "
    "left = residual - length * image; kept_direction = direction; kept_image = image",
    *((5, 3), (5, 3), (5, 3), (5, 3), (1, 3), (1, 3), (1, 3)),
)
def moved(before, residual, direction, image, moves, fitting, norm, after, left, kept_direction, kept_image):
    # type: (Array, Array, Array, Array, Array, Array, Array, Array, Array, Array, Array) -> None
    """Coefficients and residual after a step along a direction, which is remembered."""
    length = moves * ratio(fitting, norm)
    after[...] = before + length * direction
    left[...] = residual - length * image
    kept_direction[...], kept_image[...] = direction, image


@dataclass
class ConjugateResidualState(DeviceState):
    """The state of conjugate residuals; the first step, or the first after a resume, fills what is None.

    ``directions, images`` (c, k, n): the directions d of the last k steps, and K d. ``checked, checked_residual`` (n,
    c): coefficients and residual when the residual was last recomputed.
    """

    kept: ClassVar[tuple[str, ...]] = (
        "coefficients",
        "residual",
        "directions",
        "images",
        "norms",
        "checked",
        "checked_residual",
        "going",
    )

    coefficients: Array  # (n, c): α
    step_size: float  # Reported, not used
    loss: float = 0.0  # Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, before the step that used it
    residual: Array = None  # (n, c): y − K α
    directions: Array = None
    images: Array = None
    norms: Array = None  # (c, k): ⟨K d, W K d⟩, and 0 for directions to come
    checked: Array = None
    checked_residual: Array = None
    going: Array = None  # (1, c): 1, or 0 for an output that no longer improves
    projection: Array = None  # (n, q): Ψ, see `ConjugateResiduals`
    ridge: Array = None  # (n, 1) or (n, c): λ/w, and 0 for w = 0
    n_steps: int = 0


@dataclass(frozen=True)
class ConjugateResiduals:
    """The iteration of `EigenPro` for few and large batches, with steps of the best length.

    A step on a batch S goes along d, with the coefficients g = W r on S and −V diag(s) Ψ_Sᵀ g on the subsample M, where
    r = y − K α, Ψ = K(·, M) V and s is from `shallows.spectrum`. With a ridge, K + λW⁻¹ replaces K. K d = K(·, S) g − Ψ
    diag(s) Ψ_Sᵀ g reads as much of the matrix as K_S α, so r is known for all points. Every step minimizes the weighted
    squared residuals of each output along d and the directions of the steps since the same place of the epoch before,
    so it cannot diverge. The directions take 2 c n (n_batches − 1) numbers.

    With all points in a batch this is the method of conjugate residuals (Stiefel 1955), otherwise the truncated method
    of generalized conjugate residuals (Eisenstat, Elman and Schultz 1983, SIAM J. Numer. Anal. 20).
    """

    step_size: float  # Reported, not used
    n_batches: int = 1  # In an epoch

    @property
    def n_remembered(self) -> int:
        return max(1, self.n_batches - 1)

    def held_numbers(self, n: int, n_outputs: int, rank: int) -> int:
        """The numbers that a run holds next to its coefficients and the matrix: Ψ, and four copies of a state."""
        return n * (rank + 4 * n_outputs * (3 + 2 * self.n_remembered))

    def init(self, problem: KernelProblem) -> ConjugateResidualState:
        return ConjugateResidualState(arrays.namespace(problem.targets).zeros_like(problem.targets), self.step_size)

    def step(self, problem: KernelProblem, state: ConjugateResidualState, batch: slice) -> ConjugateResidualState:
        s, xp = state, arrays.namespace(state.coefficients)
        if s.n_steps % (CHECK_EVERY * self.n_batches) == 0:
            _check(problem, s)
        weighted = _weighted(problem, s.residual)
        gradient = weighted[batch, :]
        s.loss = float(xp.sum(gradient * s.residual[batch, :]))
        direction, image = _applied(problem, s, gradient, batch)
        image = _with_ridge(problem, s, image, direction)
        self._make_room(s)
        energy, square = dots(gradient, image[batch, :]), dots(gradient, gradient)
        eps, p = float(xp.finfo(s.coefficients.dtype).eps), problem.preconditioner
        noise = eps * (batch.stop - batch.start) * p.top_eigenvalue

        turned = arrays.contiguous(_weighted(problem, image).T)
        share = ratio((s.images @ turned[:, :, None])[:, :, 0], s.norms)[:, None, :]
        known = ((share @ held)[:, 0, :].T for held in (s.directions, s.images))
        new = xp.empty_like(direction), xp.empty_like(image)
        beyond(direction, image, *known, into=new)

        place = s.n_steps % s.norms.shape[1]
        moves, good, norm = xp.empty_like(s.going), xp.empty_like(s.going), s.norms[:, place][None, :]
        left, own = _norms(problem, new[1]), dots(image, turned.T)
        verdicts(s.going, energy, square, noise, left, own, eps, into=(moves, good, norm))
        chosen(direction, image, good, into=new)

        after = xp.empty_like(s.coefficients), xp.empty_like(s.residual)
        fitting, kept = dots(weighted, new[1]), (s.directions[:, place, :].T, s.images[:, place, :].T)
        moved(s.coefficients, s.residual, *new, moves, fitting, norm, into=(*after, *kept))
        s.coefficients, s.residual = after
        s.n_steps += 1
        return s

    def _make_room(self, s: ConjugateResidualState) -> None:
        if s.norms is None:
            xp, dtype = arrays.namespace(s.residual), s.residual.dtype
            (n, c), k = s.residual.shape, self.n_remembered
            s.directions, s.images = (xp.zeros((c, k, n), dtype=dtype) for _ in range(2))
            s.norms = xp.zeros((c, k), dtype=dtype)


def _applied(problem: KernelProblem, s: ConjugateResidualState, g: Array, batch: slice) -> tuple[Array, Array]:
    """The coefficients d of P Σ gᵢ k(xᵢ, ·), shape (n, c), and K d."""
    gram, p, xp = problem.gram, problem.preconditioner, arrays.namespace(g)
    whole = batch.start == 0 and batch.stop == gram.n
    if s.projection is None and whole:
        s.projection, values = _projection(problem, g)
    else:
        if s.projection is None:
            s.projection = gram.columns_dot(0, p.n_subsample, p.vectors)
        values = gram.dot(g) if whole else gram.columns_dot(batch.start, batch.stop, g)
    shared = arrays.thin_product(s.projection[batch, :].T, g)
    direction = xp.zeros_like(s.coefficients)
    direction[batch, :] = g
    direction[: p.n_subsample, :] -= p.expand(shared)
    return direction, values - arrays.thin_product(s.projection, p.scale[:, None] * shared)


def _check(problem: KernelProblem, s: ConjugateResidualState) -> None:
    """Recompute the residual; outputs that have not improved since the last check go back and stay there."""
    xp = arrays.namespace(s.coefficients)
    if s.checked is None:
        s.residual = problem.targets
        s.going = xp.ones((1, problem.targets.shape[1]), dtype=s.coefficients.dtype)
    else:
        true = problem.targets - _with_ridge(problem, s, problem.gram.dot(s.coefficients), s.coefficients)
        nearer = (_norms(problem, true) < _norms(problem, s.checked_residual)) & (s.going > 0)
        s.coefficients = xp.where(nearer, s.coefficients, s.checked)
        s.residual = xp.where(nearer, true, s.checked_residual)
        s.going = arrays.astype(nearer, s.going.dtype)
    s.checked, s.checked_residual = s.coefficients, s.residual


def _with_ridge(problem: KernelProblem, s: ConjugateResidualState, values: Array, coefficients: Array) -> Array:
    if not problem.regularization:
        return values
    if s.ridge is None:
        s.ridge = problem.regularization * problem.inverse_weights(slice(0, problem.gram.n))
    return values + s.ridge * coefficients


def _weighted(problem: KernelProblem, r: Array) -> Array:
    return r if problem.weights is None else problem.weights * r


def _norms(problem: KernelProblem, r: Array) -> Array:
    return dots(r, _weighted(problem, r))


def _projection(problem: KernelProblem, g: Array) -> tuple[Array, Array]:
    """Ψ = K(·, M) V, shape (n, q), and K g, from one pass over the rows."""
    gram, p, xp = problem.gram, problem.preconditioner, arrays.namespace(g)
    psi, values = xp.empty((gram.n, p.rank), dtype=g.dtype), xp.empty(g.shape, dtype=g.dtype)
    for rows in arrays.blocks(gram.n, gram.tile):
        values[rows, :], columns = gram.rows_dot(rows, g, head=p.n_subsample)
        assert columns is not None  # because the head is not empty
        psi[rows, :] = columns.values() @ p.vectors
    return psi, values
