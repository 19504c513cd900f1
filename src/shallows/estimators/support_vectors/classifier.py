"""What the estimators with support vectors share: checks, fitted attributes and outputs."""

from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from ... import arrays, kernels
from ...fitting.support_vectors import FittedMachines, FittedSum
from ...kernels import Precomputed
from ...spectrum.kernel_ridge_choice import is_automatic
from ...utils.checks import check_choice, check_positive
from ..base import Estimator, fit_rows
from ..constructors import stores_parameters
from ..predictions import LabelPredictions


class SupportVectorMachine(Estimator):
    """Base of the estimators with functions Σ βᵢ k(xᵢ, x) + b of some training points, the support vectors."""

    fit = fit_rows

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str = "auto",
        random_state: Any = None,
        options: Any = None,
    ):
        """Set the parameters.

        Parameters
        ----------
        kernel : str, Kernel or callable, default="gaussian"
            A name or object of `shallows.kernels`, a function of two arrays, or "precomputed": X is the kernel matrix,
            and for predictions the values of new points with all training points.
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "auto": by leave-one-out errors. "median": the median distance of points.
        random_state : int, RandomState or None, default=None
        options : Options, optional
            Device of the kernel values (the CPU for "lasvm"), memory, precision, time limit and progress. The steps are
            taken on the CPU.
        """

    def _check_kernel(self) -> None:
        kernels.make(self.kernel, self.bandwidth)

    def _kernel(self, X: Any) -> dict[str, Any]:
        """The kernel of a fit to checked points X."""
        self._rows_are_sparse, searches = scipy.sparse.issparse(X), is_automatic(self.bandwidth)
        return {"kernel": kernels.make(self.kernel, self.bandwidth), "searches_bandwidth": searches}

    def _store_sum(self, found: FittedSum, order: np.ndarray) -> None:
        self._model, self._order, self.support_ = found.model, order, found.support[order]
        self.bandwidth_ = found.model.function.kernel.bandwidth
        self.n_iter_, self.n_kernel_evaluations_ = found.n_steps, found.n_evaluations
        self.report_ = {**found.report, "timings": found.seconds}

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, which the model keeps in its precision: an array, or CSR for sparse rows."""
        model = self._fitted_model()
        if isinstance(model.kernel, Precomputed):
            return np.empty((0, 0))
        x = model.centering.rows_of(arrays.take_rows(model.points, self._order))
        return scipy.sparse.csr_array(x) if self._rows_are_sparse else x

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features, with a linear kernel."""
        return self._sign_of_pairs() * self._fitted_model().input_coefficients()

    def _sign_of_pairs(self) -> float:
        """The sign of the attributes of a machine: −1 if its positive side is the first of a pair of classes."""
        return 1.0

    def _fitted_model(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"This {type(self).__name__} is not fitted yet. Call fit first.")
        return self._model.function

    def _raw_predict(self, X: Any) -> np.ndarray:
        options = self._options()
        device = arrays.resolve_device(options.device)
        return self._model.scores(X, device, options.prediction_budget(device))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")


class SupportVectorClassifier(LabelPredictions, SupportVectorMachine):
    """Base of the classifiers with support vectors: one machine, or one for each pair or for each class."""

    _other_names: ClassVar = {
        "alpha": ("C", "which is 1/(2 alpha) for alpha of KernelRidgeClassifier"),
        "decision_function_shape": ("multiclass", "decision_function has a column for each class in any case"),
        "lam": ("C", "which is 1/(λ n) for λ next to a mean of n losses"),
        "max_iter": ("max_steps", "steps on two variables"),
        "max_iterations": ("max_steps", "steps on two variables"),
        "regularisation": ("C", "which is 1/(λ n) for λ next to a mean of n losses"),
        "regularization": ("C", "which is 1/(λ n) for λ next to a mean of n losses"),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_kernel()
        check_positive(self, "C")
        check_choice(self, multiclass=("one_vs_one", "one_vs_rest"))

    def _store(self, found: FittedMachines) -> None:
        """Set the fitted attributes in the order and with the signs of scikit-learn's `SVC`."""
        self._targets, self.classes_ = found.targets, found.targets.classes
        order = np.argsort(found.classes, kind="stable")
        self._store_sum(found, order)
        k, classes = len(self.classes_), found.classes[order]
        self.n_support_ = np.bincount(classes, minlength=k).astype(np.int32)
        self.objectives_ = found.objectives
        self.intercept_ = self._sign_of_pairs() * found.model.intercepts
        of_machines = self._sign_of_pairs() * found.coefficients[order].T + 0.0  # no −0
        if not found.targets.vote:
            self.dual_coef_ = of_machines
            return
        # Row j - 1 of class i and row i of class j belong to the machine of classes i < j.
        self.dual_coef_ = np.zeros((k - 1, len(order)))
        for own, (i, j) in zip(of_machines, combinations(range(k), 2), strict=True):
            self.dual_coef_[j - 1, classes == i] = own[classes == i]
            self.dual_coef_[i, classes == j] = own[classes == j]

    def _sign_of_pairs(self) -> float:
        return -1.0 if self._targets.vote else 1.0
