"""The estimators whose function gains random features step by step, by a fit to a data set or to a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ... import arrays, kernels, losses, training
from ...errors import ShallowsError
from ...features.random_features import check_draws_features
from ...fitting import leave_one_out_choice, stream_training
from ...fitting.checks import (
    check_choice,
    check_positive,
    check_whole,
    is_number,
    is_whole,
    warn_user,
)
from ...fitting.expansion import TrainedExpansion, fit_expansion
from ...fitting.expansion_plan import ALL_BLOCKS, AllBlocks
from ...fitting.expansion_targets import ExpansionTargets, check_same_classes
from ...fitting.rows import TrainingSet
from ...fitting.stream_training import Stream
from ...fitting.waiting_rows import Batch
from ...kernels import precomputed
from ...models.centring import check_scores
from ...solvers.expansions import doubly_stochastic
from ...solvers.expansions.block_policies import POLICIES
from ...solvers.expansions.expansion_settings import ExpansionSettings
from ...utils.plain_numbers import plain_numbers
from ..base import Estimator
from ..inputs import LEAST_ROWS
from ..parameters import stores_parameters
from ..streaming import batches_of, is_array

SCHEDULES = ("auto", "line_search", "constant", "decay", "theory")

SLICES, LEAST_SLICE = 10, 256
"""An array for ``partial_fit`` without a ``batch_size`` is cut into so many slices, of so many rows at least."""


class RandomFeatureExpansion(Estimator):
    """Base of the estimators whose function is a sum over blocks of random features, made anew from their numbers."""

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
        check_positive(self, "regularisation", "damping", "decrease", or_zero=True)
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

    # ------------------------------------------------------------------- what a subclass must define

    def _learn_targets(self, y: Any, weights: np.ndarray | None, classes: Any) -> ExpansionTargets:
        """How targets are coded, from all of them or from the first rows of a stream."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------- the fit

    @training.keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> Self:
        """Train on all of X, y.

        Parameters
        ----------
        X : array-like or CSR matrix, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
            Not used for novelty.
        sample_weight : array-like, shape (n_samples,), optional
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
            NaN or infinity, shapes that do not agree, one class only.
        ShallowsError
            A parameter out of its range.
        DivergenceError
            With a ``step_size`` of the user's that is too large.
        """
        self._fit(X, y, sample_weight, observers, checkpoint, ALL_BLOCKS)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
        sharing: AllBlocks,
    ) -> None:
        """Fit with one process, or with the several processes of ``sharing.ranks``, each of which calls this."""
        self._check_parameters()
        rows, seed = self._validated_training_set(X, y, sample_weight), sharing.ranks.from_first(self._seed())
        model, run, seconds = self._train(rows, seed, None, sharing, observers=observers, checkpoint=checkpoint)
        self._store(Stream(model, (), rows.X.shape[0], 0, begins=False), run, seconds)

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
        """Go on with data that stream past.

        Parameters
        ----------
        X : array-like, memory map, or iterable of batches
            Arrays are read in slices, see ``batch_size``, one step each, and are never copied whole. An iterable,
            such as a generator, gives tuples ``(X, y)`` or ``(X, y, sample_weight)``, one step each; it need not end
            if ``n_iter`` or ``max_seconds`` is given.
        y : array-like, optional
            Targets, where X is an array. Not used for novelty.
        sample_weight : array-like, optional
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
            NaN, infinity or an unknown label in a batch, which the message numbers.
        ShallowsError
            A stream that ends before its first batch.
        DivergenceError
            If the loss of a batch leaves the numbers or explodes.

        Notes
        -----
        The model begins as that of ``fit`` to the rows so far. Up to 2,560 rows are kept, and it is fitted anew when
        they are a quarter more than at the last time; bandwidth, regularisation, centres and units are then chosen
        anew. It goes on from there by steps of 100 rows or more, for which smaller batches wait. What is kept is saved
        with the model.

        An error or Ctrl-C in a call with an array leaves the model as it was before the call. In a call with an
        iterable, the model is then that of the batches before.
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
        attributes = dict(vars(self))
        try:
            continued = self._continued(X, y, classes, sample_weight, n_iter, max_seconds, observers, checkpoint)
        except BaseException:
            training.restore_attributes(self, attributes)
            raise
        if continued.failure is not None:
            raise continued.failure
        return self

    def _continued(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        n_iter: int | None,
        max_seconds: float | None,
        observers: Sequence[training.Observer],
        checkpoint: training.Checkpoint | None,
    ) -> stream_training.Continued:
        """Go on with a stream, and store what that has made, also where it fails."""
        self._check_parameters()
        before = vars(self).get("_stream")
        if before is not None and classes is not None:
            check_same_classes(self.classes_, classes)
        known = classes if before is None else getattr(self, "classes_", None)
        source = batches_of(
            (X, y, sample_weight),
            ("X", "y", "sample_weight"),
            2 if self._takes_targets else 1,
            lambda n: self.batch_size or min(stream_training.FIRST_ROWS, max(LEAST_SLICE, -(-n // SLICES))),
        )
        limit = plain_numbers(max_seconds)
        continued = stream_training.continue_stream(
            before,
            source,
            is_whole=is_array(X),
            check=lambda batch, targets: self._checked_batch(batch, targets, known),
            begin=lambda rows, n_before: self._begin(rows, n_before, known, limit),
            n_iter=plain_numbers(n_iter),
            max_seconds=limit,
            options=self._options(),
            may_shrink=self.step_size is None,
            observers=[*self._progress_observers(), *observers],
            checkpoint=checkpoint,
        )
        self._store(continued.stream, continued.run, {"preparation": continued.preparation})
        self.effective_params_ = self.effective_params_ | {
            "n_rows_begun_with": continued.stream.n_begun,
            "n_rows_waiting": continued.stream.n_waiting,
        }
        return continued

    def _checked_batch(self, batch: Batch, targets: ExpansionTargets | None, classes: Any) -> tuple[Batch, Any]:
        """A batch that is checked, and what is known of the targets."""
        if self._takes_targets and batch[1] is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        X, y, weights = self._validated_training_set(*batch, first=targets is None, whole=False)[:3]
        if targets is None:
            targets = self._learn_targets(y, weights, classes)
        targets.encode(y)
        return (X, y, weights), targets

    def _begin(
        self, rows: Batch, n_before: int, classes: Any, max_seconds: float | None
    ) -> tuple[TrainedExpansion, training.Run]:
        """Fit a model to the first rows of a stream."""
        if n_before < LEAST_ROWS:
            self._warn_of_units(rows[0])
        seed = self._model.plan.seed if hasattr(self, "_stream") else self._seed()
        data = TrainingSet(*rows, np.arange(rows[0].shape[0]))
        return self._train(data, seed, classes, max_seconds=max_seconds)[:2]

    def _train(
        self,
        rows: TrainingSet,
        seed: int,
        classes: Any,
        sharing: AllBlocks = ALL_BLOCKS,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
        max_seconds: float | None = None,
    ) -> tuple[TrainedExpansion, training.Run, dict[str, float]]:
        """Fit a model to checked rows; ``classes`` are all that will come, where a stream named them."""
        return fit_expansion(
            rows,
            self._learn_targets(rows.y, rows.weights, classes),
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            kernel_params=self.kernel_params,
            form=self.features,
            orthogonal=self.orthogonal,
            settings=self._settings(),
            seed=seed,
            options=self._options(),
            observers=[*([] if sharing.ranks.rank else self._progress_observers()), *observers],
            checkpoint=checkpoint,
            max_seconds=max_seconds,
            sharing=sharing,
        )

    def _settings(self) -> ExpansionSettings:
        return ExpansionSettings(**{name: getattr(self, name) for name in ExpansionSettings.__dataclass_fields__})

    # ----------------------------------------------------------------------------------- the model

    def _store(self, stream: Stream, run: training.Run | None, seconds: dict[str, float]) -> None:
        """Set the fitted attributes; a call on a stream may have had no training."""
        self._stream, plan = stream, stream.model.plan
        self._targets = plan.targets
        if run is None:
            return
        self.block_size_, self.batch_size_ = plan.block_size, plan.batch_size
        self.bandwidth_ = plan.problem.features.kernel.bandwidth
        state = run.state
        self.n_iter_, self.n_epochs_, self.n_blocks_ = state.n_steps, run.epoch, state.n_blocks
        self.n_random_features_ = state.n_blocks * plan.block_size
        self.step_size_, self.losses_, self.n_reused_ = state.step_size, run.losses, state.n_reused
        self.n_rollbacks_, self.n_resumes_ = run.n_rollbacks, run.n_resumes
        self.effective_params_ = stream.model.report(run)
        self.timings_ = {**seconds, "training": run.seconds, "evaluation": seconds.get("evaluation", 0.0)}

    @property
    def _model(self) -> TrainedExpansion:
        return self._stream.model

    @property
    def _state(self) -> Any:
        """The coefficients, for the check of models that are saved."""
        return self._stream.model.state

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features, shape (n_blocks, width, n_outputs)."""
        if not hasattr(self, "_stream"):
            raise AttributeError("dual_coef_ is there after fit.")
        return arrays.to_numpy(self._state.coefficients)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream")

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(super().__getstate__())
        if "_stream" in kept:
            # So a model that was trained on a GPU can be unpickled where there is none.
            kept["_stream"] = kept["_stream"].kept()
        return kept

    def _raw_predict(self, X: Any) -> np.ndarray:
        """f(x), shape (m, c), for checked X, in the units of the targets."""
        device = arrays.resolve_device(self.device)
        if self._state.device != device:
            self._stream = self._stream.on(device)  # from now on
        scores = self._model.function.scores(X, device)
        # A stream with steps that are long by design may have overflowed without any fault of the new points.
        if self._state.is_finite():
            check_scores(scores, X)
        return self._targets.unscale(scores)
