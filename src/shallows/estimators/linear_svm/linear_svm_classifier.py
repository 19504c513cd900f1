"""A linear support vector machine on dense or sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from ... import training
from ...errors import ShallowsError, UnknownNameError
from ...fitting.checks import check_choice, check_positive, check_whole
from ...fitting.linear_svm import continue_linear_svm, fit_linear_svm
from ...fitting.targets import Machines
from ...models.host_functions import LinearFunctions
from ...solvers.linear_svm import SOLVERS
from ...solvers.linear_svm.problem import LinearSettings
from ...solvers.linear_svm.rows import SAMPLINGS
from ...solvers.linear_svm.subgradients import AVERAGINGS
from ...solvers.settings import settings_of
from ..base import Estimator
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

    Minimises λ/2 ‖w‖² + (1/n) Σ ℓ(yᵢ wᵀxᵢ), for several classes of each against the rest. Rows may be sparse.

    Parameters
    ----------
    solver : str, default="dual_coordinate_descent"
        "dual_coordinate_descent" (LIBLINEAR's, with shrinking; the one to take where nothing speaks for another);
        stochastic subgradients, which can go on with new examples: "pegasos", "svm_sgd" (Bottou's, which tries its
        first step on a sample), "folos" (forward-looking); for the squared hinge "newton" (conjugate gradients),
        "sarah" and "lbfgs", which takes the logistic loss too; cutting planes: "bmrm" (for the hinge that of SVM-perf)
        and "ocas" (with a line search).
    loss : {"auto", "hinge", "squared_hinge", "logistic"}, default="auto"
        max(0, 1 − z), ½ max(0, 1 − z)² or log(1 + e⁻ᶻ) of the margin z. "auto" takes the hinge where the solver can.
    regularisation : float, optional
        λ. None takes 1/n, which is C = 1 of a support vector machine; C in general is 1/(λn). In ``partial_fit`` n is
        the number of rows that the model is begun with.
    fit_intercept : bool, default=True
        Add a constant feature of 1, whose coefficient is regularised like the others. Columns whose mean is more than
        100 times as large as the deviation of the points are centred, since the constant would not make up for them.
    batch_size : int, default=1
        Examples of a step of Pegasos and FOLOS.
    projection : bool, default=False
        Project w of Pegasos onto the ball ‖w‖ ≤ 1/√λ after every step.
    averaging : {"weighted", "uniform", "none"}, default="weighted"
        Model of the stochastic methods: the mean of the iterates with growing weights, their plain mean, or the last.
    sampling : {"new_permutation", "fixed_permutation", "uniform", "subsets", "in_order"}, default="new_permutation"
        How the stochastic methods visit the examples: by another permutation in every epoch, by one and the same, by
        independent draws, by batches of different rows that are drawn anew for each step, or in the order of the rows.
    max_epochs : int, optional
        The most passes over the training data; of "newton", "lbfgs", "bmrm" and "ocas" the most iterations, of "sarah"
        the most rounds. None takes 1,000 for methods that notice convergence; for the others 20, and more where that
        were fewer than 20,000 visits of examples.
    max_seconds : float, optional
        The most seconds of training.
    tol : float, default=1e-3
        Where the solver stops: the range of projected gradients over a pass (dual coordinate descent), the norm of the
        gradient as a share of the first (Newton, L-BFGS), or the gap between objective and bound as a share of the
        objective (cutting planes). The stochastic methods do not notice. Whatever the method, a fit that ends far from
        the optimum because columns differ in scale warns.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides the order of the examples. The same int gives the same model.
    device : {"auto", "cpu"}, default="auto"
        The solvers go through single examples in compiled code, which runs on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use; training needs one more copy of the data. None takes
        a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        In which the rows are held; "auto" leaves them as they are. Coefficients are in double precision.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_features)
        One output for two classes, else one for each.
    intercept_ : ndarray, shape (n_outputs,)
    n_iter_ : int
        Passes, or iterations, of the fit.
    effective_params_ : dict
        What the program chose where a parameter left it open; of `fit` alone.
    timings_ : dict
        Seconds of each phase of the fit; of `fit` alone.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan (2008), "A dual coordinate descent method
    for large-scale linear SVM", ICML 25. S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter (2011), "Pegasos: primal
    estimated sub-gradient solver for SVM", Mathematical Programming 127. The other methods: see the method guide.

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

    @training.keeps_model_on_failure
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
            Weights of the losses, in any unit; rows of weight zero are left out.
        observers : sequence of shallows.training.Observer
            `Progress`, `Curve` and others, called after every epoch.
        checkpoint : shallows.training.Checkpoint, optional
            Go on from it if it exists, and keep it up to date.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range, or a loss that the solver does not take.
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
        """The settings of the solver, from the parameters of the same names."""
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
