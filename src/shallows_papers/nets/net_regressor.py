"""A small neural net for regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from shallows.utils.stored_parameters import stores_parameters

from .neural_net import NeuralNet


class NeuralNetRegressor(RegressorMixin, MultiOutputMixin, NeuralNet):
    """A small neural net for regression: square loss on standardized targets, gradient descent with momentum.

    `transform` gives the features of its last pooling layer, or of its last hidden layer. Needs PyTorch (extra
    ``nets``).

    Parameters
    ----------
    architecture : str or Architecture, default="molecules_plain"
        A name in `shallows_papers.nets.ARCHITECTURES`: ``"lenet"`` (digits), ``"cuda_convnet"`` and
        ``"cuda_convnet_local"`` (small photos), ``"top_layers"`` (on the features of another net), ``"molecules"`` and
        ``"molecules_plain"``. Or your own `Architecture`.
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
    coding_ : shallows_papers.nets.inputs.Coding
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

    _y_is_numeric = True

    @stores_parameters
    def __init__(
        self,
        architecture: Any = "molecules_plain",
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
