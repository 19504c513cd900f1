"""The settings of doubly stochastic gradients, before anything is chosen from data."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class ExpansionSettings:
    """What a user may set of the training; None leaves it to the program. The estimators document and check the values.

    Attributes
    ----------
    method : {"dsg", "udsg", "cdsg"}
    regularisation : float or None
    block_size, batch_size : int or None
    schedule : str
    step_size, theta_nu : float or None
    decrease : float
    preconditioning : {"block", "decoupled", None}
    damping : float or None
    fresh, reused : int
    cap : float
    gradient_bound, feature_variance : float or None
    keep_values : bool
    n_iter, max_epochs : int or None
    """

    method: str
    regularisation: float | None
    block_size: int | None
    batch_size: int | None
    schedule: str
    step_size: float | None
    theta_nu: float | None
    decrease: float
    preconditioning: str | None
    damping: float | None
    fresh: int
    reused: int
    cap: float
    gradient_bound: float | None
    feature_variance: float | None
    keep_values: bool
    n_iter: int | None
    max_epochs: int | None

    def sizes(self, n: int, *, in_pairs: bool) -> tuple[int, int]:
        """F and B for n rows; with five examples for every column of a block its covariance can be inverted safely.

        ``in_pairs`` is for features that are cosines and sines of frequencies; others have one column each, and vary
        more.
        """
        columns = 2 if in_pairs else 1
        F = self.block_size or min(1024, max(32, 2 ** math.ceil(math.log2(max(1.0, n / 32))))) * 2 // columns
        return F, min(n, self.batch_size or min(n, 5 * columns * F))
