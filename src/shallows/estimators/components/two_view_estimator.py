"""What the estimators of two views share: checks of both, their plan, and the functions of either view."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from ... import arrays
from ...fitting.component_plan import MOMENT_ROWS
from ...fitting.parameter_checks import width
from ...solvers.components.two_view_state import (
    TwoViewProblem,
    TwoViewStart,
    TwoViewState,
    moments,
    random_feature_pairs,
)
from ...utils.plain_numbers import numeric_targets
from ..base import native
from .component_estimator import ComponentEstimator, ComponentFit

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
        return super().transform(X) if y is None else tuple(self._project_new(X, y))

    # ------------------------------------------------------------------------------------ the parts of a fit

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
            numeric_targets(native(Y, "y")),
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
        Y = check_array(numeric_targets(native(Y, "y")), dtype=FLOATS, ensure_2d=False, input_name="Y")
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
        n = min(MOMENT_ROWS, problem.points.shape[0])
        _, _, found = moments(*state.values(problem, problem.take(slice(0, n))), problem.centred)
        for name, value in found.items():
            setattr(state, name, value)

    def _functions(self, state: TwoViewState) -> list[tuple[Any, np.ndarray, np.ndarray]]:
        first, second, _ = self._turns(state)
        return [(state.first, state.first_mean, first), (state.second, state.second_mean, second)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
