"""The base of the estimators whose function gains random features in every step, from a data set or a stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from ... import arrays, kernels, training
from ...errors import ShallowsError
from ...features.random_features import check_draws_features
from ...fitting import leave_one_out_choice, stream_training
from ...fitting.expansion import TrainedExpansion, fit_expansion
from ...fitting.rows import TrainingSet
from ...fitting.stream_training import Batch, StreamState
from ...fitting.targets import ExpansionTargets, check_same_classes
from ...kernels import precomputed
from ...models.centring import check_scores
from ...ranks import ALONE, Alone
from ...solvers.expansions import doubly_stochastic
from ...solvers.expansions.block_policies import POLICIES
from ...solvers.expansions.doubly_stochastic import DoublyStochastic
from ...solvers.settings import settings_of
from ...utils.checks import check_choice, check_positive, check_whole, is_number, warn_user
from ...utils.plain_numbers import plain_numbers
from ..base import keeps_model_on_failure
from ..constructors import stores_parameters
from ..streaming import GrowingModel, batches_of, is_array

SCHEDULES = ("auto", "line_search", "constant", "decay", "theory")

SLICES, LEAST_SLICE = 10, 256
"""Number and least rows of the slices that ``partial_fit`` cuts an array into, without a ``batch_size``."""


class RandomFeatureExpansion(GrowingModel):
    """Base of the estimators whose function is a sum over numbered blocks of random features."""

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
    ):
        """Store the parameters.

        Parameters
        ----------
        kernel : str or Kernel, default="gaussian"
            A kernel with random features: a shift-invariant one of `shallows.kernels`, such as "gaussian" or "laplace",
            or "polynomial", "linear", "exponential", "arc_cosine", whose features vary more.
        bandwidth : float, "auto", "median" or None, default="auto"
            σ, in the units of X. "auto": smallest leave-one-out error of kernel ridge regression on 600 rows.
            "median" and None: the median distance of a subsample. A stream uses its first rows.
        kernel_params : dict, optional
            Parameters of the kernel, such as ``{"nu": 1.5}``.
        method : {"dsg", "udsg", "cdsg"}, default="dsg"
            Block that a step moves. "dsg": a new one. "udsg": sometimes a random old one. "cdsg": an old one if the
            variance bound then allows a longer step; it needs features with a bound, such as cosines.
        regularisation : float, optional
            λ of λ/2 ‖f‖², next to the mean loss. None: smallest leave-one-out error on the rows that "auto" uses.
        block_size : int, optional
            F, frequencies of a block. None: n/32 rounded up to a power of two, from 32 to 1,024.
        batch_size : int, optional
            B, rows of a step. None: five for each column of a block (ten for "cosine"), or in `partial_fit` n/10.
        schedule : {"auto", "line_search", "constant", "decay", "theory"}, default="auto"
            Steps, see the method guide. "auto": "theory", θ/(t + t₀), with preconditioning and λ > 0, otherwise
            "line_search", the best step for the next batch. "decay": step_size/(1 + decrease (t − 1)).
        step_size : float, optional
            First step, or the longest of the line search. None: from the smoothness of the loss or the stability edge.
        theta_nu : float, optional
            θν of the theory: in (1, 2) or a positive whole number. None: 2 with preconditioning, otherwise 1.
        decrease : float, default=1e-4
            Decrease of the steps with schedule="decay". The default is the value of the authors' release.
        preconditioning : {"block", "decoupled", None}, default="block"
            Invert the covariance of a block. "decoupled", as in the authors' release, inverts it only for the gradient
            of the loss, and the solution depends on the damping.
        damping : float, optional
            Added to the diagonal of the covariance. None: from F, λ and the loss, see the method guide.
        fresh, reused : int, default=1
            "udsg": G steps with new blocks, then U steps with old ones.
        cap : float, default=2
            "cdsg": the longest step, as a multiple of the plain one. The paper gives no number.
        gradient_bound, feature_variance : float, optional
            "cdsg": M and σ². None: the root mean square of the gradients so far, and the variance on a subsample.
        features : {"pair", "cosine"}, default="pair"
            Cosines and sines, or cosines with random phases, for kernels with frequencies.
        orthogonal : bool, default=False
            Make the frequencies of a block orthogonal.
        keep_values : bool, default=True
            `fit` keeps f at the training points (n × c numbers), so that a repeated batch needs only the new blocks.
        n_iter, max_epochs : int, optional
            Most steps and passes. If both are None: ten passes, and at least 200 steps (large data: 50).
        max_seconds : float, optional
            Time limit of the training.
        random_state : int, RandomState or None, default=None
            Seed of all random draws. An int gives the same model every time.
        device : {"auto", "cpu", "gpu", "gpu:N"}, default="auto"
            "auto" uses a GPU if CuPy finds one.
        memory : int or str, optional
            Memory limit of the process, in bytes or as "4GB". None: a share of the free memory.
        dtype : {"auto", "float32", "float64"}, default="auto"
            Precision. "auto": float32, or float64 for up to 1,000 points.
        verbose : int, default=0
            1 shows a progress bar.
        """

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
        check_positive(self, "regularisation", "damping", "decrease", or_zero=True)
        check_whole(self, "fresh")
        check_whole(self, "reused", least=0)
        if not (is_number(self.cap) and self.cap >= 1):
            raise ShallowsError(f"cap, the largest factor of a step, must be at least 1, got {self.cap!r}.")
        if self.schedule == "theory":
            if self.regularisation == 0:
                raise ShallowsError("schedule='theory' divides theta_nu by regularisation, which must be positive.")
            if self.theta_nu is not None and not (1 < self.theta_nu < 2 or float(self.theta_nu).is_integer()):
                warn_user(
                    f"theta_nu={self.theta_nu} is neither in (1, 2) nor a positive whole number. Only for these "
                    "values the rate 1/t is proved.",
                    UserWarning,
                )

    def _learn_targets(self, y: Any, weights: np.ndarray | None, classes: Any) -> ExpansionTargets:
        """The coding of targets, learned from all of them or from the first rows of a stream. A subclass defines it."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------- the fit

    @keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Train on all rows.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
            Not used for novelty.
        sample_weight : array-like, shape (n_samples,), optional
        observers : sequence of shallows.training.Observer
            Called after every batch and epoch, such as `Progress` or `Curve`.
        checkpoint : shallows.training.Checkpoint, optional
            Continue from this file if it exists, and keep it up to date.

        Raises
        ------
        ValueError, ShallowsError
            NaN or infinity, shapes that do not agree, a single class, or a parameter out of its range.
        DivergenceError
            A given ``step_size`` is too large.
        """
        self._fit(X, y, sample_weight, observers, checkpoint, ALONE)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
        ranks: Alone,
    ) -> None:
        """Fit with one process, or with several, each of which calls this."""
        self._check_parameters()
        rows, seed = self._validated_training_set(X, y, sample_weight), ranks.from_first(self._seed())
        model, run, seconds = self._train(rows, seed, None, ranks, observers=observers, checkpoint=checkpoint)
        self._store(StreamState(model, (), rows.X.shape[0], 0, begins=False), run, seconds)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
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
            An array is read in slices, one step each. An iterable gives ``(X, y)`` or ``(X, y, sample_weight)``.
        y : array-like, optional
            Targets, if X is an array. Not used for novelty.
        sample_weight : array-like, optional
        n_iter : int, optional
            Most batches.
        max_seconds : float, optional
            Time limit of the training.
        observers : sequence of shallows.training.Observer
        checkpoint : shallows.training.Checkpoint, optional

        Raises
        ------
        ValueError, ShallowsError
            NaN or infinity in a batch, whose number the message gives, or a stream without a batch.
        DivergenceError
            The loss of a batch overflows or explodes.
        """
        y = y if self._takes_targets else None
        return self._partial_fit(X, y, None, sample_weight, n_iter, max_seconds, observers, checkpoint)

    def _partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        n_iter: int | None,
        max_seconds: float | None,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
    ) -> Self:
        self._check_parameters()
        if self.__sklearn_is_fitted__():
            known = getattr(self, "classes_", None)
            check_same_classes(known, classes)
        else:
            known = classes
        source = batches_of(
            (X, y, sample_weight),
            ("X", "y", "sample_weight"),
            2 if self._takes_targets else 1,
            lambda n: self.batch_size or min(stream_training.FIRST_ROWS, max(LEAST_SLICE, -(-n // SLICES))),
        )
        check, limit = partial(self._check_batch, classes=known), plain_numbers(max_seconds)
        begin = partial(self._begin, classes=known, max_seconds=limit)
        return self._continue(source, is_array(X), check, begin, n_iter, limit, observers, checkpoint)

    def _check_batch(self, batch: Batch, targets: ExpansionTargets | None, *, classes: Any) -> tuple[Batch, Any]:
        """Check a batch, and learn the coding of the targets from the first one."""
        if self._takes_targets and batch[1] is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        X, y, weights = self._validated_training_set(*batch, first=targets is None, whole=False)[:3]
        if targets is None:
            targets = self._learn_targets(y, weights, classes)
        targets.encode(y)
        return (X, y, weights), targets

    def _begin(
        self, rows: Batch, n_before: int, *, classes: Any, max_seconds: float | None
    ) -> tuple[TrainedExpansion, training.Run]:
        """Fit a model to the first rows of a stream."""
        seed, numbers = self._seed_of_beginning(rows, n_before), np.arange(rows[0].shape[0])
        return self._train(TrainingSet(*rows, numbers), seed, classes, max_seconds=max_seconds)[:2]

    def _train(
        self,
        rows: TrainingSet,
        seed: int,
        classes: Any,
        ranks: Alone = ALONE,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
        max_seconds: float | None = None,
    ) -> tuple[TrainedExpansion, training.Run, dict[str, float]]:
        """Fit a model to checked rows. ``classes`` are all that may come, if a stream named them."""
        return fit_expansion(
            rows,
            self._learn_targets(rows.y, rows.weights, classes),
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            form=self.features,
            orthogonal=self.orthogonal,
            settings=settings_of(DoublyStochastic, self),
            seed=seed,
            options=self._options(),
            observers=[*([] if ranks.rank else self._progress_observers()), *observers],
            checkpoint=checkpoint,
            max_seconds=max_seconds,
            ranks=ranks,
        )

    # ----------------------------------------------------------------------------------- the model

    def _store(self, stream: StreamState, run: training.Run | None, seconds: dict[str, float]) -> None:
        super()._store(stream, run, seconds)
        plan = stream.model.plan
        self._targets = plan.targets
        if run is None:
            return
        self.block_size_, self.bandwidth_ = plan.block_size, plan.problem.features.kernel.bandwidth
        self.n_blocks_, self.n_random_features_ = run.state.n_blocks, run.state.n_blocks * plan.block_size
        self.step_size_, self.n_reused_ = run.state.step_size, run.state.n_reused

    @property
    def _model(self) -> TrainedExpansion:
        return self._stream.model

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features, shape (n_blocks, width, n_outputs)."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("dual_coef_ is available after fit.")
        return arrays.to_numpy(self._state.coefficients)

    def _raw_predict(self, X: Any) -> np.ndarray:
        """f(x), shape (m, c), for checked X, in the units of the targets."""
        device = arrays.resolve_device(self.device)
        scores = self._model_on(device).function.scores(X, device)
        # Steps on a stream may be long by design. If they overflowed, the new points are not to blame.
        if self._state.is_finite():
            check_scores(scores, X)
        return self._targets.unscale(scores)
