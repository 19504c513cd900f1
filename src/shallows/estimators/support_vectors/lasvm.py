"""Support vector machine by LASVM, online."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import _num_samples

from ...fitting.lasvm import begin_machines, fit_lasvm, functions_of, visit_examples
from ...fitting.rows import TrainingSet
from ...fitting.targets import Machines
from ...kernels import precomputed
from ...solvers.settings import settings_of
from ...solvers.support_vectors.lasvm import LASVM
from ...utils.checks import check_whole
from ..base import keeps_model_on_failure
from ..constructors import with_parameters
from ..streaming import check_rows, end_beginning, rows_to_learn
from .classifier import SupportVectorClassifier


class LASVMClassifier(SupportVectorClassifier):
    """Support vector machine with any kernel by LASVM: online, nearly exact after one pass.

    For two classes it minimizes ½ ‖f‖² + C Σ wᵢ max(0, 1 − yᵢ(f(xᵢ) + b)), one example at a time: a step with the new
    example, and a step with the best pair of the kept ones. Examples whose coefficients stay zero are dropped, so that
    memory and time of an example depend on the number of support vectors. The kernel must not be "precomputed", and a
    GPU is used for predictions only.

    Parameters
    ----------
    max_epochs : int, default=1
        Passes of a fit over the training data, each in a new order.
    finish : bool, default=True
        End a fit with steps on the kept examples until ``tol`` holds for them.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of the targets ±1.
    max_iterations : int, optional
        Most steps at the end of a fit, for two classes. None: 10,000,000, or 100 n if that is more.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_ : ndarray of int, shape (n_support,)
        Numbers of the training rows with nonzero coefficients; a stream counts all rows.
    dual_coef_ : ndarray, shape (n_support, n_problems)
        Coefficients of each machine; pairs of classes are in the order (0, 1), (0, 2), ..., (1, 2), ...
    intercept_ : ndarray, shape (n_problems,)
    objectives_ : ndarray, shape (n_problems,)
        The dual objective at the end.
    n_iter_, n_kernel_evaluations_ : int
        Steps on two variables; computed kernel values.
    bandwidth_ : float
    effective_params_ : dict
        Values that the library chose, with kernel, seed, precision and device,
        "gap", the largest violation at the kept examples, and "relative_gap" of the objectives over all rows.

    References
    ----------
    A. Bordes, S. Ertekin, J. Weston and L. Bottou (2005), "Fast kernel classifiers with online and active learning",
    JMLR 6.
    """

    __init__ = with_parameters(
        SupportVectorClassifier.__init__, max_epochs=1, finish=True, tol=1e-3, max_iterations=None
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self, "max_epochs")
        precomputed.refuse(self, "It keeps the points of some examples and computes their kernel values itself.")

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: D102
        self._check_parameters()
        rows = self._validated_training_set(X, y, sample_weight)
        found, self._machines = fit_lasvm(
            rows,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            C=self.C,
            solver=settings_of(LASVM, self),
            multiclass=self.multiclass,
            class_weight=self.class_weight,
            seed=self._seed(),
            options=self._options(),
            name=type(self).__name__,
        )
        self._store(found)
        self._n_seen = _num_samples(X)
        end_beginning(self, len(rows.rows))
        return self

    @keeps_model_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue with more rows, each visited once in order. The first 400 to 4,000 rows decide open parameters.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        classes : array-like, shape (n_classes,), optional
            All labels that may come. Without them, the first call uses the labels of its rows.
        sample_weight : array-like, shape (n_samples,), optional
            Factors of C. Rows of weight zero are left out.

        Raises
        ------
        ValueError, ShallowsError
            Wrong data or parameters, an unknown label, or ``class_weight="balanced"``, which needs all labels.
        """
        points, labels, weights, numbers = check_rows(self, X, y, classes, sample_weight, infers_classes=True)
        n_seen = getattr(self, "_n_seen", 0)
        rows, begins = rows_to_learn(self, (points, labels, weights, n_seen + numbers))
        self._n_seen = n_seen + _num_samples(X)
        rows, options, name = TrainingSet(*rows), self._options(), type(self).__name__
        if begins:
            targets = Machines(self.classes_, self.multiclass)
            given = self.kernel, self.bandwidth, self.kernel_params, self.C, self._seed(), options
            machines = begin_machines(rows, targets, *given)
        else:
            # Steps change the states in place. If one fails, the estimator keeps the states before it.
            machines = self._machines.copied()
        visit_examples(machines, rows, self.C, settings_of(LASVM, self), 0, options.verbose, name)
        found = functions_of(machines, options.device)
        self._machines = machines
        self._store(replace(found, report={**found.report, "n_rows_begun_with": self._n_begun}))
        return self
