"""Intervals and sets of classes with a stated coverage, from residuals of rows that the function was not fitted to."""

import math
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..arrays.user_arrays import like_input, to_host
from ..errors import ShallowsError
from ..fitting.calibration import LeftOut
from ..fitting.rows import refuse_missing_labels
from ..utils.checks import is_number
from ..utils.plain_numbers import numeric_targets

_Model = TypeVar("_Model", bound=Any)


def conformity_scores(model: Any) -> np.ndarray:
    """Scores of rows that the model was not fitted to, shape (m,), or (m, n_outputs) of a regressor.

    One minus the probability of the true class; of a regressor, the sizes of the residuals.
    """
    left_out = vars(model).get("_left_out")
    if left_out is None or left_out.of_distant_model is not None or model._targets.several:
        raise AttributeError(
            "This fit has no rows that it was not fitted to. Fit with calibration='auto', or call conformalize(X, y) "
            "with rows that are not training rows."
        )
    return model._conformity_scores(left_out)


def conformalize(self: _Model, X: Any, y: Any) -> _Model:
    """Use rows that the fit did not see for `predict_interval` or `predict_set` (split conformal prediction).

    They replace the left-out training rows. The coverage is then exact for every model, however it was chosen.

    Parameters
    ----------
    X : array-like, shape (m, n_features)
    y : array-like, shape (m,) or (m, n_outputs)
        Targets of the kind of the training targets.
    """
    check_is_fitted(self)
    refuse_missing_labels(y)
    outputs, y = self._raw_predict(self._validated(X)), np.asarray(to_host(y))
    check_consistent_length(outputs, y)
    left_out = LeftOut(outputs, y, None, None)
    self._conformity_scores(left_out)  # Refuses targets of another kind.
    self._left_out = left_out
    return self


def largest_score(model: Any, coverage: float) -> np.ndarray:
    """The score, of each output, that a new row exceeds with a probability of at most 1 − ``coverage``.

    A new row is as unusual as one of the m rows, so its score is at most the ⌈(m + 1) coverage⌉-th smallest of theirs
    with a probability of at least ``coverage``.
    """
    check_is_fitted(model)
    if not is_number(coverage) or not 0 < coverage < 1:
        raise ShallowsError(f"coverage must be a number between 0 and 1, such as 0.9, got {coverage!r}.")
    try:
        scores = model.conformity_scores_
    except AttributeError as error:
        raise ShallowsError(str(error)) from error
    m = len(scores)
    k = math.ceil((m + 1) * coverage)
    if k > m:
        raise ShallowsError(
            f"coverage={coverage:g} needs at least {math.ceil(coverage / (1 - coverage))} rows that the fit did not "
            f"see, and there are {m}. Call conformalize(X, y) with more rows, or ask for less coverage."
        )
    return np.partition(scores, k - 1, axis=0)[k - 1]


class IntervalPredictions:
    """Intervals of values. A fit stores its targets in ``_targets``."""

    _targets: Any
    conformalize, conformity_scores_ = conformalize, property(conformity_scores)

    def _conformity_scores(self, left_out: LeftOut) -> np.ndarray:
        """Sizes of the residuals, shape (m, c)."""
        outputs, y = left_out.scores, left_out.y
        aims = self._targets.aims(numeric_targets(y))
        if aims.shape != outputs.shape or not np.isfinite(aims).all():
            raise ShallowsError(
                f"y must have {outputs.shape[1]} finite columns, as in the fit; its shape is {y.shape}."
            )
        return np.abs(aims - outputs)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Intervals that contain the value of a new row with the probability ``coverage``, on average over the rows.

        The bounds are the prediction minus and plus a quantile of the left-out residuals, so all intervals of an output
        have the same width. The rows must come from the same distribution as the training rows, without their weights.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        ndarray, shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper bounds.

        Raises
        ------
        ShallowsError
            If the fit left no rows out (``calibration=None``), or too few for the coverage.

        References
        ----------
        L. Steinberger and H. Leeb (2023), "Conditional predictive inference for stable algorithms", Annals of
        Statistics 51. R. F. Barber and others (2021), "Predictive inference with the jackknife+", Annals of Statistics
        49, for worst cases.
        """
        half = largest_score(self, coverage)
        middle = self._raw_predict(self._validated(X)).astype(np.float64)  # type: ignore[attr-defined]
        return like_input(self._targets.decode(np.stack([middle - half, middle + half], axis=-1)), X)


class SetPredictions:
    """Sets of classes. A fit stores its targets in ``_targets``."""

    classes_: np.ndarray
    _targets: Any
    conformalize, conformity_scores_ = conformalize, property(conformity_scores)

    def _conformity_scores(self, left_out: LeftOut) -> np.ndarray:
        """One minus the probability of the true class, shape (m,)."""
        self._refuse_several()
        outputs, y = left_out.scores, np.ravel(left_out.y)
        own = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if not np.array_equal(self.classes_[own], y):
            unknown = y[self.classes_[own] != y][0]
            raise ShallowsError(f"y has {unknown!r}, which is no class of the model: {self.classes_.tolist()!r:.100}.")
        return 1.0 - self._targets.probabilities(outputs)[np.arange(len(y)), own]

    def _refuse_several(self) -> None:
        if self._targets.several:
            raise ShallowsError("Sets of classes need one class for each row, and this model has several labels.")

    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Sets that contain the class of a new row with the probability ``coverage``, on average over the rows.

        A set has the classes whose probability (`predict_proba`) is above one threshold; these are the smallest sets on
        average. A set may be empty if ``coverage`` is below the accuracy: no class is usual for such a row.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_classes)
            Whether each class of ``classes_`` is in the set.

        Raises
        ------
        ShallowsError
            If the fit left no rows out (``calibration=None``), or too few for the coverage; or for several labels.

        References
        ----------
        M. Sadinle, J. Lei and L. Wasserman (2019), "Least ambiguous set-valued classifiers with bounded error levels",
        Journal of the American Statistical Association 114.
        """
        check_is_fitted(self)
        self._refuse_several()
        most = largest_score(self, coverage)
        outputs = self._raw_predict(self._validated(X))  # type: ignore[attr-defined]
        return like_input(1.0 - self._targets.probabilities(outputs) <= most, X)
