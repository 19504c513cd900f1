"""The fit, on a data set or on a stream, and the prediction of a function that gains random features step by step."""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ... import arrays, losses, streams, training
from ...errors import DivergenceError
from ...features.fourier import FourierFeatures
from ...solvers.examples import Examples
from ...solvers.expansions.expansion import ExpansionProblem, ExpansionState
from ..base import SMALL
from ..centring import Centring
from ..kernel_checks import check_scale, check_scores
from . import model_files, stream_batches
from .expansion_snapshot import ExpansionSnapshot
from .last_good_state import LastGoodState, steps_back_on_failure
from .solver_plan import PlannedExpansion

SAMPLE = 1000
"""Points from which bandwidth, top eigenvalue and variance of the features are estimated before the training."""

CHOSEN_FROM = 600
"""Those of them on which bandwidth and regularisation are chosen; each bandwidth that is tried takes an eigensystem.
Where these do not show that there is anything to be learnt, all are taken."""


class RandomFeatureExpansion(PlannedExpansion):
    """Base of the estimators whose function is a sum over blocks of random features, made anew from their numbers."""

    # ------------------------------------------------------------------- what a subclass must define

    def _learn_targets(self, y: np.ndarray | None, weights: np.ndarray | None, classes: Any) -> None:
        """Store how targets are coded, from all of them or from the first batch of a stream."""

    def _encode(self, y: np.ndarray | None) -> np.ndarray | None:
        """Targets as the loss takes them, float, shape (m, c), after `_learn_targets`."""
        raise NotImplementedError

    def _make_loss(self) -> losses.Loss:
        """The loss in the units of the coded targets."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------- the fit

    def fit(
        self,
        X: Any,
        y: Any,
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
        return self._fit(X, y, sample_weight, observers, checkpoint)

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
        Whatever ends the call early, Ctrl-C too, the model is then that of the batches before. Bandwidth,
        regularisation, centres and units are those of the first 256 rows. Batches are kept until there are so many, and
        the model is begun anew with them whenever their number has doubled.
        """
        y = y if self._takes_targets else None
        return self._partial_fit(X, y, None, sample_weight, n_iter, max_seconds, observers, checkpoint)

    @training.keeps_model_on_failure
    def _fit(self, X: Any, y: Any, sample_weight: Any, observers: Sequence, checkpoint: Any) -> Self:
        started = time.perf_counter()
        # In the course of a fit there is no model: an old function does not go with the centring of new data.
        for name in ("_state", "_first_batches"):
            vars(self).pop(name, None)
        self._check_parameters()
        X, y, weights = self._validated_training_set(X, y, sample_weight)
        n = X.shape[0]
        device = self._fit_device()
        seed = self._seed()
        with device.active():
            self._initialise(X, y, weights, n, seed, device)
            order = streams.permutation(seed, "order", 0, n)
            points = self._centring.training_points(X, order, device, self._dtype)[:, :-2]
            points = points if device.kind == "cpu" else arrays.contiguous(points)
            targets, w = self._encode(y), None
            targets = None if targets is None else arrays.to_device(targets[order], device, self._dtype)
            if weights is not None:
                w = arrays.to_device((weights[order] / weights.mean())[:, None], device, self._dtype)
            given = {"points": points, "targets": targets, "weights": w, "keep_values": self.keep_values}
            self._problem, self._order = dataclasses.replace(self._problem, **given), order
            prepared = time.perf_counter()

            n_batches = math.ceil(n / self.batch_size_)
            n_iter, max_epochs = self.n_iter, self.max_epochs
            if n_iter is None and max_epochs is None:
                n_iter = self._default_steps(n, n_batches)
            run = None
            try:
                run = training.train(
                    self._solver,
                    self._problem,
                    training.Batches(n, self.batch_size_, seed),
                    # No tolerance: the loss of novelty is negative.
                    training.Stopping(
                        max_epochs or math.ceil(n_iter / n_batches), n_iter, self.max_seconds, tolerance=-math.inf
                    ),
                    observers=[*self._progress_observers(), *observers],
                    checkpoint=checkpoint,
                    snapshot=lambda state, epoch: ExpansionSnapshot(self, state, epoch),
                    may_shrink=self.step_size is None,
                )
                if not run.state.is_finite():
                    raise DivergenceError(
                        f"Training diverged with step_size={self._solver.step_size:.3g}. Take a smaller step_size, or "
                        "leave it to the program (step_size=None)."
                    )
                self._finish_fit(run.state)
            finally:
                self._problem = dataclasses.replace(self._problem, points=None, targets=None, weights=None)
                del self._order
            arrays.synchronise(points)
        run.state.known = None
        self._state, self._n_batches_seen = run.state, 0
        self._set_fitted_attributes(run, {"preparation": prepared - started}, time.perf_counter() - prepared)
        return self

    @steps_back_on_failure
    def _partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        n_iter: int | None,
        max_seconds: float | None,
        observers: Sequence,
        checkpoint: Any,
        last_good: LastGoodState,
    ) -> Self:
        self._check_parameters()
        started = time.perf_counter()
        source = stream_batches.batches_of(self, X, y, sample_weight)
        if hasattr(self, "_state") and classes is not None:
            self._check_classes(classes)
        if not hasattr(self, "_state") or hasattr(self, "_first_batches"):
            source, last_good.n_repeated = stream_batches.begin(self, source, classes, n_iter)
        device = arrays.resolve_device(self.device)
        prepared = time.perf_counter()
        with device.active():
            self._state = self._state if arrays.device_of(self._state.buffer) == device else self._state.to(device)
            run = training.train(
                self._solver,
                self._problem,
                training.Stream(stream_batches.examples(self, source, device)),
                training.Stopping(
                    1, None if n_iter is None else n_iter + last_good.n_repeated, max_seconds, tolerance=-math.inf
                ),
                # What keeps the state comes before what may fail.
                observers=[last_good, *self._progress_observers(), *observers],
                checkpoint=checkpoint,
                snapshot=lambda state, epoch: ExpansionSnapshot(self, state, epoch),
                state=self._state,
            )
            self._finish_stream(self._state)
        if run.stopped_by == "max_epochs":
            run.stopped_by = "end of the stream"
            n_taken = run.iteration - last_good.n_repeated
            if n_iter is not None:
                warnings.warn(
                    f"The stream ended after {n_taken} of the {n_iter} batches that were asked for; the model is "
                    "what those made.",
                    ConvergenceWarning,
                    stacklevel=4,
                )
        self._set_fitted_attributes(run, {"preparation": prepared - started}, time.perf_counter() - prepared)
        return self

    # ------------------------------------------------------------------------------------ the plan

    def _initialise(self, X, y, weights, n, seed, device, classes=None) -> None:
        """Choose centring, kernel, features and solver, from the training data or the first batch of a stream."""
        self._learn_targets(y, weights, classes)
        self._mean_weight = 1.0 if weights is None else float(weights.mean())
        targets = self._encode(y)
        c = 1 if targets is None else targets.shape[1]
        budget = self._working_budget(device)
        small = n is not None and n <= SMALL
        self._dtype = np.dtype(("float64" if small else "float32") if self.dtype == "auto" else self.dtype)
        self._centring = Centring.of(X, without_constants=False)
        block_size, batch_size = self._default_sizes(n)
        self.block_size_ = self.block_size or block_size
        self.batch_size_ = self.batch_size or batch_size
        if n is not None:
            self.batch_size_ = min(n, self.batch_size_)

        rows = streams.permutation(seed, "first look", 0, X.shape[0])[:SAMPLE]
        sample = self._centring.training_points(
            X[rows], np.arange(len(rows)), arrays.Device("cpu"), np.dtype("float64")
        )
        check_scale(sample, sample.dtype, may_vanish=bool((sample == sample[0]).all()))
        sample = sample[:, :-2]
        looked_at = (sample, *(None if part is None else part[rows] for part in (targets, weights)))
        for m in (CHOSEN_FROM, SAMPLE):
            kernel, nu, chosen = self._choose_kernel(*(None if p is None else p[:m] for p in looked_at), n, seed)
            tells_nothing = chosen.pop("tells_nothing", False)
            if len(sample) <= m or not tells_nothing:
                break
        held = 0 if n is None else n * (X.shape[1] + c) * self._dtype.itemsize
        room = max(2**24, (budget - held) // 2)
        self._features = FourierFeatures(
            kernel,
            X.shape[1],
            self.block_size_,
            seed,
            form=self.features,
            orthogonal=self.orthogonal,
            cache_bytes=room // 2,
        )
        loss = self._make_loss()
        self._solver, self.effective_params_ = self._plan(sample, loss, nu, chosen, seed)
        at_once = min(room // 4, 2**28 if device.kind == "cpu" else 2**32)
        growth, counts = self._divergence_factor(loss, n is None), self._counts(targets, weights, streamed=n is None)
        self._problem = ExpansionProblem(self._features, loss, c, budget=at_once, growth=growth, counts=counts)
        self.effective_params_ |= {
            "kernel": kernel.name,
            "bandwidth": kernel.bandwidth,
            "loss": loss.name,
            "block_size": self.block_size_,
            "batch_size": self.batch_size_,
            "regularisation": self._solver.regularisation,
            "memory_budget": budget,
            "precision": self._dtype.name,
            "device": str(device),
            "seed": seed,
            "choice": chosen,
        }
        self.bandwidth_, self._seed_ = kernel.bandwidth, seed

    def _finish_fit(self, state: ExpansionState) -> None:
        """Compute what needs the whole training set, after the last step of a fit."""

    def _look_at(self, batch: Examples) -> None:
        """Note what `_finish_stream` needs of a batch of a stream."""

    def _finish_stream(self, state: ExpansionState) -> None:
        """Compute what the last batch does not tell, after the last step of a call."""

    def _set_fitted_attributes(self, run: training.Run, timings: dict[str, float], spent: float) -> None:
        state = run.state
        self.n_iter_, self.n_epochs_ = state.n_steps, run.epoch
        self.n_blocks_, self.n_reused_ = state.n_blocks, state.n_reused
        self.n_random_features_ = state.n_blocks * self.block_size_
        self.step_size_, self.losses_ = state.step_size, run.losses
        self.n_rollbacks_, self.n_resumes_ = run.n_rollbacks, run.n_resumes
        self.effective_params_ |= {
            "n_blocks": state.n_blocks,
            "n_reused": state.n_reused,
            "n_random_features": self.n_random_features_,
            "n_steps": state.n_steps,
            "last_step": state.last_step,
            "stopped_by": run.stopped_by,
            "gradient_rms": math.sqrt(state.gradient_square),
        }
        self.timings_ = {**timings, "training": run.seconds, "evaluation": max(0.0, spent - run.seconds)}

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the features, shape (n_blocks, width, n_outputs)."""
        if not hasattr(self, "_state"):
            raise AttributeError("dual_coef_ is there after fit.")
        return arrays.to_numpy(self._state.coefficients)

    # ---------------------------------------------------------------------------------- prediction

    def _raw_predict(self, X: Any, state: ExpansionState | None = None) -> np.ndarray:
        """f(x), shape (m, c), for checked X."""
        device, fitting = arrays.resolve_device(self.device), state is not None
        if not fitting:
            self._state = self._state if arrays.device_of(self._state.buffer) == device else self._state.to(device)
            state = self._state
        out = np.empty((X.shape[0], self._problem.n_outputs), dtype=self._dtype)
        with device.active(), np.errstate(over="ignore", invalid="ignore"):
            for rows, x, _ in self._centring.new_points(X, device, self._dtype):
                out[rows] = arrays.to_numpy(state.shifted_values(self._problem, x))
        # A stream with steps that are long by design may have overflowed without any fault of the new points.
        if not fitting and state.is_finite():
            check_scores(out, X)
        return self._unscale(out)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(super().__getstate__())
        if "_state" in kept:
            # So a model that was trained on a GPU can be unpickled where there is none.
            kept["_state"] = kept["_state"].to(arrays.Device("cpu"))
        return kept

    def save(self, path: Any) -> None:
        """Write the fitted model: coefficients, seed and parameters, no data and no features.

        A model takes 8 (float32) or 16 (float64) kilobytes for a thousand frequencies and an output, whatever the
        number of inputs, of which the file holds the mean alone.

        Parameters
        ----------
        path : path
            Ends in ``.npz``.
        """
        check_is_fitted(self)
        model_files.save(self, path)

    @classmethod
    def load(cls, path: Any, *, device: str = "auto") -> Self:
        """Read a model that `save` wrote, on any machine and device.

        Raises
        ------
        ShallowsError
            If the file is none of these, is damaged, holds another estimator, comes from a newer version, or holds a
            kernel that this version does not know or draws otherwise.
        """
        return model_files.load(cls, path, device)
