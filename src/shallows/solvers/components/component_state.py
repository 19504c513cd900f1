"""Problem and state of component analysis in one view: k functions over blocks of streamed random features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...features import block_sums
from ...features.fourier import FourierFeatures
from ..examples import ExampleSet
from ..expansions.growing_expansion import GrowingExpansion
from .moments import share_of_batch
from .warm_start import buffer_of

SHARE_OF_A_BATCH = 0.1  # weight of a batch in the running moments, if it has examples enough


@dataclass(frozen=True)
class ComponentProblem(ExampleSet):
    """The k functions that span the top of the covariance operator A f = E[f(x) k(x, ·)] of a kernel."""

    features: FourierFeatures  # Of the kernel
    n_components: int  # k
    # (n_blocks, width, k): coefficients of the first blocks that a training starts from; see `warm_start`. None where
    # one goes on.
    start: Array | None
    start_moment: np.ndarray | None  # (k, k): E[g(x)g(x)ᵀ] of that start g, as far as it is known
    points: Array | None = None  # (n, d): a set that batches are slices of; none for a stream
    # Whether functions count as their deviation from their mean, as in `sklearn.decomposition.KernelPCA`: the
    # covariance operator then is E[f(x) k(x, ·)] − E[f(x)] E[k(x, ·)]
    centred: bool = False
    budget: int = block_sums.DEFAULT_BUDGET  # Bytes for features and frequencies in the course of a step
    # A batch on which the functions have more than this many times the variance of the kernel means divergence
    growth: float = 10.0


@dataclass
class ComponentState(GrowingExpansion):
    """k functions g = (g₁, …, g_k) in the course of a training.

    ``n_steps, n_revisits``: steps taken, steps that moved an old block.
    """

    _: KW_ONLY
    step_size: float  # η₁
    # (k, k): running mean of g(x)g(x)ᵀ, of the deviations from the mean where the problem is centred
    moment: np.ndarray
    mean: np.ndarray  # (k,): running mean of g(x)
    n_steps: int = 0
    n_revisits: int = 0
    last_step: float = 0.0  # η of the last step, after it was made safe
    size: float = 0.0  # Mean of ‖g(x)‖² over the last batch: the variance that the components hold

    @classmethod
    def at(cls, problem: ComponentProblem, step_size: float) -> ComponentState:
        """The start that a problem tells."""
        buffer, n_blocks = buffer_of(problem.start), problem.start.shape[0]
        moment, mean = np.array(problem.start_moment, dtype=np.float64), np.zeros(problem.n_components)
        return cls(buffer, n_blocks=n_blocks, step_size=step_size, moment=moment, mean=mean)

    @classmethod
    def blank(cls, like: list[Array], n_components: int) -> ComponentState:
        """A state for `recall` to fill, in the library and on the device of ``like[0]``."""
        k = n_components
        return cls(like[0], step_size=0.0, moment=np.zeros((k, k)), mean=np.zeros(k))

    def values(self, problem: ComponentProblem, x: Array) -> Array:
        """g(x), shape (m, k), not centred."""
        return self.evaluate(problem.features, x, problem.budget)

    def observe(self, moment: np.ndarray, mean: np.ndarray, n_examples: int) -> None:
        """Take the moments of a batch into the running ones."""
        share = share_of_batch(n_examples, len(mean), SHARE_OF_A_BATCH)
        self.moment = self.moment + share * (moment - self.moment)
        # Of the mean nothing is known before the first batch.
        self.mean = self.mean + (share if self.n_steps else 1.0) * (mean - self.mean)
        self.size = float(np.trace(moment))

    def monitored(self) -> tuple[float, float]:
        """The variance that the components held of the last batch, against that of the kernel, k(x, x) = 1."""
        return self.size, 1.0

    def is_finite(self) -> bool:
        """Whether coefficients and moments are numbers."""
        return super().is_finite() and bool(np.isfinite(self.moment).all() and np.isfinite(self.mean).all())

    def remember(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays on the host and numbers that `recall` takes up again, to the bit."""
        held, numbers = super().remember()
        return held | {"moment": self.moment.copy(), "mean": self.mean.copy()}, numbers

    def recall(self, held: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        """Take up what `remember` gave, in the library and on the device of this state."""
        super().recall(held, numbers)
        self.moment, self.mean = (np.array(held[name], dtype=np.float64) for name in ("moment", "mean"))
