"""What estimators with ``partial_fit`` share: reading batches, the first rows of a stream, and models that continue."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..arrays.user_arrays import LEAST_ROWS, to_host
from ..errors import ShallowsError
from ..fitting import stream_training
from ..fitting.rows import check_classes, refuse_balanced, refuse_missing_labels, single_column
from ..fitting.stream_training import Batch, StreamCall, StreamState, copy_batch, join_batches, n_rows, next_beginning
from ..fitting.targets import Machines
from ..utils.plain_numbers import plain_numbers
from .base import Estimator, keeps_model_on_failure, restore_attributes
from .predictions import LabelPredictions

ENOUGH = 400
"""Rows from which machines that visit rows one by one choose their parameters."""

OTHER_CLASSES = 40
"""Number of these rows that must not be in the most frequent class: one class shows nothing about the others."""

MOST = 10 * ENOUGH
"""Rows after which parameters are chosen even without `OTHER_CLASSES`."""


def is_array(X: Any) -> bool:
    """Whether the rows are an array; otherwise they are an iterable of batches."""
    return hasattr(to_host(X), "shape") or isinstance(X, (list, tuple))


def batches_of(parts: Batch, names: Sequence[str], n_needed: int, size: Callable[[int], int]) -> Iterator[Batch]:
    """Yield batches: slices of the user's arrays, or the items of the user's iterable.

    Each item of an iterable needs the first ``n_needed`` of the named parts. ``size`` returns the rows of a slice for
    the number of rows of an array.
    """
    X = to_host(parts[0])
    if is_array(X):
        found: list[Any] = [None if part is None else _sliceable(to_host(part)) for part in (X, *parts[1:])]
        lengths = {name: part.shape[0] for name, part in zip(names, found, strict=True) if np.ndim(part)}
        for name, length in lengths.items():
            if length != lengths[names[0]]:
                raise ValueError(f"{names[0]} has {lengths[names[0]]} rows and {name} has {length}.")
        if any(part is not None and (part.ndim == 0 or part.shape[0] == 0) for part in found[:n_needed]):
            yield tuple(found)  # The check of the batch reports what is wrong.
            return
        for rows in arrays.blocks(found[0].shape[0], size(found[0].shape[0])):
            yield tuple(None if part is None else part[rows] for part in found)
        return
    item = f"({', '.join(names[:n_needed])}{',' if n_needed == 1 else ''})"
    if not isinstance(X, Iterable):
        raise ShallowsError(f"A stream is an iterable of batches {item}, got {type(X).__name__}.")
    for name, part in zip(names[1:], parts[1:], strict=True):
        if part is not None:
            raise ShallowsError(f"A stream of batches contains {name} in its tuples {item}: leave out {name}.")
    for given in X:
        batch = given if isinstance(given, tuple) else (given,)
        if not n_needed <= len(batch) <= len(names):
            either = "" if n_needed == len(names) else f" or ({', '.join(names)})"
            raise ShallowsError(f"An item of the stream is a tuple {item}{either}, got {len(batch)} parts.")
        yield (*batch, *([None] * (len(names) - len(batch))))


def _sliceable(part: Any) -> Any:
    if scipy.sparse.issparse(part):
        return part.tocsr()
    return part if hasattr(part, "shape") and not hasattr(part, "iloc") else np.asarray(part)


# ------------------------------------------------------------------------- classifiers that visit each row once


def check_rows(
    estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any, *, infers_classes: bool = False
) -> Batch:
    """Check a call of ``partial_fit``; return points, labels, weights, and the numbers of the rows within the call.

    The first call sets ``classes_``. With ``infers_classes`` it may use the labels of its rows instead of ``classes``.
    """
    estimator._check_parameters()
    refuse_balanced(estimator.class_weight)
    first = not estimator.__sklearn_is_fitted__()
    rows = estimator._validated_training_set(X, y, sample_weight, first=first, whole=False)
    y = single_column(rows.y)
    refuse_missing_labels(classes, "classes")
    classes = None if classes is None else np.unique(single_column(np.asarray(classes)))
    if first:
        if classes is None and not infers_classes:
            raise ValueError("The first call of partial_fit needs classes, all the labels that may come.")
        estimator.classes_ = np.unique(y) if classes is None else classes
        if classes is None and len(estimator.classes_) == 1:
            raise ValueError(
                f"The first batch holds one class only ({y[0]}). Name all classes in the first call: "
                "partial_fit(X, y, classes=[...])."
            )
        check_classes(estimator.classes_, estimator.class_weight)
    elif classes is not None and not np.array_equal(classes, estimator.classes_):
        raise ValueError(f"classes are {classes.tolist()}, and the model has {estimator.classes_.tolist()}.")
    unknown = np.setdiff1d(y, estimator.classes_)
    if len(unknown):
        raise ValueError(
            f"y holds the label {unknown.tolist()[0]!r}, which is not one of the classes of the first call. Name all "
            "classes there: partial_fit(X, y, classes=...)."
        )
    return rows.X, y, rows.weights, rows.rows


def rows_to_learn(estimator: Any, batch: Batch) -> tuple[Batch, bool]:
    """The rows that a model learns now, and whether it begins with them instead of continuing.

    The estimator keeps the first rows in ``_first_rows`` until they are `enough` to choose parameters from. Until then
    the model begins again with all of them whenever their number has grown by a quarter, and continues with the
    batches in between.
    ``_n_begun`` is the number of rows that it began with.
    """
    n_begun = getattr(estimator, "_n_begun", 0)
    if n_begun and not hasattr(estimator, "_first_rows"):
        return batch, False
    kept = [*vars(estimator).pop("_first_rows", []), copy_batch(batch)]
    rows, n = join_batches(kept), n_rows(kept)
    others = n - np.unique(rows[1], return_counts=True)[1].max()
    enough = n >= MOST or (n >= ENOUGH and others >= OTHER_CLASSES)
    if not enough:
        estimator._first_rows = kept
        if n < next_beginning(n_begun, MOST):
            return batch, False
    if n_begun < LEAST_ROWS:
        estimator._warn_of_units(rows[0])
    estimator._n_begun = n
    return rows, True


def end_beginning(estimator: Any, n: int) -> None:
    """Let a stream continue from a fit to n rows."""
    vars(estimator).pop("_first_rows", None)
    estimator._n_begun = n


class OnlineClassifier(LabelPredictions, Estimator):
    """Base of linear and budgeted machines that visit rows one by one."""

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
        self._learn(rows, Machines(self.classes_, "one_vs_rest"), begins)
        return self

    def _learn(self, rows: Batch, targets: Machines, begins: bool) -> None:
        raise NotImplementedError


# --------------------------------------------------------------------- models of random features that may grow


class GrowingModel(Estimator):
    """Base of the estimators that keep their model and the waiting rows of a stream in ``_stream``."""

    def _continue(
        self,
        source: Iterator[Batch],
        is_whole: bool,
        check: stream_training.Check,
        begin: Callable[..., Any],
        call: StreamCall,
    ) -> Self:
        """Learn the batches of a call of ``partial_fit``.

        If a batch fails, the batches before it are kept, unless ``is_whole``: then the call changes nothing.
        """
        attributes, limits = dict(vars(self)), (plain_numbers(call.n_iter), plain_numbers(call.max_seconds))
        progress = [training.Progress(type(self).__name__)] if self._options().verbose else []
        call = StreamCall(*limits, [*progress, *call.observers], call.checkpoint)
        try:
            continued = stream_training.continue_stream(
                vars(self).get("_stream"),
                source,
                is_whole=is_whole,
                check=check,
                begin=partial(begin, max_seconds=call.max_seconds),
                call=call,
                options=self._options(),
                may_shrink=self._chooses_step(),
                first_rows=self._first_rows(),
            )
            stream = continued.stream
            self._store(stream, continued.run, {"preparation": continued.preparation})
            if stream.model is not None:
                counts = {"n_rows_begun_with": stream.n_begun, "n_rows_waiting": stream.n_waiting}
                self.report_ = self.report_ | counts
        except BaseException:
            restore_attributes(self, attributes)
            raise
        if continued.failure is not None:
            raise continued.failure
        return self

    def _first_rows(self) -> int:
        """Rows of a stream up to which the model is fitted again."""
        return stream_training.FIRST_ROWS

    def _chooses_step(self) -> bool:
        """Whether the step size is chosen, so that it may be halved if the training diverges."""
        return self.step_size is None

    def _seed_of_beginning(self, rows: Batch, n_before: int) -> int:
        """Warn about the units of the first rows, and return the seed. A model that begins again keeps its seed."""
        if n_before < LEAST_ROWS:
            self._warn_of_units(rows[0])
        return self._stream.model.plan.seed if self.__sklearn_is_fitted__() else self._seed()

    def _store(self, stream: StreamState, run: training.Run | None, seconds: dict[str, float]) -> None:
        """Set the fitted attributes. A call on a stream may have had no training."""
        self._stream = stream
        if run is None:
            return
        self.batch_size_, self.n_iter_, self.n_epochs_ = stream.model.plan.batch_size, run.state.n_steps, run.epoch
        self.losses_, self.n_rollbacks_, self.n_resumes_ = run.losses, run.n_rollbacks, run.n_resumes
        self.report_ = stream.model.report(run)
        self.report_["timings"] = {**seconds, "training": run.seconds, "evaluation": seconds.get("evaluation", 0.0)}

    @property
    def _state(self) -> Any:
        """The coefficients, for the check of models that are saved."""
        return self._stream.model.state

    def _model_on(self, device: arrays.Device) -> Any:
        """The model, which stays on this device."""
        if self._state.device != device:
            self._stream = self._stream.on(device)
        return self._stream.model

    def __sklearn_is_fitted__(self) -> bool:
        return "_stream" in vars(self) and self._stream.model is not None

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if self.__sklearn_is_fitted__():
            # On the host, so that a model from a GPU can be unpickled without one.
            state["_stream"] = state["_stream"].on_host()
        return state
