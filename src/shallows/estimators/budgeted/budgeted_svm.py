"""A support vector machine with the Gaussian kernel and a budget of support vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ... import training
from ...errors import UnknownNameError
from ...fitting import leave_one_out_choice
from ...fitting.budgeted import FittedBudgeted, fit_budgeted_svm, outputs
from ...fitting.checks import check_positive, check_whole
from ...fitting.labels import single_column
from ...fitting.targets import Machines
from ...solvers.budgeted.budgeted_sgd import LINE_SEARCHES, MAINTENANCE, BudgetedSGD
from ...solvers.settings import settings_of
from ..base import Estimator
from ..constructors import stores_parameters
from ..predictions import LabelPredictions
from ..streaming import check_rows, end_beginning, rows_to_learn


class BudgetedSVMClassifier(LabelPredictions, Estimator):
    """Support vector machine with the Gaussian kernel and a budget of support vectors, by stochastic gradient descent.

    Pegasos on a kernel, one example a step: f ← (1 − 1/t) f, and a kernel function at the example where its hinge loss
    is positive. When there are more than the budget allows, the one of the smallest coefficients makes room. Two
    classes have one function; more have one each, and the loss is that of Crammer and Singer. Columns whose mean is
    more than 100 times as large as the deviation of the points are centred for the training.

    Parameters
    ----------
    budget : int, optional
        Support vectors at most. None takes 100, or as many as there are training rows if these are fewer. A budget
        above the number of rows is brought down to it, with a warning.
    maintenance : {"merging", "projection", "removal"}, default="merging"
        What happens to the support vector that must go: it is merged with another into one between the two; its
        projection onto the others takes its place, which costs time with the square of the budget; or it is dropped.
    line_search : {"auto", "golden_section", "lookup"}, default="auto"
        How losses of merging are found: by a search for each pair, or from a table, which two classes alone have.
        "auto" takes the table where it can.
    bandwidth : float, "auto", "median" or None, default="auto"
        σ of exp(−‖x − z‖²/(2σ²)), in the units of the features. "auto" takes, of the median distance between points
        times powers of two, the one with the smallest leave-one-out error of kernel ridge regression, with nλ of
        the n rows, on 400 to 1,000 of them; "median" and None take the median distance.
    regularisation : float, optional
        λ. None takes 1/n, which is C = 1 of a support vector machine, and 1e-4 for a model that begins with
        `partial_fit`; C in general is 1/(λn).
    max_epochs : int, default=5
        Passes over the training data. Five are few for few rows: of 900 with ten inputs, 20 passes brought 83 % of new
        rows right where five brought 68 %.
    max_seconds : float, optional
        The most seconds of training.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows and the subsample. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Without effect, since one example at a time is no work for a GPU; here so that all estimators take it.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use; a model that needs more is refused. None takes a share
        of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Without effect: the steps are taken in float64.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_vectors_ : ndarray, shape (n_support, n_features)
        Merged ones are no training points.
    dual_coef_ : ndarray, shape (n_support, n_outputs)
    bandwidth_ : float
    regularisation_ : float
        λ.
    n_steps_ : int
        Examples that were visited.
    n_epochs_ : int
    effective_params_ : dict
        What the program chose where a parameter left it open, with the number of violations, and the squared norm of
        what the function lost to the budget, summed over the steps.
    timings_ : dict
        Seconds of each phase of the fit.

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

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all of X, y, ``max_epochs`` times.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the losses, in any unit; rows of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range.
        """
        self._check_parameters()
        rows = self._validated_training_set(X, y, sample_weight)
        y = single_column(rows.y)
        self._train(rows.X, y, rows.weights, Machines.of(y, "one_vs_rest", self.class_weight))
        end_beginning(self, len(y))
        return self

    @training.keeps_model_on_failure
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

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, or an unknown label.
        ShallowsError
            A parameter out of its range, or ``class_weight="balanced"``, which needs all labels.
        """
        rows, begins = rows_to_learn(self, check_rows(self, X, y, classes, sample_weight)[:3])
        before = None if begins else self._fitted
        self._train(*rows, Machines(self.classes_, "one_vs_rest"), streamed=True, before=before)
        self.effective_params_ = self.effective_params_ | {"n_rows_begun_with": self._n_begun}
        return self

    def _train(
        self,
        X: Any,
        y: np.ndarray,
        weights: np.ndarray | None,
        targets: Machines,
        *,
        streamed: bool = False,
        before: FittedBudgeted | None = None,
    ) -> None:
        found = fit_budgeted_svm(
            X,
            y,
            weights,
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
