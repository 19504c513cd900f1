"""Least squares over the span of centres, with the rows of every batch divided among processes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .. import arrays, gram
from ..arrays import Array
from ..estimators.least_squares.eigenpro_centres import CentresMatrix, EigenProCentresFit
from ..estimators.rows_ahead import RowsAhead
from ..solvers.least_squares.nystrom_conjugate_gradients import NystromConjugateGradients, NystromProblem
from ..solvers.least_squares.projected import CentresProblem, ProjectedEigenPro
from .checkpoints import Held
from .eigenpro import DistributedLeastSquaresFit
from .ranks import Ranks

ROWS = 20_000
"""Rows whose outputs a process computes at a time, where all training rows are predicted."""


@dataclass(frozen=True)
class DistributedCentresProblem(CentresProblem):
    """A `CentresProblem` whose batches are divided by rows among processes."""

    ranks: Ranks | None = None


@dataclass(frozen=True)
class DistributedProjectedEigenPro(ProjectedEigenPro):
    """The step of `ProjectedEigenPro`, with the rows of a batch divided among processes.

    Each process reads its share of the batch alone, and computes what this adds to K_ZS g, p × outputs numbers, which
    all of them add up. With fewer centres than a batch has rows that is less than the values of the batch would be.
    Every process holds the p centres, as it holds the p² numbers of the projection, and takes the same step.
    """

    @staticmethod
    def _gradient(problem: DistributedCentresProblem, iterate: Array, batch: slice) -> tuple[Array, float]:
        xp, ranks, mine = arrays.namespace(iterate), problem.ranks, problem.ranks.piece(batch)
        loss, added = 0.0, xp.zeros_like(iterate)
        if mine.start < mine.stop:
            added, loss = ProjectedEigenPro._gradient(problem, iterate, mine)
            ranks.count((mine.stop - mine.start) * iterate.shape[0])
        of_loss = xp.full((1, iterate.shape[1]), loss, dtype=iterate.dtype)
        summed = ranks.sum(xp.concat([added, of_loss]))
        return arrays.contiguous(summed[:-1, :]), float(summed[-1, 0])


@dataclass(frozen=True)
class DistributedNystromProblem(NystromProblem):
    """A `NystromProblem` whose batches are divided by rows among processes."""

    ranks: Ranks | None = None


@dataclass(frozen=True)
class DistributedNystromConjugateGradients(NystromConjugateGradients):
    """`NystromConjugateGradients` with the rows of a batch divided among processes; each takes every iteration."""

    @staticmethod
    def _product(
        problem: DistributedNystromProblem, a: Array, batch: slice, *, subtracts_targets: bool
    ) -> tuple[Array, Array]:
        ranks, mine, xp = problem.ranks, problem.ranks.piece(batch), arrays.namespace(a)
        p, c = a.shape
        image, squares = (xp.zeros((rows, c), dtype=xp.float64) for rows in (p, 1))
        if mine.start < mine.stop:
            image, of_rows = NystromConjugateGradients._product(problem, a, mine, subtracts_targets=subtracts_targets)
            squares = squares + of_rows
            ranks.count((mine.stop - mine.start) * p)
        summed = ranks.sum(xp.concat([image, squares]))
        return arrays.contiguous(summed[:p, :]), summed[p:, :]


class DistributedCentresMatrix(CentresMatrix):
    """A `CentresMatrix` whose products are divided by rows among processes."""

    def __init__(self, ranks: Ranks, *given: Any):
        super().__init__(*given)
        self._ranks = ranks

    def dot(self, a: Array) -> Array:
        """``k(X, Z) @ a`` for all training points in the order of the fit, shape (n, c)."""
        out = arrays.namespace(a).zeros((len(self.rows), a.shape[1]), dtype=a.dtype)
        for k, rows in enumerate(arrays.blocks(len(self.rows), ROWS)):
            if k % self._ranks.size == self._ranks.rank:
                points = self.rows(rows)[:, :-2]
                out[rows, :] = gram.cross_product(self.kernel, points, self.points, a, budget=self.budget)
        return self._ranks.sum(out)


class DistributedEigenProCentresFit(DistributedLeastSquaresFit):
    """EigenPro on chosen centres: every process has its share of each batch."""

    def _centres_of_use(self, fit: EigenProCentresFit) -> int:
        return self._ranks.from_first(super()._centres_of_use(fit))

    def _make_problem(self, fit: EigenProCentresFit, budget: int) -> CentresProblem | NystromProblem:
        made = super()._make_problem(fit, budget)
        if not fit.takes_steps:
            fit.plan.batch_size = self._ranks.from_first(fit.plan.batch_size)
            made = replace(made, n_first=self._ranks.from_first(made.n_first), batch_size=fit.plan.batch_size)
        fit.gram = DistributedCentresMatrix(
            self._ranks, fit.plan.kernel, made.centres, fit.rows, made.budget, made.kept
        )
        if isinstance(made.points, RowsAhead):
            made.points.share = self._ranks.piece
        given = {field.name: getattr(made, field.name) for field in fields(made)}
        kind = DistributedCentresProblem if fit.takes_steps else DistributedNystromProblem
        return kind(**given, ranks=self._ranks)

    def _make_solver(self, fit: EigenProCentresFit) -> DistributedProjectedEigenPro | NystromConjugateGradients:
        if not fit.takes_steps:
            return DistributedNystromConjugateGradients()
        return DistributedProjectedEigenPro(float(fit.plan.step_size), average=fit.plan.batch_size < fit.n)

    def _whole(self, held: Held, notes: dict[str, Any]) -> tuple[Held, dict[str, Any]]:
        """The arrays of a checkpoint: every process has them all."""
        return held, notes

    _share = _whole

    def _raw_predict(self, X: Any, coefficients: Any = None, fit: EigenProCentresFit | None = None) -> np.ndarray:
        """f(x), shape (m, c); in the course of the fit every process computes it for its share of the rows."""
        if fit is None:
            return super()._raw_predict(X)
        own = X[self._ranks.own(X.shape[0])]
        return self._ranks.gathered(super()._raw_predict(own, coefficients, fit), X.shape[0])
