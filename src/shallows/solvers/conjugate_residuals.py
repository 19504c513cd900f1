"""EigenPro with all points in every batch: no noise, so that each step can be the best of all that came before."""

from __future__ import annotations

from dataclasses import dataclass

from .. import arrays
from ..arrays import Array
from .base import KernelProblem
from .conjugate_gradients import dots, ratio

CHECK_EVERY = 25
"""Steps after which the residual is computed anew: in float32 that of the recursion drifts from the true one."""

_KEPT = ("coefficients", "residual", "direction", "image", "product", "checked", "checked_residual", "going")


@dataclass
class ConjugateResidualState:
    """Where conjugate residuals stand; what is None is made by the first step, or by the first one after a resume.

    Attributes
    ----------
    coefficients : array, shape (n, c)
        α.
    step_size : float
        Of the rule; told of, not used.
    loss : float
        Σ wᵢ ‖f(xᵢ) − yᵢ‖² before the last step.
    residual : array, shape (n, c), or None
        y − K α.
    direction, image : array, shape (n, c), or None
        d, along which the last step went, and K d.
    product : array, shape (1, c), or None
        ⟨r, T r⟩ of each output, of the residual before the last step.
    checked, checked_residual : array, shape (n, c), or None
        The coefficients with which the residual was last computed anew, and that residual.
    going : array, shape (1, c), or None
        1, or 0 for an output that gains no more.
    projection : array, shape (n, q), or None
        Ψ, see `ConjugateResiduals`.
    n_steps : int
    """

    coefficients: Array
    step_size: float
    loss: float = 0.0
    residual: Array | None = None
    direction: Array | None = None
    image: Array | None = None
    product: Array | None = None
    checked: Array | None = None
    checked_residual: Array | None = None
    going: Array | None = None
    projection: Array | None = None
    n_steps: int = 0

    def remember(self) -> tuple[dict[str, Array], dict[str, int]]:
        """What a checkpoint keeps."""
        xp = arrays.namespace(self.coefficients)
        held = {name: getattr(self, name) for name in _KEPT}
        copies = {name: xp.asarray(array, copy=True) for name, array in held.items() if array is not None}
        return copies, {"n_steps": self.n_steps}

    def recall(self, held: dict[str, Array], numbers: dict[str, int]) -> None:
        """Go back to what `remember` gave."""
        xp = arrays.namespace(self.coefficients)
        for name in _KEPT:
            kept = xp.asarray(arrays.like(held[name], self.coefficients), copy=True) if name in held else None
            setattr(self, name, kept)
        self.n_steps = numbers["n_steps"]

    def is_finite(self) -> bool:
        """Whether all coefficients are numbers."""
        xp = arrays.namespace(self.coefficients)
        return bool(xp.all(xp.isfinite(self.coefficients)))


@dataclass(frozen=True)
class ConjugateResiduals:
    """The preconditioned iteration of `EigenPro` where every batch holds all points, with steps from the residual.

    On all points a step of EigenPro turns the residual r = y − K α into r − η T W r, where W holds the weights and
    T = K − Ψ S Ψᵀ, with Ψ = K(·, M) V and S = diag((1 − τ λ_{q+1}/λᵢ)/σᵢ), is symmetric. So the method of conjugate
    residuals applies: with one product with K a step, it makes the weighted sum of squared residuals of every output
    as small as any coefficients can that as many steps of EigenPro, of whatever lengths, lead to. It cannot diverge:
    an output that rounding keeps from coming nearer stays as it was.

    Parameters
    ----------
    step_size : float
        Told of, not used.

    References
    ----------
    E. Stiefel (1955), "Relaxationsmethoden bester Strategie zur Lösung linearer Gleichungssysteme", Commentarii
    Mathematici Helvetici 29.
    """

    step_size: float

    def init(self, problem: KernelProblem) -> ConjugateResidualState:
        """Coefficients of zero."""
        if problem.preconditioner is None:
            raise ValueError("Conjugate residuals need a problem with a preconditioner.")
        return ConjugateResidualState(arrays.namespace(problem.targets).zeros_like(problem.targets), self.step_size)

    def step(self, problem: KernelProblem, state: ConjugateResidualState, batch: slice) -> ConjugateResidualState:
        """One product with the matrix. The batch, which is all there is, plays no part."""
        s, xp = state, arrays.namespace(state.coefficients)
        if s.n_steps % CHECK_EVERY == 0:
            _check(problem, s)
        weighted = s.residual if problem.weights is None else problem.weights * s.residual
        s.loss = float(xp.sum(weighted * s.residual))
        direction, image = self._applied(problem, s, weighted)
        product = dots(weighted, image)
        # Where hardly anything of the residual is left but what the matrix sends to rounding, as contradictory targets
        # of points that coincide, an output stays as it is.
        p = problem.preconditioner
        noise = float(xp.finfo(s.coefficients.dtype).eps) * problem.gram.n * p.top_eigenvalue
        product = s.going * xp.where(product > noise * dots(weighted, weighted), product, xp.zeros_like(product))
        if s.product is None:
            s.direction, s.image = direction, image
        else:
            share = ratio(product, s.product)
            s.direction, s.image = direction + share * s.direction, image + share * s.image
        s.product = product
        turned = s.image if problem.weights is None else problem.weights * s.image
        length = ratio(product, dots(s.image, turned))
        s.coefficients = s.coefficients + length * s.direction
        s.residual = s.residual - length * s.image
        s.n_steps += 1
        return s

    def _applied(self, problem: KernelProblem, s: ConjugateResidualState, g: Array) -> tuple[Array, Array]:
        """The coefficients d of P Σ gᵢ k(xᵢ, ·), shape (n, c), and K d."""
        p = problem.preconditioner
        if s.projection is None:
            s.projection, values = _projection(problem, g)
        else:
            values = problem.gram.dot(g)
        shared = arrays.thin_product(s.projection.T, g)
        direction = arrays.namespace(g).asarray(g, copy=True)
        direction[: p.n_subsample, :] -= p.expand(shared)
        return direction, values - arrays.thin_product(s.projection, p.scale[:, None] * shared)


def _check(problem: KernelProblem, s: ConjugateResidualState) -> None:
    """Compute the residual anew; outputs that are no nearer than at the last check go back to it, to stay there."""
    xp = arrays.namespace(s.coefficients)
    if s.checked is None:
        s.residual = problem.targets
        s.going = xp.ones((1, problem.targets.shape[1]), dtype=s.coefficients.dtype)
    else:
        true = problem.targets - problem.gram.dot(s.coefficients)
        nearer = (_norms(problem, true) < _norms(problem, s.checked_residual)) & (s.going > 0)
        s.coefficients = xp.where(nearer, s.coefficients, s.checked)
        s.residual = xp.where(nearer, true, s.checked_residual)
        s.going = arrays.astype(nearer, s.going.dtype)
    s.checked, s.checked_residual = s.coefficients, s.residual


def _norms(problem: KernelProblem, r: Array) -> Array:
    """Weighted sum of squares of each output, shape (1, c)."""
    return dots(r, r if problem.weights is None else problem.weights * r)


def _projection(problem: KernelProblem, g: Array) -> tuple[Array, Array]:
    """Ψ = K(·, M) V, shape (n, q), and K g, from one pass over the rows."""
    gram, p, xp = problem.gram, problem.preconditioner, arrays.namespace(g)
    psi, values = xp.empty((gram.n, p.rank), dtype=g.dtype), xp.empty(g.shape, dtype=g.dtype)
    for rows in arrays.blocks(gram.n, gram.tile):
        values[rows, :], columns = gram.rows(rows.start, rows.stop).dot(g, head=p.n_subsample)
        psi[rows, :] = columns.values() @ p.vectors
    return psi, values
