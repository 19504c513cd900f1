"""The base of the estimators whose function gains random features in every step, from a data set or a stream."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from ... import arrays, kernels, losses, training
from ...errors import ShallowsError
from ...features.random_features import check_draws_features
from ...fitting.expansion import TrainedExpansion, fit_expansion
from ...fitting.fit_call import FitCall
from ...fitting.machine import Options
from ...fitting.rows import TrainingSet
from ...fitting.stream_training import Batch, StreamState
from ...fitting.targets import ExpansionTargets, check_same_classes
from ...kernels import precomputed
from ...models.centering import check_scores
from ...ranks import ALONE, Alone, checked
from ...solvers.expansions import SOLVERS
from ...solvers.expansions.doubly_stochastic import DoublyStochastic, TheoryStep
from ...spectrum.kernel_ridge_choice import is_automatic
from ...utils.checks import check_positive, warn_user
from ..base import keeps_model_on_failure
from ..constructors import stores_parameters
from ..streaming import GrowingModel, StreamCall, batches_of, is_array

SLICES, LEAST_SLICE = 10, 256
"""Number and least rows of the slices that ``partial_fit`` cuts an array into, without a ``batch_size``."""


FIRST_ROWS = 10_240
"""Rows of a stream up to which a model is fitted again. Fits to more rows have larger blocks and may find a narrower
bandwidth. After 20,000 rows of Friedman 1 in batches of 200 the error was 0.048, and 0.062 with fits to 2,560 rows."""


class RandomFeatureExpansion(GrowingModel):
    """Base of the estimators whose function is a sum over numbered blocks of random features."""

    _named: ClassVar = {"kernel": kernels.KERNELS, "solver": SOLVERS}

    @stores_parameters
    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        bandwidth: float | str = "auto",
        loss: Any = "auto",
        regularization: float | str = "auto",
        solver: Any = "auto",
        random_state: Any = None,
        options: Options | None = None,
    ):
        """Store the parameters.

        Parameters
        ----------
        kernel : str or Kernel, default="gaussian"
            A kernel with random features: a shift-invariant one of `shallows.kernels`, such as "gaussian" or "laplace",
            or "polynomial", "linear", "exponential", "arc_cosine", whose features vary more.
        bandwidth : float, "auto" or "median", default="auto"
            σ, in the units of X. "auto": smallest leave-one-out error on 600 rows, or less if many rows have a smaller
            error then. "median": the median distance of a subsample. A stream uses its first rows.
        regularization : float or "auto", default="auto"
            λ of λ/2 ‖f‖², next to the mean loss. "auto": smallest leave-one-out error on the same rows.
        solver : "auto" or shallows.solvers.DoublyStochastic, default="auto"
            Batches, blocks of features and steps. "auto": ``DoublyStochastic()``, which chooses them from the data.
        random_state : int, RandomState or None, default=None
        options : shallows.Options, optional
            Device, memory, precision, time limit and progress bar.
        """

    def _settings(self) -> DoublyStochastic:
        return super()._settings().for_targets()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        settings, ridge = self._settings(), self.regularization
        precomputed.refuse(self, "Its function is made of random frequencies of the kernel, which need its formula.")
        check_draws_features(kernels.make(self.kernel, self.bandwidth))
        check_positive(self, "regularization", or_zero=True, rules=("auto",))
        if isinstance(settings.schedule, TheoryStep):
            theta_nu = settings.schedule.theta_nu
            if ridge == 0:
                raise ShallowsError("TheoryStep divides theta_nu by regularization, which must be positive.")
            if theta_nu is not None and not (1 < theta_nu < 2 or float(theta_nu).is_integer()):
                warn_user(
                    f"theta_nu={theta_nu} is neither in (1, 2) nor a positive whole number. Only for these values the "
                    "rate 1/t is proved.",
                    UserWarning,
                )

    def _refuse_loss(self, kind: str, other: str, suits: Callable[[Any], bool]) -> None:
        """Refuse a loss that does not suit this ``kind`` of targets; ``other`` is the class for it."""
        loss = self._named_loss()
        if not suits(loss):
            known = ", ".join(sorted(name for name, cls in losses.LOSSES.items() if suits(cls())))
            raise ShallowsError(f"loss={loss.name!r} is not for {kind} (see {other}). Losses for {kind}: {known}.")

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
        ranks: Alone = ALONE,
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
        ranks : shallows.distributed.Mpi, optional
            The processes of an MPI program, each of which calls ``fit``. The default is one process.

        Raises
        ------
        ValueError, ShallowsError, DivergenceError
            Wrong data, a single class, a parameter out of its range, or a given ``step_size`` that is too large.
        """
        with checked(ranks).fit_together(self, (X, y, sample_weight), checkpoint) as checkpoint:
            self._check_parameters()
            rows = self._validated_training_set(X, y, sample_weight)
            model, run, seconds = self._train(rows, self._call(observers, checkpoint, ranks=ranks), None, ranks)
        self._store(StreamState(model, (), rows.X.shape[0], 0, begins=False), run, seconds)
        return self

    def _divided_arrays(self) -> tuple[str, ...] | None:
        """Names of a checkpoint's arrays that several processes divide; None if one process must fit."""
        return ("buffer",) if self._takes_targets else None

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
        ValueError, ShallowsError, DivergenceError
            NaN or infinity in a batch, whose number the message gives, no batch, or a loss that explodes.
        """
        y = y if self._takes_targets else None
        return self._partial_fit(X, y, None, sample_weight, StreamCall(n_iter, max_seconds, observers, checkpoint))

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any, call: StreamCall) -> Self:
        self._check_parameters()
        settings = self._settings()
        known = classes
        if self.__sklearn_is_fitted__():
            known = getattr(self, "classes_", None)
            if known is not None:
                check_same_classes(known, classes)
        source = batches_of(
            (X, y, sample_weight),
            ("X", "y", "sample_weight"),
            2 if self._takes_targets else 1,
            lambda n: settings.batch_size or min(FIRST_ROWS, max(LEAST_SLICE, -(-n // SLICES))),
        )
        check, begin = partial(self._check_batch, classes=known), partial(self._begin, classes=known)
        return self._continue(source, is_array(X), check, begin, call)

    def _first_rows(self) -> int:
        return FIRST_ROWS

    def _chooses_step(self) -> bool:
        return self._settings().step_size is None

    def _check_batch(self, batch: Batch, targets: ExpansionTargets | None, *, classes: Any) -> tuple[Batch, Any]:
        """Check a batch, and learn the coding of the targets from the first one."""
        if self._takes_targets and batch[1] is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        rows: Batch = self._validated_training_set(*batch, first=targets is None, whole=False)[:3]
        _, y, weights = rows
        if targets is None:
            targets = self._learn_targets(y, weights, classes)
        targets.encode(y)
        return rows, targets

    def _begin(
        self, rows: Batch, n_before: int, max_seconds: float | None, *, classes: Any
    ) -> tuple[TrainedExpansion, training.Run]:
        X, y, weights = rows
        call = self._call(seed=self._seed_of_beginning(rows, n_before), max_seconds=max_seconds)
        return self._train(TrainingSet(X, y, weights, np.arange(X.shape[0])), call, classes)[:2]

    def _train(
        self, rows: TrainingSet, call: FitCall, classes: Any, ranks: Alone = ALONE
    ) -> tuple[TrainedExpansion, training.Run, dict[str, float]]:
        """Fit a model to checked rows. ``classes`` are all that may come, if a stream named them."""
        return fit_expansion(
            rows,
            self._learn_targets(rows.y, rows.weights, classes),
            kernel=kernels.make(self.kernel, self.bandwidth),
            searches_bandwidth=is_automatic(self.bandwidth),
            regularization=None if is_automatic(self.regularization) else self.regularization,
            settings=self._settings(),
            call=call,
            ranks=ranks,
        )

    # ----------------------------------------------------------------------------------- the model

    def _store(self, stream: StreamState, run: training.Run | None, seconds: dict[str, float]) -> None:
        super()._store(stream, run, seconds)
        plan = stream.model.plan
        self._targets = plan.targets
        if run is None:
            return
        features, n_blocks = plan.problem.features, run.state.n_blocks
        self.block_size_, self.bandwidth_ = features.block_size, features.kernel.bandwidth
        self.n_blocks_, self.n_random_features_ = n_blocks, n_blocks * features.block_size
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
        device = arrays.resolve_device(self._options().device)
        scores = self._model_on(device).function.scores(X, device)
        # Steps on a stream may be long by design. If they overflowed, the new points are not to blame.
        if self._state.is_finite():
            check_scores(scores, X)
        return self._targets.unscale(scores)
