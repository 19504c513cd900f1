"""How long the steps of stochastic gradients on features may be, from the smoothness of their batches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ... import arrays, streams
from ...errors import ShallowsError
from ...losses import Loss
from ...losses.margins import Logistic
from ..settings import positive, setting
from .risk import RiskProblem, RiskSettings

MARGIN = 1.05  # power iteration comes from below, and other batches than those measured may be a little steeper


def batch_smoothness(problem: RiskProblem, m: int, n_batches: int = 8, n_iterations: int = 30) -> float:
    """L, the largest Lipschitz constant of the gradients of single batches of m rows, regulariser included.

    The batches are fixed slices of the rows, so that the objective is a mean of their risks, each as smooth as
    ℓ''·λ_max(Φ_SᵀΦ_S/m) + λ. Measured on some of them.
    """
    bound = problem.loss.smoothness
    if reason := why_not(problem.loss):
        raise ShallowsError(f"The loss {problem.loss.name!r} is not taken: {reason}.")
    top = 0.0
    for number, batch in enumerate(arrays.blocks(problem.span.n, m)):
        if number == n_batches:
            break
        Z = problem.span.rows(batch)
        like = problem.span.design.points
        xp = arrays.namespace(like)
        w = None if problem.weights is None else problem.weights[batch, :]
        v = streams.normal(0, "power iteration", number, (Z.shape[1], 1), like=like, dtype=like.dtype)
        for _ in range(n_iterations):
            v = v / max(math.sqrt(float(xp.sum(v * v))), 1e-30)
            u = Z @ v
            v = Z.T @ (u if w is None else w * u)
        top = max(top, math.sqrt(float(xp.sum(v * v))) / Z.shape[0])
    return MARGIN * bound * top + problem.regularisation


def svrg_step(L: float) -> float:
    """1/(6L), of the theory of SVRG without conditions on the inner loop, for one batch at a time.

    O. Sebbouh, N. Gazagnadou, S. Jelassi, F. Bach and R. Gower (2019), "Towards closing the gap between the theory and
    practice of SVRG", NeurIPS 32.
    """
    return 1.0 / (6.0 * L)


def sag_step(L: float) -> float:
    """1/L, which Schmidt, Le Roux and Bach recommend (their proof has 1/(16L)), for batches drawn with replacement.

    In epochs without replacement the table's slopes are as old as the pass in step with each other, and SAG is stable
    for steps up to about 5/(L · number of batches) only.
    """
    return 1.0 / L


def saga_step(L: float) -> float:
    """1/(3L), of Defazio, Bach and Lacoste-Julien."""
    return 1.0 / (3.0 * L)


def why_not(loss: Loss) -> str:
    """The reason why gradients of reduced variance cannot minimise a loss; empty where they can."""
    if math.isfinite(loss.smoothness):
        return ""
    return (
        "gradients of reduced variance need a smooth loss, 'squared_hinge' or 'logistic' for classes, 'square' or "
        "'huber' for values"
    )


@dataclass(frozen=True, kw_only=True)
class SmoothRiskSettings(RiskSettings):
    """What can be set of SAG, SAGA and SVRG, for smooth losses on explicit features.

    Parameters
    ----------
    step_size : float, optional
        η, for the mean over a batch. None takes a share of 1/L, with the smoothness L that is measured on batches.
    """

    step_size: float | None = setting(positive())

    takes: ClassVar[str] = "features"
    default_loss: ClassVar[Loss] = Logistic()

    def why_not(self, loss: Loss) -> str:
        """Only smooth losses."""
        return why_not(loss)

    def growth(self, loss: Loss) -> float:
        """A training whose loss grows a hundredfold has diverged."""
        return 100.0

    def step_on(self, problem: RiskProblem, batch_size: int, rule: Callable[[float], float]) -> float:
        """The step size that is set, or that a rule makes of L."""
        return float(self.step_size or rule(batch_smoothness(problem, batch_size)))
