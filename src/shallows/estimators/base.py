"""What the kernel machines of least squares share: the door, the plan, the fit, the prediction."""

from __future__ import annotations

import math
import numbers
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import arrays, gram, kernels, streams, training
from ..errors import ShallowsError
from ..kernels import FunctionKernel, Kernel
from ..solvers.base import KernelProblem
from ..spectrum import Preconditioner
from . import validation
from .centres import Coordinates
from .parameters import check_positive, check_whole, is_positive

SMALL = 1000
"""Up to so many points the whole matrix is decomposed and iterated with at once, in float64: it costs nothing."""


@dataclass
class Plan:
    """What a fit will do, decided before anything large is made.

    Attributes
    ----------
    kernel : Kernel
    preconditioner : Preconditioner or None
    batch_size : int
    step_size : float
    top_eigenvalue, largest_diagonal : float
        λ and β of the operator that is iterated with, see `Preconditioner.step_size`.
    """

    kernel: Kernel
    preconditioner: Preconditioner | None
    batch_size: int
    step_size: float
    top_eigenvalue: float
    largest_diagonal: float


@dataclass
class Snapshot:
    """A model in the middle of its training, as observers see it.

    Scores are kept, so that several measures of the same points cost one evaluation.
    """

    estimator: KernelLeastSquares
    coefficients: Any
    epoch: int
    _training_scores: np.ndarray | None = field(default=None, repr=False)
    _last: tuple[Any, np.ndarray] | None = field(default=None, repr=False)

    def decision_function(self, X: Any) -> np.ndarray:
        """Raw outputs, shape (m, c)."""
        if self._last is None or self._last[0] is not X:
            self._last = (X, self.estimator._raw_predict(X, self.coefficients))
        return self._last[1]

    def predict(self, X: Any) -> np.ndarray:
        """Labels or values in the user's coding."""
        return self.estimator._decode(self.decision_function(X))

    def training_decision_function(self) -> np.ndarray:
        """Raw outputs on the training rows in their own order, shape (n, c), from the kernel matrix at hand."""
        if self._training_scores is None:
            fitted = arrays.to_numpy(self.estimator._gram.dot(self.coefficients))
            held_out = self.estimator._held_out
            if held_out is None:
                scores = np.empty_like(fitted)
                scores[self.estimator._order] = fitted
                self._training_scores = self.estimator._unscale(scores)
            else:
                others = self.estimator._raw_predict(held_out.X, self.coefficients)
                scores = np.empty((len(fitted) + len(others), fitted.shape[1]), dtype=fitted.dtype)
                scores[held_out.training_rows[self.estimator._order]] = fitted
                scores = self.estimator._unscale(scores)
                scores[held_out.rows] = others
                self._training_scores = scores
        return self._training_scores

    def predict_training(self) -> np.ndarray:
        """`predict` on the training rows in their own order."""
        return self.estimator._decode(self.training_decision_function())

    def square_loss(self, X: Any, y: Any) -> float:
        """Mean over points and outputs of (f(x) − y)², with classes coded −1 and +1."""
        return _mean_square(self.decision_function(X), self.estimator._codes(np.asarray(y)))

    def training_square_loss(self, y: Any) -> float:
        """`square_loss` on the training rows, whose targets are given in their own order."""
        return _mean_square(self.training_decision_function(), self.estimator._codes(np.asarray(y)))

    def coefficient_norm(self) -> float:
        """‖α‖₂ over all points and outputs."""
        return float(np.linalg.norm(arrays.to_numpy(self.coefficients).astype(np.float64)))


def _mean_square(scores: np.ndarray, codes: np.ndarray) -> float:
    return float(np.mean((scores.astype(np.float64) - codes) ** 2))


class KernelLeastSquares(BaseEstimator):
    """Base of the estimators that minimise a weighted square loss over the span of kernel functions."""

    # ---------------------------------------------------------------- what subclasses say

    def _make_plan(self, points: Any, weights: Any, kernel: Kernel, seed: int, budget: int) -> Plan:
        raise NotImplementedError

    def _make_solver(self, step_size: float) -> Any:
        raise NotImplementedError

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Targets as a float array, shape (n, c); what is learnt about their coding is kept."""
        raise NotImplementedError

    def _codes(self, y: np.ndarray) -> np.ndarray:
        """Targets in the coding of the outputs, shape (m, c), after `_encode` has learnt it."""
        raise NotImplementedError

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores

    def _given_subsample(self) -> Preconditioner | None:
        return None

    # --------------------------------------------------------------------------- the fit

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> KernelLeastSquares:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
            Memory maps are read block by block. Sparse input is not made dense as a whole unless its points fit.
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Weights of the square loss, in any unit; rows of weight zero are left out.
        observers : sequence of shallows.training.Observer
            `Progress`, `Curve` and others that look on.
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
            A parameter out of its range.
        DivergenceError
            With a ``step_size`` of the user's that is too large.
        """
        started = time.perf_counter()
        # A fit that fails must not leave old coefficients beside new coordinates.
        for name in ("dual_coef_", "coef_"):
            vars(self).pop(name, None)
        self._check_parameters()
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=self._y_is_numeric,
        )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not weights.any():
                raise ValueError("All sample weights are zero.")
            if not weights.all():
                X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        seed = _seed(self.random_state)
        y = y.toarray() if scipy.sparse.issparse(y) else np.asarray(y)
        self._held_out = None
        if getattr(self, "early_stopping", False):
            of_labels = not self._y_is_numeric
            self._held_out = validation.hold_out(X, y, weights, self.validation_fraction, seed, of_labels)
            rows = self._held_out.training_rows
            X, y, weights = X[rows], y[rows], None if weights is None else weights[rows]
        n = X.shape[0]
        targets = self._encode(y, weights)

        device = arrays.resolve_device(self.device)
        budget = self._working_budget(device)
        dtype = np.dtype(self._precision(n, budget) if self.dtype == "auto" else self.dtype)

        with device.active():
            given = self._given_subsample()
            # Shuffled once, so that batches and the subsample, which comes first, are contiguous rows.
            order = streams.permutation(seed, "order", 0, n)
            if given is not None:
                order = _subsample_first(given.indices, order)
            points = self._lay_out(X, order, device, dtype)
            kernel = self._make_kernel(points, seed)
            w = None if weights is None else arrays.to_device(weights[order] / weights.max(), device, dtype)
            prepared = time.perf_counter()

            plan = self._make_plan(points, w, kernel, seed, budget - points.nbytes)
            if self._coincide(points) and self.batch_size is None and self.step_size is None:
                # All points coincide, so all that can be learnt is the mean of the targets, and one step learns it.
                plan.batch_size, plan.step_size = n, 1.0 / (n * plan.top_eigenvalue)
            decomposed = time.perf_counter()

            codes = arrays.to_device(targets[order], device, dtype)
            spent = points.nbytes + 6 * codes.nbytes + self._step_bytes(plan, codes.shape[1], dtype.itemsize)
            problem = self._make_problem(plan, points, codes, None if w is None else w[:, None], budget - spent)
            self._order = order
            built = time.perf_counter()

            try:
                run = training.train(
                    self._make_solver(float(plan.step_size)),
                    problem,
                    training.Batches(n, plan.batch_size, seed),
                    self._stopping(),
                    observers=[*self._own_observers(), *observers],
                    checkpoint=checkpoint,
                    snapshot=lambda state, epoch: Snapshot(self, state.coefficients, epoch),
                    may_shrink=self.step_size is None,
                )
            finally:
                kept_fraction, held_out = self._gram.kept_fraction, self._held_out
                del self._gram, self._order, self._held_out
            arrays.synchronise(points)
        finished = time.perf_counter()

        self._keep(run.state, plan, points, order if held_out is None else held_out.training_rows[order])
        if held_out is not None:
            self.validation_scores_ = [1.0 - error for error in run.validation_errors]
            self.best_validation_score_ = max(self.validation_scores_)
        self.step_size_ = run.state.step_size
        self.n_epochs_ = self.n_iter_ = max(run.epoch, 1)
        self.losses_ = run.losses
        self.n_rollbacks_, self.n_resumes_ = run.n_rollbacks, run.n_resumes
        self.effective_params_ = {
            **self._told_of_the_model(plan),
            "batch_size": plan.batch_size,
            "step_size": run.state.step_size,
            "certified_step_size": plan.step_size,
            "top_eigenvalue": plan.top_eigenvalue,
            "largest_diagonal": plan.largest_diagonal,
            "rank": plan.preconditioner.rank if plan.preconditioner else 0,
            "n_subsample": plan.preconditioner.n_subsample if plan.preconditioner else 0,
            "n_epochs": run.epoch,
            "stopped_by": run.stopped_by,
            "kept_fraction": kept_fraction,
            "memory_budget": budget,
            "precision": dtype.name,
            "device": str(device),
            "seed": seed,
            "n_features_used": int(self._coordinates.varies.sum()),
            "n_validation": 0 if held_out is None else len(held_out.rows),
        }
        self.timings_ = {
            "preparation": prepared - started,
            "eigensystem": decomposed - prepared,
            "kernel_matrix": built - decomposed,
            "training": run.seconds,
            "evaluation": max(0.0, finished - built - run.seconds),
        }
        self._look_back(run)
        return self

    # ------------------------------------------------------ what the space of the functions decides

    def _lay_out(self, X: Any, order: np.ndarray, device: arrays.Device, dtype: np.dtype) -> Any:
        """The training points on the device, in a given order."""
        kind = kernels.kind(self.kernel)
        kind.check_inputs(X.shape[1])
        self._coordinates = Coordinates.of(X, centred=kind.shift_invariant, without_constants=kind.of_distance)
        points = self._coordinates.training_points(X, order, device, dtype)
        _check_scale(points, dtype, may_vanish=not kind.shift_invariant)
        return points

    def _coincide(self, points: Any) -> bool:
        """Whether all training points are one: no feature varies."""
        return self._coordinates.coincide

    def _make_problem(self, plan: Plan, points: Any, targets: Any, weights: Any, budget: int) -> Any:
        """What the solver is given; ``_gram`` is the matrix that makes training scores of coefficients."""
        self._gram = gram.Gram(plan.kernel, points, budget=budget)
        return KernelProblem(self._gram, targets, weights, plan.preconditioner)

    def _keep(self, state: Any, plan: Plan, points: Any, rows: np.ndarray) -> None:
        """The fitted attributes that predictions are made of; ``rows`` are those of ``points`` among the rows given."""
        self.dual_coef_ = arrays.to_numpy(state.coefficients)
        self.support_ = rows
        self._points, self._kernel = arrays.to_numpy(points), plan.kernel
        self.bandwidth_ = plan.kernel.bandwidth

    def _told_of_the_model(self, plan: Plan) -> dict[str, Any]:
        """What ``effective_params_`` says of the space of the functions."""
        told = {"kernel": plan.kernel.name, "bandwidth": plan.kernel.bandwidth}
        return told | ({"kernel_params": plan.kernel.parameters} if plan.kernel.parameters else {})

    def _precision(self, n: int, budget: int) -> str:
        """The dtype that "auto" stands for."""
        return "float64" if n <= SMALL else "float32"

    def _stopping(self) -> training.Stopping:
        if self._held_out is None:
            return training.Stopping(self.max_epochs, tolerance=self.tol)
        held_out, of_labels = self._held_out, not self._y_is_numeric
        return training.Stopping(
            self.max_epochs,
            tolerance=self.tol,
            validate=lambda snapshot: held_out.error(snapshot, of_labels=of_labels),
            patience=self.n_iter_no_change,
        )

    def _look_back(self, run: training.Run) -> None:
        """Warn of what a finished training left undone."""
        if self.tol > 0 and run.stopped_by == "max_epochs" and run.losses[-1] > 0.5:
            warnings.warn(
                f"After max_epochs={self.max_epochs} the training loss is still {run.losses[-1]:.2f} of that of "
                "the zero function; more epochs or a larger bandwidth may help.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_parameters(self) -> None:
        kind, parameters = kernels.kind(self.kernel), getattr(self, "kernel_params", None)
        if not (parameters is None or isinstance(parameters, Mapping)):
            raise ShallowsError(f"kernel_params must be a dictionary or None, got {parameters!r}.")
        if parameters and isinstance(kind, Kernel):
            raise ShallowsError("A kernel object brings its own parameters; leave kernel_params out.")
        if self.bandwidth is not None and not is_positive(self.bandwidth):
            raise ShallowsError(
                f"bandwidth must be a positive number or None for the median rule, got {self.bandwidth!r}."
            )
        check_positive(self, "step_size")
        check_whole(self, "batch_size", optional=True)
        check_whole(self, "max_epochs")
        if getattr(self, "early_stopping", False):
            validation.check(self.validation_fraction, self.n_iter_no_change)
        if not (isinstance(self.tol, numbers.Real) and self.tol >= 0):
            raise ShallowsError(f"tol must be a number of at least 0, got {self.tol!r}.")
        if self.dtype not in ("auto", "float32", "float64"):
            raise ShallowsError(f"dtype must be 'auto', 'float32' or 'float64', got {self.dtype!r}.")

    def _make_kernel(self, points: Any, seed: int) -> Kernel:
        kind = kernels.kind(self.kernel)
        if isinstance(kind, Kernel):
            _check_values(kind, points)
            return kind
        bandwidth = self.bandwidth
        if bandwidth is None and kind.takes_bandwidth and self._coincide(points):
            bandwidth = 1.0  # Every bandwidth gives the same function.
        kernel = kernels.choose(self.kernel, bandwidth, points, seed, getattr(self, "kernel_params", None))
        _check_values(kernel, points)
        return kernel

    def _working_budget(self, device: arrays.Device) -> int:
        """Bytes for what the fit makes.

        An explicit budget is what the process may hold in all, so what it holds already is taken off.
        """
        budget = arrays.memory_budget(self.memory, device)
        if self.memory is not None and device.kind == "cpu":
            budget -= arrays.resident_memory() + 2**26
        return max(budget, 2**24)

    @staticmethod
    def _step_bytes(plan: Plan, n_outputs: int, itemsize: int) -> int:
        """What one step makes: the batch's columns of the subsample and its outputs, and the preconditioner itself."""
        p = plan.preconditioner
        if p is None:
            return 4 * plan.batch_size * n_outputs * itemsize
        per_row = p.n_subsample + 4 * n_outputs
        return (plan.batch_size * per_row + p.n_subsample * (p.rank + 4 * n_outputs)) * itemsize

    def _own_observers(self) -> list[training.Observer]:
        return [training.Progress(type(self).__name__)] if self.verbose else []

    # -------------------------------------------------------------------------- prediction

    def _raw_predict(self, X: Any, coefficients: Any = None) -> np.ndarray:
        """f(x), shape (m, c), for checked X."""
        fitting = coefficients is not None
        device = arrays.resolve_device(self.device)
        if fitting:
            points, kernel = self._gram.points, self._gram.kernel
        else:
            points, kernel = arrays.to_device(self._points, device), self._kernel
            coefficients = arrays.to_device(self.dual_coef_, device)
        budget = min(self._working_budget(device) // 2, 2**28 if device.kind == "cpu" else 2**32)
        out = np.empty((X.shape[0], coefficients.shape[1]), dtype=np.dtype(str(points.dtype)))
        with device.active():
            for rows, x, extra in self._coordinates.new_points(X, device, out.dtype):
                out[rows] = arrays.to_numpy(
                    gram.cross_product(kernel, x, points, coefficients, budget=budget, extra=extra)
                )
        return self._unscale(out)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LeastSquaresClassifier(ClassifierMixin, KernelLeastSquares):
    """Classification by least squares on targets coded −1 and +1, one output a class (one in all for two classes)."""

    _y_is_numeric = False

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        check_classification_targets(y)
        self._multilabel = type_of_target(y) == "multilabel-indicator"
        if y.ndim == 2 and y.shape[1] == 1:
            from sklearn.utils import column_or_1d

            y = column_or_1d(y, warn=True)
        if y.ndim == 2 and not self._multilabel:
            raise ValueError("y has several columns that are no 0/1 labels; fit one classifier for each output.")
        self._binarizer = LabelBinarizer(neg_label=-1, pos_label=1).fit(y)
        self.classes_ = self._binarizer.classes_
        if len(self.classes_) < 2:
            raise ValueError(
                f"The training labels hold one class only ({self.classes_[0]!r}); two at least are needed."
            )
        return self._codes(y)

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(self._binarizer.transform(y), dtype=np.float64)

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        if self._multilabel:
            return (scores > 0).astype(int)
        if scores.shape[1] == 1:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs of the fitted function, aimed at +1 for the class and −1 elsewhere.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        scores = self._raw_predict(self._checked(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
            (n_samples, n_labels) of 0 and 1 after a fit on such labels.
        """
        return self._decode(self._raw_predict(self._checked(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of the class probabilities.

        The minimiser of the square loss is 2 P(class | x) − 1, so (f + 1)/2, clipped and normalised, estimates the
        probability; the largest is that of the predicted class. A function trained until it interpolates is too sure
        of itself; stop early or calibrate (see ``sklearn.calibration``) where the values matter.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
        """
        scores = self._raw_predict(self._checked(X))
        shares = np.maximum((scores.astype(np.float64) + 1.0) / 2.0, 0.0)
        if self._multilabel:
            return np.clip(shares, 1e-6, 1.0 - 1e-6)  # No finite sample makes a label impossible or certain.
        if shares.shape[1] == 1:
            shares = np.minimum(shares, 1.0)
            return np.hstack([1.0 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        certain = np.zeros_like(shares)
        certain[np.arange(len(scores)), scores.argmax(axis=1)] = 1.0
        return np.where(total > 0, shares / np.where(total > 0, total, 1.0), certain)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class LeastSquaresRegressor(RegressorMixin, MultiOutputMixin, KernelLeastSquares):
    """Regression by least squares, one or several outputs, about the mean of the targets."""

    _y_is_numeric = True

    def _encode(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        y = y.astype(np.float64)
        self._one_column = y.ndim == 1
        y = y.reshape(len(y), -1)
        # Least squares commutes with shifts and scales of the targets; in their own units none over- or underflows.
        with np.errstate(over="ignore", invalid="ignore"):
            self.intercept_ = np.average(y, axis=0, weights=weights)
            spread = np.abs(y - self.intercept_).max(axis=0)
        if not np.isfinite(spread).all():
            raise ShallowsError("The targets are too large: their mean or their range overflows. Divide y by a number.")
        self._target_scale = np.where(spread > 0, spread, 1.0)
        return (y - self.intercept_) / self._target_scale

    def _codes(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64).reshape(len(y), -1)

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores * self._target_scale + self.intercept_

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0] if self._one_column else scores

    def predict(self, X: Any) -> np.ndarray:
        """Values of the fitted function.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) or (n_samples, n_outputs), as y was
        """
        return self._decode(self._raw_predict(self._checked(X)))


def _subsample_first(indices: np.ndarray, order: np.ndarray) -> np.ndarray:
    """An order that begins with ``indices`` and goes on with the others as they come in ``order``."""
    if indices.max() >= len(order):
        raise ShallowsError(
            f"The preconditioner was made for at least {indices.max() + 1} training points, here are {len(order)}."
        )
    rest = np.ones(len(order), dtype=bool)
    rest[indices] = False
    return np.concatenate([indices, order[rest[order]]])


def _check_scale(points: Any, dtype: np.dtype, *, may_vanish: bool = False) -> None:
    """Refuse features whose squared distances leave the numbers of a precision."""
    largest = float(points[:, -2].max())
    vanishes = largest == 0 and points.shape[1] > 2 and not may_vanish
    if vanishes or not largest < math.inf:
        raise ShallowsError(
            f"The features are too {'small' if vanishes else 'large'} for {dtype.name}: squared distances "
            f"{'under' if vanishes else 'over'}"
            "flow. Bring X to a usual scale, for instance with sklearn.preprocessing.StandardScaler."
        )


def _check_values(kernel: Kernel, points: Any) -> None:
    """Refuse kernels whose values leave the numbers or drown in rounding, and functions that are no kernels."""
    if kernel.of_distance:
        # ‖x‖² + ‖z‖² − 2xᵀz is off by about a unit in the last place of the largest term.
        resolution = math.sqrt(float(points[:, -2].max()) * float(np.finfo(np.dtype(str(points.dtype))).eps))
        if kernel.bandwidth < resolution:
            raise ShallowsError(
                f"bandwidth={kernel.bandwidth:.3g} is too small for {points.dtype}: distances below {resolution:.1g} "
                "are lost in rounding, so that a point is not told from its neighbours. Use a larger bandwidth"
                f"{', or dtype=' + repr('float64') if points.dtype != np.float64 else ''}."
            )
        return
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(kernel.diagonal(points[:, :-2]).max())
    if not 0 < largest < math.inf:
        raise ShallowsError(
            f"The largest value of the kernel {kernel.name!r} on the training points is {largest:g}; it must be "
            "positive and finite. Scale X, or take other parameters of the kernel."
        )
    if isinstance(kernel, FunctionKernel):
        some = points[:100, :]
        matrix = arrays.to_numpy(kernels.values(kernel, some, some)).astype(np.float64)
        rounding = 1e-3 if points.dtype == np.float32 else 1e-6
        if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > rounding * np.abs(matrix).max():
            raise ShallowsError(f"The kernel function {kernel.name!r} is not symmetric: k(x, z) must equal k(z, x).")
        values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        if values[0] < -rounding * values[-1]:
            raise ShallowsError(
                f"The kernel function {kernel.name!r} is not positive semi-definite: its matrix on {len(matrix)} "
                f"training points has the eigenvalue {values[0]:.3g}."
            )


def _seed(random_state: Any) -> int:
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
