"""The adaptive multi-hyperplane machine as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ... import training
from ...errors import UnknownNameError
from ...fitting.budgeted import FittedBudgeted, fit_multi_hyperplane, outputs
from ...fitting.checks import check_positive, check_whole
from ...fitting.labels import single_column
from ...fitting.targets import Machines
from ...solvers.budgeted.multi_hyperplane import MultiHyperplane
from ...solvers.settings import settings_of
from ..base import Estimator
from ..constructors import stores_parameters
from ..predictions import LabelPredictions
from ..streaming import check_rows, end_beginning, rows_to_learn

METHODS = ("batch", "online")


class AMMClassifier(LabelPredictions, Estimator):
    """Adaptive multi-hyperplane machine: a linear machine with several hyperplanes for each class.

    The score of a class is the largest of its hyperplanes', so that boundaries are made of linear pieces, and training
    and prediction cost as much as for a linear machine with so many outputs. The number of hyperplanes grows with what
    the data need, and the small ones are pruned. Minimised is, by subgradient steps of one example each,
    λ/2 ‖W‖² + (1/n) Σ max(0, 1 + max_{c≠y} g(c, xᵢ) − w_{y,z}ᵀxᵢ) for the hyperplane z that an example is assigned to.

    Parameters
    ----------
    method : {"batch", "online"}, default="batch"
        An example is assigned to the hyperplane of its class that was best in the epoch before, or to the one that is
        best when it is visited. The first epoch of "batch", and what `partial_fit` does, is as "online".
    n_hyperplanes : int, default=20
        Hyperplanes of each class, at most.
    regularisation : float, optional
        λ. None takes 1/n, which is C = 1 of a support vector machine, and 1e-4 for a model that begins with
        `partial_fit`; C in general is 1/(λn).
    max_epochs : int, default=10
        Passes over the training data. The publication takes one for "online".
    prune_every : int, default=10000
        Examples between two prunings.
    pruning : float, default=10.0
        c: the smallest hyperplanes whose squared norms sum up to at most (c/(λt))² are taken out after t examples, but
        for the largest of each class. 0 prunes none but those of zeros.
    constant : float, default=1.0
        A further feature of that value gives the hyperplanes their offsets, which are regularised alike; 0 gives none.
        With it columns whose mean is more than 100 times as large as the deviation of the points are centred.
    reserve : bool, default=False
        Whether every class has a hyperplane of zeros in reserve, as published, so that no class scores below 0 in the
        training; else, as in the authors' toolbox, only the class of the example has one.
    max_seconds : float, optional
        The most seconds of training.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the rows. The same int gives the same model.
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
    coef_ : ndarray, shape (n_hyperplanes in all, n_features)
    intercept_ : ndarray, shape (n_hyperplanes in all,)
    hyperplane_classes_ : ndarray of int, shape (n_hyperplanes in all,)
        The number in ``classes_`` that each belongs to.
    regularisation_ : float
        λ.
    n_steps_ : int
        Examples that were visited.
    n_epochs_ : int
    effective_params_ : dict
        What the program chose where a parameter left it open, with the number of violations, and the squared norms of
        what was pruned, summed.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    Z. Wang, N. Djuric, K. Crammer and S. Vucetic (2011), "Trading representability for scalability: adaptive
    multi-hyperplane machine for nonlinear classification", KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import AMMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AMMClassifier(random_state=0).fit(X[:1200] / 16, y[:1200])
    >>> bool(model.score(X[1200:] / 16, y[1200:]) > 0.85)
    True
    """

    @stores_parameters
    def __init__(
        self,
        method: str = "batch",
        *,
        n_hyperplanes: int = 20,
        regularisation: float | None = None,
        max_epochs: int = 10,
        prune_every: int = 10000,
        pruning: float = 10.0,
        constant: float = 1.0,
        reserve: bool = False,
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
        found = fit_multi_hyperplane(
            X,
            y,
            weights,
            targets=targets,
            solver=settings_of(MultiHyperplane, self),
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
        self.coef_, self.intercept_ = found.model.coef, found.model.intercept
        self.hyperplane_classes_, self.n_steps_ = found.model.classes, found.n_steps
        self.n_epochs_ = self.n_iter_ = found.n_epochs
        self.effective_params_, self.timings_ = found.report, found.seconds

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self, "regularisation", "max_seconds")
        check_whole(self, "max_epochs")
        check_whole(self, "n_hyperplanes", "prune_every")
        check_positive(self, "pruning", "constant", or_zero=True)
        UnknownNameError.check("method", self.method, METHODS)

    def _raw_predict(self, X: Any) -> np.ndarray:
        return outputs(self._fitted.model, X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")
