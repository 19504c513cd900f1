"""A small neural net for classification."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from .neural_net import NeuralNet


class NeuralNetClassifier(ClassifierMixin, NeuralNet):
    """A small neural net for classification: softmax, cross-entropy, gradient descent with momentum.

    `transform` gives the features of its last pooling layer. Needs PyTorch (extra ``nets``).

    Parameters
    ----------
    architecture : str or Architecture, default="lenet"
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

    _y_is_numeric = False

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
