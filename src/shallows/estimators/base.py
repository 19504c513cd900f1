"""What all estimators share: checks of the data, sample weights, the seed, the memory budget, the progress bar."""

from __future__ import annotations

import difflib
import functools
import inspect
import numbers
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import arrays, training
from ..errors import ShallowsError
from ..fitting.checks import check_kinds, warn_user
from ..fitting.labels import apply_class_weight, refuse_missing_labels
from ..fitting.machine import Options
from ..fitting.rows import TrainingSet
from ..models import precomputed
from ..training import keeps_model_on_failure as keeps_model_on_failure
from ..utils import progress
from ..utils.plain_numbers import numeric_targets, plain_parameter
from . import column_units
from .array_inputs import canonical_rows, on_host, refuse_text
from .other_parameter_names import refuse_other_names

LEAST_WEIGHT = 1e-300
"""Weights that are smaller, in units of the largest, become zero when they are divided by it."""


def native(X: Any, name: str | None = "X") -> Any:
    """Return points on the host as every check takes them: arrays in their byte order, sparse rows in canonical form.

    scikit-learn turns float32 of the other byte order into float64. ``name`` is what an error about text in a column
    calls the points; with None text passes.
    """
    X = on_host(X)
    if name is not None:
        refuse_text(X, name)
    if scipy.sparse.issparse(X):
        return canonical_rows(X)
    dtype = getattr(X, "dtype", None)
    foreign = isinstance(dtype, np.dtype) and dtype.kind == "f" and not dtype.isnative
    return X.astype(dtype.newbyteorder("=")) if foreign else X


def _check_range(weights: np.ndarray) -> None:
    """Refuse weights that float64 cannot sum up, or whose smallest are nothing compared with the largest."""
    least, largest = float(weights.min()), float(weights.max())
    if not len(weights) * largest < np.finfo(np.float64).max or least / largest < LEAST_WEIGHT:
        raise ShallowsError(
            f"The weights of the rows go from {least:.3g} to {largest:.3g}, which float64 cannot compare or add up. "
            "Set the small ones to 0, which leaves their rows out, and bring the others to a usual scale."
        )


def _is_part_of_another_fit(estimator: Any) -> bool:
    """Whether a method of another estimator of this package has called, to fit a part of its own model."""
    frame = sys._getframe(1)
    while frame is not None:
        other = frame.f_locals.get("self")
        if isinstance(other, Estimator) and other is not estimator:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def reports_progress(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method of an estimator: where ``verbose`` is set, long parts of its work print a line now and then.

    The training itself has a bar of its own, see `shallows.training.Progress`.
    """

    @functools.wraps(method)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.verbose:
            return method(self, *args, **kwargs)
        with progress.listening(progress.Lines(type(self).__name__)):
            return method(self, *args, **kwargs)

    return told


class Estimator(BaseEstimator):
    """Base of all estimators: it checks data and parameters, and leaves the fit to the families."""

    _y_is_numeric = False
    _takes_targets = True
    _least_memory = 2**24

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Else the signature that editors and tools show were that of `__new__`.
        of_constructor = inspect.signature(cls.__init__)
        cls.__signature__ = of_constructor.replace(parameters=list(of_constructor.parameters.values())[1:])

    def __new__(cls, *args: Any, **parameters: Any) -> Any:
        """Reject unknown parameters; suggest our name for one of another library."""
        refuse_other_names(cls, parameters, TypeError)
        known = cls.__signature__.parameters.keys()
        unknown = sorted(parameters.keys() - known)
        if unknown:
            near = difflib.get_close_matches(unknown[0], known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}.{hint}")
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, plain_parameter(self, name, value))

    def set_params(self, **parameters: Any) -> Any:
        """Set parameters of the estimator.

        Parameters
        ----------
        **parameters
            By their names.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the estimator has no such parameter; for another library's name, with ours.
        """
        refuse_other_names(type(self), parameters, ValueError)
        return super().set_params(**parameters)

    # ------------------------------------------------------------------- what a subclass must define

    def _check_parameters(self) -> None:
        """Refuse parameters that are wrong whatever the data; a subclass that checks more calls this first."""
        check_kinds(self)

    def _codes(self, y: np.ndarray) -> np.ndarray:
        """Targets as the numbers that `Snapshot.decision_function` is compared with, shape (m, c)."""
        raise NotImplementedError

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        """Turn raw outputs into labels or values in the user's coding."""
        raise NotImplementedError

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        """Return raw outputs in the units of the targets that the user gave."""
        return scores

    # --------------------------------------------------------------------------- checks of the data

    def _validated(self, X: Any) -> Any:
        """Check new points against a fitted model."""
        check_is_fitted(self)
        return validate_data(self, native(X), accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)

    def _validated_training_set(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool = True, whole: bool = True
    ) -> TrainingSet:
        """Check points, targets and weights, and drop the rows of weight zero.

        ``first`` is False for further data of a model, which must have the features that the model knows. ``whole`` is
        False for a batch of a stream.
        """
        X, y, sample_weight = native(X), on_host(y), on_host(sample_weight)
        if self._takes_targets:
            if self._y_is_numeric:
                y = numeric_targets(y)
            else:
                refuse_missing_labels(y)
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": first}
        if not self._takes_targets:
            X, y = validate_data(self, X, **options), None
        else:
            X, y = validate_data(self, X, y, multi_output=True, y_numeric=self._y_is_numeric, **options)
            # In C order, so that their means do not depend on the layout in memory.
            y = np.ascontiguousarray(y.toarray() if scipy.sparse.issparse(y) else y)
        matrix = None
        if precomputed.is_asked_for(self):
            matrix, X = X, precomputed.numbers_of_rows(X)
        weights, rows = None, np.arange(X.shape[0])
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not weights.any():
                raise ValueError("All sample weights are zero.")
            if not weights.all():
                X, y, weights, rows, _ = TrainingSet(X, y, weights, rows).take(np.flatnonzero(weights))
        if whole:
            self._warn_of_units(X)
        weights = apply_class_weight(getattr(self, "class_weight", None), y, weights)
        if weights is not None:
            _check_range(weights)
        return TrainingSet(X, y, weights, rows, matrix)

    def _has_common_bandwidth(self) -> bool:
        """Whether one bandwidth is for all columns of X."""
        return column_units.has_common_bandwidth(self)

    def _warn_of_units(self, X: Any, name: str = "X") -> None:
        """Warn if a column of checked points has a much larger spread than the others, once in a user's fit."""
        found = column_units.largest_unit(X) if self._has_common_bandwidth() else None
        if found is None or _is_part_of_another_fit(self):
            return
        column, spread, median = found
        names = getattr(self, "feature_names_in_", None) if name == "X" else None
        said = f"Column {column} of {name}" if names is None else f"Column {names[column]!r} of {name}"
        scaler = "StandardScaler(with_mean=False)" if scipy.sparse.issparse(X) else "StandardScaler"
        warn_user(
            f"{said} has a spread (standard deviation) of {spread:.2g}, and the median spread of the columns is "
            f"{median:.2g}. The kernel has one bandwidth for all columns, so the others hardly count. Scale the "
            f"columns first, for example with sklearn.preprocessing.{scaler}.",
            UserWarning,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = precomputed.is_asked_for(self)
        return tags

    # ------------------------------------------------------------------------- seed, memory, progress

    def _seed(self) -> int:
        """The seed of all draws, from ``random_state``; a fit that may go on from the one before takes that one's."""
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        before = self._seed_to_go_on_with()
        return before if before is not None else int(check_random_state(self.random_state).randint(2**31 - 1))

    def _seed_to_go_on_with(self) -> int | None:
        """The seed of the fit before, where this one may go on from it."""
        before = vars(self).get("_ended")
        return before.seed if before is not None and getattr(self, "warm_start", False) else None

    def _warm_start_parameters(self) -> dict[str, Any] | None:
        """The parameters by which a fit knows whether it goes on from the one before; None without ``warm_start``."""
        wanted = getattr(self, "warm_start", False) and not getattr(self, "_starts_warm_itself", False)
        return self.get_params() if wanted else None

    def _remember_end(self, ended: Any) -> None:
        """Keep where a fit ended, for the next one."""
        vars(self).pop("_ended", None)
        if ended is not None:
            self._ended = ended

    def _fit_device(self) -> arrays.Device:
        """The device of a fit; refuses a GPU that cannot be used, and warns of what slows it down."""
        return self._options().fit_device()

    def _options(self) -> Options:
        """What the parameters say about the machine."""
        known = ("device", "memory", "dtype", "max_seconds", "verbose")
        return Options(**{name: getattr(self, name) for name in known if hasattr(self, name)})

    def _working_budget(self, device: arrays.Device) -> int:
        """Bytes that the fit may use."""
        return self._options().budget(device, self._least_memory)

    def _warn_of_too_little_memory(self, device: arrays.Device) -> None:
        """Warn where the user's budget is less than what the process holds already and the least that a fit takes."""
        self._options().warn_of_too_little_memory(device, self._least_memory)

    def _progress_observers(self) -> list[training.Observer]:
        return [training.Progress(type(self).__name__)] if self.verbose else []

    def _set_course(self, run: training.Run) -> None:
        """Set the fitted attributes that describe a training in epochs."""
        if run.validation_errors:
            self.validation_scores_ = [1.0 - error for error in run.validation_errors]
            self.best_validation_score_ = max(self.validation_scores_)
        self.n_epochs_ = self.n_iter_ = max(run.epoch, 1)
        self.losses_, self.n_rollbacks_, self.n_resumes_ = run.losses, run.n_rollbacks, run.n_resumes
