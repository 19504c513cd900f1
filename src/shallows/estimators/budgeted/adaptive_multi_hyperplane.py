"""The adaptive multi-hyperplane machine as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ...fitting import leave_one_out_choice
from ...fitting.budgeted import FittedBudgeted, fit_multi_hyperplane, outputs
from ...fitting.rows import single_column
from ...fitting.stream_training import Batch
from ...fitting.targets import Machines
from ...solvers.budgeted.multi_hyperplane import MultiHyperplane
from ..base import Estimator, keeps_model_on_failure
from ..constructors import stores_parameters
from ..predictions import LabelPredictions
from ..streaming import check_rows, end_beginning, rows_to_learn


class AMMClassifier(LabelPredictions, Estimator):
    """Adaptive multi-hyperplane machine: a linear machine with several hyperplanes for each class.

    The score of a class is the largest score of its hyperplanes, so that boundaries consist of linear pieces. Training
    and prediction cost as much as for a linear machine with this number of outputs. The data decide the number of
    hyperplanes, and small ones are pruned. Subgradient steps of one example each minimize
    λ/2 ‖W‖² + (1/n) Σ max(0, 1 + max_{c≠y} g(c, xᵢ) − w_{y,z}ᵀxᵢ) for the hyperplane z that an example is assigned to.

    Parameters
    ----------
    n_hyperplanes : int, default=20
        Most hyperplanes of each class.
    method : {"batch", "online"}, default="batch"
        Assign an example to the hyperplane of its class that was best in the previous epoch, or that is best now. The
        first epoch and `partial_fit` are always "online".
    regularization : float or "auto", default="auto"
        λ, and C = 1/(λn). "auto": 1/n, which is C = 1; for a model that begins with `partial_fit` 1e-4.
    max_epochs : int, default=10
        Passes over the training data. The paper uses one for "online".
    prune_every : int, default=10000
        Examples between two prunings.
    pruning : float, default=10.0
        c: after t examples, the smallest hyperplanes with a sum of squared norms up to (c/(λt))² are removed, except
        the largest of each class. 0 removes only zero hyperplanes.
    constant : float, default=1.0
        Value of an additional feature for the offsets, which are regularized; 0: no offsets. With it, columns with a
        mean over 100 times the points' deviation are centered.
    reserve : bool, default=False
        Give every class a zero hyperplane in training, as in the paper, so that no score is below 0. False: only the
        class of the example, as in the authors' toolbox.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.
    random_state : int, RandomState or None, default=None
        Seed of all random draws. An int gives the same model every time.
    options : Options, optional
        Memory, time limit of the training and progress. Steps are taken on the CPU and in float64.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (all hyperplanes, n_features)
    intercept_ : ndarray, shape (all hyperplanes,)
    hyperplane_classes_ : ndarray of int, shape (all hyperplanes,)
        Index in ``classes_`` of each hyperplane.
    regularization_ : float
    n_steps_, n_epochs_ : int
        Visited examples and passes.
    options_ : Options
    report_ : dict
        Values that the library chose, violations, and the sum of the pruned squared norms; seconds of each phase.

    See Also
    --------
    shallows.LinearSVMClassifier : One hyperplane for each class.
    BudgetedSVMClassifier : A kernel machine with a budget of support vectors.

    References
    ----------
    Z. Wang, N. Djuric, K. Crammer and S. Vucetic (2011), "Trading representability for scalability: adaptive
    multi-hyperplane machine for nonlinear classification", KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.svm import AMMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AMMClassifier(random_state=0).fit(X[:1200] / 16, y[:1200])
    >>> bool(model.score(X[1200:] / 16, y[1200:]) > 0.85)
    True
    """

    @stores_parameters
    def __init__(
        self,
        n_hyperplanes: int = 20,
        *,
        method: str = "batch",
        regularization: float | str = "auto",
        max_epochs: int = 10,
        prune_every: int = 10000,
        pruning: float = 10.0,
        constant: float = 1.0,
        reserve: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
        options: Any = None,
    ): ...

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: D102
        self._check_parameters()
        rows = self._validated_training_set(X, y, sample_weight)
        y = single_column(rows.y)
        self._train((rows.X, y, rows.weights), Machines.of(y, "one_vs_rest", self.class_weight))
        end_beginning(self, len(y))
        return self

    @keeps_model_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue with more rows, each visited once in order. The first 400 to 4,000 rows decide open parameters.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        classes : array-like, shape (n_classes,), optional
            All labels that may come. The first call needs them.
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the losses. A mean of 1 keeps the strength of the regularization.

        Raises
        ------
        ValueError, ShallowsError
            Wrong data or parameters, an unknown label, or ``class_weight="balanced"``, which needs all labels.
        """
        rows, begins = rows_to_learn(self, check_rows(self, X, y, classes, sample_weight)[:3])
        before = None if begins else self._fitted
        self._train(rows, Machines(self.classes_, "one_vs_rest"), streamed=True, before=before)
        self.report_ = self.report_ | {"n_rows_begun_with": self._n_begun}
        return self

    def _train(
        self, rows: Batch, targets: Machines, *, streamed: bool = False, before: FittedBudgeted | None = None
    ) -> None:
        """Learn points, labels and weights."""
        found = fit_multi_hyperplane(
            *rows,
            targets=targets,
            solver=self._solver(),
            regularization=self.regularization,
            streamed=streamed,
            before=before,
            seed=self._seed(),
            options=self._options(),
            observers=self._progress_observers(),
        )
        self._store(found, targets)

    def _store(self, found: FittedBudgeted, targets: Machines) -> None:
        """Set the fitted attributes."""
        self._fitted, self.classes_, self.regularization_ = found, targets.classes, found.ridge
        self.coef_, self.intercept_ = found.model.coef, found.model.intercept
        self.hyperplane_classes_, self.n_steps_ = found.model.classes, found.n_steps
        self.n_epochs_ = self.n_iter_ = found.n_epochs
        self.report_ = {**found.report, "timings": found.seconds}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_or_auto(self, "regularization")
        self._solver().check()

    def _solver(self) -> MultiHyperplane:
        return MultiHyperplane(
            method=self.method,
            n_hyperplanes=self.n_hyperplanes,
            prune_every=self.prune_every,
            pruning=self.pruning,
            constant=self.constant,
            reserve=self.reserve,
            max_epochs=self.max_epochs,
        )

    def _raw_predict(self, X: Any) -> np.ndarray:
        return outputs(self._fitted.model, X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")
