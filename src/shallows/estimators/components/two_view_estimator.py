"""The base of the estimators that relate two views of the same examples."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from ... import arrays, kernels
from ...arrays.user_arrays import read_points
from ...fitting.components import ViewColumns
from ...fitting.stream_training import Batch
from ...models.centering import check_scores
from ...utils.plain_numbers import numeric_targets
from .component_estimator import FLOATS, ComponentEstimator


class TwoViewEstimator(ComponentEstimator):
    """Base of the estimators that relate two views of the same examples."""

    _takes_targets = True
    _named: ClassVar = {**ComponentEstimator._named, "second_kernel": kernels.KERNELS}

    def transform(self, X: Any, y: Any = None) -> Any:
        """Values of the functions of the first view, shape (n_samples, n_components); with ``y``, also of the second.

        `fit_transform` returns the first view's.
        """
        if y is None:
            return super().transform(X)
        X, coding = self._validated(X), self._stream.model.plan.targets
        Y = coding.encode(self._second_view(y, coding))
        if len(Y) != X.shape[0]:
            raise ValueError(f"The two views have {X.shape[0]} and {len(Y)} rows; each row is one example.")
        device = arrays.resolve_device(self._options().device)
        functions = self._model_on(device).functions
        found = functions.transform(X, device), functions.transform_second(Y, device)
        if self._state.is_finite():
            check_scores(found[0], X)
            check_scores(found[1], Y)
        return found

    # ------------------------------------------------------------------------------------ the parts of a fit

    def _view_kernels(self) -> list[kernels.Kernel]:
        second = self.kernel if self.second_kernel is None else self.second_kernel
        return [kernels.make(self.kernel, self.bandwidth), kernels.make(second, self.second_bandwidth)]

    def _learn_coding(self, Y: np.ndarray) -> Any:
        """The coding of a second view, learned from checked training rows; see `shallows.fitting.components`."""
        return ViewColumns("The second view", Y.shape[1])

    def _second_view(self, Y: Any, coding: Any) -> np.ndarray:
        return check_array(numeric_targets(read_points(Y, "y")), dtype=FLOATS, ensure_2d=False, input_name="Y")

    def _check_views(self, X: Any, y: Any, *, first: bool, least: int = 2) -> Batch:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: it is the second view."
            )
        X, Y = validate_data(
            self,
            read_points(X),
            numeric_targets(read_points(y, "y")),
            accept_sparse="csr",
            dtype=FLOATS,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=least if self.center else 1,
            reset=first,
        )
        Y = self._second_view(Y, None)
        return X, Y.reshape(len(Y), -1)

    def _check_batch(self, batch: Batch, coding: Any) -> tuple[Batch, Any]:
        views, _ = super()._check_batch(batch, coding)
        if coding is None:
            return views, self._learn_coding_of_batch(views[1])
        coding.encode(self._second_view(views[1], coding))
        return views, coding

    def _learn_coding_of_batch(self, Y: np.ndarray) -> Any:
        """The coding of the second view after the first batch of a stream."""
        return self._learn_coding(Y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
