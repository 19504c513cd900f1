"""The fit of component analysis, on a data set or on a stream, whatever the number of views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ... import arrays, kernels, training
from ...errors import TooFewDirectionsError
from ...fitting import stream_training
from ...fitting.checks import check_median_bandwidth, check_positive, check_whole, width
from ...fitting.components import NotCoded
from ...fitting.stream_training import Batch, Stream
from ...models.centring import check_scores
from ...training.failed_fits import keeps_model_on_failure
from ...utils.plain_numbers import plain_numbers
from ..base import Estimator
from ..constructors import stores_parameters
from ..input_checks import LEAST_ROWS, follows_input
from ..streaming import batches_of, is_array

SLICE = 2048
"""Rows of the slices that the arrays of a stream are first cut into."""


class ComponentEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
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

    def _train(
        self,
        rows: Batch,
        seed: int,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
        max_seconds: float | None = None,
    ) -> tuple[Any, training.Run, dict[str, float]]:
        """Fit components to checked rows; returns them, their training and the seconds of each phase."""
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
        self._check_parameters()
        views = self._validated_views(*self._views_of(X, y), first=True)
        self._warn_of_units(views[0])
        if hasattr(self, "second_bandwidth"):
            self._warn_of_units(views[1], "y")
        model, run, seconds = self._train(
            views,
            self._seed(),
            observers=[*self._progress_observers(), *observers],
            checkpoint=checkpoint,
        )
        self._store(Stream(model, (), views[0].shape[0], 0, begins=False), run, seconds)
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
        attributes = dict(vars(self))
        try:
            continued = self._continued(self._views_of(X, y), n_iter, max_seconds, observers, checkpoint)
        except BaseException:
            training.restore_attributes(self, attributes)
            raise
        if continued.failure is not None:
            raise continued.failure
        return self

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
        values = self._functions_on(device).transform(X, device)
        if self._state.is_finite():
            check_scores(values, X)
        return values

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features of the first view, shape (n_blocks, width, n_components)."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("dual_coef_ is there after fit.")
        return self._stream.model.functions.coefficients

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
        check_positive(self, "decrease", "ridge", or_zero=True)

    def _step_parameters(self) -> dict[str, Any]:
        """What settings of solvers are told of the steps."""
        names = ("step_size", "decrease", "batch_size", "n_iter", "max_epochs")
        return {name: getattr(self, name) for name in names}

    # ---------------------------------------------------------------------------------------- streams

    def _continued(
        self,
        views: Batch,
        n_iter: int | None,
        max_seconds: float | None,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
    ) -> stream_training.Continued:
        """Go on with a stream, and store what that has made, also where it fails."""
        self._check_parameters()
        before, limit = vars(self).get("_stream"), plain_numbers(max_seconds)
        model = None if before is None else before.model
        size = self.batch_size or SLICE if model is None else model.plan.batch_size
        source = batches_of(views, ("X", "y")[: len(views)], len(views), lambda _: size)
        continued = stream_training.continue_stream(
            before,
            ((*batch, None)[:2] for batch in source),
            is_whole=is_array(views[0]),
            check=self._checked_batch,
            begin=lambda rows, n_before: self._begin(rows, n_before, limit),
            n_iter=plain_numbers(n_iter),
            max_seconds=limit,
            options=self._options(),
            may_shrink=self.step_size is None,
            observers=[*self._progress_observers(), *observers],
            checkpoint=checkpoint,
        )
        self._store(continued.stream, continued.run, {"preparation": continued.preparation})
        if continued.stream.model is not None:
            self.effective_params_ = self.effective_params_ | {
                "n_rows_begun_with": continued.stream.n_begun,
                "n_rows_waiting": continued.stream.n_waiting,
            }
        return continued

    def _checked_batch(self, batch: Batch, coding: Any) -> tuple[Batch, Any]:
        """A batch that is checked, and how the second view is coded, as far as that is known."""
        first = coding is None and "_stream" not in vars(self)
        views = self._validated_views(*batch[: len(self._view_kernels())], first=first, least=1)
        return (*views, None)[:2], NotCoded() if coding is None else coding

    def _begin(self, rows: Batch, n_before: int, max_seconds: float | None) -> tuple[Any, training.Run | None]:
        """Fit a model to the first rows of a stream; where they are too few and more may come, keep the one before."""
        if n_before < LEAST_ROWS:
            self._warn_of_units(rows[0])
        before = vars(self).get("_stream")
        model = None if before is None else before.model
        try:
            return self._train(rows, self._seed() if model is None else model.plan.seed, max_seconds=max_seconds)[:2]
        except TooFewDirectionsError:
            if rows[0].shape[0] >= stream_training.FIRST_ROWS:
                raise
            return model, None

    # -------------------------------------------------------------------------------------- the model

    def _store(self, stream: Stream, run: training.Run | None, seconds: dict[str, float]) -> None:
        """Set the fitted attributes; a call on a stream may have had no training."""
        self._stream = stream
        if run is None:
            return
        plan, state = stream.model.plan, run.state
        self.batch_size_, self.n_iter_, self.n_epochs_ = plan.batch_size, state.n_steps, run.epoch
        self.losses_, self.n_rollbacks_, self.n_resumes_ = run.losses, run.n_rollbacks, run.n_resumes
        self.effective_params_ = stream.model.report(run)
        self.timings_ = {**seconds, "training": run.seconds, "evaluation": seconds.get("evaluation", 0.0)}
        self._describe(stream.model, state)

    def _describe(self, model: Any, state: Any) -> None:
        """Set the fitted attributes that only this kind of components has."""
        features = model.plan.views[0].features
        self.block_size_, self.bandwidth_ = features.block_size, features.kernel.bandwidth
        self.n_blocks_, self.n_random_features_ = state.n_blocks, state.n_blocks * features.block_size
        self.step_size_, self.n_revisits_ = state.step_size, state.n_revisits

    @property
    def _state(self) -> Any:
        """The coefficients, for the check of models that are saved."""
        return self._stream.model.state

    def _functions_on(self, device: arrays.Device) -> Any:
        """The functions of the model, which is on a device from now on."""
        if self._state.device != device:
            self._stream = self._stream.on(device)
        return self._stream.model.functions

    def __sklearn_is_fitted__(self) -> bool:
        return "_stream" in vars(self) and self._stream.model is not None

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(super().__getstate__())
        if "_stream" in kept and kept["_stream"].model is not None:
            # So a model that was trained on a GPU can be unpickled where there is none.
            kept["_stream"] = kept["_stream"].kept()
        return kept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Values have the precision of the computation, ``dtype``, whatever that of the points.
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self._stream.model.plan.problem.n_components
