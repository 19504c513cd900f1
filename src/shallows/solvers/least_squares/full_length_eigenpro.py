"""EigenPro with eigenvectors as long as there are points, without a pass over them in every step."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from .kernel_problem import KernelProblem, residual


@dataclass(frozen=True)
class FullLengthProblem(KernelProblem):
    """A `KernelProblem` whose preconditioner has eigenvectors of length n, with their values at all points.

    Made by `with_functions`. It takes no regularisation.
    """

    directions: Array = None  # (n, q): V diag(s)^½ with the eigenvectors V and the scale s of the preconditioner
    functions: Array = None  # (n, q): K V diag(s)^½


def with_functions(problem: KernelProblem) -> FullLengthProblem:
    """The problem with the flattened directions' values at all points: 2 n q numbers and a product of the matrix."""
    p = problem.preconditioner
    directions = p.vectors * arrays.namespace(p.vectors).sqrt(p.scale)[None, :]
    return FullLengthProblem(**vars(problem), directions=directions, functions=problem.gram.dot(directions))


@dataclass
class FullLengthState:
    """Where `FullLengthEigenPro` stands: the model is Σᵢ αᵢ k(xᵢ, ·) with α = points + directions · flattened."""

    points: Array  # (n, c)
    flattened: Array  # (q, c): b
    directions: Array  # (n, q): as in `FullLengthProblem`
    step_size: float  # η, for a sum over a batch
    loss: float = 0.0  # Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, before the step that used it

    @property
    def coefficients(self) -> Array:
        """α, shape (n, c), into which b is written first."""
        self.points += self.directions @ self.flattened
        self.flattened[...] = 0.0
        return self.points

    @coefficients.setter
    def coefficients(self, points: Array) -> None:
        self.points, self.flattened[...] = points, 0.0


@dataclass(frozen=True)
class FullLengthEigenPro:
    """The steps of `EigenPro` for eigenvectors V of length n, as the authors' release has them.

    `EigenPro` adds η V diag(s) Vᵀ K_nS g to the coefficients in every step, which reads V twice and the rows of the
    batch once more. Here, with the values Φ = K V diag(s)^½ made once, a step for a batch S is

        g = w (K_S α + Φ_S b − y_S),        α_S ← α_S − η g,        b ← b + η Φ_Sᵀ g,

    and V diag(s)^½ b is added to α where somebody asks for the model. The iterates are those of `EigenPro` to rounding.
    """

    step_size: float  # η, for a sum over the batch

    def init(self, problem: FullLengthProblem) -> FullLengthState:
        """Coefficients of zero."""
        xp, (n, c) = arrays.namespace(problem.targets), problem.targets.shape
        q, dtype = problem.directions.shape[1], problem.targets.dtype
        return FullLengthState(
            xp.zeros((n, c), dtype=dtype), xp.zeros((q, c), dtype=dtype), problem.directions, self.step_size
        )

    def step(self, problem: FullLengthProblem, state: FullLengthState, batch: slice) -> FullLengthState:
        """One batch."""
        values, _ = problem.gram.rows_dot(batch, state.points)
        functions = problem.functions[batch, :]
        gradient, state.loss = residual(problem, values + functions @ state.flattened, batch)
        state.points[batch, :] -= state.step_size * gradient
        state.flattened += state.step_size * (functions.T @ gradient)
        return state
