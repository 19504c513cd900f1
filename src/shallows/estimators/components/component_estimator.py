"""The fit of component analysis, on a data set or on a stream, whatever the number of views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ... import arrays, kernels, training
from ...fitting.component_plan import FittedComponents
from ...fitting.parameter_checks import check_median_bandwidth, check_not_negative, check_positive, check_whole, width
from ...models.kernel_checks import check_scores
from ...solvers.examples import Examples
from ...training.failed_fits import keeps_model_on_failure
from ..array_inputs import follows_input
from ..constructors import stores_parameters
from ..streaming.last_good_state import LastGoodState, steps_back_on_failure
from ..streaming.stream_batches import Batch, batches_of, is_array
from ..streaming.streamed_fit import StreamedFit

SLICE = 2048
"""Rows of the slices that the arrays of a stream are first cut into."""


class ComponentEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StreamedFit):
    """Base of the estimators of components: their common parameters and the work."""

    _takes_targets = False

    @stores_parameters
    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "gaussian",
        bandwidth: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        step_size: float | None = None,
        block_size: int | None = None,
        max_features: int | None = None,
        batch_size: int | None = None,
        orthogonal: bool | None = None,
        n_iter: int | None = None,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    # ------------------------------------------------------------------- what a subclass must define

    def _validated_views(self, *views: Any, first: bool, least: int = 2) -> Batch:
        """Check the arrays of the views; ``first`` is False for further data of a model, ``least`` are its rows."""
        raise NotImplementedError

    def _learn(
        self,
        views: Batch,
        seed: int,
        max_seconds: float | None,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> training.Run:
        """Fit the model to checked views."""
        raise NotImplementedError

    def _model_at(self, state: Any) -> Any:
        """The functions at a state of the solver, see `shallows.models.component_functions`."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------- what users call

    @keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Learn the functions of all of X, or of X and y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples, n_second_features)
            The second view of the same examples; of `KernelSlicedInverseRegression` values or labels, which may be a
            vector. `DoublyStochasticKernelPCA` does not use it.
        observers : sequence of shallows.training.Observer
            `Progress`, `Curve` and others, called after every batch and epoch.
        checkpoint : shallows.training.Checkpoint, optional
            Go on from it if it exists, and keep it up to date.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, views of unequal length.
        ShallowsError
            A parameter out of its range, or more components than the data have, or than the views share.
        DivergenceError
            With a ``step_size`` of the user's that is too large.
        """
        vars(self).pop("_state", None)
        self._check_parameters()
        views = self._validated_views(*self._views_of(X, y), first=True)
        self._warn_of_units(views[0])
        if hasattr(self, "second_bandwidth"):
            self._warn_of_units(views[1], "y")
        self._learn(views, self._seed(), None, observers, checkpoint)
        self._end_beginning(views[0].shape[0])
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        n_iter: int | None = None,
        max_seconds: float | None = None,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Go on with data that stream past.

        Parameters
        ----------
        X : array-like, memory map, or iterable of batches
            Arrays are read in slices of ``batch_size`` rows, one step each, and are never copied whole. An iterable,
            such as a generator, gives arrays, or tuples ``(X, y)`` where there is a second view, one step each; it need
            not end if ``n_iter`` or ``max_seconds`` is given.
        y : array-like, optional
            The second view, or values or labels, where X is an array. `DoublyStochasticKernelPCA` does not use it.
        n_iter : int, optional
            Batches at most.
        max_seconds : float, optional
            Of training, at most.
        observers : sequence of shallows.training.Observer
        checkpoint : shallows.training.Checkpoint, optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity in a batch, which the message numbers, or views of unequal length.
        ShallowsError
            A stream that ends before its first batch.
        DivergenceError
            If the functions leave the numbers or explode.

        Notes
        -----
        The first 2,560 rows decide bandwidths and start; until then the model is begun anew with all rows
        so far.

        An error or Ctrl-C in a call with an array leaves the model as it was before the call. In a call with an
        iterable, the model is then that of the batches before.
        """
        return self._partial_fit(self._views_of(X, y), n_iter, max_seconds, observers, checkpoint)

    @follows_input
    def transform(self, X: Any) -> np.ndarray:
        """Values of the functions.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_components)
        """
        X, device = self._validated(X), arrays.resolve_device(self.device)
        state = self._state_on(device)
        values = self._model_at(state).transform(X, device)
        if state.is_finite():
            check_scores(values, X)
        return values

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features of the first view, shape (n_blocks, width, n_components)."""
        if not hasattr(self, "_state"):
            raise AttributeError("dual_coef_ is there after fit.")
        return self._model_at(self._state).coefficients

    # ------------------------------------------------------------------------------------- the fit

    def _views_of(self, X: Any, y: Any) -> Batch:
        return (X, y) if self._takes_targets else (X,)

    def _view_kernels(self) -> list[tuple[Any, float | None, dict[str, Any] | None]]:
        """Kernel, bandwidth and further parameters of each view."""
        return [(self.kernel, width(self.bandwidth), self.kernel_params)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_median_bandwidth(self, "bandwidth", "second_bandwidth")
        check_positive(self, "step_size", "max_seconds")
        for kernel, bandwidth, parameters in self._view_kernels():
            kernels.check_own_parameters(kernel, bandwidth, parameters)
        check_whole(self, "n_components")
        check_whole(self, "block_size", "batch_size", "max_features", "n_iter", "max_epochs", optional=True)
        check_not_negative(self, "decrease", "ridge")

    def _step_parameters(self) -> dict[str, Any]:
        """What settings of solvers are told of the steps."""
        names = ("step_size", "decrease", "batch_size", "n_iter", "max_epochs")
        return {name: getattr(self, name) for name in names}

    def _store(self, found: FittedComponents, seed: int, chosen: dict[str, Any]) -> None:
        """Set the fitted attributes."""
        features = found.views[0].features
        self._views, self._dtype, self._seed_ = found.views, np.dtype(found.report["precision"]), seed
        self._solver, self._problem, self._state = found.stepper, found.problem, found.state
        self.batch_size_, self.block_size_ = found.batch_size, features.block_size
        self.bandwidth_, self.effective_params_ = features.kernel.bandwidth, chosen | found.report
        self._set_fitted_attributes(found.run, found.seconds, found.run.seconds + found.seconds["evaluation"])

    # ---------------------------------------------------------------------------------------- streams

    @steps_back_on_failure
    def _partial_fit(
        self,
        views: Batch,
        n_iter: int | None,
        max_seconds: float | None,
        observers: Sequence,
        checkpoint: Any,
        last_good: LastGoodState,
    ) -> Self:
        last_good.is_whole = is_array(views[0])
        self._check_parameters()
        size = getattr(self, "batch_size_", None) or self.batch_size or SLICE
        source = batches_of(views, ("X", "y")[: len(views)], len(views), lambda _: size)
        return self._learn_stream(source, n_iter, max_seconds, observers, checkpoint, last_good)

    def _checked_batch(self, batch: Batch, *, first: bool) -> Batch:
        return self._validated_views(*batch, first=first, least=1)

    def _fit_rows(self, rows: Batch, seed: int, max_seconds: float | None) -> training.Run:
        return self._learn(rows, seed, max_seconds)

    def _examples(self, rows: Batch, device: arrays.Device) -> Examples:
        numbers = np.arange(rows[0].shape[0])
        points = [view.points(X, numbers, device, self._dtype) for view, X in zip(self._views, rows, strict=True)]
        return Examples(points[0], second_view=points[1] if len(points) > 1 else None)

    def _rows_of_step(self) -> int:
        return self.batch_size_

    def _set_fitted_attributes(self, run: training.Run, timings: dict[str, float], spent: float) -> None:
        super()._set_fitted_attributes(run, timings, spent)
        self.n_revisits_ = run.state.n_revisits

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Values have the precision of the computation, ``dtype``, whatever that of the points.
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self._problem.n_components
