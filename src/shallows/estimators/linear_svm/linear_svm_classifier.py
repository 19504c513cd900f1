"""A linear support vector machine on dense or sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from ... import training
from ...errors import ShallowsError, UnknownNameError
from ...fitting.linear_svm import continue_linear_svm, fit_linear_svm
from ...fitting.targets import Machines
from ...models.host_functions import LinearFunctions
from ...solvers.linear_svm import SOLVERS
from ...solvers.linear_svm.problem import LinearSettings
from ...solvers.linear_svm.rows import SAMPLINGS
from ...solvers.linear_svm.subgradients import AVERAGINGS
from ...solvers.settings import settings_of
from ...utils.checks import check_choice, check_positive, check_whole
from ..base import Estimator, keeps_model_on_failure
from ..constructors import stores_parameters
from ..predictions import LabelPredictions
from ..streaming import check_rows, end_beginning, rows_to_learn

WHY_NOT = {
    "hinge": "it needs gradients.",
    "squared_hinge": "its first steps are long and need bounded slopes.",
    "logistic": "that one is for 'lbfgs'.",
}
"""Why a solver does not take a loss."""


def _is_online(model: Any) -> bool:
    if model.solver in SOLVERS and not SOLVERS[model.solver].online:
        able = ", ".join(repr(name) for name in SOLVERS if SOLVERS[name].online)
        raise AttributeError(f"partial_fit needs a solver that takes rows one by one ({able}), got {model.solver!r}.")
    return model.solver in SOLVERS


class LinearSVMClassifier(LabelPredictions, Estimator):
    """Linear support vector machine, trained by one of nine methods.

    Minimizes λ/2 ‖w‖² + (1/n) Σ ℓ(yᵢ wᵀxᵢ). For several classes, each is trained against the others. Rows may be
    sparse.

    Parameters
    ----------
    solver : str, default="dual_coordinate_descent"
        "dual_coordinate_descent" (as LIBLINEAR), "newton", "lbfgs", "sarah", or cutting planes "bmrm" and "ocas".
        "pegasos", "svm_sgd" and "folos" take subgradient steps and have `partial_fit`. See the method guide.
    loss : {"auto", "hinge", "squared_hinge", "logistic"}, default="auto"
        max(0, 1 − z), ½ max(0, 1 − z)² or log(1 + e⁻ᶻ) of the margin z. "auto": the hinge if the solver allows it.
    regularisation : float, optional
        λ, and C = 1/(λn). None: 1/n, which is C = 1; for `partial_fit` n is the number of first rows.
    fit_intercept : bool, default=True
        Add a constant feature of 1, which is regularized, and center columns with a very large mean.
    batch_size : int, default=1
        Rows of a step of Pegasos and FOLOS.
    projection : bool, default=False
        Pegasos: project w onto the ball ‖w‖ ≤ 1/√λ after every step.
    averaging : {"weighted", "uniform", "none"}, default="weighted"
        Subgradient steps: the model is the mean of the iterates with growing or equal weights, or the last iterate.
    sampling : {"new_permutation", "fixed_permutation", "uniform", "subsets", "in_order"}, default="new_permutation"
        Order of rows: permuted in each epoch, permuted once, independent draws, batches of different rows, or as given.
    max_epochs : int, optional
        Most passes; of "newton", "lbfgs", "bmrm", "ocas" and "sarah" most iterations or rounds. None: 1,000, or for
        subgradient steps and "sarah" 20 and at least 20,000 visits.
    max_seconds : float, optional
        Time limit of the training.
    tol : float, default=1e-3
        Where the solver stops: range of projected gradients, norm of the gradient relative to the first, or relative
        gap of the cutting planes. Subgradient steps do not use it.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class (1 for missing classes). "balanced": n/(k nⱼ) for class j.
    random_state : int, RandomState or None, default=None
        Seed of all random draws. An int gives the same model every time.
    device : {"auto", "cpu"}, default="auto"
        The solvers run on the CPU.
    memory : int or str, optional
        Memory limit of the process, in bytes or as "4GB"; training needs a copy of X. None: a share of the free memory.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of the rows; "auto" keeps it. Coefficients are in float64.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_features)
        One output for two classes, otherwise one for each class.
    intercept_ : ndarray, shape (n_outputs,)
    n_iter_ : int
        Passes or iterations of the fit.
    effective_params_, timings_ : dict
        Values that the library chose; seconds of each phase. After `fit` only.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan (2008), "A dual coordinate descent method
    for large-scale linear SVM", ICML 25. S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter (2011), "Pegasos: primal
    estimated sub-gradient solver for SVM", Mathematical Programming 127. For the other solvers see the method guide.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import LinearSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LinearSVMClassifier(random_state=0).fit(X[:1200] / 16, y[:1200])
    >>> bool(model.score(X[1200:] / 16, y[1200:]) > 0.9)
    True
    """

    @stores_parameters
    def __init__(
        self,
        solver: str = "dual_coordinate_descent",
        *,
        loss: str = "auto",
        regularisation: float | None = None,
        fit_intercept: bool = True,
        batch_size: int = 1,
        projection: bool = False,
        averaging: str = "weighted",
        sampling: str = "new_permutation",
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        tol: float = 1e-3,
        class_weight: Any = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    @keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the losses; only their ratios matter. Rows of weight zero are left out.
        observers : sequence of shallows.training.Observer
            Called after every epoch, such as `Progress` or `Curve`.
        checkpoint : shallows.training.Checkpoint, optional
            Continue from this file if it exists, and keep it up to date.

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, or a single class.
        ShallowsError
            A parameter out of its range, or a loss that the solver cannot minimize.
        """
        self._check_parameters()
        rows = self._validated_training_set(X, y, sample_weight)
        found = fit_linear_svm(
            rows,
            loss=self._loss(),
            regularisation=self.regularisation,
            fit_intercept=bool(self.fit_intercept),
            solver=self._settings(),
            solver_name=self.solver,
            class_weight=self.class_weight,
            seed=self._seed(),
            options=self._options(),
            observers=observers,
            checkpoint=checkpoint,
            name=type(self).__name__,
        )
        self.classes_, self._stream = found.targets.classes, found.stream
        self.coef_, self.intercept_ = found.model.coef, found.model.intercept
        end_beginning(self, len(rows.rows))
        self.n_iter_ = max(found.run.epoch, 1)
        self.effective_params_, self.timings_ = found.report, found.seconds
        return self

    @available_if(_is_online)
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
        model, self._stream = continue_linear_svm(
            None if begins else self._stream,
            *rows,
            Machines(self.classes_, "one_vs_rest"),
            loss=self._loss(),
            regularisation=self.regularisation,
            fit_intercept=bool(self.fit_intercept),
            solver=self._settings(),
            seed=self._seed(),
            options=self._options(),
        )
        self.coef_, self.intercept_ = model.coef, model.intercept
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        return self

    def _settings(self) -> LinearSettings:
        """The settings of the solver."""
        return settings_of(SOLVERS[self.solver], self)

    def _loss(self) -> str:
        """The name of the loss."""
        return SOLVERS[self.solver].losses[0] if self.loss == "auto" else self.loss

    def _check_parameters(self) -> None:
        super()._check_parameters()
        losses = SOLVERS[self.solver].losses
        UnknownNameError.check("loss", self.loss, ("auto", "hinge", "squared_hinge", "logistic"))
        if self._loss() not in losses:
            raise ShallowsError(
                f"solver={self.solver!r} takes the loss {' or '.join(map(repr, losses))}, not {self.loss!r}: "
                f"{WHY_NOT[self.loss]}"
            )
        for name, known in (("averaging", AVERAGINGS), ("sampling", SAMPLINGS)):
            UnknownNameError.check(name, getattr(self, name), known)
        check_choice(self, device=("auto", "cpu"))
        check_positive(self, "regularisation", "max_seconds")
        check_whole(self, "batch_size")
        check_whole(self, "max_epochs", optional=True)
        check_positive(self, "tol", or_zero=True)

    def _raw_predict(self, X: Any) -> np.ndarray:
        return LinearFunctions(self.coef_, self.intercept_).scores(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")
