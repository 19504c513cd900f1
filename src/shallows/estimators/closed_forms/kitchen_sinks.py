"""Random kitchen sinks: bounded weights on random units, found by convex optimisation."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
import scipy.optimize

from ... import arrays, streams, training
from ...errors import ShallowsError
from ...fitting.choices import check_calibration, number_held_out
from ...fitting.every_class import class_labels, with_every_class
from ...fitting.judged_calibration import Model, calibrate_judged
from ...fitting.parameter_checks import check_not_negative, check_positive, check_whole
from ..constructors import stores_parameters, with_parameters
from ..feature_maps.hidden_units import HiddenUnits, check_units
from .feature_least_squares import BLOCK_NUMBERS, FeatureLeastSquaresClassifier, FeatureLeastSquaresRegressor

UNBOUNDED = "multiquadric"
"""The one activation whose units grow with the distance."""


def minimise_in_box(
    gram: np.ndarray, moments: np.ndarray, bound: float, tol: float, max_iterations: int
) -> tuple[np.ndarray, int]:
    """The α that minimises αᵀGα − 2αᵀm under |αₖ| ≤ bound, shape (K,), and the iterations.

    By L-BFGS-B, which keeps to the bounds exactly. The problem is convex, so that it has one least value.
    """

    def risk(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        product = gram @ alpha
        return float(alpha @ product - 2.0 * (alpha @ moments)), 2.0 * (product - moments)

    options = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": 1e-15, "gtol": tol}
    start, box = np.zeros(len(moments)), [(-bound, bound)] * len(moments)
    found = scipy.optimize.minimize(risk, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    return found.x, int(found.nit)


class _RandomKitchenSinks:
    @stores_parameters
    def __init__(
        self,
        activation: str = "cosine",
        *,
        n_units: int = 1000,
        C: float = 100.0,
        bandwidth: float | str | None = None,
        tol: float = 1e-6,
        max_iterations: int = 1000,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_units(self.activation, self.n_units)
        if self.activation == UNBOUNDED:
            raise ShallowsError("Random kitchen sinks need bounded units, and those of 'multiquadric' are not.")
        if isinstance(self.n_units, (tuple, list)):
            raise ShallowsError("n_units must be a whole number: random kitchen sinks have one layer.")
        check_positive(self, "C")
        check_not_negative(self, "tol")
        check_whole(self, "max_iterations")

    def _make_transformer(self, seed: int, bandwidth: float | None = None) -> HiddenUnits:
        return HiddenUnits(
            self.activation,
            n_units=self.n_units,
            bandwidth=self.bandwidth,
            random_state=seed,
            device=self.device,
            memory=self.memory,
            dtype=self.dtype,
        )

    def _target_scales(self, targets: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        return np.ones(targets.shape[1])

    @training.keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw the units and find their weights.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of the squared errors.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, no table of numbers, or one class only.
        ShallowsError
            A parameter out of its range, or units that are not bounded.
        """
        self._check_parameters()
        started = time.perf_counter()
        X, y, weights = self._validated_training_set(X, y, sample_weight)[:3]
        targets = self._encode(y, weights)
        scales = self._target_scales(targets, weights)
        total = float(X.shape[0] if weights is None else weights.sum())
        root = None if weights is None else np.sqrt(weights)
        seed = self._seed()
        self.transformer_ = self._make_transformer(seed).fit(X)
        made, K = time.perf_counter(), int(self.n_units)
        self._check_memory(K, "units")
        gram, moments = np.zeros((K, K)), np.zeros((K, targets.shape[1]))
        for rows in arrays.blocks(X.shape[0], max(1, BLOCK_NUMBERS // K)):
            H, T = self.transformer_.transform(X[rows]).astype(np.float64), targets[rows] / scales
            if root is not None:
                H, T = root[rows, None] * H, root[rows, None] * T
            gram += H.T @ H
            moments += H.T @ T
        bound = float(self.C / K)
        alpha, self.n_iter_ = self._solved(gram, moments, total)
        self.coef_ = self._in_units_of_targets(np.ascontiguousarray(alpha * scales[:, None]))
        at_bound = float(np.mean(np.abs(alpha) >= bound * (1 - 1e-9)))
        self.effective_params_ = {**self.transformer_.effective_params_, "bound": bound, "at_bound": at_bound}
        self._learn_calibration(X, targets, weights, gram, moments, seed)
        self.timings_ = {"features": made - started, "training": time.perf_counter() - made}
        return self

    def _solved(self, gram: np.ndarray, moments: np.ndarray, total: float) -> tuple[np.ndarray, int]:
        """α of every output, shape (c, K), and the most iterations, from sums over rows of a total weight."""
        mean, bound = gram / total, self.C / len(gram)
        # Threads of BLAS, which wait for each other in thousands of small products, took ten times as long.
        with arrays.one_blas_thread():
            found = [
                minimise_in_box(mean, column / total, bound, self.tol, self.max_iterations) for column in moments.T
            ]
        return np.stack([one for one, _ in found]), max(1, *(steps for _, steps in found))

    def _learn_calibration(self, X: Any, targets: np.ndarray, weights: Any, *sums_and_seed: Any) -> None:
        """Learn how outputs become probabilities, where there are classes."""


class RandomKitchenSinksClassifier(_RandomKitchenSinks, FeatureLeastSquaresClassifier):
    """Classification by a weighted sum of random units whose weights are bounded, least squares on ±1 targets.

    The units are drawn and stay as they are. Minimised is the mean of (Σₖ αₖ φ(x; wₖ) − y)² under |αₖ| ≤ C/K, which is
    convex: the bound takes the place of a ridge, and with a C that no weight reaches the fit is that of least squares.

    Parameters
    ----------
    activation : {"cosine", "sigmoid", "tanh", "gaussian", "hard_limit"}, default="cosine"
        Of the units, which are bounded by 1: cos(wᵀx + b) and its like with weights w of deviation 1/σ, for "gaussian"
        exp(−b ‖x − w‖²).
    n_units : int, default=1000
        K.
    C : float, default=100.0
        The weight of a unit is at most C/K in size, for targets of −1 and +1 or divided by their deviation.
    calibration : {"auto", None}, default="auto"
        How outputs become probabilities, and decide between several classes. "auto" learns a sigmoid, or a linear map
        and the softmax for several classes, on the outputs of a further solution at a fifth of the rows (200 to 1,000),
        which it goes without. None leaves the outputs as they are, as published.
    bandwidth : float, "median" or None, optional
        σ, in the units of the inputs. None and "median" take the median distance between points of a subsample.
    tol : float, default=1e-6
        The search stops when no component of the projected gradient of the mean squared error is larger.
    max_iterations : int, default=1000
        The most iterations of the search.
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, 1 for the classes that a dict leaves out. "balanced" takes n/(k nⱼ) for
        a class with nⱼ of the n rows, of k classes; weighted rows are counted by their weights.
    random_state : int, RandomState or None, default=None
        Decides what is drawn of the units. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the units are computed; their weights are found in double precision on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the units; "auto" means that of the training points.
    verbose : int, default=0
        Without effect; here so that all estimators take it.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    coef_ : ndarray, shape (n_outputs, n_units)
        α, in the units of the targets.
    transformer_ : HiddenUnits
        The units.
    n_iter_ : int
        Iterations of the search, of the slowest output.
    effective_params_ : dict
        What the program chose where a parameter left it open, with ``at_bound``, the share of the weights that lie at
        the bound.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Rahimi and B. Recht (2009), "Weighted sums of random kitchen sinks: replacing minimization with randomization in
    learning", NIPS 21.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import RandomKitchenSinksClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = RandomKitchenSinksClassifier(n_units=300, random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.9)
    True
    """

    __init__ = with_parameters(_RandomKitchenSinks.__init__, calibration="auto", class_weight=None)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_calibration(self.calibration)

    def _learn_calibration(self, X, targets, weights, gram, moments, seed) -> None:  # type: ignore[no-untyped-def]
        """Learn the calibration on rows that a second solution leaves out of the sums over all rows."""
        self._calibration, n = None, X.shape[0]
        m = number_held_out(n, 0)
        if self.calibration is None or not m:
            return
        order = streams.permutation(seed, "calibration", 0, n)
        labels = class_labels(targets, multilabel=self._multilabel)
        rows = np.sort(with_every_class(order, labels, slice(0), [slice(0, m)])[:m])
        H, T = self.transformer_.transform(X[rows]).astype(np.float64), targets[rows]
        w = np.ones(m) if weights is None else weights[rows]
        left = float(n if weights is None else weights.sum()) - w.sum()
        wH = w[:, None] * H
        alpha, _ = self._solved(gram - wH.T @ H, moments - wH.T @ T, left)
        of_rows, shares = None if weights is None else w, np.average(targets > 0, 0, weights)
        given = H @ alpha.T, T, of_rows, shares, targets
        model = Model(lambda rows: self.transformer_.transform(X[rows]).astype(np.float64) @ self.coef_.T, targets)
        self._calibration = calibrate_judged(*given, model=model, multilabel=self._multilabel)
        if self._calibration is not None:
            self.effective_params_ |= self._calibration.report()


class RandomKitchenSinksRegressor(_RandomKitchenSinks, FeatureLeastSquaresRegressor):
    """Regression by a weighted sum of random units whose weights are bounded, about the mean of the targets.

    The units are drawn and stay as they are. Minimised is the mean of (Σₖ αₖ φ(x; wₖ) − y)² under |αₖ| ≤ C/K, which is
    convex: the bound takes the place of a ridge, and with a C that no weight reaches the fit is that of least squares.
    Targets are centred and divided by their deviation for the fit.

    Parameters
    ----------
    activation : {"cosine", "sigmoid", "tanh", "gaussian", "hard_limit"}, default="cosine"
        Of the units, which are bounded by 1: cos(wᵀx + b) and its like with weights w of deviation 1/σ, for "gaussian"
        exp(−b ‖x − w‖²).
    n_units : int, default=1000
        K.
    C : float, default=100.0
        The weight of a unit is at most C/K in size, for targets of −1 and +1 or divided by their deviation.
    bandwidth : float, "median" or None, optional
        σ, in the units of the inputs. None and "median" take the median distance between points of a subsample.
    tol : float, default=1e-6
        The search stops when no component of the projected gradient of the mean squared error is larger.
    max_iterations : int, default=1000
        The most iterations of the search.
    random_state : int, RandomState or None, default=None
        Decides what is drawn of the units. The same int gives the same model.
    device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
        Where the units are computed; their weights are found in double precision on the CPU.
    memory : int or str, optional
        Bytes, or a text such as "4GB", that the process may use. None takes a share of what is free.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the units; "auto" means that of the training points.
    verbose : int, default=0
        Without effect; here so that all estimators take it.

    Attributes
    ----------
    intercept_ : ndarray, shape (n_outputs,)
        Mean of the targets.
    coef_ : ndarray, shape (n_outputs, n_units)
        α, in the units of the targets.
    transformer_ : HiddenUnits
        The units.
    n_iter_ : int
        Iterations of the search, of the slowest output.
    effective_params_ : dict
        What the program chose where a parameter left it open, with ``at_bound``, the share of the weights that lie at
        the bound.
    timings_ : dict
        Seconds of each phase of the fit.

    References
    ----------
    A. Rahimi and B. Recht (2009), "Weighted sums of random kitchen sinks: replacing minimization with randomization in
    learning", NIPS 21.
    """

    def _target_scales(self, targets: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        scales = np.sqrt(np.average(targets**2, axis=0, weights=weights))
        return np.where(scales > 0, scales, 1.0)
