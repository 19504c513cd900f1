"""Votes of pieces and mirror images: the copies one by one, scores and training against loops, refusals."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from shallows import KernelRidgeClassifier
from shallows.errors import ShallowsError
from shallows_papers.baselines.image_votes import ImageVotes, image_copies

SHAPE = (2, 5, 6)


def images(n=40, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 60))
    return X, np.arange(n) % n_classes


def by_hand(x, crop, mirror):
    """The copies of one image, pixel by pixel."""
    channels, height, width = SHAPE
    down, right = height - crop, width - crop
    found = []
    for reflected in [False, True][: 1 + mirror]:
        for top, left in ((down // 2, right // 2), (0, 0), (0, right), (down, 0), (down, right)):
            copy = np.empty((channels, crop, crop))
            for c in range(channels):
                for i in range(crop):
                    for j in range(crop):
                        at = crop - 1 - j if reflected else j
                        copy[c, i, j] = x[c * height * width + (top + i) * width + left + at]
            found.append(copy.ravel())
    return found


def reflected(X):
    return X.reshape(-1, *SHAPE)[..., ::-1].reshape(len(X), -1)


@pytest.mark.parametrize("mirror", [True, False])
def test_the_copies_are_the_middle_the_corners_and_their_mirror_images(mirror):
    X, _ = images(3)
    found = list(image_copies(X, SHAPE, 4, mirror))
    assert len(found) == (10 if mirror else 5)
    for k, x in enumerate(X):
        np.testing.assert_array_equal([copy[k] for copy in found], by_hand(x, 4, mirror))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_mean_of_those_of_a_classifier_of_all_copies(n_classes):
    X, y = images(n_classes=n_classes)
    model = ImageVotes(LinearSVC(C=0.01, random_state=0), SHAPE, crop=4).fit(X[:30], y[:30])
    rows = [(by_hand(x, 4, True)[k], label) for k in range(10) for x, label in zip(X[:30], y[:30], strict=True)]
    alone = LinearSVC(C=0.01, random_state=0).fit([copy for copy, _ in rows], [label for _, label in rows])
    scores = np.array([np.mean(alone.decision_function(by_hand(x, 4, True)), axis=0) for x in X[30:]])
    np.testing.assert_allclose(model.decision_function(X[30:]), scores, atol=1e-12)
    labels = (scores > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X[30:]), labels)
    assert not hasattr(model, "predict_proba")


def test_probabilities_are_means_and_weights_those_of_the_images():
    X, y = images()
    w = np.arange(40) % 3
    model = ImageVotes(LogisticRegression(C=0.1), SHAPE).fit(X, y, w)
    each = np.concatenate([X, reflected(X)])
    alone = LogisticRegression(C=0.1).fit(each, np.tile(y, 2), np.tile(w, 2))
    expected = (alone.predict_proba(X) + alone.predict_proba(reflected(X))) / 2
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)


def test_a_classifier_that_is_fitted_votes_without_a_training():
    X, y = images()
    middles = np.array([by_hand(x, 4, False)[0] for x in X])
    fitted = KernelRidgeClassifier(random_state=0).fit(middles, y)
    model = ImageVotes(FrozenEstimator(fitted), SHAPE, crop=4).fit(X, y)
    expected = [fitted.decision_function(np.array(by_hand(x, 4, True))).mean(axis=0) for x in X[:5]]
    np.testing.assert_allclose(model.decision_function(X[:5]), expected, atol=1e-6)
    again = ImageVotes(KernelRidgeClassifier(random_state=0), SHAPE, crop=4, train_on="middle").fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"image_shape": (1, 5, 6)}, "image_shape must be three whole numbers, channels, height and width, .* 60"),
        ({"image_shape": None}, "60 features are not square images with one or three channels. Set"),
        ({"crop": 6}, "crop must be a whole number from 1 to 5, the smaller side of the images, or None; got 6"),
        ({"train_on": "all"}, "no train_on 'all'. Known: copies, middle"),
        ({"estimator": Ridge()}, "estimator must be a classifier, got Ridge"),
        ({"mirror": 2}, "mirror must be True or False, got 2"),
    ],
)
def test_what_is_no_image_and_no_piece_is_told(parameters, words):
    X, y = images()
    with pytest.raises(ShallowsError, match=words):
        ImageVotes(**{"estimator": LogisticRegression(), "image_shape": SHAPE, **parameters}).fit(X, y)
