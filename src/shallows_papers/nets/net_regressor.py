"""A small neural net for regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from shallows.utils.stored_parameters import stores_parameters

from .neural_net import NeuralNet


class NeuralNetRegressor(RegressorMixin, MultiOutputMixin, NeuralNet):
    """A small neural net for regression: square loss on standardised targets, gradient descent with momentum.

    `transform` gives the features of its last pooling layer, or of its last hidden one. Needs PyTorch (extra ``nets``).

    Parameters
    ----------
    architecture : str or Architecture, default="molecules_plain"
        A name of `shallows_papers.nets.ARCHITECTURES`, each of which says where it is from: ``"lenet"`` (digits),
        ``"cuda_convnet"`` and ``"cuda_convnet_local"`` (small photos), ``"top_layers"`` (on the features of another
        net), ``"molecules"`` and ``"molecules_plain"``; or an `Architecture` of your own.
    image_shape : (int, int, int), optional
        Channels, height and width of the images. Square ones of one or of three channels need not be described.
    step_size : float, optional
        0.01 where none is given, chosen on held-out training digits, and halved if it diverges. The papers state none
        for their nets (cuda-convnet has 0.001 for pixels from 0 to 255; here inputs are centred and scaled to variance
        1 over all of them).
    momentum : float, default=0.9
        That of cuda-convnet.
    weight_decay : float, default=5e-4
        On weights, not on biases. The papers state none for their nets.
    smaller_steps : sequence of float, default=(0.9, 0.95)
        Shares of the training after which the step is a tenth of what it was, as cuda-convnet ends its trainings.
    batch_size : int, default=128
        Rows of a step. Batches are drawn up once and taken in an order that is new every epoch.
    max_epochs : int, default=10
        Passes over the data.
    n_iter : int, optional
        Steps, instead of passes.
    max_seconds : float, optional
        Of training. The step then does not become smaller, since its end is not known.
    random_state : int or RandomState, optional
        Of the first weights, the order of the rows, and the pieces of images. One seed gives one net, on one machine
        and with one number of threads.
    device : {"auto", "cpu", "gpu", "gpu:<number>"}, default="auto"
        The GPU where PyTorch has one.
    memory : int or str, optional
        Bytes that a prediction may take; a share of what is free when None.
    dtype : {"float32", "float64"}, default="float32"
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    weights_ : dict of ndarray
        By layer: ``body0.weight``, ``body0.bias``, ..., ``output.bias``.
    coding_ : shallows_papers.nets.inputs.Coding
        How rows become inputs; learnt from the training data.
    losses_ : list of float
        Of each epoch, every batch before its own step, as a share of the loss of zero outputs.
    report_ : dict
        What was used, where parameters left it open.
    n_epochs_, n_iter_ : int
        Whole passes over the data, and steps.
    n_resumes_, n_rollbacks_ : int
        How often the training went on from a checkpoint, and was taken back for a smaller step.
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
        ndarray, shape (n_samples,) or (n_samples, n_outputs), as y was
        """
        return self._decode(self._raw_predict(self._validated(X)))
