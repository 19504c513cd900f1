"""The fit of component analysis, on a data set or on a stream, whatever the number of views."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ... import arrays, kernels, training
from ...fitting import component_plan
from ...fitting.component_plan import View
from ...fitting.parameter_checks import check_median_bandwidth, check_not_negative, check_positive, check_whole, width
from ...fitting.rows import TrainingSet
from ...models.component_functions import signs_of_columns
from ...models.kernel_checks import check_precision, check_scores
from ...solvers.examples import Examples
from ...training.failed_fits import keeps_model_on_failure
from ..array_inputs import follows_input
from ..constructors import stores_parameters
from ..snapshot import ComponentSnapshot
from ..streaming.last_good_state import LastGoodState, steps_back_on_failure
from ..streaming.stream_batches import Batch, batches_of, is_array
from ..streaming.streamed_fit import StreamableFit, StreamedFit

SLICE = 2048
"""Rows of the slices that the arrays of a stream are first cut into."""


@dataclasses.dataclass
class ComponentFit(StreamableFit):
    """The fit of components; ``data`` has the points of the first of the ``views``."""

    views: Batch = ()


class ComponentEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StreamedFit):
    """Base of the estimators of components: their common parameters and the work."""

    _takes_targets = False
    _least_memory = 2**26
    _views: tuple[View, ...]

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

    def _coded_views(self, *views: Any, first: bool) -> Batch:
        """Checked views as numbers; ``first`` where the coding follows from them."""
        return views

    def _plan(self, n: int, seed: int, budget: int, device: arrays.Device) -> tuple[Any, Any]:
        """Choose solver and problem from `_views`, and set ``batch_size_`` and ``effective_params_``."""
        raise NotImplementedError

    def _on_points(self, problem: Any, points: list[Any]) -> Any:
        """The problem on a set of points, one array a view."""
        return dataclasses.replace(problem, points=points[0])

    def _functions(self, state: Any) -> list[tuple[Any, np.ndarray, np.ndarray]]:
        """Expansion, means and the matrix (k, k) that turns it into the functions asked for, of each view."""
        raise NotImplementedError

    def _set_model_attributes(self, state: Any) -> None:
        """Set what the estimator shows of a state."""

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
        return self._project_new(X)[0]

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features of the first view, shape (n_blocks, width, n_components)."""
        if not hasattr(self, "_state"):
            raise AttributeError("dual_coef_ is there after fit.")
        expansion, _, turn = self._oriented_functions(self._state)[0]
        return arrays.to_numpy(expansion.coefficients) @ turn.astype(self._dtype)

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

    def _initialise(self, fit: ComponentFit) -> None:
        """Choose centring, kernels, features and solver from the training data."""
        views, n, seed, budget, device = fit.views, fit.n, fit.seed, fit.budget, fit.device
        self._dtype = fit.dtype
        held = n * sum(X.shape[1] for X in views) * self._dtype.itemsize
        room = max(2**24, (budget - held) // 2)
        self._views = tuple(
            component_plan.view_of(
                X,
                *choice,
                block_size=self.block_size or self._default_block_size(views),
                max_features=self.max_features,
                n=n,
                orthogonal=self.orthogonal,
                # Views have streams of their own, since they need not share dimension or kernel.
                seed=seed + place,
                cache_bytes=room // (2 * len(views)),
            )
            for place, (X, choice) in enumerate(zip(views, self._view_kernels(), strict=True))
        )
        for view in self._views:
            check_precision(view.sample, self._dtype)
            width, n_rows = view.features.width, len(view.sample)
            arrays.check_room(
                f"A block of {view.features.block_size:,} frequencies takes",
                # The start is computed from features of the sample, with two views in their covariances too.
                8 * width * (n_rows + view.sample.shape[1] + (6 * width if len(views) > 1 else 0)),
                budget,
                "Take a smaller block_size, or give more memory.",
            )
        at_once = min(room // 4, 2**28 if device.kind == "cpu" else 2**32)
        features = self._views[0].features
        self.block_size_ = features.block_size
        self.bandwidth_, self._seed_ = features.kernel.bandwidth, seed
        self._solver, self._problem = self._plan(n, seed, at_once, device)
        self.effective_params_ |= {
            "kernel": features.kernel.name,
            "bandwidth": self.bandwidth_,
            "block_size": self.block_size_,
            "batch_size": self.batch_size_,
            "orthogonal": features.orthogonal,
            "step_size": self._solver.step_size,
            "decrease": self._solver.decrease,
            "max_blocks": self._solver.max_blocks,
            **fit.report(),
        }

    def _forget_start(self) -> None:
        """Drop what a training begins with, and the points that it was computed from."""
        names = {one.name for one in dataclasses.fields(self._problem)} & {"start", "start_moment", "second_start"}
        self._problem = dataclasses.replace(self._problem, **dict.fromkeys(names))
        self._views = tuple(dataclasses.replace(view, sample=None) for view in self._views)

    def _default_block_size(self, views: tuple[Any, ...]) -> int | None:
        """The frequencies of a block where the user sets none; None is the plan's."""
        return None

    def _batch_size(self, n: int, default: int) -> int:
        """The rows of a step on n rows."""
        return component_plan.even_batch_size(n, self.batch_size, default)

    def _max_blocks(self, n: int) -> int:
        """The budget of blocks."""
        return max(1, (self.max_features or component_plan.default_max_features(n)) // self.block_size_)

    def _learn(
        self,
        views: Batch,
        seed: int,
        max_seconds: float | None,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> training.Run:
        """Fit the model to checked views."""
        fit = self._fit_of(views, seed, max_seconds=max_seconds, observers=observers, checkpoint=checkpoint)
        return self._run(fit)  # type: ignore[return-value]

    def _fit_of(self, views: Batch, seed: int, **options: Any) -> ComponentFit:
        data = TrainingSet(views[0], None, None, np.arange(views[0].shape[0]))
        return ComponentFit(data, seed, self._fit_device(), views=views, **options)

    def _targets_of(self, fit: ComponentFit) -> None:
        return None

    def _precision(self, fit: ComponentFit) -> str:
        return "float32"

    def _prepare(self, fit: ComponentFit) -> None:
        fit.views = self._coded_views(*fit.views, first=True)
        self._initialise(fit)
        fit.order = self._order_of(fit)
        points = [
            view.points(X, fit.order, fit.device, fit.dtype) for view, X in zip(self._views, fit.views, strict=True)
        ]
        fit.points, fit.problem, fit.solver = points[0], self._on_points(self._problem, points), self._solver

    def _build(self, fit: ComponentFit) -> None:
        fit.end_phase("preparation")

    def _default_steps(self, n: int, n_batches: int) -> int:
        return max(200, 3 * n_batches)

    def _keep_model(self, fit: ComponentFit, run: training.Run) -> None:
        super()._keep_model(fit, run)
        self._forget_start()

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
        batch = self._validated_views(*batch, first=first, least=1)
        if hasattr(self, "_state"):
            self._coded_views(*batch, first=False)
        return batch

    def _fit_rows(self, rows: Batch, seed: int, max_seconds: float | None) -> training.Run:
        return self._learn(rows, seed, max_seconds)

    def _examples(self, rows: Batch, device: arrays.Device) -> Examples:
        numbers = np.arange(rows[0].shape[0])
        points = [
            view.points(X, numbers, device, self._dtype)
            for view, X in zip(self._views, self._coded_views(*rows, first=False), strict=True)
        ]
        return Examples(points[0], second_view=points[1] if len(points) > 1 else None)

    def _rows_of_step(self) -> int:
        return self.batch_size_

    def _set_fitted_attributes(self, run: training.Run, timings: dict[str, float], spent: float) -> None:
        super()._set_fitted_attributes(run, timings, spent)
        self.n_revisits_ = run.state.n_revisits
        self._set_model_attributes(run.state)

    # ---------------------------------------------------------------------------------- the functions

    def _values(self, X: Any, place: int, expansion: Any, device: arrays.Device) -> np.ndarray:
        """Values of an expansion on checked points of a view, shape (m, k)."""
        view = self._views[place]
        out = np.empty((X.shape[0], expansion.buffer.shape[2]), dtype=self._dtype)
        with device.active():
            for rows, x, _ in view.centring.new_points(X, device, self._dtype):
                out[rows] = arrays.to_numpy(expansion.evaluate(view.features, x, self._problem.budget))
        return out

    def _oriented_functions(self, state: Any) -> list[tuple[Any, np.ndarray, np.ndarray]]:
        """`_functions`, with the signs by which the largest coefficient of the first view's functions is positive.

        The signs of eigenvectors are arbitrary, and differ between data types and between versions of LAPACK.
        """
        functions = self._functions(state)
        expansion, _, turn = functions[0]
        with expansion.device.active():
            coefficients = expansion.coefficients
            signs = signs_of_columns(coefficients @ arrays.like(turn, coefficients, coefficients.dtype))
        return [(expansion, mean, turn * signs) for expansion, mean, turn in functions]

    def _project(self, views: Sequence[Any], state: Any, device: arrays.Device) -> list[np.ndarray]:
        """Values of the functions of the first view, or of each, at checked points."""
        found = []
        for place, (X, (expansion, mean, turn)) in enumerate(zip(views, self._oriented_functions(state), strict=False)):
            values = self._values(X, place, expansion, device)
            if self._problem.centred:
                values = values - mean.astype(self._dtype)
            found.append(values @ turn.astype(self._dtype))
        return found

    def _project_new(self, X: Any, Y: Any = None) -> list[np.ndarray]:
        """Values of the functions of the first view, or of both, for new points."""
        views = [self._validated(X)]
        if Y is not None:
            views.append(self._second_view(Y))
            if len(views[1]) != views[0].shape[0]:
                raise ValueError(
                    f"The two views have {views[0].shape[0]} and {len(views[1])} rows; each row is one example."
                )
        device = arrays.resolve_device(self.device)
        state = self._state_on(device)
        found = self._project(views, state, device)
        if state.is_finite():
            for values, view in zip(found, views, strict=True):
                check_scores(values, view)
        return found

    def _make_snapshot(self, state: Any, epoch: int) -> ExpansionSnapshot:
        return ExpansionSnapshot(self, state, epoch)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Values have the precision of the computation, ``dtype``, whatever that of the points.
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self._problem.n_components


class ExpansionSnapshot(ComponentSnapshot):
    """A model of components in the middle of its training."""

    @property
    def n_random_features(self) -> int:
        """Frequencies in use, in a view."""
        return self.state.n_blocks * self.estimator.block_size_

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Values of the functions of the first view, shape (m, k), or of both."""
        views = (np.asarray(X),) if Y is None else (np.asarray(X), self.estimator._second_view(Y))
        found = self.estimator._project(views, self.state, self.state.device)
        return found[0] if Y is None else tuple(found)
