"""The base of the estimators of components, with one view or two, fitted to a data set or a stream."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ... import arrays, kernels, training
from ...arrays.user_arrays import follows_input, read_points
from ...errors import TooFewDirectionsError
from ...fitting.components import NotCoded
from ...fitting.fit_call import FitCall
from ...fitting.kernel_components import fit_kernel_components
from ...fitting.machine import Options
from ...fitting.stream_training import Batch, StreamState
from ...models.centering import check_scores
from ...utils.checks import check_positive, check_whole
from ..base import keeps_model_on_failure
from ..constructors import stores_parameters
from ..streaming import GrowingModel, StreamCall, batches_of, is_array

FLOATS = [np.float64, np.float32]

SLICE = 2048
"""Rows of the first slices that ``partial_fit`` cuts an array into, without a ``batch_size``."""


class ComponentEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GrowingModel):
    """Base of the estimators of components."""

    _takes_targets = False
    ridge: ClassVar[float | None] = None
    _strengths: ClassVar[str]
    """The attribute with the variances, covariances or correlations of the components."""

    @stores_parameters
    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "gaussian",
        bandwidth: float | str = "median",
        solver: Any = "auto",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Store the parameters.

        Parameters
        ----------
        n_components : int, default=2
            k.
        kernel : str or Kernel, default="gaussian"
            A shift-invariant kernel of `shallows.kernels`, such as "gaussian", "laplace" or ``Matern(nu=2.5)``.
        bandwidth : float or "median", default="median"
            σ, in the units of X. "median": the median distance of a subsample; a stream uses its first rows.
        solver : str or Settings, default="auto"
            A name or an object of `shallows.solvers`, which has the parameters of steps, random features and stopping.
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Device, memory, precision ("auto": float32), time limit and progress bar.
        """

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
        """Learn the functions from all rows.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_second_features)
            Second view of the same examples, or targets of `KernelSlicedInverseRegression`. Kernel PCA ignores it.
        observers : sequence of shallows.training.Observer
            Called after every batch and epoch, such as `Progress` or `Curve`.
        checkpoint : shallows.training.Checkpoint, optional
            Continue from this file if it exists, and keep it up to date.

        Raises
        ------
        ValueError, ShallowsError
            NaN or infinity, views of unequal length, a wrong parameter, or more components than the data have.
        DivergenceError
            A given ``step_size`` of the solver is too large.
        """
        self._check_parameters()
        views = self._check_views(X, y, first=True)
        self._warn_of_units(views[0])
        if hasattr(self, "second_bandwidth"):
            self._warn_of_units(views[1], "y")
        model, run, seconds = self._train(views, self._call(observers, checkpoint))
        self._store(StreamState(model, (), views[0].shape[0], 0, begins=False), run, seconds)
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
        """Continue with more rows, each used once. See "Streams" in the method guide.

        Parameters
        ----------
        X : array-like, memory map, or iterable of batches
            An array is read in slices, one step each. An iterable gives arrays, or ``(X, y)`` for two views.
        y : array-like, optional
            Second view or targets, if X is an array. Kernel PCA ignores it.
        n_iter : int, optional
            Most batches.
        max_seconds : float, optional
            Time limit of the training.
        observers : sequence of shallows.training.Observer
        checkpoint : shallows.training.Checkpoint, optional

        Raises
        ------
        ValueError, ShallowsError, DivergenceError
            Wrong values in a batch, whose number the message gives, no batch, or functions that explode.
        """
        self._check_parameters()
        fitted = self.__sklearn_is_fitted__()
        size = self._stream.model.plan.batch_size if fitted else self._settings().batch_size or SLICE
        parts = (X, y) if self._takes_targets else (X,)
        source = batches_of(parts, ("X", "y")[: len(parts)], len(parts), lambda _: size)
        batches, call = ((*batch, None)[:2] for batch in source), StreamCall(n_iter, max_seconds, observers, checkpoint)
        return self._continue(batches, is_array(X), self._check_batch, self._begin, call)

    @follows_input
    def transform(self, X: Any) -> np.ndarray:
        """Values of the functions at the rows of X, shape (n_samples, n_components)."""
        X, device = self._validated(X), arrays.resolve_device(self._options().device)
        values = self._model_on(device).functions.transform(X, device)
        if self._state.is_finite():
            check_scores(values, X)
        return values

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features of the first view, shape (n_blocks, width, n_components)."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("dual_coef_ is available after fit.")
        return self._stream.model.functions.coefficients

    # ------------------------------------------------------------------------------------- the fit

    def _view_kernels(self) -> list[kernels.Kernel]:
        """The kernel of each view; the median rule chooses the bandwidth of open ones."""
        return [kernels.make(self.kernel, self.bandwidth)]

    def _chooses_step(self) -> bool:
        return getattr(self._settings(), "step_size", None) is None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._view_kernels()
        check_whole(self, "n_components")
        check_positive(self, "ridge", or_zero=True)
        self._settings()

    def _check_views(self, X: Any, y: Any, *, first: bool, least: int = 2) -> Batch:
        """Check both views; one view has None as its second. ``first`` is False for further data of a model."""
        least = least if self.center else 1  # Deviations from a mean need two rows.
        options = {"accept_sparse": "csr", "dtype": FLOATS, "ensure_min_samples": least}
        return validate_data(self, read_points(X), reset=first, **options), None

    def _check_batch(self, batch: Batch, coding: Any) -> tuple[Batch, Any]:
        first = coding is None and "_stream" not in vars(self)
        return self._check_views(*batch, first=first, least=1), NotCoded()

    def _learn_coding(self, Y: Any) -> Any:
        """The coding of the second view, learned from checked training rows; see `shallows.fitting.components`."""
        return NotCoded()

    def _train(self, views: Batch, call: FitCall) -> tuple[Any, training.Run, dict[str, float]]:
        """Fit components to checked views. Returns them, their training and the seconds of each phase."""
        return fit_kernel_components(
            views,
            coding=self._learn_coding(views[1]),
            kernels=self._view_kernels(),
            n_components=self.n_components,
            centered=bool(self.center),
            ridge=self.ridge,
            solver=self._settings(),
            call=call,
        )

    def _begin(self, rows: Batch, n_before: int, max_seconds: float | None) -> tuple[Any, training.Run | None]:
        """Fit a model to the first rows of a stream. If they are too few and more may come, keep the old model."""
        call = FitCall(self._seed_of_beginning(rows, n_before), self._options(), max_seconds=max_seconds)
        try:
            return self._train(rows, call)[:2]
        except TooFewDirectionsError:
            if rows[0].shape[0] >= self._first_rows():
                raise
            return self._stream.model if self.__sklearn_is_fitted__() else None, None

    # -------------------------------------------------------------------------------------- the model

    def _store(self, stream: StreamState, run: training.Run | None, seconds: dict[str, float]) -> None:
        super()._store(stream, run, seconds)
        if run is not None:
            self._describe(stream.model, run.state)

    def _describe(self, model: Any, state: Any) -> None:
        features = model.plan.views[0].features
        self.block_size_, self.bandwidth_ = features.block_size, features.kernel.bandwidth
        self.n_blocks_, self.n_random_features_ = state.n_blocks, state.n_blocks * features.block_size
        self.step_size_, self.n_revisits_ = state.step_size, state.n_revisits
        setattr(self, self._strengths, model.strengths)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Values have the precision of the computation, ``dtype``, not the precision of X.
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self._stream.model.plan.problem.n_components
