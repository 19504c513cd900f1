"""A linear support vector machine on dense or sparse rows."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...errors import ShallowsError, UnknownNameError
from ...fitting.fit_call import FitCall
from ...fitting.linear_svm import FittedLinearSVM, continue_linear_svm, fit_linear_svm
from ...fitting.machine import Options
from ...fitting.rows import TrainingSet
from ...fitting.stream_training import Batch
from ...fitting.targets import Machines
from ...models.host_functions import LinearFunctions
from ...solvers import settings
from ...solvers.linear_svm import SOLVERS
from ...solvers.linear_svm.problem import LinearSettings
from ...utils.checks import check_positive
from ..base import fit_in_epochs
from ..constructors import stores_parameters
from ..streaming import OnlineClassifier, end_beginning

WHY_NOT = {
    "hinge": "it needs gradients.",
    "squared_hinge": "its first steps are long and need bounded slopes.",
    "logistic": "that one is for 'lbfgs'.",
}
"""Why a solver does not take a loss."""


def _is_online(model: Any) -> bool:
    return settings.has_online_solver(model.solver, SOLVERS)


class LinearSVMClassifier(OnlineClassifier):
    """Linear support vector machine, or logistic regression, on dense or sparse rows.

    Minimizes λ/2 ‖w‖² + (1/n) Σ ℓ(yᵢ wᵀxᵢ). For several classes, each is trained against the others. Memory: one copy
    of X. Time: each epoch is a pass over X; the default solver needs about ten.

    Parameters
    ----------
    solver : str or object, default="dual_coordinate_descent"
        A name or object of `shallows.solvers`: `DualCoordinateDescent`, `PrimalNewton`, `LBFGS`, `CuttingPlanes`,
        `SARAH`; `LinearPegasos`, `SVMSGD`, `FOLOS`, which have `partial_fit`.
    loss : {"auto", "hinge", "squared_hinge", "logistic"}, default="auto"
        max(0, 1 − z), ½ max(0, 1 − z)² or log(1 + e⁻ᶻ) of the margin z. "auto": the hinge if the solver allows it.
    regularization : float or "auto", default="auto"
        λ, and C = 1/(λn). "auto": 1/n, which is C = 1; for `partial_fit` n is the number of first rows.
    fit_intercept : bool, default=True
        Add a constant feature of 1, which is regularized, and center columns with a very large mean.
    class_weight : dict or "balanced", optional
    random_state : int, RandomState or None, default=None
    options : Options, optional
        Memory limit, precision, time limit and progress. The solvers run on the CPU.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_features); one output for two classes, otherwise one for each class
    intercept_ : ndarray, shape (n_outputs,)
    n_iter_ : int, passes or iterations of the fit
    options_ : Options
    report_ : dict, after `fit` only

    See Also
    --------
    KernelSVMClassifier : Support vector machines with a kernel.
    RegularizedRiskClassifier : Other losses, kernels and random features.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan (2008), "A dual coordinate descent method
    for large-scale linear SVM", ICML 25. The other solvers name their own sources.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.svm import LinearSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LinearSVMClassifier(random_state=0).fit(X[:1200] / 16, y[:1200])
    >>> bool(model.score(X[1200:] / 16, y[1200:]) > 0.9)
    True
    """

    _named: ClassVar = {"solver": SOLVERS}

    @stores_parameters
    def __init__(
        self,
        solver: Any = "dual_coordinate_descent",
        *,
        loss: str = "auto",
        regularization: float | str = "auto",
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        options: Options | None = None,
    ): ...

    fit = fit_in_epochs

    def _train(self, rows: TrainingSet, call: FitCall) -> FittedLinearSVM:
        solver = self._settings()
        found = fit_linear_svm(
            rows,
            loss=self._loss(solver),
            regularization=self.regularization,
            fit_intercept=bool(self.fit_intercept),
            solver=solver,
            solver_name=settings.name_of(solver, SOLVERS),
            call=call,
        )
        end_beginning(self, len(rows.rows))
        return found

    def _store(self, found: FittedLinearSVM) -> None:
        self._targets, self.classes_, self._stream = found.targets, found.targets.classes, found.stream
        self.coef_, self.intercept_ = found.model.coef, found.model.intercept
        self.n_iter_ = max(found.run.epoch, 1)
        self.report_ = {**found.report, "timings": found.seconds}

    partial_fit = available_if(_is_online)(OnlineClassifier.partial_fit)

    def _learn(self, rows: Batch, targets: Machines, begins: bool) -> None:
        solver = self._settings()
        points, labels, weights = rows
        model, self._stream = continue_linear_svm(
            None if begins else self._stream,
            points,
            labels,
            weights,
            targets,
            loss=self._loss(solver),
            regularization=self.regularization,
            fit_intercept=bool(self.fit_intercept),
            solver=solver,
            call=self._call(),
        )
        self._targets, self.coef_, self.intercept_ = targets, model.coef, model.intercept
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1

    def _loss(self, solver: LinearSettings) -> str:
        return solver.losses[0] if self.loss == "auto" else self.loss

    def _check_parameters(self) -> None:
        super()._check_parameters()
        solver = self._settings()
        UnknownNameError.check("loss", self.loss, ("auto", "hinge", "squared_hinge", "logistic"))
        if self._loss(solver) not in solver.losses:
            raise ShallowsError(
                f"solver={settings.name_of(solver, SOLVERS)!r} takes the loss "
                f"{' or '.join(map(repr, solver.losses))}, not {self.loss!r}: {WHY_NOT[self.loss]}"
            )
        check_positive(self, "regularization", rules=("auto",))
        settings.refuse_device(self._options().device, solver, SOLVERS)

    def _raw_predict(self, X: Any) -> np.ndarray:
        return LinearFunctions(self.coef_, self.intercept_).scores(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")
