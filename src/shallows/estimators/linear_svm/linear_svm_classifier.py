"""A linear support vector machine on dense or sparse rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.utils.metaestimators import available_if

from ... import arrays, training
from ...errors import ShallowsError
from ...fitting import column_scales
from ...fitting.label_checks import single_column
from ...fitting.user_warnings import warn_user
from ...solvers.linear_svm.lbfgs import LogisticProblem
from ...solvers.linear_svm.one_versus_rest import OneVersusRest, SideBySide
from ...solvers.linear_svm.problem import LOSSES, LinearSVMProblem
from ...solvers.linear_svm.rows import as_rows
from .. import model_classes
from ..constructors import stores_parameters
from ..predictions import LabelPredictions
from ..snapshot import Snapshot
from ..streaming import first_rows
from ..streaming.labelled_batches import LabelledBatches
from ..streaming.stream_batches import Batch
from .solver_choice import SOLVERS, Choice, check_parameters, epochs_of, loss_of


def _is_online(model: Any) -> bool:
    if model.solver in SOLVERS and not SOLVERS[model.solver].online:
        able = ", ".join(repr(name) for name, solver in SOLVERS.items() if solver.online)
        raise AttributeError(f"partial_fit needs a solver that takes rows one by one ({able}), got {model.solver!r}.")
    return model.solver in SOLVERS


class LinearSVMClassifier(LabelPredictions, LabelledBatches):
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

    # --------------------------------------------------------------------------------------- the fit

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
        started = time.perf_counter()
        self._check_parameters()
        X, y, weights = self._validated_training_set(X, y, sample_weight)[:3]
        y = model_classes.learn(self, y)
        choice, n = SOLVERS[self.solver], X.shape[0]
        given, X = X, self._centred(X, first=True)
        self._regularisation = float(self.regularisation or 1.0 / n)
        problems = self._problems(X, y, None if weights is None else weights / weights.mean())
        prepared = time.perf_counter()
        batches, max_epochs = training.OwnRows(n if choice.online else 1), epochs_of(self, n)
        run = training.train(
            OneVersusRest(choice.make(self, self._seed(), self.sampling)),
            problems,
            batches,
            training.Stopping(max_epochs, max_seconds=self.max_seconds),
            observers=[*self._progress_observers(), *observers],
            checkpoint=checkpoint,
            snapshot=lambda state, epoch: LinearSnapshot(self, given, state, epoch),
        )
        self._take_model(run.state, choice)
        first_rows.end_beginning(self, n)
        self.n_iter_ = max(run.epoch, 1)
        self.effective_params_ = {
            "solver": self.solver,
            "loss": loss_of(self),
            "regularisation": self._regularisation,
            "sparse": bool(problems[0].rows.columns.size),
            "max_epochs": max_epochs,
            "stopped_by": run.stopped_by,
        }
        self.timings_ = {"preparation": prepared - started, "training": run.seconds}
        if run.stopped_by == "max_epochs" and choice.converges:
            warn_user(
                f"After max_epochs={max_epochs} the solver {self.solver!r} has not come to tol={self.tol:g}. Scale the "
                "columns of X, for instance with sklearn.preprocessing.StandardScaler, or take a larger max_epochs or "
                "tol.",
            )
        elif not choice.certain:
            self._warn_if_far(X, problems, run.state.coefficients)
        return self

    partial_fit = available_if(_is_online)(LabelledBatches.partial_fit)

    def _learn(self, batch: Batch, *, begins: bool) -> None:
        X, y, weights = batch
        if begins:
            self._regularisation = float(self.regularisation or 1.0 / X.shape[0])
        X, choice = self._centred(X, first=begins), SOLVERS[self.solver]
        problems = self._problems(X, y, weights)
        solver = OneVersusRest(choice.make(self, self._seed(), "in_order"))
        state = solver.init(problems)
        if not begins:
            state.recall(*self._state)
            for machine in state.states:
                machine.n_visits = 0  # Visits count through the rows of this call.
        state = solver.step(problems, state, X.shape[0])
        if not state.is_finite():
            raise ShallowsError("The coefficients are not finite any more: scale the features.")
        self._take_model(state, choice)
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _has_intercept(self) -> bool:
        return bool(self.fit_intercept)

    def _problems(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> list[LinearSVMProblem]:
        """One problem for two classes, else one for each class against the rest."""
        X = X if self.dtype == "auto" else X.astype(self.dtype, copy=False)
        arrays.check_room(
            "The rows as the solver takes them need",
            X.data.nbytes + 16 * X.shape[0],
            self._working_budget(arrays.Device("cpu")),
            "Give more memory, or take dtype='float32'.",
        )
        if self.fit_intercept:
            ones = np.ones((X.shape[0], 1), dtype=X.dtype)
            X = scipy.sparse.hstack([X, ones], format="csr") if scipy.sparse.issparse(X) else np.hstack([X, ones])
        rows, places = as_rows(X), np.searchsorted(self.classes_, y)
        loss = loss_of(self)
        make = LogisticProblem if loss == "logistic" else LinearSVMProblem
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [
            make(
                rows,
                X.shape[1],
                np.where(places == k, 1.0, -1.0),
                self._regularisation,
                LOSSES["squared_hinge" if loss == "logistic" else loss],
                weights,
            )
            for k in positive
        ]

    def _take_model(self, state: SideBySide, choice: Choice) -> None:
        self.coef_, self.intercept_ = self._coefficients_of(state)
        if choice.online:
            self._state = state.remember()

    def _coefficients_of(self, state: SideBySide) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the columns as the user gave them, shape (n_outputs, d), and intercepts."""
        columns, has_intercept = state.coefficients, bool(self.fit_intercept)
        coef = np.ascontiguousarray(columns[: len(columns) - has_intercept].T)
        return coef, (columns[-1] if has_intercept else 0.0) - (coef * self._offsets).sum(axis=1)

    def _warn_if_far(self, X: Any, problems: Sequence[LinearSVMProblem], coefficients: np.ndarray) -> None:
        """Warn if the model is far from its optimum because columns of X differ in scale."""
        has_intercept = bool(self.fit_intercept)
        mean, scale = column_scales.scales_of(X, centred=has_intercept)
        mean, scale = np.append(mean, [0.0] * has_intercept), np.append(scale, [1.0] * has_intercept)
        for k, problem in enumerate(problems):

            def value_and_gradient(w: np.ndarray, problem: LinearSVMProblem = problem) -> tuple[float, np.ndarray]:
                margins = problem.margins(w[:, 0])
                value = 0.5 * problem.regularisation * float(w[:, 0] @ w[:, 0]) + problem.risk(margins)
                return value, problem.regularisation * w + problem.risk_gradient(margins)[:, None]

            at = coefficients[:, k : k + 1]
            if column_scales.warn_if_far(f"The solver {self.solver!r}", value_and_gradient, at, mean, scale):
                return

    # ------------------------------------------------------------------------------------ prediction

    def _raw_predict(self, X: Any, state: SideBySide | None = None) -> np.ndarray:
        coef, intercept = (self.coef_, self.intercept_) if state is None else self._coefficients_of(state)
        return np.asarray(X @ coef.T + intercept)

    def _codes(self, y: np.ndarray) -> np.ndarray:
        places = np.searchsorted(self.classes_, single_column(y))
        if len(self.classes_) == 2:
            return np.where(places == 1, 1.0, -1.0)[:, None]
        return np.where(places[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")


class LinearSnapshot(Snapshot):
    """A linear machine in the middle of its training."""

    def __init__(self, estimator: LinearSVMClassifier, X: Any, state: SideBySide, epoch: int):
        super().__init__(estimator, state, epoch)
        self._training_points = X

    def _scores(self, X: Any) -> np.ndarray:
        return self.estimator._raw_predict(X, self.state)

    def _scores_in_training(self) -> np.ndarray:
        return self._scores(self._training_points)
