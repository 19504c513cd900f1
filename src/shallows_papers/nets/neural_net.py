"""Nets for classification and regression: the fit, the features and the outputs."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from shallows import arrays, streams, training
from shallows.errors import ShallowsError
from shallows.estimators.base import keeps_model_on_failure
from shallows.fitting.machine import Options
from shallows.utils.plain_numbers import numeric_targets, plain_parameter
from shallows.utils.stored_parameters import stores_parameters

from . import backend, layers
from .architectures import find, shape_of_examples
from .descent import Coding, MomentumDescent, NetProblem, NetSnapshot

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
        architecture: Any = None,
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
        named = self.architecture or self._usual_architecture
        architecture = find(named)
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
        self._rows, self._built_from = X, (named, self.dtype)
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
            "architecture": named if isinstance(named, str) else "the user's own",
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
        named, dtype = vars(self).get("_built_from", (self.architecture or self._usual_architecture, self.dtype))
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


class NeuralNetClassifier(ClassifierMixin, NeuralNet):
    """A small neural net for classification: softmax, cross-entropy, gradient descent with momentum.

    `transform` gives the features of its last pooling layer. Needs PyTorch (extra ``nets``).

    Parameters
    ----------
    architecture : str or Architecture, optional
        Default ``"lenet"``, in regression ``"molecules_plain"``. A name in `shallows_papers.nets.ARCHITECTURES`:
        ``"lenet"`` (digits), ``"cuda_convnet"`` and ``"cuda_convnet_local"`` (small photos), ``"top_layers"`` (on the
        features of another net), ``"molecules"`` and ``"molecules_plain"``. Or your own `Architecture`.
    image_shape : (int, int, int), optional
        Channels, height and width of the images. Not needed for square images with one or three channels.
    step_size : float, optional
        Default 0.01, chosen on held-out training digits, and halved if training diverges. The papers do not state it
        (cuda-convnet has 0.001 for pixels from 0 to 255; here inputs are centered and scaled to variance 1 in total).
    momentum : float, default=0.9
        Momentum, as in cuda-convnet.
    weight_decay : float, default=5e-4
        On weights, not on biases. The papers do not state it.
    smaller_steps : sequence of float, default=(0.9, 0.95)
        Shares of the training after each of which the step is divided by ten, as in cuda-convnet.
    batch_size : int, default=128
        Rows of a step. Batches are fixed; their order changes every epoch.
    max_epochs : int, default=10
        Passes over the data.
    n_iter : int, optional
        Steps, instead of passes.
    max_seconds : float, optional
        Time limit of training. The step is then not decreased, because the number of steps is unknown.
    random_state : int or RandomState, optional
        Seed of initial weights, order of rows, and pieces of images. A seed gives the same net on one machine with the
        same number of threads.
    device : {"auto", "cpu", "gpu", "gpu:<number>"}, default="auto"
        "auto": the GPU if PyTorch has one.
    memory : int or str, optional
        Memory budget of a prediction in bytes; None: a share of the free memory.
    dtype : {"float32", "float64"}, default="float32"
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    weights_ : dict of ndarray
        By layer: ``body0.weight``, ``body0.bias``, ..., ``output.bias``.
    coding_ : shallows_papers.nets.descent.Coding
        Conversion of rows to inputs, learned from the training data.
    losses_ : list of float
        For each epoch, the mean loss of the batches before their steps, as a share of the loss of zero outputs.
    report_ : dict
        Values that were chosen for open parameters.
    n_epochs_, n_iter_ : int
        Whole passes over the data, and steps.
    n_resumes_, n_rollbacks_ : int
        How often training continued from a checkpoint, and was restarted with a smaller step.
    timings_ : dict of float
        Seconds of ``preparation``, ``training`` and ``evaluation``.

    References
    ----------
    B. Dai et al. Scalable kernel methods via doubly stochastic gradients. NIPS 2014. C.-L. Li and B. Póczos. Utilize
    old coordinates: faster doubly stochastic gradients for kernel methods. UAI 2016. A. Krizhevsky. cuda-convnet, 2012.
    G. Montavon et al. Learning invariant representations of molecules for atomization energy prediction. NIPS 2012.
    """

    _y_is_numeric = False
    _usual_architecture = "lenet"

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The training labels have only one class ({self.classes_.tolist()[0]!r}), but at least two are needed."
            )
        return codes.astype(np.int64), len(self.classes_)

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return self.classes_[scores.argmax(axis=1)]

    def _square_loss(self, scores: np.ndarray, y: np.ndarray) -> float:
        signs = np.where(y[:, None] == self.classes_, 1.0, -1.0)
        return float(np.mean((2.0 * _softmax(scores) - 1.0 - signs) ** 2))

    def _mean_loss(self, scores: np.ndarray, y: np.ndarray) -> float:
        scores = scores.astype(np.float64)
        right = scores[np.arange(len(y)), np.searchsorted(self.classes_, y)]
        return float(np.mean(logsumexp(scores, axis=1) - right))

    def decision_function(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities, up to a constant for each row.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes); for two classes the difference, shape (n_samples,)
        """
        scores = self._raw_predict(self._validated(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        return self._decode(self._raw_predict(self._validated(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
        """
        return _softmax(self._raw_predict(self._validated(X)))


def _softmax(scores: np.ndarray) -> np.ndarray:
    return softmax(scores.astype(np.float64), axis=1)


class NeuralNetRegressor(RegressorMixin, MultiOutputMixin, NeuralNet):
    """A small neural net for regression: square loss on standardized targets, gradient descent with momentum.

    `transform` gives the features of its last pooling layer, or of its last hidden layer. Needs PyTorch (extra
    ``nets``).

    Parameters, attributes and references are as in `NeuralNetClassifier`.
    """

    _y_is_numeric = True
    _usual_architecture = "molecules_plain"

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        y = y.astype(np.float64)
        self._one_column = y.ndim == 1
        y = y.reshape(len(y), -1)
        self._target_mean = y.mean(axis=0)
        spread = y.std(axis=0)
        self._target_scale = np.where(spread > 0, spread, 1.0)
        return (y - self._target_mean) / self._target_scale, y.shape[1]

    def _unscale(self, scores: np.ndarray) -> np.ndarray:
        return scores.astype(np.float64) * self._target_scale + self._target_mean

    def _decode(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0] if self._one_column else scores

    def _square_loss(self, scores: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean((scores - y.reshape(len(y), -1)) ** 2))

    def _mean_loss(self, scores: np.ndarray, y: np.ndarray) -> float:
        return 0.5 * float(np.mean(((scores - y.reshape(len(y), -1)) ** 2).sum(axis=1)))

    def predict(self, X: Any) -> np.ndarray:
        """Values of the outputs.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) or (n_samples, n_outputs), like y
        """
        return self._decode(self._raw_predict(self._validated(X)))
