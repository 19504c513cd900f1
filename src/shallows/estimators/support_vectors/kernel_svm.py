"""Support vector machine with any kernel, by one of five solvers."""

from dataclasses import replace
from typing import Any, ClassVar, Self

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples

from ... import kernels
from ...errors import ShallowsError
from ...fitting.fit_call import FitCall
from ...fitting.lasvm import begin_machines, fit_lasvm, functions_of, visit_examples
from ...fitting.rows import TrainingSet
from ...fitting.support_vectors import FittedMachines, TimeLimit, fit_kernel_svm
from ...fitting.targets import Machines
from ...kernels import precomputed
from ...solvers import settings
from ...solvers.support_vectors import SOLVERS
from ...utils.checks import check_choice
from ..base import keeps_model_on_failure
from ..constructors import with_parameters
from ..streaming import check_rows, end_beginning, rows_to_learn
from .classifier import SupportVectorClassifier, SupportVectorMachine

OF_A_STREAM = ("_machines", "_n_seen", "_n_begun", "_first_rows")
"""Attributes of a model that continues with more rows."""


class KernelSVMClassifier(SupportVectorClassifier):
    """Support vector machine with any kernel.

    For two classes it minimizes ½ ‖f‖² + C Σ wᵢ ℓ(yᵢ(f(xᵢ) + b)), for the hinge as LIBSVM and scikit-learn's `SVC` do.
    Time grows about with n² for n rows, and the memory of the kernel rows that are kept is limited.

    Parameters
    ----------
    C : float, default=1.0
        Factor of the sum of the losses. λ next to a mean of losses is 1/(C n).
    loss : {"auto", "hinge", "squared_hinge"}, default="auto"
        max(0, 1 − z) or ½ max(0, 1 − z)² of the margin z. "auto": the hinge if the solver takes it.
    solver : str or object of `shallows.solvers`, default="smo"
        "smo", usually fastest, or "decomposition"; "interior_point" (few rows, large C) and "kernel_newton" (squared
        hinge) need all of the matrix twice; "lasvm" takes one pass, nearly exact over many rows, and has
        ``partial_fit``.
    multiclass : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        A machine for each pair of classes, which vote, or for each class against the others.
    class_weight : dict or "balanced", optional

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    support_ : ndarray of int, shape (n_support,)
        Numbers of the training rows with nonzero coefficients, class after class; a stream counts all rows.
    support_vectors_ : ndarray or CSR matrix, shape (n_support, n_features)
    n_support_ : ndarray of int, shape (n_classes,)
    dual_coef_ : ndarray, shape (n_classes - 1, n_support) or (n_problems, n_support)
        As in `SVC`: for each support vector the coefficients against the other classes. "one_vs_rest": a row each.
    coef_ : ndarray, shape (n_problems, n_features), with a linear kernel
    intercept_, objectives_ : ndarray, shape (n_problems,)
    n_iter_, n_kernel_evaluations_ : int
    bandwidth_ : float
    report_ : dict
    options_ : Options

    See Also
    --------
    LinearSVMClassifier : Linear, for many rows.
    shallows.svm.CoreVectorMachineClassifier : The squared hinge by samples of large data.
    KernelRidgeClassifier : The square loss with the same kernels; usually faster, with probabilities.

    References
    ----------
    C.-C. Chang and C.-J. Lin (2011), "LIBSVM: a library for support vector machines", ACM TIST 2, for the problem. The
    solvers name their own sources.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import KernelSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelSVMClassifier(bandwidth=20.0, C=10.0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    >>> model.set_params(solver__tol=1e-4).solver.tol
    0.0001
    """

    _named: ClassVar = {"kernel": kernels.KERNELS, "solver": SOLVERS}

    __init__ = with_parameters(
        SupportVectorMachine.__init__, C=1.0, loss="auto", solver="smo", multiclass="one_vs_one", class_weight=None
    )

    def _settings(self) -> Any:
        solver = settings.resolve(self.solver, SOLVERS, type(self).__name__)
        name = settings.name_of(solver, SOLVERS)
        if self.loss not in ("auto", *solver.losses):
            able = ", ".join(repr(other) for other in SOLVERS if self.loss in SOLVERS[other].losses)
            raise ShallowsError(
                f"solver={name!r} takes loss={solver.losses[0]!r}, got {self.loss!r}, which these solvers take: {able}."
            )
        if precomputed.is_asked_for(self) and not solver.takes_precomputed:
            able = ", ".join(repr(other) for other in SOLVERS if SOLVERS[other].takes_precomputed)
            raise ShallowsError(
                f"solver={name!r} keeps the points of some rows and computes their kernel values itself, so it does "
                f"not take kernel='precomputed'. These solvers do: {able}."
            )
        return solver

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, loss=("auto", "hinge", "squared_hinge"))
        solver = self._settings()
        settings.refuse_device(self._options().device, solver, SOLVERS)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: D102
        super().fit(X, y, sample_weight)
        self._n_seen = _num_samples(X)
        return self

    def _train(self, rows: TrainingSet, call: FitCall) -> FittedMachines:
        solver = self._settings()
        self._forget(*OF_A_STREAM)
        of_all = {**self._kernel(rows.X), "C": self.C, "solver": solver, "multiclass": self.multiclass, "call": call}
        if not solver.is_online:
            loss = solver.losses[0] if self.loss == "auto" else self.loss
            return fit_kernel_svm(rows, squared=loss == "squared_hinge", **of_all)
        found, self._machines = fit_lasvm(rows, **of_all)
        end_beginning(self, len(rows.rows))
        return found

    @available_if(lambda model: settings.has_online_solver(model.solver, SOLVERS))
    @keeps_model_on_failure
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue with more rows, each visited once in order; with solver="lasvm" only.

        The first 400 to 4,000 rows decide open parameters.

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
        if self.__sklearn_is_fitted__() and not hasattr(self, "_machines"):
            raise ShallowsError(
                "The model was fitted by a solver that cannot continue with more rows. Call fit with solver='lasvm' "
                "first, or partial_fit of a new estimator."
            )
        points, labels, weights, numbers = check_rows(self, X, y, classes, sample_weight, infers_classes=True)
        n_seen = getattr(self, "_n_seen", 0)
        rows, begins = rows_to_learn(self, (points, labels, weights, n_seen + numbers))
        self._n_seen = n_seen + _num_samples(X)
        rows, call = TrainingSet(*rows), self._call()
        if begins:
            targets = Machines(self.classes_, self.multiclass)
            machines = begin_machines(rows, targets, **self._kernel(points), C=self.C, call=call)
        else:
            # Steps change the states in place. If one fails, the estimator keeps the states before it.
            machines = self._machines.copied()
        visit_examples(machines, rows, self.C, self._settings(), 0, TimeLimit(None), call.observers)
        found = functions_of(machines, call.options.device)
        self._machines = machines
        self._store(replace(found, report={**found.report, "n_rows_begun_with": self._n_begun}))
        return self
