"""Classifiers with support vectors: several classes as problems of two, and labels from their outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from ... import arrays
from ...fitting import leave_one_out_choice
from ...fitting.parameter_checks import check_choice
from .. import model_classes
from ..array_inputs import follows_input
from ..constructors import with_parameters
from ..predictions import LabelPredictions
from .dual_model import DualFit, DualModel

MOST_STEPS = 10_000_000
"""Steps on two variables where the user names no limit, or 100 for each row where these are more, as in LIBSVM."""


@dataclass(frozen=True)
class Solution:
    """A function Σ βᵢ k(xᵢ, ·) + b of two classes, with what was spent on it."""

    coefficients: np.ndarray  # (n,), float64
    intercept: float
    objective: float  # of the solver's dual problem
    n_steps: int
    n_evaluations: int  # kernel values that were computed
    converged: bool


@dataclass(frozen=True)
class TwoClasses:
    """A problem of two classes: which rows, their signs, and the factor of C for each."""

    rows: np.ndarray
    signs: np.ndarray
    weights: np.ndarray


class DualClassifier(LabelPredictions, DualModel):
    """Base of the classifiers Σ βᵢ k(xᵢ, x) + b whose solvers choose rows; a method defines `_solve`."""

    __init__ = with_parameters(DualModel.__init__, C=1.0, multiclass="one_vs_one", class_weight=None)

    def _solve(self, fit: DualFit, points: Any, two: TwoClasses) -> Solution:
        """Solve a problem of two classes, whose rows' augmented points are given, shape (m, d + 2).

        What ``fit.budget`` leaves is for kernel values.
        """
        raise NotImplementedError

    def _targets_of(self, fit: DualFit) -> np.ndarray:
        y = model_classes.learn(self, fit.data.y)
        fit.numbers = np.searchsorted(self.classes_, y)
        return leave_one_out_choice.class_codes(fit.numbers, len(self.classes_))

    def _train(self, fit: DualFit) -> list[tuple[TwoClasses, Solution]]:
        solved = []
        for two in two_class_problems(fit.numbers, fit.weights, len(self.classes_), self.multiclass):
            own = fit.points if len(two.rows) == fit.n else arrays.take_rows(fit.points, two.rows)
            solved.append((two, self._solve(fit, own, two)))
        fit.end_phase("training")
        return solved

    def _keep_model(self, fit: DualFit, solved: list[tuple[TwoClasses, Solution]]) -> None:
        coefficients = np.zeros((fit.n, len(solved)))
        for column, (two, solution) in enumerate(solved):
            coefficients[two.rows, column] = solution.coefficients
        intercepts = np.array([solution.intercept for _, solution in solved])
        self._keep(fit.kernel, fit.points, fit.data.rows, coefficients, intercepts)

    def _keep(self, *parts: Any) -> None:
        super()._keep(*parts)
        # With three classes both ways have three problems, and the parameter may be changed after the fit.
        self._model["votes"] = len(self.classes_) > 2 and self.multiclass == "one_vs_one"

    def _report(self, solved: list[tuple[TwoClasses, Solution]]) -> dict[str, Any]:
        solutions = [solution for _, solution in solved]
        self.objectives_ = np.array([one.objective for one in solutions])
        self.n_iter_ = sum(one.n_steps for one in solutions)
        self.n_kernel_evaluations_ = sum(one.n_evaluations for one in solutions)
        return {
            "n_problems": len(solutions),
            "n_steps": self.n_iter_,
            "converged": all(one.converged for one in solutions),
        }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, multiclass=("one_vs_one", "one_vs_rest"))

    def _most_steps(self, n: int) -> int:
        """The limit of steps on two variables for n rows."""
        return self.max_iterations or max(MOST_STEPS, 100 * n)

    def _warn_of_limit(self, most: int, steps: str, gap: float) -> None:
        """Warn that the solver met its limit before the conditions of optimality hold."""
        left = f"After {most:,} {steps} the conditions of optimality are still violated by {gap:.2g}, and tol is"
        self._warn(f"{left} {self.tol:g}", "allow more by max_iterations")

    # ------------------------------------------------------------------------------------ prediction

    def _raw_predict(self, X: Any) -> np.ndarray:
        outputs = self._outputs(X)
        if self._model.get("votes", len(self.classes_) > 2 and self.multiclass == "one_vs_one"):
            # Votes, and the sizes of the outputs where votes tie.
            return _ovr_decision_function(outputs > 0, outputs, len(self.classes_))
        return outputs

    @follows_input
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
            Of two classes f(x) + b, positive for the second. With one against one the votes of the pairs, and less than
            half a vote for the sizes of their outputs.
        """
        scores = self._raw_predict(self._validated(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores


def two_class_problems(
    numbers: np.ndarray, weights: np.ndarray, n_classes: int, multiclass: str
) -> Iterator[TwoClasses]:
    """Yield the problems of two classes that several are made of; ``numbers`` are the rows' classes, from 0 on.

    The later class is the positive one, in the order (0, 1), (0, 2), ..., (1, 2), ..., or each class against the rest.
    """
    if n_classes > 2 and multiclass == "one_vs_rest":
        everything = np.arange(len(numbers))
        for c in range(n_classes):
            yield TwoClasses(everything, np.where(numbers == c, 1.0, -1.0), weights)
        return
    for first in range(n_classes):
        for second in range(first + 1, n_classes):
            rows = np.flatnonzero((numbers == first) | (numbers == second))
            yield TwoClasses(rows, np.where(numbers[rows] == second, 1.0, -1.0), weights[rows])
