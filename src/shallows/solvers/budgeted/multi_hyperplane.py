"""The adaptive multi-hyperplane machine: a linear machine with several hyperplanes for each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import ShallowsError
from ..array_state import ArrayState
from ..pieces import pieces
from ..point_budget import FOLD_BELOW
from ..settings import Settings
from .sparse_rows import SparseRows


@dataclass
class HyperplaneState(ArrayState):
    """Hyperplanes of classes, their counts, and the assignments of rows to them.

    ``classes, names`` (capacity,): of each hyperplane its class, and a number that no other ever has. ``loss,
    zero_loss``: sums over the last batch of the losses, each before its own step, and of those of the zero function.
    """

    # (capacity, d + 1): The first ``n_weights`` are in use, each without the common factor; the last column belongs to
    # the constant
    weights: np.ndarray
    classes: np.ndarray
    names: np.ndarray
    # (n,): The name of the hyperplane that each row was assigned to; of length 0 where the best at each visit is taken
    assigned: np.ndarray
    scale: float = 1.0  # The common factor
    n_weights: int = 0
    n_steps: int = 0
    n_violations: int = 0
    n_names: int = 0
    loss: float = 0.0
    zero_loss: float = 0.0
    pruned: float = 0.0  # Sum of the squared norms of the hyperplanes that were taken out

    @property
    def coefficients(self) -> np.ndarray:
        """The weights in use, with the common factor, shape (n_weights, d + 1)."""
        return self.weights[: self.n_weights] * self.scale

    def monitored(self) -> tuple[float, float]:
        """The losses of the last batch; the first steps are long, so that these may be large."""
        return self.loss, float("nan")


@dataclass(frozen=True)
class MultiHyperplaneStepper:
    """Subgradient steps on λ/2 ‖W‖² + (1/n) Σ wᵢ max(0, 1 + max_{c≠y} g(c, xᵢ) − w_{y,z}ᵀxᵢ).

    g(c, x) = max_j w_{c,j}ᵀx is the score of a class; z is the hyperplane of its class that an example is assigned to.
    In step t all weights shrink by 1 − 1/t; where the loss is positive, wᵢxᵢ/(λt) is added to w_{y,z} and subtracted
    from the violating hyperplane. Every class begins with one hyperplane of zeros. Where an example is assigned to the
    best of its class, this is not above the score of a zero vector, and the class has room, a new hyperplane takes the
    addition. Every so many steps the smallest hyperplanes whose squared norms sum up to at most (c/(λt))² are pruned.

    Parameters
    ----------
    regularisation : float
        λ.
    n_hyperplanes : int
        Of each class, at most.
    batch : bool
        z is the hyperplane that was best when the row was visited the epoch before, as in the alternation of
        assignments and convex problems; else the best at the visit itself (online).
    prune_every : int
        Steps.
    aggressiveness : float
        c. Zero prunes nothing but zeros.
    constant : float
        A further feature, for the offsets of the hyperplanes; 0 for none.
    reserve : bool
        Whether every class with room has a zero vector in reserve, as the publication has it: g(c, x) is at least 0,
        and the subtraction from a zero vector makes a new hyperplane. The authors' toolbox has none for other classes.

    References
    ----------
    Z. Wang, N. Djuric, K. Crammer and S. Vucetic (2011), "Trading representability for scalability: adaptive
    multi-hyperplane machine for nonlinear classification", KDD. N. Djuric, L. Lan, S. Vucetic and Z. Wang (2013),
    "BudgetedSVM: a toolbox for scalable SVM approximations", Journal of Machine Learning Research 14.
    """

    regularisation: float
    n_hyperplanes: int = 20
    batch: bool = True
    prune_every: int = 10000
    aggressiveness: float = 10.0
    constant: float = 1.0
    reserve: bool = False

    def __post_init__(self) -> None:
        if self.n_hyperplanes < 1 or self.prune_every < 1:
            raise ShallowsError(
                "n_hyperplanes and prune_every must be at least 1, "
                f"got {self.n_hyperplanes!r} and {self.prune_every!r}."
            )

    def init(self, problem: SparseRows) -> HyperplaneState:
        """A hyperplane of zeros for each class."""
        from . import hyperplane_steps

        capacity, n_classes = self.n_hyperplanes * problem.n_classes, problem.n_classes
        return HyperplaneState(
            np.zeros((capacity, problem.n_inputs + 1), order="F"),
            np.arange(capacity, dtype=np.int64) % n_classes,
            np.arange(capacity, dtype=np.int64),
            np.full(len(problem.labels) if self.batch else 0, hyperplane_steps.UNSEEN, dtype=np.int64),
            n_weights=n_classes,
            n_names=n_classes,
        )

    def step(self, problem: SparseRows, state: HyperplaneState, batch: np.ndarray) -> HyperplaneState:
        """Visit the rows of a batch one by one."""
        from . import hyperplane_steps

        counts = np.array([state.n_weights, state.n_steps, state.n_violations, state.n_names])
        numbers = np.array([state.scale, 0.0, 0.0, state.pruned])
        rows, examples = np.asarray(batch, dtype=np.int64), problem.arrays
        settings = (
            float(self.regularisation),
            self.n_hyperplanes,
            self.prune_every,
            float(self.aggressiveness),
            float(self.constant),
            FOLD_BELOW,
            bool(self.reserve),
        )
        of_a_row = 2.0 * len(state.weights) * problem.points.nnz / max(1, problem.points.shape[0])
        for piece in pieces(len(rows), of_a_row):
            hyperplane_steps.go_through(
                rows[piece],
                examples,
                state.weights.T,
                state.classes,
                state.names,
                state.assigned,
                counts,
                numbers,
                settings,
            )
        state.n_weights, state.n_steps, state.n_violations, state.n_names = (int(count) for count in counts)
        state.scale, state.loss, state.zero_loss, state.pruned = (float(number) for number in numbers)
        return state


@dataclass(frozen=True, kw_only=True)
class MultiHyperplane(Settings):
    """Subgradient steps on several hyperplanes for each class.

    Parameters
    ----------
    method : {"batch", "online"}
        An example is assigned to the best hyperplane of the epoch before, or to the best at its visit.
    n_hyperplanes : int
        Hyperplanes of each class, at most.
    prune_every : int
        Examples between two prunings.
    pruning : float
        c: how large the hyperplanes are that are taken out.
    constant : float
        A further feature of that value.
    reserve : bool
        Whether every class has a hyperplane of zeros in reserve.
    max_epochs : int
        Passes over the training data.
    """

    method: str = "batch"
    n_hyperplanes: int = 20
    prune_every: int = 10000
    pruning: float = 10.0
    constant: float = 1.0
    reserve: bool = False
    max_epochs: int = 10

    def build(self, regularisation: float) -> MultiHyperplaneStepper:
        """The stepper."""
        return MultiHyperplaneStepper(
            regularisation,
            self.n_hyperplanes,
            self.method == "batch",
            self.prune_every,
            float(self.pruning),
            float(self.constant),
            bool(self.reserve),
        )
