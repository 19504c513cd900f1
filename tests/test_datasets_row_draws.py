"""Draws of rows: shares of the classes, subsets, splits and folds."""

import numpy as np
import pytest

from datasets_example import prepared, three_classes
from shallows_papers import datasets
from shallows_papers.datasets.preparation.row_draws import draw_fold, draw_rows


@pytest.fixture
def numbers():
    return three_classes()


def test_a_draw_keeps_class_shares_and_loses_no_class():
    labels = np.repeat([0, 1, 2], [700, 299, 1])
    rows = draw_rows(1000, 100, 0, "test", labels)
    assert np.bincount(labels[rows]).tolist() == [70, 29, 1]
    # Rows for five rare classes come from the classes that are above their shares of 70 and 29.5 rows.
    labels = np.repeat(np.arange(7), [700, 295, 1, 1, 1, 1, 1])
    assert np.bincount(labels[draw_rows(1000, 100, 0, "test", labels)]).tolist() == [68, 27, 1, 1, 1, 1, 1]
    assert np.all(np.diff(rows) > 0)


def test_a_smaller_draw_is_a_part_of_a_larger_one():
    assert set(draw_rows(500, 50, 3, "a")) < set(draw_rows(500, 200, 3, "a"))


def test_a_subset_is_drawn_from_both_parts(tmp_path, numbers):
    data = prepared(tmp_path, numbers, [{"subset": {"n_train": 20, "n_test": 9, "seed": 5}}])
    rows = draw_rows(60, 20, 5, "subset/train", numbers[1])
    np.testing.assert_array_equal(data.x_train, numbers[0][rows].astype(np.float32))
    assert data.x_test.shape == (9, 5)
    shares = np.bincount(numbers[1])[1:] / 60 * 20
    assert np.all(np.abs(np.bincount(data.y_train) - shares) < 1)


def test_a_split_holds_out_training_rows_in_place_of_the_test_part(tmp_path, numbers):
    data = prepared(tmp_path, numbers, [{"split": {"n": 0.25}}])
    both = np.vstack([data.x_train, data.x_test])
    assert data.x_test.shape == (15, 5)
    np.testing.assert_array_equal(np.sort(both[:, 0]), np.sort(numbers[0][:, 0].astype(np.float32)))


@pytest.mark.parametrize("n_folds", [2, 5, 7])
def test_the_folds_of_a_seed_are_all_rows_once_and_every_class_is_dealt_out_evenly(n_folds):
    labels = np.repeat([0, 1, 2], [50, 9, 4])
    folds = [draw_fold(63, fold, n_folds, 3, "a", labels) for fold in range(1, n_folds + 1)]
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(63))
    for counts in ([len(fold) for fold in folds], *np.transpose([np.bincount(labels[f], minlength=3) for f in folds])):
        assert np.max(counts) - np.min(counts) <= 1
    without_labels, other_seed = draw_fold(63, 1, n_folds, 3, "a"), draw_fold(63, 1, n_folds, 4, "a", labels)
    assert not np.array_equal(without_labels, folds[0]) and not np.array_equal(other_seed, folds[0])


def test_a_fold_holds_out_one_part_of_the_training_rows(tmp_path, numbers):
    data = [prepared(tmp_path, numbers, [{"fold": {"fold": k, "of": 4}}], f"fold{k}") for k in (1, 2, 3, 4)]
    assert [len(one.y_test) for one in data] == [15, 15, 15, 15]
    for one in data:
        both = np.concatenate([one.x_train[:, 0], one.x_test[:, 0]])
        np.testing.assert_array_equal(np.sort(both), np.sort(numbers[0][:, 0].astype(np.float32)))
    tested = np.concatenate([one.x_test[:, 0] for one in data])
    np.testing.assert_array_equal(np.sort(tested), np.sort(numbers[0][:, 0].astype(np.float32)))
    folds = range(1, 8)
    steps = datasets.check_steps([{"fold": {"fold": fold, "of": 7}} for fold in folds])
    drawn = [len(draw_fold(60, fold, 7, 0, "fold")) for fold in folds]
    assert [step.n_held_out(60) for step in steps] == drawn == [9, 9, 9, 9, 8, 8, 8]
