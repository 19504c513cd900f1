"""What the estimators of two views share: checks of both, their plan, and the functions of either view."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ... import arrays, training
from ...solvers.components.two_view_start import TwoViewStart, random_feature_pairs
from ...solvers.components.two_view_state import TwoViewProblem, TwoViewState, moments
from ..array_inputs import follows_input
from ..base import native
from ..kernel_checks import check_scores
from ..parameter_checks import width
from ..snapshot import ComponentSnapshot
from .component_estimator import LOOKED_AT, ComponentEstimator, ComponentFit, signed

START_WIDTH = 1024
"""Most columns of the features that the start is computed in, in either view."""

START_POINTS = 2000

FLOATS = [np.float64, np.float32]


class TwoViewEstimator(ComponentEstimator):
    """Base of the estimators that relate two views of the same examples."""

    _takes_targets = True

    # ------------------------------------------------------------------- what a subclass must define

    def _turns(self, state: TwoViewState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What turns the functions of either view into those that are asked for, (k, k) each, and their strengths."""
        raise NotImplementedError

    def _start_ridge(self) -> float | None:
        """The ridge of the start, None for none."""
        return None

    # ------------------------------------------------------------------------------------- the fit

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Learn the functions of all of X and y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples, n_second_features)
            The second view of the same examples; of `KernelSlicedInverseRegression` values or labels, which may be a
            vector.
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
            A parameter out of its range, or more components than the views share.
        DivergenceError
            With a ``step_size`` of the user's that is too large.
        """
        return self._fit_views((X, y), observers, checkpoint)

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
            such as a generator, gives tuples ``(X, y)``, one step each; it need not end if ``n_iter`` or
            ``max_seconds`` is given.
        y : array-like, optional
            The second view, or values or labels, where X is an array.
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
        The first batch decides bandwidths and start; it should have a few thousand rows. Whatever ends the call early,
        Ctrl-C too, the model is then that of the batches before.
        """
        return self._partial_fit((X, y), n_iter, max_seconds, observers, checkpoint)

    def transform(self, X: Any, y: Any = None) -> Any:
        """Values of the functions of the first view, or of both.

        `fit_transform` returns those of the first view, as a pipeline needs them.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples, n_second_features), optional
            The second view.

        Returns
        -------
        ndarray, shape (n_samples, n_components), or two of them if both views are given
        """
        return self._transform_first(X) if y is None else self._project_new(X, y)

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features of the first view, shape (n_blocks, width, n_components)."""
        if not hasattr(self, "_state"):
            raise AttributeError("dual_coef_ is there after fit.")
        return arrays.to_numpy(self._state.first.coefficients) @ self._turns(self._state)[0].astype(self._dtype)

    # ------------------------------------------------------------------------------------ the parts of a fit

    def _regression_block_size(self, views: tuple[Any, ...]) -> int:
        """F with five examples for every column of a block in a batch, by which its covariance can be inverted."""
        rows = views[0].shape[0]
        return max(8, min(512, self.max_features or 512, (self.batch_size or rows) // 10))

    def _view_kernels(self) -> list[tuple[Any, float | None, dict[str, Any] | None]]:
        second = self.kernel if self.second_kernel is None else self.second_kernel
        parameters = self.kernel_params if self.second_kernel is None else self.second_kernel_params
        return [
            (self.kernel, width(self.bandwidth), self.kernel_params),
            (second, width(self.second_bandwidth), parameters),
        ]

    def _validated_views(self, X: Any, Y: Any, *, first: bool, least: int = 2) -> tuple[Any, ...]:
        if Y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: it is the second view."
            )
        X, Y = validate_data(
            self,
            native(X),
            native(Y),
            accept_sparse="csr",
            dtype=FLOATS,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=least if self.center else 1,
            reset=first,
        )
        return X, self._second_view(Y, first=first)

    def _second_view(self, Y: Any, *, first: bool = False) -> np.ndarray:
        """The second view as an array of floats with a row an example."""
        Y = check_array(native(Y), dtype=FLOATS, ensure_2d=False, input_name="Y")
        Y = Y.reshape(len(Y), -1)
        if first:
            self._n_second_features = Y.shape[1]
        if Y.shape[1] != self._n_second_features:
            raise ValueError(
                f"The second view has {Y.shape[1]} features, and the model was begun with {self._n_second_features}."
            )
        return Y

    def _on_points(self, problem: TwoViewProblem, points: list[Any]) -> TwoViewProblem:
        return dataclasses.replace(problem, points=points[0], second_view=points[1])

    def _start(self, max_blocks: int) -> TwoViewStart:
        """The solution in the features of the first blocks, on the points that were looked at first."""
        first, second = self._views
        widest = max(first.features.width, second.features.width)
        return random_feature_pairs(
            (first.features, second.features),
            first.sample[:START_POINTS],
            second.sample[:START_POINTS],
            self.n_components,
            n_blocks=max(1, min(max_blocks, START_WIDTH // widest)),
            centred=bool(self.center),
            ridge=self._start_ridge(),
        )

    def _started_problem(self, start: TwoViewStart, budget: int, device: arrays.Device) -> TwoViewProblem:
        starts = [
            arrays.to_device(np.ascontiguousarray(one), device, self._dtype) for one in (start.first, start.second)
        ]
        return TwoViewProblem(
            *(view.features for view in self._views),
            self.n_components,
            *starts,
            centred=bool(self.center),
            budget=budget,
        )

    def _finish_fit(self, fit: ComponentFit, state: TwoViewState) -> None:
        """Moments over the training points, where the steps had those of their batches."""
        problem = fit.problem
        n = min(LOOKED_AT, problem.points.shape[0])
        _, _, found = moments(*state.values(problem, problem.take(slice(0, n))), problem.centred)
        for name, value in found.items():
            setattr(state, name, value)

    def _project(self, views: tuple[Any, ...], state: TwoViewState, device: arrays.Device) -> tuple[np.ndarray, ...]:
        """Values of the turned functions of one view or both."""
        found = []
        parts = ((state.first, state.first_mean), (state.second, state.second_mean))
        for place, (X, (part, mean), turn) in enumerate(zip(views, parts, self._turns(state), strict=False)):
            values = self._values(X, place, part, device)
            if self.center:
                values = values - mean.astype(self._dtype)
            found.append(values @ turn.astype(self._dtype))
        return tuple(found)

    def _make_snapshot(self, state: TwoViewState, epoch: int) -> TwoViewSnapshot:
        return TwoViewSnapshot(self, state, epoch)

    # -------------------------------------------------------------------------------------- what users call

    @follows_input
    def _transform_first(self, X: Any) -> np.ndarray:
        """Values of the functions of the first view."""
        return self._project_new(X)

    def _project_new(self, X: Any, Y: Any = None) -> Any:
        """Values of the functions of the first view, or of both, for new points."""
        check_is_fitted(self)
        views = [self._validated(X)]
        if Y is not None:
            views.append(self._second_view(Y))
            if len(views[1]) != views[0].shape[0]:
                raise ValueError(
                    f"The two views have {views[0].shape[0]} and {len(views[1])} rows; each row is one example."
                )
        device = arrays.resolve_device(self.device)
        state = self._state_here(device)
        found = self._project(tuple(views), state, device)
        if state.is_finite():
            for values, view in zip(found, views, strict=True):
                check_scores(values, view)
        return found if Y is not None else found[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


class TwoViewSnapshot(ComponentSnapshot):
    """A model of two views in the middle of its training."""

    @property
    def n_random_features(self) -> int:
        """Frequencies in use, in either view."""
        return self.state.n_blocks * self.estimator.block_size_

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Values of the functions of the first view, shape (m, k), or of both."""
        views = (np.asarray(X),) if Y is None else (np.asarray(X), self.estimator._second_view(Y))
        found = self.estimator._project(views, self.state, self.state.device)
        return found if Y is not None else found[0]


def whitening(matrix: np.ndarray) -> np.ndarray:
    """M^(−1/2) of a positive semi-definite matrix; directions in which it vanishes stay zero."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    kept = values > 1e-10 * values[-1]
    return (vectors * np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)) @ vectors.T


def canonical_turns(state: TwoViewState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What turns the functions of a state into uncorrelated ones of unit variance, and their correlations."""
    white = [whitening(one) for one in (state.first_moment, state.second_moment)]
    left, values, right = np.linalg.svd(white[0] @ state.cross_moment @ white[1])
    turned = signed(left)
    signs = np.sum(turned * left, axis=0)
    return white[0] @ turned, white[1] @ (right.T * signs), np.clip(values, 0.0, 1.0)
