"""The parameters of doubly stochastic gradients, their checks, and the choice of the solver from a sample of data."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ... import arrays, kernels, losses, training
from ...errors import ShallowsError
from ...solvers.expansions import doubly_stochastic
from ...solvers.expansions.block_policies import POLICIES, Checked, Fresh, UniformReuse
from ...solvers.expansions.doubly_stochastic import DoublyStochastic
from .. import precomputed
from ..base import Estimator
from ..parameter_checks import check_positive, check_whole, is_number, is_positive, is_whole

SCHEDULES = ("auto", "line_search", "constant", "decay", "theory")


class PlannedExpansion(Estimator):
    """Base with the parameters of doubly stochastic gradients and the choice of the solver."""

    _least_memory = 2**26

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        loss: Any = "auto",
        method: str = "dsg",
        regularisation: float = 1e-6,
        block_size: int | None = None,
        batch_size: int | None = None,
        schedule: str = "auto",
        step_size: float | None = None,
        theta_nu: float = 1.0,
        decrease: float = 1e-4,
        preconditioning: str | None = "block",
        damping: float = 1e-4,
        fresh: int = 1,
        reused: int = 1,
        cap: float = 2.0,
        gradient_bound: float | None = None,
        feature_variance: float | None = None,
        features: str = "pair",
        orthogonal: bool = False,
        n_iter: int | None = None,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kernel_params = kernel_params
        self.loss = loss
        self.method = method
        self.regularisation = regularisation
        self.block_size = block_size
        self.batch_size = batch_size
        self.schedule = schedule
        self.step_size = step_size
        self.theta_nu = theta_nu
        self.decrease = decrease
        self.preconditioning = preconditioning
        self.damping = damping
        self.fresh = fresh
        self.reused = reused
        self.cap = cap
        self.gradient_bound = gradient_bound
        self.feature_variance = feature_variance
        self.features = features
        self.orthogonal = orthogonal
        self.n_iter = n_iter
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.dtype = dtype
        self.verbose = verbose

    def _check_parameters(self) -> None:
        for name, known in (
            ("method", tuple(POLICIES)),
            ("schedule", SCHEDULES),
            ("features", ("pair", "cosine")),
            ("preconditioning", doubly_stochastic.PRECONDITIONINGS),
            ("dtype", ("auto", "float32", "float64")),
        ):
            if getattr(self, name) not in known:
                raise ShallowsError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got {getattr(self, name)!r}."
                )
        check_positive(self, "bandwidth", "step_size", "max_seconds", "gradient_bound", "feature_variance")
        precomputed.refuse(self, "Its function is made of random frequencies of the kernel, which need its formula.")
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)
        check_whole(self, "block_size", "batch_size", "n_iter", "max_epochs", optional=True)
        for name in ("regularisation", "damping", "decrease"):
            value = getattr(self, name)
            if not (is_number(value) and math.isfinite(value) and value >= 0):
                raise ShallowsError(f"{name} must be a number of at least 0, got {value!r}.")
        for name, least in (("fresh", 1), ("reused", 0)):
            if not is_whole(getattr(self, name), least):
                raise ShallowsError(
                    f"{name} must be a whole number, with at least 1 fresh step and no fewer than 0 re-used ones in a "
                    f"round, got {getattr(self, name)!r}."
                )
        if not (is_number(self.cap) and self.cap >= 1):
            raise ShallowsError(f"cap, the longest step over the plain one, must be at least 1, got {self.cap!r}.")
        if self._schedule() == "theory":
            if not self._regularisation() > 0:
                raise ShallowsError(
                    "schedule='theory' has steps θ/t with θ = theta_nu / regularisation, so regularisation must be "
                    "positive."
                )
            if not is_positive(self.theta_nu):
                raise ShallowsError(f"theta_nu must be a positive number, got {self.theta_nu!r}.")
            if not (1 < self.theta_nu < 2 or float(self.theta_nu).is_integer()):
                warnings.warn(
                    f"theta_nu={self.theta_nu} lies outside (1, 2) and the positive whole numbers, for which the rate "
                    "1/t is proved; training goes on.",
                    UserWarning,
                    stacklevel=5,  # Past `_fit` or `_partial_fit`, its decorator and the public method.
                )
        self._check_loss()

    def _check_loss(self) -> None:
        losses.make(self.loss)

    def _default_sizes(self, n: int | None) -> tuple[int, int]:
        """F and B; with five examples for every column of a block its covariance can be inverted safely."""
        if n is None:
            return 256, 2560
        F = min(1024, max(8, 2 ** math.ceil(math.log2(max(1.0, n / 64)))))
        return F, min(n, 10 * (self.block_size or F))

    def _make_kernel(self, sample: np.ndarray, seed: int) -> Any:
        name, bandwidth, parameters = kernels.translated(self.kernel, self.bandwidth, self.kernel_params)
        kind = kernels.kind(name)
        if isinstance(kind, kernels.Kernel):
            return kind
        if bandwidth is None and kind.takes_bandwidth:
            together = self._centring.all_equal or (sample == sample[0]).all()
            # Where all points coincide, every bandwidth gives the same function.
            bandwidth = 1.0 if together else kernels.median_bandwidth(sample, seed)
        return kernels.make(name, bandwidth, **parameters)

    def _plan(self, sample: np.ndarray, loss: losses.Loss, seed: int) -> tuple[DoublyStochastic, dict[str, Any]]:
        """The solver, and what was decided or estimated for it."""
        nu, preconditioning = self._regularisation(), self._preconditioning()
        schedule = self._schedule()
        K = self._features.kernel(sample, sample)
        with arrays.one_blas_thread():
            top = float(np.linalg.eigvalsh(K[:500, :500] / min(500, len(K)))[-1])
        stable = doubly_stochastic.stable_step(
            loss, top, self.batch_size_, self.block_size_, preconditioning is not None
        )
        theta = None
        if schedule == "line_search":
            # With the covariance inverted, 2/L is the edge of stability where the loss is most curved.
            longest = 2.0 / min(loss.smoothness, 1.0) if preconditioning else 16.0 * stable
            step, decrease = self.step_size or longest, 0.0
        elif schedule == "theory":
            theta = self.theta_nu / nu
            # θ/(t + t₀) with t₀ such that the first step is a stable one; a step of θ itself is the plain θ/t.
            step = min(theta, self.step_size or stable)
            decrease = step / theta
        else:
            step, decrease = self.step_size or stable, self.decrease if schedule == "decay" else 0.0
        variance = bound = cap = None
        policy: Any = Fresh()
        if self.method == "udsg":
            policy = UniformReuse(self.fresh, self.reused)
        elif self.method == "cdsg":
            variance = self.feature_variance
            if variance is None:
                variance = doubly_stochastic.feature_variance(self._features, sample)
            bound, cap = self.gradient_bound, float(self.cap)
            policy = Checked(float(variance), bound, cap)
        solver = DoublyStochastic(
            float(step),
            float(decrease),
            float(nu),
            policy,
            preconditioning,
            float(self.damping),
            schedule == "line_search",
            seed,
        )
        return solver, {
            "method": self.method,
            "schedule": schedule,
            "step_size": float(step),
            "stable_step": stable,
            "top_eigenvalue": top,
            "preconditioning": preconditioning,
            "theta": theta,
            "theta_nu": float(self.theta_nu) if schedule == "theory" else None,
            "feature_variance": variance,
            "gradient_bound": bound,
            "cap": cap,
        }

    def _divergence_factor(self, loss: losses.Loss, streamed: bool) -> float:
        """The multiple of the zero function's loss that counts as divergence; steps of θ/t are long by design."""
        if loss.coding == "offset" or (self._schedule() == "theory" and self.step_size is not None):
            return math.inf
        # A stream may bring first one class and then the other.
        return 100.0 * training.GROWTH if streamed else training.GROWTH

    def _schedule(self) -> str:
        return "line_search" if self.schedule == "auto" else self.schedule

    def _preconditioning(self) -> str | None:
        return self.preconditioning

    def _regularisation(self) -> float:
        return self.regularisation
