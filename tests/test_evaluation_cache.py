"""Points that are looked at after one epoch and the next: kept, known again, and never mistaken."""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse

from forms import eigenpro_classifier, eigenpro_regressor, kernel_sgd_classifier
from shallows import arrays, kernels, training
from shallows.fitting.snapshot import MOST_SEEN_ONCE, EvaluationCache

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 6)).astype(np.float32)
X[:, 5] = 0.25  # A feature that is constant in training and not where the model is looked at.
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
NEW = RNG.normal(size=(400, 6)).astype(np.float32)


class Looking(training.Observer):
    """Scores points after every epoch and notes how often kernel values with them were made."""

    def __init__(self, points):
        self.points, self.scores, self.kept = points, [], []

    def on_epoch(self, run):
        found = mock.Mock(wraps=kernels.augmented)
        with mock.patch.object(kernels, "augmented", found):
            self.scores.append(run.snapshot().decision_function(self.points(run.epoch)).copy())
        self.kept.append(found.call_count == 0)


def looked_on(points, make=eigenpro_classifier, **options):
    memory = arrays.resident_memory() + 2**30  # In addition to what earlier tests left in the process.
    options = {"batch_size": 64, "max_epochs": 4, "tol": 0.0, "random_state": 0, "memory": memory, **options}
    looking = Looking(points)
    model = make(**options).fit(X, Y, observers=[looking])
    return looking, model


@pytest.mark.parametrize("make", [eigenpro_classifier, eigenpro_regressor, kernel_sgd_classifier])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_from_the_third_look_on_kernel_values_are_at_hand_and_scores_the_same_to_the_bit(make, kernel):
    kept, model = looked_on(lambda epoch: NEW, make, kernel=kernel)
    with mock.patch.object(EvaluationCache, "entry_for", lambda *_: None):
        plain, _ = looked_on(lambda epoch: NEW, make, kernel=kernel)
    assert kept.kept == [False, False, True, True]
    assert plain.kept == [False] * 4
    assert all(np.array_equal(a, b) for a, b in zip(kept.scores, plain.scores, strict=True))
    assert not hasattr(model, "_evaluation_cache")


def test_a_buffer_that_is_filled_anew_is_not_taken_for_what_it_held():
    buffer = NEW.copy()

    def filled(epoch):
        if epoch == 4:
            buffer[7, 2] += 1.0
        return buffer

    looking, model = looked_on(filled, calibration=None)
    assert looking.kept == [False, False, True, False]
    assert looking.scores[-1][:, 0] == pytest.approx(model.decision_function(buffer), abs=1e-6)
    assert looking.scores[-1][7, 0] != pytest.approx(model.decision_function(NEW)[7], abs=1e-3)


def test_two_sets_are_both_kept_and_so_is_one_for_early_stopping():
    looking, _ = looked_on(lambda epoch: NEW[: 200 * (1 + epoch % 2)], max_epochs=8)
    assert looking.kept == [False] * 4 + [True] * 4
    looking, _ = looked_on(lambda epoch: NEW, max_epochs=4, early_stopping=True, n_iter_no_change=10)
    assert looking.kept == [False, False, True, True]


@pytest.mark.parametrize("points", [scipy.sparse.csr_matrix(NEW), NEW.tolist()], ids=["sparse", "a list"])
def test_what_is_no_array_is_not_kept(points):
    cache = EvaluationCache(1000, 4, 2**30)
    assert [cache.entry_for(points, 1) for _ in range(3)] == [None] * 3
    assert cache.left == 2**30


def test_nothing_is_kept_beyond_the_budget():
    needed = NEW.nbytes + 400 * 1000 * 4
    for budget, keeps in ((needed, True), (needed - 1, False), (NEW.nbytes - 1, False), (-5, False)):
        cache = EvaluationCache(1000, 4, budget)
        assert cache.entry_for(NEW, 1) is None
        assert (cache.entry_for(NEW, 1) is not None) == keeps
        assert min(budget, 0) <= cache.left <= budget


def test_points_that_never_come_again_give_their_place_up():
    cache = EvaluationCache(1000, 4, 2**30)
    for epoch in range(3 * MOST_SEEN_ONCE):
        assert cache.entry_for(NEW + epoch, 1) is None
    assert cache.left == 2**30 - MOST_SEEN_ONCE * NEW.nbytes
    assert cache.entry_for(NEW + (3 * MOST_SEEN_ONCE - 1), 1) is not None
    assert cache.entry_for(NEW, 1) is None
