"""What the solvers of ridge regression on explicit features share."""

from dataclasses import dataclass
from typing import ClassVar

from ..settings import Settings


@dataclass(frozen=True, kw_only=True)
class FeatureSolver(Settings):
    """Base of the settings of solvers of ridge regression on features."""

    takes_sparse_features: ClassVar[bool] = True
    """Whether features may be sparse, such as random bins or the monomials of sparse rows."""
    has_epochs: ClassVar[bool] = False
    """Whether it takes steps on a map, epoch by epoch: only then a fit can stop early, continue, or have a time limit.
    Its calibration uses further outputs, which are trained next to the model."""
