"""An image classifier that is trained on pieces and mirror images, and averages the scores of all copies."""

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from shallows.arrays.user_arrays import to_host
from shallows.errors import ShallowsError
from shallows.estimators.base import check_kinds
from shallows.utils.checks import check_choice, is_whole
from shallows.utils.plain_numbers import plain_parameter

from ..nets.architectures import shape_of_examples

__all__ = ["ImageVotes", "image_copies"]


def image_copies(
    X: np.ndarray, image_shape: tuple[int, int, int], crop: int | None = None, mirror: bool = True
) -> Iterator[np.ndarray]:
    """Yield pieces and mirror images; each array has one copy of every image.

    The pieces are the middle one and the four corners: upper left, upper right, lower left, lower right. Then come
    their mirror images, with left and right exchanged, in the same order.

    Parameters
    ----------
    X : ndarray, shape (m, channels · height · width)
        The pixels of an image are one row, channel after channel.
    image_shape : (int, int, int)
        Channels, height and width.
    crop : int, optional
        Side of the pieces in pixels. None: whole images.
    mirror : bool

    Yields
    ------
    ndarray, shape (m, channels · crop²) or the shape of X
    """
    channels, height, width = image_shape
    images = X.reshape(len(X), channels, height, width)
    high, wide = (height, width) if crop is None else (crop, crop)
    down, right = height - high, width - wide
    corners = [] if crop is None else [(0, 0), (0, right), (down, 0), (down, right)]
    for step in (1, -1) if mirror else (1,):
        for top, left in [(down // 2, right // 2), *corners]:
            yield images[:, :, top : top + high, left : left + wide][..., ::step].reshape(len(X), -1)


def _can(method: str) -> Callable[[Any], bool]:
    def has(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), method)
        return True

    return has


class ImageVotes(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """An image classifier that averages over several copies of an image: pieces and mirror images.

    The classifier is trained on all copies of the training images, and the score of a new image is the mean of the
    scores of its copies. With pieces and mirror images there are ten copies, as in the experiments of Dai and others
    with photos.

    Parameters
    ----------
    estimator : classifier
        With ``decision_function`` or ``predict_proba``. A clone is trained. Put a fitted classifier into scikit-learn's
        `FrozenEstimator`. Copies of an image are similar, so an error on held-out copies is too small: choose
        parameters on other images, or without copies.
    image_shape : (int, int, int)
        Channels, height and width of the images. The pixels of an image are one row, channel after channel.
    crop : int, optional
        Side of the square pieces (the middle and the four corners). None: whole images.
    mirror : bool, default=True
        Whether to use mirror images, too. Set it to False for digits and letters.
    train_on : {"copies", "middle"}, default="copies"
        "copies" trains on all copies, with up to ten times the rows and the memory of X; "middle" trains only on the
        middle pieces.

    Attributes
    ----------
    estimator_ : classifier
        The classifier trained on the copies. `shallows.save` writes it; after reading, wrap it in a `FrozenEstimator`.
    classes_ : ndarray, shape (n_classes,)

    References
    ----------
    B. Dai, B. Xie, N. He, Y. Liang, A. Raj, M.-F. Balcan and L. Song (2014), "Scalable kernel methods via doubly
    stochastic gradients", NIPS 27. A. Krizhevsky, I. Sutskever and G. E. Hinton (2012), "ImageNet classification with
    deep convolutional neural networks", NIPS 25.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shallows import KernelRidgeClassifier
    >>> from shallows_papers.baselines import ImageVotes
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ImageVotes(KernelRidgeClassifier(random_state=0), (1, 8, 8), crop=7, mirror=False)
    >>> bool(model.fit(X[:300], y[:300]).score(X[1200:], y[1200:]) > 0.9)
    True
    """

    def __init__(
        self,
        estimator: Any,
        image_shape: tuple[int, int, int],
        *,
        crop: int | None = None,
        mirror: bool = True,
        train_on: str = "copies",
    ):
        self.estimator = estimator
        self.image_shape = image_shape
        self.crop = crop
        self.mirror = mirror
        self.train_on = train_on

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, plain_parameter(self, name, value))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the classifier on the copies.

        Parameters
        ----------
        X : array-like, shape (n_samples, channels · height · width)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            For a classifier that accepts weights. Each copy has the weight of its image.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity, or shapes that do not match.
        ShallowsError
            ``estimator`` is not a classifier, ``image_shape`` does not fit the rows, or pieces are larger than the
            images.
        """
        check_kinds(self)
        check_choice(self, train_on=("copies", "middle"))
        if isinstance(self.estimator, type) or not (hasattr(self.estimator, "fit") and is_classifier(self.estimator)):
            raise ShallowsError(f"estimator must be a classifier, got {self.estimator!r}.")
        X, y = validate_data(self, to_host(X), to_host(y), dtype=[np.float64, np.float32])
        copying = self.image_shape, self.crop, self.mirror
        copies = list(self._copies(X, *copying)) if self.train_on == "copies" else [next(self._copies(X, *copying))]
        weights = {} if sample_weight is None else {"sample_weight": np.tile(to_host(sample_weight), len(copies))}
        self.estimator_ = clone(self.estimator).fit(np.concatenate(copies), np.tile(y, len(copies)), **weights)
        self.classes_, self._copying = self.estimator_.classes_, copying
        return self

    @staticmethod
    def _copies(X: np.ndarray, image_shape: Any, crop: int | None, mirror: bool) -> Iterator[np.ndarray]:
        shape = shape_of_examples(X.shape[1], True, image_shape)
        if crop is not None and not (is_whole(crop) and 1 <= crop <= min(shape[1:])):
            raise ShallowsError(
                f"crop must be a whole number from 1 to {min(shape[1:])}, the smaller side of the images, or None; got "
                f"{crop!r}."
            )
        return image_copies(X, shape, crop, mirror)

    def _mean(self, method: str, X: Any) -> np.ndarray:
        """Return the mean over the copies of the result of a classifier's method."""
        check_is_fitted(self, "estimator_")
        X = validate_data(self, to_host(X), dtype=[np.float64, np.float32], reset=False)
        copies = self._copies(X, *self._copying)
        return np.mean([getattr(self.estimator_, method)(copy) for copy in copies], axis=0)

    @available_if(_can("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Mean scores of the copies.

        Parameters
        ----------
        X : array-like, shape (n_samples, channels · height · width)

        Returns
        -------
        ndarray, shape (n_samples,) for two classes, else the shape of the classifier's result
        """
        return self._mean("decision_function", X)

    @available_if(_can("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Mean probabilities of the copies.

        Parameters
        ----------
        X : array-like, shape (n_samples, channels · height · width)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
        """
        return self._mean("predict_proba", X)

    def predict(self, X: Any) -> np.ndarray:
        """Classes with the largest mean score or, without scores, with the largest mean probability.

        Parameters
        ----------
        X : array-like, shape (n_samples, channels · height · width)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        scores = self._mean("decision_function" if hasattr(self, "decision_function") else "predict_proba", X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
