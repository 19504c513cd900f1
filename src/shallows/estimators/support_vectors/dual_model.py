"""What estimators with support vectors share: points, kernel, the function that is kept, and its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ... import arrays, kernels
from ...fitting import leave_one_out_choice
from ...fitting.parameter_checks import check_positive, check_whole
from ...fitting.user_warnings import warn_user
from ...models import precomputed
from ...models.centring import Centring
from ...models.kernel_checks import check_scale, check_scores
from ...models.scores import kernel_scores
from ...spectrum.leave_one_out import RidgeChoice
from ..base import keeps_model_on_failure
from ..constructors import stores_parameters
from ..fitting import Fit, TrainedEstimator


@dataclass
class DualFit(Fit):
    """The fit of support vectors, whose targets are numbers that kernel ridge regression learns for the choice."""

    numbers: np.ndarray | None = None  # the class of each row, shape (n,)
    choice: RidgeChoice | None = None  # how bandwidth and λ were chosen, if they were


class DualModel(TrainedEstimator):
    """Base of the estimators whose functions are Σ βᵢ k(xᵢ, x) + b."""

    _context = DualFit
    _model_attributes = ("_model",)
    # The widest bandwidth that is chosen, as a multiple of the median distance.
    _widest = np.inf
    _compares_at_its_C = False  # Whether bandwidths are compared with λ = 1/C

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    @keeps_model_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Factors of C; of a regression, which has none, weights of the losses in any unit. Rows of weight zero are
            left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range, or a kernel that is not positive semi-definite.
        """
        self._fit(X, y, sample_weight)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        leave_one_out_choice.check_bandwidth(self.bandwidth)
        check_positive(self, "tol", "C")
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)
        check_whole(self, "max_iterations", optional=True)

    def _warn(self, left: str, remedy: str) -> None:
        """Warn of what a fit has left undone."""
        warn_user(
            f"{left}. Scale the features, for instance with sklearn.preprocessing.StandardScaler, or {remedy}.",
        )

    def _weights_of(self, fit: DualFit) -> np.ndarray | None:
        """Factors of the losses."""
        return np.ones(fit.n) if fit.data.weights is None else fit.data.weights

    def _prepare(self, fit: DualFit) -> None:
        """Points in the user's order, since solvers choose rows, and weights in double precision."""
        fit.order, fit.weights = np.arange(fit.n), self._weights_of(fit)
        fit.points = self._prepare_points(fit)

    def _prepare_points(self, fit: DualFit) -> Any:
        kind, self._dtype = kernels.kind(self.kernel), fit.dtype
        self._centring = Centring.of(
            fit.data.X,
            centred=kind.shift_invariant,
            without_constants=kind.of_distance,
            may_stay_sparse=kind.takes_sparse_points,
        )
        points = self._centring.training_points(fit.data.X, fit.order, fit.device, fit.dtype)
        check_scale(points, fit.dtype, may_vanish=self._centring.all_equal or not kind.shift_invariant)
        return points

    def _build(self, fit: DualFit) -> None:
        """Choose the kernel, and of bandwidth and λ what is left open."""
        given = self, fit, fit.codes, fit.weights
        limits = {"widest": self._widest, "regularisation": 1.0 / self.C if self._compares_at_its_C else None}
        fit.kernel, fit.choice = leave_one_out_choice.choose_kernel(*given, **limits)
        fit.budget = max(self._least_memory, fit.room - precomputed.held_bytes(fit.kernel))
        fit.end_phase("preparation")

    def _describe(self, fit: DualFit, found: Any) -> None:
        self.effective_params_ = {
            "kernel": fit.kernel.name,
            "bandwidth": fit.kernel.bandwidth,
            "n_support": len(self.support_),
            **self._report(found),
            **fit.report(),
            **leave_one_out_choice.report(fit.choice),
        }

    def _report(self, found: Any) -> dict[str, Any]:
        """Set the fitted attributes that say what the solvers spent, and return entries of ``effective_params_``."""
        raise NotImplementedError

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
        with device.active():
            a, points = (arrays.to_device(model[name], device) for name in ("coefficients", "points"))
            out = kernel_scores(model["kernel"], self._centring, X, points, a, device, budget=budget)
        check_scores(out, X)
        return out.astype(np.float64) + self.intercept_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")
