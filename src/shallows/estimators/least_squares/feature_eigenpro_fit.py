"""What EigenPro on features does in a fit, for classes and for values alike: parameters, plan and solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import arrays, kernels, spectrum
from ... import features as feature_maps
from ...errors import UnknownNameError
from ...features import Design
from ...kernels import Kernel
from ...solvers.least_squares import step_rules
from ...solvers.least_squares.feature_eigenpro import FeatureEigenPro, FeatureProblem
from ...solvers.least_squares.step_rules import StepRule
from ...spectrum import power_of
from .. import precomputed
from ..base import SMALL
from ..centring import Centring
from ..feature_scores import feature_scores
from ..kernel_checks import check_scale, check_scores
from ..parameter_checks import check_whole
from . import feature_sizes
from .automatic.choices import inner_products
from .kernel_least_squares import Plan
from .preconditioning import check_preconditioning, plan_steps, regularised_step, step_parameters

LEAST_LEVEL, RIDGE_FLOOR = 0.1, 0.1
"""With a regularisation, directions with eigenvalues below the first over n, or in a small problem the second times its
usual floor, are not flattened: the steps of the epochs fit them anyway."""


class FeatureEigenProFit:
    """Parameters, plan and solver of EigenPro on explicit features, for classes and for values."""

    def __init__(
        self,
        features: str | Any = "fourier",
        *,
        n_features: int = 4000,
        kernel: str | Kernel | Callable[..., Any] = "gaussian",
        bandwidth: float | str | None = "auto",
        kernel_params: Mapping[str, Any] | None = None,
        regularisation: float | str = "auto",
        calibration: str | None = "auto",
        rank: int | None = None,
        n_subsample: int | None = None,
        eigensystem: str = "nsvd",
        damping: float = 0.25,
        power: str | float = "full",
        batch_size: int | None = None,
        step_size: float | None = None,
        step_rule: str | Mapping[str, Any] | StepRule = "certified",
        max_epochs: int = 40,
        tol: float = 5e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.features = features
        self.n_features = n_features
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.regularisation = regularisation
        self.calibration = calibration
        self.rank = rank
        self.n_subsample = n_subsample
        self.eigensystem = eigensystem
        self.damping = damping
        self.power = power
        self.batch_size = batch_size
        self.step_size = step_size
        self.step_rule = step_rule
        self.max_epochs = max_epochs
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_preconditioning(self)
        check_whole(self, "n_features")
        power_of(self.power)
        step_rules.make(self.step_rule)
        UnknownNameError.check("eigensystem", self.eigensystem, spectrum.EIGENSYSTEMS)
        feature_maps.check(self.features)
        precomputed.refuse(self, "Explicit features are made of points, and a kernel matrix shows none.")

    @property
    def _takes_kernel(self) -> bool:
        return isinstance(self.features, str) and self.features != "linear"

    def _prepare_points(self, X: Any, order: np.ndarray, device: arrays.Device, dtype: np.dtype) -> Any:
        # All columns are kept: the map has to see where a new point differs from features that were constant before.
        self._centring = Centring.of(X, centred=isinstance(self.features, str), without_constants=False)
        points = self._centring.training_points(X, order, device, dtype)
        if isinstance(self.features, str):
            centred = not self._takes_kernel or kernels.kind(self.kernel).shift_invariant
            check_scale(points, dtype, may_vanish=self._centring.all_equal or not centred)
        return points

    def _make_kernel(self, points: Any, seed: int) -> Kernel | None:
        return super()._make_kernel(points, seed) if self._takes_kernel else None

    def _look_at_all(self, points: Any, targets: Any, weights: Any, kernel: Any, seed: int, budget: int) -> None:
        n, plain = points.shape[0], points[:, :-2]
        self._blocks = blocks = feature_maps.in_blocks(self.features, kernel, plain, self.n_features, seed, budget)
        if self._centring.all_equal or n < 3:
            return
        named = self.features if isinstance(self.features, str) else ""
        if not named.startswith(("fourier", "orthogonal", "nystrom")):
            # Their products are not the kernel's values, and λ is chosen with them.
            matrix_of = lambda x: inner_products(blocks, x, points)  # noqa: E731
            self._choices.choose_regularisation(self, matrix_of, points, targets, weights)
        else:
            matrix_of = lambda x: kernels.matrix(kernel, x)  # noqa: E731
        if self._calibrates and n <= SMALL:
            self._choices.look_at_all(self, matrix_of, points, targets, weights)

    @staticmethod
    def _rows_to_keep(plan: Plan) -> int:
        return 0

    def _make_plan(self, points: Any, weights: Any, kernel: Any, seed: int, budget: int) -> Plan:
        n, points, ridge = points.shape[0], points[:, :-2], self._choices.regularisation
        n_subsample, rank = feature_sizes.of(self, n, self._blocks.n_features, arrays.itemsize(points), budget)
        small = self.rank is None and n <= SMALL
        level = ridge if small else max(ridge, LEAST_LEVEL if ridge else 1.0)
        p = spectrum.make_feature_preconditioner(
            self._blocks,
            points,
            rank=rank,
            n_subsample=n_subsample,
            eigensystem=self.eigensystem,
            seed=seed,
            damping=self.damping,
            power=power_of(self.power),
            weights=weights,
            # Once λ_{q+1} is 1/n of κ a single batch of all points loses no progress: to flatten more gains nothing.
            smallest_share=0.0 if not small else feature_sizes.floor(self.features) * (RIDGE_FLOOR if ridge else 1.0),
            smallest=(ridge if self.rank is not None else level) / n,
        )
        whole = n <= SMALL and p.n_subsample == n
        critical = n if whole else max(16, p.critical_batch_size() / 2)
        batch_size = int(min(n, self.batch_size or critical))
        step_size, self._cycle = plan_steps(self, p, batch_size, n)
        step_size = regularised_step(self, step_size, ridge * batch_size / n)
        return Plan(kernel, p, batch_size, step_size, p.top_eigenvalue, p.largest_diagonal)

    def _step_bytes(self, plan: Plan, n_outputs: int, itemsize: int) -> int:
        width = max(span.stop - span.start for span in self._blocks.spans)
        # The iterate and its average, as they are, at the start of the epoch, at their best and in a copy; the gradient
        # and one more at work.
        held = self._blocks.n_features * (plan.preconditioner.rank + 10 * n_outputs)
        return itemsize * (held + plan.batch_size * (2 * width + 4 * n_outputs))

    def _make_problem(self, plan: Plan, points: Any, targets: Any, weights: Any, budget: int) -> FeatureProblem:
        self._gram = Design(self._blocks, points[:, :-2], budget=budget)
        return FeatureProblem(self._gram, targets, weights, plan.preconditioner, self._choices.regularisation)

    def _make_solver(self, step_size: float) -> FeatureEigenPro:
        return FeatureEigenPro(step_size, self._cycle)

    def _store_model(self, state: Any, plan: Plan, points: Any, rows: np.ndarray) -> None:
        self.coef_ = np.ascontiguousarray(arrays.to_numpy(state.coefficients[:, : self._n_outputs]).T)
        self._blocks = self._blocks.to(arrays.Device("cpu"))
        if plan.kernel is not None:
            self.bandwidth_ = plan.kernel.bandwidth

    def _model_parameters(self, plan: Plan) -> dict[str, Any]:
        of_features = {
            "features": feature_maps.name_of(self.features),
            "n_features": self._blocks.n_features,
            "eigensystem": self.eigensystem,
        }
        if plan.kernel is not None:
            of_features |= super()._model_parameters(plan)
        return of_features | step_parameters(self, plan.preconditioner)

    def _raw_predict(self, X: Any, coefficients: Any = None) -> np.ndarray:
        """φ(x)ᵀA, shape (m, c), for checked X."""
        device = arrays.resolve_device(self.device)
        blocks, fitting = self._blocks, coefficients is not None
        if not fitting:
            coefficients = arrays.to_device(self.coef_.T, device)
            blocks = blocks.to(device)
        budget = min(self._working_budget(device) // 4, 2**27 if device.kind == "cpu" else 2**31)
        out = feature_scores(blocks, self._centring, X, coefficients, device, budget=budget)
        if not fitting:
            check_scores(out, X)
        return self._unscale(out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")
