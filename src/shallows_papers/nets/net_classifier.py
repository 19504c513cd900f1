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

    _y_is_numeric = False

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The training labels hold one class only ({self.classes_.tolist()[0]!r}); two at least are needed."
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
        """Logarithms of the class probabilities, up to a number the same for all classes of a row.

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
