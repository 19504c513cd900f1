"""The problem of kernel least squares, and the states that its solvers keep."""

from __future__ import annotations

from dataclasses import dataclass

from ... import arrays
from ...arrays import Array
from ...gram import Gram, ShuffledGram
from ...spectrum import Preconditioner


@dataclass(frozen=True)
class KernelProblem:
    """Weighted least squares in the space of a kernel: minimise Σᵢ wᵢ ‖f(xᵢ) − yᵢ‖² over f = Σⱼ αⱼ k(xⱼ, ·)."""

    gram: (
        Gram | ShuffledGram
    )  # Kernel matrix of the n training points; those of the preconditioner's subsample come first
    targets: Array  # (n, c)
    # (n, 1) or (n, c): Sample weights, for all outputs alike or for each; none means one each. A weight of zero takes
    # a row out.
    weights: Array | None = None
    preconditioner: Preconditioner | None = None
    # λ: minimise Σᵢ wᵢ ‖f(xᵢ) − yᵢ‖² + λ ‖f‖². Rows of weight zero must lie outside the preconditioner's subsample.
    regularisation: float = 0.0

    def inverse_weights(self, rows: slice) -> Array | float:
        """1/w of some rows, 0 where w is; what λ is multiplied with in K + λW⁻¹."""
        if self.weights is None:
            return 1.0
        xp, here = arrays.namespace(self.weights), self.weights[rows, :]
        return xp.where(here > 0, 1.0 / xp.where(here > 0, here, xp.ones_like(here)), xp.zeros_like(here))


_SMALLEST_SCALE = 2.0**-20
"""Of `AveragedState`: what is divided by it stays far from the largest number of float32."""


@dataclass
class KernelState:
    """Where a solver of kernel machines stands."""

    coefficients: Array  # (n, c): α
    step_size: float  # η, for a sum over a batch
    loss: float = 0.0  # Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, before the step that used it


@dataclass
class AveragedState:
    """Where a solver stands whose steps go by their number, and whose model may be an average of iterates.

    The average ā ← (1 − s) ā + s a is kept as a − ℓ L. A step that adds δ to a makes that a − (1 − s)(ℓ L + δ): a
    number is multiplied, and L changes where a does. A batch of 256 among 60,000 points costs no pass over them all.
    """

    iterate: Array  # (n, c): what the steps go on from; it changes by `move` alone
    step_size: float  # η, for a sum over a batch
    loss: float = 0.0  # Σ wᵢ ‖f(xᵢ) − yᵢ‖² over the last batch, of the iterate before the step that used it
    n_steps: int = 0  # Steps taken
    lag: Array | None = None  # (n, c): L; none where the model is the last iterate
    scale: float = 1.0  # ℓ

    @property
    def coefficients(self) -> Array:
        """Of the model: the average where there is one, made anew at every call, else the iterate."""
        if self.lag is None:
            return self.iterate
        average = self.lag * -self.scale
        average += self.iterate
        return average

    def move(self, rows: slice, change: Array) -> None:
        """Add to some rows of the iterate."""
        self.iterate[rows, :] += change
        if self.lag is not None:
            self.lag[rows, :] += change if self.scale == 1.0 else change / self.scale

    def advance(self, share: float) -> None:
        """Count a step, and take its iterate into the average with a share of it, if any."""
        self.n_steps += 1
        if not share:
            return
        if self.lag is None:
            self.lag = arrays.namespace(self.iterate).zeros_like(self.iterate)
            return
        self.scale *= 1.0 - share
        if self.scale < _SMALLEST_SCALE:
            self.lag *= self.scale
            self.scale = 1.0

    def remember(self) -> tuple[dict[str, Array], dict[str, float]]:
        """What a checkpoint keeps."""
        xp = arrays.namespace(self.iterate)
        held = {"iterate": xp.asarray(self.iterate, copy=True)}
        if self.lag is not None:
            held["lag"] = xp.asarray(self.lag, copy=True)
        return held, {"n_steps": self.n_steps, "scale": self.scale}

    def recall(self, held: dict[str, Array], numbers: dict[str, float]) -> None:
        """Go back to what `remember` gave."""
        xp = arrays.namespace(self.iterate)
        self.lag = None
        for name, array in held.items():
            setattr(self, name, xp.asarray(arrays.like(array, self.iterate), copy=True))
        self.n_steps, self.scale = int(numbers["n_steps"]), numbers["scale"]

    def is_finite(self) -> bool:
        """Whether all coefficients are numbers."""
        xp = arrays.namespace(self.iterate)
        return bool(xp.all(xp.isfinite(self.iterate)))
