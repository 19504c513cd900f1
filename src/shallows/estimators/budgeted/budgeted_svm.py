"""A support vector machine with the Gaussian kernel and a budget of support vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ...errors import UnknownNameError
from ...fitting import leave_one_out_choice
from ...fitting.budgeted import FittedBudgeted, fit_budgeted_svm, outputs
from ...fitting.rows import single_column
from ...fitting.stream_training import Batch
from ...fitting.targets import Machines
from ...solvers.budgeted.budgeted_sgd import LINE_SEARCHES, MAINTENANCE, BudgetedSGD
from ...solvers.settings import settings_of
from ...utils.checks import check_positive, check_whole
from ..base import Estimator, keeps_model_on_failure
from ..constructors import stores_parameters
from ..predictions import LabelPredictions
from ..streaming import check_rows, end_beginning, rows_to_learn


class BudgetedSVMClassifier(LabelPredictions, Estimator):
    """Support vector machine with the Gaussian kernel and a budget of support vectors, by stochastic gradient descent.

    Pegasos on a kernel with one example in each step: f ← (1 − 1/t) f, plus a kernel function at the example if its
    hinge loss is positive. If the budget is exceeded, the support vector with the smallest coefficients goes. Two
    classes have one function; otherwise each class has one, with the loss of Crammer and Singer. Columns with a mean
    over 100 times the points' deviation are centered.

    Parameters
    ----------
    budget : int, optional
        Most support vectors. None: 100. It is never above the number of training rows; a larger value warns.
    maintenance : {"merging", "projection", "removal"}, default="merging"
        Merge the smallest support vector with another, project it onto the others (slow), or drop it.
    line_search : {"auto", "golden_section", "lookup"}, default="auto"
        Losses of merging: by a search for each pair, or from a table (two classes only). "auto": the table if possible.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ of exp(−‖x − z‖²/(2σ²)). "auto": smallest leave-one-out error of kernel ridge regression with nλ on 400 to
        1,000 rows. "median" and None: the median distance.
    regularisation : float, optional
        λ, and C = 1/(λn). None: 1/n, which is C = 1; for a model that begins with `partial_fit` 1e-4.
    max_epochs : int, default=5
        Passes over the training data. Few rows need more: with 900 rows, 20 passes gave 83 % accuracy and five 68 %.
    max_seconds : float, optional
        Time limit of the training.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.
    random_state : int, RandomState or None, default=None
        Seed of all random draws. An int gives the same model every time.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        No effect: steps with single examples are taken on the CPU.
    memory : int or str, optional
        Memory limit of the process, in bytes or as "4GB"; a larger model is refused. None: a share of the free memory.
    dtype : {"auto", "float32", "float64"}, default="auto"
        No effect: steps are taken in float64.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_vectors_ : ndarray, shape (n_support, n_features)
        Merged ones are not training points.
    dual_coef_ : ndarray, shape (n_support, n_outputs)
    bandwidth_ : float
    regularisation_ : float
    n_steps_, n_epochs_ : int
        Visited examples and passes.
    effective_params_, timings_ : dict
        Values that the library chose, violations, and the squared norm lost to the budget; seconds of each phase.

    References
    ----------
    Z. Wang, K. Crammer and S. Vucetic (2012), "Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training", Journal of Machine Learning Research 13.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import BudgetedSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = BudgetedSVMClassifier(budget=200, bandwidth=25.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.9), len(model.support_vectors_)
    (True, 200)
    """

    @stores_parameters
    def __init__(
        self,
        budget: int | None = None,
        *,
        maintenance: str = "merging",
        line_search: str = "auto",
        bandwidth: float | str | None = "auto",
        regularisation: float | None = None,
        max_epochs: int = 5,
        max_seconds: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
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
        self.effective_params_ = self.effective_params_ | {"n_rows_begun_with": self._n_begun}
        return self

    def _train(
        self, rows: Batch, targets: Machines, *, streamed: bool = False, before: FittedBudgeted | None = None
    ) -> None:
        """Learn points, labels and weights."""
        found = fit_budgeted_svm(
            *rows,
            targets=targets,
            solver=settings_of(BudgetedSGD, self),
            bandwidth=self.bandwidth,
            regularisation=self.regularisation,
            streamed=streamed,
            before=before,
            seed=self._seed(),
            options=self._options(),
            name=type(self).__name__,
        )
        self._store(found, targets)

    def _store(self, found: FittedBudgeted, targets: Machines) -> None:
        """Set the fitted attributes."""
        self._fitted, self.classes_, self.regularisation_ = found, targets.classes, found.ridge
        self.support_vectors_, self.dual_coef_ = found.model.support_vectors, found.model.coefficients
        self.bandwidth_, self.n_steps_ = found.model.bandwidth, found.n_steps
        self.n_epochs_ = self.n_iter_ = found.n_epochs
        self.effective_params_, self.timings_ = found.report, found.seconds

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self, "regularisation", "max_seconds")
        check_whole(self, "max_epochs")
        leave_one_out_choice.check_bandwidth(self.bandwidth)
        check_whole(self, "budget", optional=True)
        UnknownNameError.check("way to keep the budget (maintenance)", self.maintenance, MAINTENANCE)
        UnknownNameError.check("line search (line_search)", self.line_search, LINE_SEARCHES)

    def _raw_predict(self, X: Any) -> np.ndarray:
        return outputs(self._fitted.model, X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")
