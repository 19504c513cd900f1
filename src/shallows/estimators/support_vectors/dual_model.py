"""What estimators with support vectors share: points, kernel, the function that is kept, and its values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ... import arrays, gram, kernels
from ...spectrum.leave_one_out import RidgeChoice
from .. import leave_one_out_choice, precomputed
from ..base import SMALL, Estimator
from ..centring import Centring
from ..kernel_checks import check_scale, check_scores, chosen_kernel
from ..parameter_checks import check_positive, check_whole


class DualModel(Estimator):
    """Base of the estimators whose functions are Σ βᵢ k(xᵢ, x) + b."""

    # The widest bandwidth that is chosen, as a multiple of the median distance.
    _widest = np.inf

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_bandwidth(self.bandwidth)
        check_positive(self, "tol", "C")
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)
        check_whole(self, "max_iterations", optional=True)

    def _warn(self, left: str, remedy: str) -> None:
        """Warn of what a fit has left undone."""
        warnings.warn(
            f"{left}. Scale the features, for instance with sklearn.preprocessing.StandardScaler, or {remedy}.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _prepare(
        self,
        X: Any,
        targets: np.ndarray,
        weights: np.ndarray | None,
        seed: int,
        device: arrays.Device,
        *,
        regularises: bool = False,
    ) -> tuple[Any, kernels.Kernel, RidgeChoice | None]:
        """Augmented training points on the device, the kernel, and how bandwidth and λ were chosen, if they were.

        ``targets`` are numbers, shape (n, c), that kernel ridge regression is fitted to for the choice.
        """
        n = X.shape[0]
        self._dtype = np.dtype(("float64" if n <= SMALL else "float32") if self.dtype == "auto" else self.dtype)
        kind = kernels.kind(self.kernel)
        self._centring = Centring.of(X, centred=kind.shift_invariant, without_constants=kind.of_distance)
        points = self._centring.training_points(X, np.arange(n), device, self._dtype)
        check_scale(points, self._dtype, may_vanish=self._centring.all_equal or not kind.shift_invariant)
        kernel = precomputed.kernel_on(self, points) if precomputed.is_asked_for(self) else self.kernel
        all_equal = self._centring.all_equal
        choice = leave_one_out_choice.choose_for(
            self, kernel, points, targets, weights, seed, regularises=regularises, widest=self._widest
        )
        bandwidth = leave_one_out_choice.given_bandwidth(self.bandwidth, choice)
        return points, chosen_kernel(kernel, bandwidth, self.kernel_params, points, seed, all_equal=all_equal), choice

    def _keep(
        self, kernel: kernels.Kernel, points: Any, rows: np.ndarray, coefficients: np.ndarray, intercepts: np.ndarray
    ) -> None:
        """Store the function: its support vectors, their coefficients and the intercepts.

        ``rows`` says which of the user's rows the points are.
        """
        support = np.flatnonzero(coefficients.any(axis=1))
        self.support_, self.dual_coef_, self.intercept_ = rows[support], coefficients[support], intercepts
        self.bandwidth_ = kernel.bandwidth
        self._model = {
            "kernel": precomputed.without_matrix(kernel),
            "points": arrays.to_numpy(arrays.take_rows(points, support)),
            "coefficients": self.dual_coef_.astype(self._dtype),
        }

    # ------------------------------------------------------------------------------------ prediction

    def _outputs(self, X: Any) -> np.ndarray:
        """The functions of all problems at checked points, float64, shape (m, n_problems)."""
        model, device = self._model, arrays.resolve_device(self.device)
        budget = min(self._working_budget(device) // 4, 2**28 if device.kind == "cpu" else 2**32)
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            a, points = (arrays.to_device(model[name], device) for name in ("coefficients", "points"))
            if precomputed.are_kernel_values(model["kernel"], X, fitting=False):
                out = precomputed.scores(X, points, a, device)
            else:
                out = np.empty((X.shape[0], a.shape[1]), dtype=self._dtype)
                for rows, x, extra in self._centring.new_points(X, device, self._dtype):
                    made = gram.cross_product(model["kernel"], x, points, a, budget=budget, extra=extra)
                    out[rows] = arrays.to_numpy(made)
        check_scores(out, X)
        return out.astype(np.float64) + self.intercept_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")
