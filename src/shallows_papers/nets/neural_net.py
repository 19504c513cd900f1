"""The base class of the nets: the fit, the features and the outputs."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from shallows import arrays, streams, training
from shallows.errors import ShallowsError
from shallows.estimators.base import keeps_model_on_failure
from shallows.fitting.machine import Options
from shallows.utils.plain_numbers import numeric_targets, plain_parameter
from shallows.utils.stored_parameters import stores_parameters

from . import backend, layers
from .architectures import find, shape_of_examples
from .descent import MomentumDescent, NetProblem, NetState
from .inputs import Coding


class NetSnapshot:
    """A net during its training, for observers.

    Outputs are cached, so several measures of the same points need one evaluation.
    """

    def __init__(self, estimator: Any, state: NetState, epoch: int):
        self.estimator, self.state, self.epoch = estimator, state, epoch
        self._training_scores: np.ndarray | None = None
        self._last: tuple[Any, np.ndarray] | None = None

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs of the net, shape (m, c)."""
        if self._last is None or self._last[0] is not X:
            self._last = (X, self.estimator._raw_predict(np.asarray(X), self.state.weights))
        return self._last[1]

    def predict(self, X: Any) -> np.ndarray:
        """Labels or values in the user's coding."""
        return self.estimator._decode(self.decision_function(X))

    def training_decision_function(self) -> np.ndarray:
        """Outputs on the training rows, shape (n, c)."""
        if self._training_scores is None:
            self._training_scores = self.estimator._raw_predict(self.estimator._rows, self.state.weights)
        return self._training_scores

    def predict_training(self) -> np.ndarray:
        """`predict` on the training rows."""
        return self.estimator._decode(self.training_decision_function())

    def square_loss(self, X: Any, y: Any) -> float:
        """Return the mean of the squared error over points and outputs.

        For classes, targets are −1 and +1 and the function is 2 p − 1 with the estimated probability p, comparable with
        the square loss of a least-squares classifier.
        """
        return self.estimator._square_loss(self.decision_function(X), np.asarray(y))

    def training_square_loss(self, y: Any) -> float:
        """`square_loss` on the training rows."""
        return self.estimator._square_loss(self.training_decision_function(), np.asarray(y))

    def mean_loss(self, X: Any, y: Any) -> float:
        """Return the mean of the minimized loss: cross-entropy, or half the squared error in the targets' units."""
        return self.estimator._mean_loss(self.decision_function(X), np.asarray(y))

    def coefficient_norm(self) -> float:
        """Euclidean norm of all weights."""
        return math.sqrt(sum(float((value.detach().double() ** 2).sum()) for value in self.state.weights.values()))


STEP_SIZE = 0.01
"""The default step size: the best of 0.01, 0.02 and 0.05 (4.0, 4.1 and 4.6 % errors) on 1,000 held-out training digits,
after 15 epochs of LeNet on 3,000 digits. Inputs and weights are scaled so that activations are about one in every
layer, so other nets use the same value. A step that diverges is halved."""

_ROWS = 256  # maximal number of rows predicted at once


class NeuralNet(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the nets: training, outputs and features."""

    @stores_parameters
    def __init__(
        self,
        architecture: Any = "lenet",
        *,
        image_shape: tuple[int, int, int] | None = None,
        step_size: float | None = None,
        momentum: float = 0.9,
        weight_decay: float = 5e-4,
        smaller_steps: Sequence[float] = (0.9, 0.95),
        batch_size: int = 128,
        max_epochs: int = 10,
        n_iter: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        memory: int | str | None = None,
        dtype: str = "float32",
        verbose: int = 0,
    ): ...

    # ------------------------------------------------------------------- what a subclass must define

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        """Return coded targets and the number of outputs; store the coding."""
        raise NotImplementedError

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores

    def _square_loss(self, scores: np.ndarray, y: np.ndarray) -> float:
        raise NotImplementedError

    def _mean_loss(self, scores: np.ndarray, y: np.ndarray) -> float:
        raise NotImplementedError

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, plain_parameter(self, name, value))

    # --------------------------------------------------------------------------- the fit

    @keeps_model_on_failure
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
    ) -> NeuralNet:
        """Train on X, y.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Memory maps are read batch by batch. The pixels of an image are one row, channel after channel.
        y : array-like, shape (n_samples,) or, in regression, (n_samples, n_outputs)
        observers : sequence of shallows.training.Observer
            `Progress`, `Curve` and others, called after every batch and epoch.
        checkpoint : shallows.training.Checkpoint, optional
            Continue from the checkpoint if it exists, and update it.

        Returns
        -------
        self

        Raises
        ------
        MissingExtraError
            Without PyTorch.
        ValueError
            NaN or infinity, shapes that do not match, or only one class.
        ShallowsError
            A parameter out of range, or features that are not images although the net needs images.
        DivergenceError
            If the given ``step_size`` is too large.
        """
        started = time.perf_counter()
        vars(self).pop("weights_", None)
        architecture = find(self.architecture)
        self._check_parameters()
        y = numeric_targets(y) if self._y_is_numeric else y
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], multi_output=self._y_is_numeric, y_numeric=self._y_is_numeric
        )
        targets, n_outputs = self._encode(np.asarray(y))
        n = len(X)
        seed = self._seed()
        shape = shape_of_examples(X.shape[1], architecture.of_images, self.image_shape)
        architecture.shapes(shape, n_outputs)  # refuses too small images before reading data
        device = backend.resolve_device(self.device)
        self.coding_ = Coding.of(X, shape, architecture)
        batch_size = min(self.batch_size, n)
        n_batches = math.ceil(n / batch_size)
        n_steps = self.n_iter or self.max_epochs * n_batches
        solver = MomentumDescent(
            float(self.step_size or STEP_SIZE),
            float(self.momentum),
            float(self.weight_decay),
            # With a time limit, the number of steps is unknown.
            () if self.max_seconds else tuple(math.ceil(share * n_steps) for share in self.smaller_steps),
        )
        problem = NetProblem(
            x=X,
            targets=targets,
            order=streams.permutation(seed, "order", 0, n),
            architecture=architecture,
            coding=self.coding_,
            n_outputs=n_outputs,
            seed=seed,
            device=device,
            dtype=getattr(backend.torch(), self.dtype),
        )
        prepared = time.perf_counter()
        self._rows, self._built_from = X, (self.architecture, self.dtype)
        try:
            with backend.reproducibly():
                run = training.train(
                    solver,
                    problem,
                    training.Batches(n, batch_size, seed),
                    training.Stopping(math.ceil(n_steps / n_batches), self.n_iter, self.max_seconds),
                    observers=[*([training.Progress(type(self).__name__)] if self.verbose else []), *observers],
                    checkpoint=checkpoint,
                    snapshot=lambda state, epoch: NetSnapshot(self, state, epoch),
                    may_shrink=self.step_size is None,
                )
        finally:
            del self._rows
        self.weights_ = {name: value.detach().cpu().numpy().copy() for name, value in run.state.weights.items()}
        self._n_features_out = architecture.n_features(self.coding_.shape)
        self.losses_ = run.losses
        self.n_epochs_, self.n_iter_ = run.epoch, run.iteration
        self.n_resumes_, self.n_rollbacks_ = run.n_resumes, run.n_rollbacks
        self.report_ = {
            "architecture": self.architecture if isinstance(self.architecture, str) else "the user's own",
            "input_shape": list(self.coding_.shape),
            "n_net_features": self._n_features_out,
            "n_weights": sum(value.size for value in self.weights_.values()),
            "batch_size": batch_size,
            "step_size": run.state.step_size,
            "n_steps": run.state.n_steps,
            "n_epochs": run.epoch,
            "stopped_by": run.stopped_by,
            "precision": self.dtype,
            "device": backend.device_name(device),
            "torch": backend.torch().__version__,
            "seed": seed,
        }
        self.report_["timings"] = {
            "preparation": prepared - started,
            "training": run.seconds,
            "evaluation": max(0.0, time.perf_counter() - prepared - run.seconds),
        }
        return self

    def _options(self) -> Options:
        """Return the options for printing progress."""
        return Options(verbose=self.verbose)

    def _seed(self) -> int:
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _check_parameters(self) -> None:
        for name in ("batch_size", "max_epochs", "n_iter"):
            value = getattr(self, name)
            if not (value is None and name == "n_iter") and not (isinstance(value, numbers.Integral) and value >= 1):
                raise ShallowsError(f"{name} must be a whole number of at least 1, got {value!r}.")
        shares = self.smaller_steps
        for name, good, what in (
            ("step_size", self.step_size is None or _is_positive(self.step_size), "a positive number or None"),
            ("max_seconds", self.max_seconds is None or _is_positive(self.max_seconds), "a positive number or None"),
            ("momentum", _is_number(self.momentum) and 0 <= self.momentum < 1, "a number from 0 and below 1"),
            ("weight_decay", _is_number(self.weight_decay) and self.weight_decay >= 0, "a number of at least 0"),
            (
                "smaller_steps",
                isinstance(shares, (tuple, list)) and all(_is_positive(share) and share <= 1 for share in shares),
                "shares of the training between 0 and 1",
            ),
            ("dtype", self.dtype in ("float32", "float64"), "'float32' or 'float64'"),
        ):
            if not good:
                raise ShallowsError(f"{name} must be {what}, got {getattr(self, name)!r}.")

    # -------------------------------------------------------------------- features and outputs

    def transform(self, X: Any) -> np.ndarray:
        """Features of the net: outputs of its last pooling layer or, without pooling, of its last hidden layer.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_net_features)
            In the net's precision. For images, one feature map after the other, each row by row. If the architecture
            cuts images, the middle is used.
        """
        return self._evaluate(layers.body, self._validated(X), self._n_features_out)

    def _raw_predict(self, X: np.ndarray, weights: Any = None) -> np.ndarray:
        """Outputs of the net, shape (m, c), for checked X."""
        n_outputs = len((self.weights_ if weights is None else weights)["output.bias"])
        return self._unscale(self._evaluate(layers.scores, X, n_outputs, weights))

    def _evaluate(self, what: Any, X: np.ndarray, width: int, weights: Any = None) -> np.ndarray:
        torch, device = backend.torch(), backend.resolve_device(self.device)
        # Use the training's settings; `set_params` after the fit does not change them.
        named, dtype = vars(self).get("_built_from", (self.architecture, self.dtype))
        architecture = find(named)
        if weights is None:
            weights = {name: torch.from_numpy(value.copy()).to(device) for name, value in self.weights_.items()}
        shapes = architecture.shapes(self.coding_.shape, len(weights["output.bias"]))
        # Bytes of the widest layer's output; the factor ten is for windows and copies.
        row_bytes = 10 * 8 * max(map(math.prod, (self.coding_.shape, *shapes.values())))
        rows = min(_ROWS, max(1, arrays.memory_budget(self.memory) // (4 * row_bytes)))
        out = np.empty((len(X), width), dtype=dtype)
        with torch.no_grad(), backend.reproducibly():
            for block in arrays.blocks(len(X), rows):
                x = torch.from_numpy(np.ascontiguousarray(self.coding_.middle(X[block]))).to(
                    device, getattr(torch, dtype)
                )
                out[block] = what(architecture, weights, x).cpu().numpy()
        return out

    def _validated(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return validate_data(self, X, dtype=[np.float64, np.float32], reset=False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # features have the precision of the net
        return tags


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0
