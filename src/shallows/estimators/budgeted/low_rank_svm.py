"""The low-rank linearized support vector machine: landmarks, then a linear machine."""

from typing import Any, ClassVar

import numpy as np
from sklearn.svm import LinearSVC

from ... import arrays, kernels
from ...errors import UnknownNameError
from ...features.landmarks import LANDMARKS
from ...fitting import leave_one_out_choice
from ...fitting.fit_call import FitCall
from ...fitting.machine import Phases
from ...fitting.rows import TrainingSet, single_column
from ...fitting.targets import Machines
from ...kernels import precomputed
from ...models.centering import Centering
from ...spectrum.kernel_ridge_choice import choose_kernel_ridge, is_automatic
from ...spectrum.leave_one_out import RidgeChoice, report_of_choice
from ...utils.checks import check_positive, check_whole, refuse_time_limit
from ..base import Estimator, fit_rows
from ..constructors import stores_parameters
from ..feature_maps.landmarks import NystroemFeatures
from ..predictions import LabelPredictions

BLOCK_NUMBERS = 2**24
"""Features that a prediction computes at a time, in numbers."""


class LowRankLinearizedSVMClassifier(LabelPredictions, Estimator):
    """Support vector machine on the Nyström features of a budget of landmarks, by dual coordinate descent.

    The kernel is approximated by k(x, Z) k(Z, Z)⁻¹ k(Z, x') for landmarks Z, which makes the machine linear. LIBLINEAR
    (`sklearn.svm.LinearSVC`) solves it, with all features in memory.

    Parameters
    ----------
    budget : int, default=100
        Most landmarks, at most one for each training point.
    landmarks : {"kmeans", "sample", "leverage", "pivoted", "randomly_pivoted"}, default="kmeans"
        K-means centers, points drawn uniformly or by leverage scores, or greedy or random Cholesky pivots.
    kernel : str, Kernel or callable, default="gaussian"
        A name or object of `shallows.kernels`, or a function of two arrays.
    bandwidth : float, "auto" or "median", default="auto"
        σ, in the units of X. "auto": by leave-one-out errors. "median": the median distance of points.
    C : float or "auto", default="auto"
        Factor in ½ ‖w‖² + C Σ ℓᵢ. "auto": 1/λ with the smallest leave-one-out error of kernel ridge regression.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        max(0, 1 − z), or LIBLINEAR's max(0, 1 − z)² without the factor ½ of the other estimators.
    tol : float, default=1e-3
        Tolerance of LIBLINEAR.
    max_iterations : int, default=10000
        Most passes of LIBLINEAR over the training data.
    class_weight : dict or "balanced", optional
    random_state : int, RandomState or None, default=None
    options : Options, optional
        Device and precision ("auto": as X) of the features, and memory. There is no time limit: LIBLINEAR has none.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_features_out); fewer features than landmarks are possible
    intercept_ : ndarray, shape (n_outputs,)
    transformer_ : NystroemFeatures
    n_iter_ : int, passes of LIBLINEAR
    options_ : Options
    report_ : dict

    See Also
    --------
    shallows.KernelSVMClassifier : The whole kernel.
    shallows.kernel_approximation.NystroemFeatures : The features alone.

    References
    ----------
    K. Zhang, L. Lan, Z. Wang and F. Moerchen (2012), "Scaling up kernel SVM on limited resources: a low-rank
    linearization approach", AISTATS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows.svm import LowRankLinearizedSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LowRankLinearizedSVMClassifier(200, bandwidth=25.0, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.9)
    True
    """

    _other_names: ClassVar = {
        "max_iter": ("max_iterations", "passes of LIBLINEAR"),
        "n_components": ("budget", "landmarks"),
        **dict.fromkeys(("regularisation", "lam"), ("C", "which is 1/(λ n) for λ next to a mean of n losses")),
    }

    @stores_parameters
    def __init__(
        self,
        budget: int = 100,
        *,
        landmarks: str = "kmeans",
        kernel: Any = "gaussian",
        bandwidth: float | str = "auto",
        C: float | str = "auto",
        loss: str = "hinge",
        tol: float = 1e-3,
        max_iterations: int = 10000,
        class_weight: Any = None,
        random_state: Any = None,
        options: Any = None,
    ): ...

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self, "budget", "max_iterations")
        check_positive(self, "C", rules=("auto",))
        check_positive(self, "tol")
        UnknownNameError.check("loss", self.loss, ("hinge", "squared_hinge"))
        UnknownNameError.check("way to choose landmarks", self.landmarks, LANDMARKS)
        refuse_time_limit(self, "LIBLINEAR has no time limit. Set max_iterations.")

    fit = fit_rows

    def _train(self, rows: TrainingSet, call: FitCall) -> dict[str, Any]:
        phases, X, weights, seed = Phases(), rows.X, rows.weights, call.seed
        self._targets, y = Machines.of(rows.y, "one_vs_rest"), single_column(rows.y)
        choice = self._choose(X, y, weights, seed)
        transformer = NystroemFeatures(
            self.kernel,
            bandwidth=leave_one_out_choice.given_bandwidth(self.bandwidth, choice) or "median",
            n_features=self.budget,
            landmarks=self.landmarks,
            random_state=seed,
            options=self.options,
        )
        transformer._warns_of_units = False  # This estimator warns.
        self.transformer_ = transformer.fit(X)
        width = len(self.transformer_.get_feature_names_out())
        # LIBLINEAR copies the features in float64, with an index for each number.
        arrays.check_room(
            f"{X.shape[0]:,} rows of {width:,} features take",
            32 * X.shape[0] * width,
            call.options.budget(arrays.Device("cpu")),
            "Take a smaller budget of landmarks, or give more memory.",
        )
        features = self.transformer_.transform(X)
        phases.end("features")
        C = self.C
        if is_automatic(C):
            C = 1.0 if choice is None else 1.0 / choice.regularization
        machine = LinearSVC(
            loss=self.loss,
            C=float(C),
            tol=self.tol,
            max_iter=self.max_iterations,
            dual=True,
            random_state=seed % 2**31,
        ).fit(features, y, sample_weight=weights)
        self.coef_, self.intercept_, self.n_iter_ = machine.coef_, machine.intercept_, int(np.max(machine.n_iter_))
        phases.end("training")
        found = {"budget": self.transformer_.landmarks_.shape[0], "C": float(C), **report_of_choice(choice)}
        return {**self.transformer_.report_, **found, "timings": phases.seconds}

    def _store(self, report: dict[str, Any]) -> None:
        self.classes_, self.report_ = self._targets.classes, report

    def _choose(self, X: Any, y: np.ndarray, weights: np.ndarray | None, seed: int) -> RidgeChoice | None:
        """Bandwidth and λ of kernel ridge regression, if one of them is "auto"."""
        kernel = kernels.make(self.kernel, self.bandwidth)
        centering = Centering.of(
            X, centered=kernel.shift_invariant, without_constants=False, may_stay_sparse=kernel.takes_sparse_points
        )
        if centering.all_equal or precomputed.is_asked_for(self):
            return None
        return choose_kernel_ridge(
            kernel,
            lambda rows: centering.training_points(X, rows, arrays.Device("cpu"), np.float64),
            self._targets.ridge_codes(y),
            weights,
            seed,
            searches_bandwidth=is_automatic(self.bandwidth),
            regularizes=is_automatic(self.C),
        )

    def _raw_predict(self, X: Any) -> np.ndarray:
        self.transformer_._move_to(self._options().device)  # a model may be moved after its fit
        out = np.empty((X.shape[0], len(self.coef_)))
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // self.coef_.shape[1])):
            out[rows] = self.transformer_.transform(X[rows]) @ self.coef_.T + self.intercept_
        return out

    @property
    def bandwidth_(self) -> float | None:
        """σ of the kernel, or None."""
        return self.transformer_.bandwidth_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")
