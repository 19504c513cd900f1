"""The parameters of doubly stochastic gradients, their checks, and the choice of the solver from a sample of data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import arrays, kernels, losses, training
from ...errors import ShallowsError
from ...features.random_features import check_draws_features
from ...fitting import leave_one_out_choice
from ...fitting.parameter_checks import (
    check_choice,
    check_not_negative,
    check_positive,
    check_whole,
    is_number,
    is_positive,
    is_whole,
)
from ...fitting.user_warnings import warn_user
from ...models import precomputed
from ...solvers.expansions import doubly_stochastic
from ...solvers.expansions.block_policies import POLICIES, Checked, Fresh, UniformReuse
from ...solvers.expansions.doubly_stochastic import DoublyStochastic
from ...spectrum.copies import join_copies
from ...spectrum.leave_one_out import choose_ridge
from ..constructors import stores_parameters
from ..streaming.streamed_fit import StreamedFit

SCHEDULES = ("auto", "line_search", "constant", "decay", "theory")


SHRINKAGE = 0.1
"""κ over the curvature of the loss that the damping is chosen for. Smaller ones take more steps to the regularised
solution; larger ones end further from it, since a block then takes less from what the other blocks have learnt."""

SHORT = 0.5
"""Steps times L with which that is so for blocks whose covariance is inverted, on all data that were tried."""

DAMPING_OF_BATCH = (0.02, 0.15, 0.5)
"""ε of a batch of B examples is at least c F/B, see `DoublyStochastic`. The least c, the one where no λ was chosen, and
the most."""

RIDGES_OF_BATCH = 3.0
"""c over the λ that was chosen, which is best for few examples as for many. It is more than 1, since what other batches
have told is in f already, and what is left has a larger share of noise."""

LEAST_DAMPING = 1e-4
"""What float32 resolves of the covariance of a block."""

WARN_MOMENT, MOST_MOMENT = 100.0, 1e12
"""E (φ(x)φ(x))² over k(x, x)², as a multiple of F where a user is warned, and where it is refused. On digits a moment
of 3,000 costs nothing, one of 10⁷ a percent of the test images, and one of 10¹⁴ nine percent."""

LEAST_ERROR = 0.01
"""The least share of the variance of labels that is believed to be left."""


class PlannedExpansion(StreamedFit):
    """Base with the parameters of doubly stochastic gradients and the choice of the solver."""

    _least_memory = 2**26

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str | None = "auto",
        kernel_params: dict[str, Any] | None = None,
        loss: Any = "auto",
        method: str = "dsg",
        regularisation: float | None = None,
        block_size: int | None = None,
        batch_size: int | None = None,
        schedule: str = "auto",
        step_size: float | None = None,
        theta_nu: float | None = None,
        decrease: float = 1e-4,
        preconditioning: str | None = "block",
        damping: float | None = None,
        fresh: int = 1,
        reused: int = 1,
        cap: float = 2.0,
        gradient_bound: float | None = None,
        feature_variance: float | None = None,
        features: str = "pair",
        orthogonal: bool = False,
        keep_values: bool = True,
        n_iter: int | None = None,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "auto",
        verbose: int = 0,
    ): ...

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(
            self,
            method=tuple(POLICIES),
            schedule=SCHEDULES,
            features=("pair", "cosine"),
            preconditioning=doubly_stochastic.PRECONDITIONINGS,
        )
        check_positive(self, "step_size", "theta_nu", "max_seconds", "gradient_bound", "feature_variance")
        leave_one_out_choice.check_bandwidth(self.bandwidth)
        precomputed.refuse(self, "Its function is made of random frequencies of the kernel, which need its formula.")
        kernels.check_own_parameters(self.kernel, self.bandwidth, self.kernel_params)
        check_draws_features(self.kernel)
        check_whole(self, "block_size", "batch_size", "n_iter", "max_epochs", optional=True)
        check_not_negative(self, "regularisation", "damping", "decrease")
        for name, least in (("fresh", 1), ("reused", 0)):
            if not is_whole(getattr(self, name), least):
                raise ShallowsError(
                    f"{name} must be a whole number, with at least 1 fresh step and no fewer than 0 re-used ones in a "
                    f"round, got {getattr(self, name)!r}."
                )
        if not (is_number(self.cap) and self.cap >= 1):
            raise ShallowsError(f"cap, the longest step over the plain one, must be at least 1, got {self.cap!r}.")
        if self.schedule == "theory":
            if self.regularisation == 0:
                raise ShallowsError(
                    "schedule='theory' has steps θ/t with θ = theta_nu / regularisation, so regularisation must be "
                    "positive."
                )
            if self.theta_nu is not None and not (1 < self.theta_nu < 2 or float(self.theta_nu).is_integer()):
                warn_user(
                    f"theta_nu={self.theta_nu} lies outside (1, 2) and the positive whole numbers, for which the rate "
                    "1/t is proved; training goes on.",
                    UserWarning,
                )
        self._check_loss()

    def _check_loss(self) -> None:
        losses.make(self.loss)

    def _counts(self, targets: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """What the intercept of classes begins with; None without one, or where the targets are centred."""
        return None

    def _default_sizes(self, n: int) -> tuple[int, int]:
        """F and B; with five examples for every column of a block its covariance can be inverted safely."""
        F = min(1024, max(32, 2 ** math.ceil(math.log2(max(1.0, n / 32)))))
        # Features that are no cosines and sines of frequencies have one column each, and vary more.
        columns = 2 if kernels.kind(self.kernel).shift_invariant else 1
        F = F * 2 // columns
        return F, min(n, 5 * columns * (self.block_size or F))

    def _default_steps(self, n: int, n_batches: int) -> int:
        """Ten passes; more where they are short, since small data need no fewer steps to the solution."""
        return max(10 * n_batches, 50, min(200, math.ceil(200 * math.sqrt(1000 / n))))

    def _choose_kernel(
        self, sample: np.ndarray, targets: np.ndarray | None, weights: np.ndarray | None, n: int, seed: int
    ) -> tuple[Any, float, dict[str, Any]]:
        """The kernel, the regularisation, and what was found about both where they were chosen.

        What the user gives stays. The rest is what leaves the least error of kernel ridge regression in leaving out one
        point of the sample after the other; ``n`` are the points that will be trained on, and targets of None are those
        of novelty, where nothing is there to be predicted. A loss of classes has a curvature of L at the decision and
        less away from it, on average L e with the share e of the variance of the labels that the regression leaves;
        scores are then larger than labels by as much, and so ν = L² e λ/n.
        """
        named = self.bandwidth if is_positive(self.bandwidth) else None
        name, bandwidth, parameters = kernels.translated(self.kernel, named, self.kernel_params)
        kind = kernels.kind(name)
        takes_bandwidth = not isinstance(kind, kernels.Kernel) and kind.takes_bandwidth
        # Where all points coincide, every bandwidth gives the same function.
        coincide = self._centring.all_equal or (sample == sample[0]).all()
        regularisation, median = self.regularisation, None
        n_rows = len(sample)
        if targets is not None:
            joined = join_copies(sample, targets, weights)
            sample, targets, weights = sample[joined.first], joined.targets, joined.weights
        if takes_bandwidth and bandwidth is None:
            median = 1.0 if coincide else kernels.median_bandwidth(sample, seed)
            bandwidth = median if targets is None or coincide or self.bandwidth != "auto" else None

        def made(width: float | None) -> Any:
            if isinstance(kind, kernels.Kernel):
                return kind
            return kernels.make(name, width, **parameters)

        if targets is None or (regularisation is not None and (bandwidth is not None or median is None)):
            return made(bandwidth), regularisation, {}
        total = float(n_rows if weights is None else weights.sum())
        centred = targets - np.average(targets, axis=0, weights=weights)
        # Minimising Σ w (f − y)² + λ‖f‖² is ν = λ/Σw; with more points than the sample has, λ grows as √n.
        size = total * math.sqrt(max(1.0, n / n_rows))
        choice = choose_ridge(
            lambda width: _symmetric(made(width)(sample, sample)),
            centred,
            median=median,
            bandwidth=bandwidth,
            regularisation=None if regularisation is None else regularisation * size,
            weights=weights,
        )
        if regularisation is None:
            regularisation = choice.regularisation / size
            L = curvature(self._make_loss())
            regularisation *= L * self._curvature_met(choice.error)
        return (
            made(choice.bandwidth),
            regularisation,
            choice.summary()
            | {"ridge": choice.regularisation * len(sample) / total, "is_uninformative": choice.is_uninformative},
        )

    def _curvature_met(self, error: float) -> float:
        """The curvature of the loss where the scores will be, from the share of variance that a regression leaves."""
        loss = self._make_loss()
        return curvature(loss) * (min(1.0, max(error, LEAST_ERROR)) if loss.for_classes else 1.0)

    def _plan(
        self, sample: np.ndarray, loss: losses.Loss, nu: float, chosen: dict[str, Any], seed: int
    ) -> tuple[DoublyStochastic, dict[str, Any]]:
        """The solver, and what was decided or estimated for it."""
        preconditioning, schedule = self.preconditioning, self.schedule
        if schedule == "auto":
            schedule = "theory" if preconditioning and nu > 0 else "line_search"
        F, L = self.block_size_, curvature(loss)
        kernel = self._features.kernel
        K, moment = kernel(sample, sample), self._features.relative_moment
        _check_moment(kernel, moment, F)
        # Dampings are in units of k(x, x), which is 1 for kernels of the difference x − z.
        size = 1.0 if kernel.has_frequencies else float(np.mean(kernel.diagonal(sample)))
        with arrays.one_blas_thread():
            top = float(np.linalg.eigvalsh(K[:500, :500] / min(500, len(K)))[-1])
        stable = doubly_stochastic.stable_step(
            loss, top, self.batch_size_, F, preconditioning is not None, size, moment
        )
        damping, damping_of_batch = self.damping, 0.0
        if damping is None:
            damping = size * LEAST_DAMPING
            if preconditioning == "block":
                damping = max(damping, F * nu / (SHRINKAGE * self._curvature_met(chosen.get("error", 1.0))))
            least, usual, most = (size * c for c in DAMPING_OF_BATCH)
            damping_of_batch = min(most, max(least, RIDGES_OF_BATCH * chosen["ridge"])) if "ridge" in chosen else usual
            damping_of_batch *= _copies(sample)  # Copies of an example tell no more of the directions than one does.
            if preconditioning:
                # The damping of the batch bounds what one example counts, and so do short steps.
                stable = SHORT / L
        theta_nu = None
        decrease = 0.0
        if schedule == "line_search":
            # With the covariance inverted, 2/L is the edge of stability where the loss is most curved.
            step = self.step_size or (2.0 / L if preconditioning else 16.0 * stable)
        elif schedule == "theory":
            theta_nu = self.theta_nu or (2.0 if preconditioning else 1.0)
            # θ/(t + t₀) with t₀ such that the first step is a stable one; a step of θ itself is the plain θ/t.
            step = self.step_size or stable
            if not preconditioning:
                step = min(theta_nu / nu, step)
                decrease = step / (theta_nu / nu)
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
            if self._features.product_bound is None:
                raise ShallowsError(
                    "method='cdsg' compares the variances of an old block and a new one by a bound of the products of "
                    f"two features, and those of the kernel {kernel.name!r} have none. Take method='dsg' or 'udsg'."
                )
            bound, cap = self.gradient_bound, float(self.cap)
            policy = Checked(float(variance), bound, cap, product_bound=self._features.product_bound)
        solver = DoublyStochastic(
            float(step),
            float(decrease),
            float(nu),
            policy,
            preconditioning,
            float(damping),
            schedule == "line_search",
            seed,
            damping_of_batch,
            theta_nu if preconditioning else None,
        )
        shrinkage = solver.shrinkage(F, self.batch_size_)
        return solver, {
            "method": self.method,
            "schedule": schedule,
            "step_size": float(step),
            "stable_step": stable,
            "top_eigenvalue": top,
            "preconditioning": preconditioning,
            "theta": None if theta_nu is None else theta_nu / shrinkage,
            "theta_nu": theta_nu,
            "damping": solver.damping_at(F, self.batch_size_) if preconditioning else None,
            "shrinkage": shrinkage,
            "feature_variance": variance,
            "gradient_bound": bound,
            "cap": cap,
        }

    def _check_room(self, n_steps: float) -> None:
        """Refuse more steps than the memory has room for the features of; those of "cdsg" seldom add any."""
        if self.max_seconds is not None or self.method == "cdsg":
            return
        share = self.fresh / (self.fresh + self.reused) if self.method == "udsg" else 1.0
        arrays.check_room(
            f"The features that {n_steps:,} steps add take",
            share * n_steps * self._features.width * self._problem.n_outputs * self._dtype.itemsize,
            self.effective_params_["memory_budget"],
            "Take fewer steps, method='cdsg' or a smaller block_size, set max_seconds, or give more memory.",
        )

    def _divergence_factor(self, loss: losses.Loss) -> float:
        """The multiple of the zero function's loss that counts as divergence; steps of θ/t are long by design."""
        unbounded = loss.coding == "offset" or (self.schedule == "theory" and self.step_size is not None)
        return math.inf if unbounded else training.GROWTH


def _check_moment(kernel: kernels.Kernel, moment: float, block_size: int) -> None:
    """Warn of random features that vary much, and refuse those that vary beyond all use."""
    said = (
        f"The random features of {kernel!r} vary much: at a point of usual norm, the mean of (φ(x)φ(x))² is "
        f"{moment:.3g} times k(x, x)². Take a lower degree or a larger bandwidth, or bring X to a usual scale about "
        "the origin; KernelSGD and EigenPro need no random features."
    )
    if moment > MOST_MOMENT:
        raise ShallowsError(said)
    if moment > WARN_MOMENT * block_size:
        warn_user(f"{said} Training goes on.", UserWarning)


def curvature(loss: losses.Loss) -> float:
    """L, the most that ℓ'' comes to; 1 where the loss has kinks, as for the square."""
    return min(loss.smoothness, 1.0)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)


def _copies(sample: np.ndarray) -> float:
    """How often a point of the sample is there, on average; 1 where all are the same."""
    n_points = len(np.unique(sample, axis=0))
    return len(sample) / n_points if n_points > 1 else 1.0
