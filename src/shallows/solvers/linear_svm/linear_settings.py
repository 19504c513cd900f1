"""What the settings of every solver of linear support vector machines say: losses, epochs, and how they end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..settings import Settings

FEWEST_VISITS = 20_000
"""Examples that a stochastic method visits at least if the user says nothing: passes over few rows cost little."""


@dataclass(frozen=True, kw_only=True)
class LinearSettings(Settings):
    """Base of the settings of solvers of linear support vector machines.

    Parameters
    ----------
    max_epochs : int, optional
        The most passes, iterations or rounds. None takes the solver's own limit.
    tol : float
        Where the solver stops, see the steppers.
    """

    max_epochs: int | None = None
    tol: float = 1e-3

    losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    """The losses that the solver takes; loss="auto" means the first."""
    usual_epochs: ClassVar[int] = 1000
    """The limit of epochs if the user names none; `epochs` makes it more for few rows."""
    online: ClassVar[bool] = False
    """Whether a batch is a number of examples, so that ``partial_fit`` can go on with others."""
    converges: ClassVar[bool] = True
    """Whether the solver notices that it has come to its tolerance."""
    certain: ClassVar[bool] = False
    """Whether it does so for columns of any scale; models of other solvers are checked afterwards."""

    def epochs(self, n: int) -> int:
        """The most epochs on n rows."""
        if self.max_epochs is not None:
            return int(self.max_epochs)
        return self.usual_epochs if self.converges else max(self.usual_epochs, -(-FEWEST_VISITS // n))

    def build(self, seed: int) -> Any:
        """The stepper for the machine of one class."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class StochasticSettings(LinearSettings):
    """Base of the settings of solvers that step along the subgradients of single examples.

    Parameters
    ----------
    averaging : {"weighted", "uniform", "none"}
        The model is the mean of the iterates with growing weights, their plain mean, or the last.
    sampling : {"new_permutation", "fixed_permutation", "uniform", "subsets", "in_order"}
        How the examples are visited.
    """

    averaging: str = "weighted"
    sampling: str = "new_permutation"

    usual_epochs: ClassVar[int] = 20
    online: ClassVar[bool] = True
    converges: ClassVar[bool] = False
