"""Preparation: every step against a direct formula, statistics from the training part alone, and bad input."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from datasets_example import MIRROR, dataset, needs_mirror, write_table
from shallows import datasets
from shallows.datasets import DatasetError
from shallows.datasets.preparation import pipeline, working_table
from shallows.datasets.preparation.row_draws import draw_fold, draw_rows
from shallows.datasets.preparation.row_store import Allowance, RowStore
from shallows.datasets.preparation.steps import check_steps, principal_components
from shallows.datasets.prepared import ARRAYS
from shallows.datasets.sources import ArrayPart, Source
from shallows.errors import UnknownNameError
from workflow_runs import PROJECT

BENCHMARK = PROJECT / "benchmarks" / "preparation.py"
LEARNING = [[{"unit": {}}], [{"zscore": {}}], [{"pca": {"n_components": 2}}], [{"one_hot": {"columns": [1]}}]]


@pytest.fixture
def numbers():
    """Train and test features and labels: three classes, one constant and one categorical column."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 5)) * [1.0, 3.0, 0.1, 1.0, 10.0] + [0.0, 5.0, 1.0, 0.0, 1e4]
    x[:, 1] = np.round(x[:, 1])
    x[:, 3] = 4.0
    y = np.repeat([1, 2, 3], [45, 30, 15])
    order = rng.permutation(90)
    return x[order][:60], y[order][:60], x[order][60:], y[order][60:]


def prepared(tmp_path, numbers, steps, name="out", **changes):
    entry = write_table(tmp_path / "files", *numbers, **changes)
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    datasets.prepare(entry, stamp, tmp_path / name, steps)
    return datasets.load(tmp_path / name)


# What comes out


def test_arrays_are_mapped_and_of_the_stated_types(tmp_path, numbers):
    data = prepared(tmp_path, numbers, [])
    for array in (data.x_train, data.x_test):
        assert isinstance(array, np.memmap)
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        assert not array.flags.writeable
    np.testing.assert_array_equal(data.x_train, numbers[0].astype(np.float32))
    np.testing.assert_array_equal(data.y_test, numbers[3] - 1)
    assert data.y_train.dtype == np.int64


def test_the_record_says_what_was_done(tmp_path, numbers):
    info = prepared(tmp_path, numbers, [{"subset": {"n_train": 30}}, {"zscore": None}]).info
    assert info == json.loads((tmp_path / "out" / "prepared.json").read_text())
    assert (info["dataset"], info["title"], info["task"], info["licence"]) == ("table", "Toy", "classification", "CC0")
    assert (info["n_train"], info["n_test"], info["n_features"]) == (30, 30, 5)
    assert info["classes"] == ["1", "2", "3"]
    assert info["target_coding"] == "class indices"
    assert info["steps"] == [
        {"subset": {"n_train": 30, "n_test": None, "seed": 0, "stratify": None}},
        {"zscore": {"center": True, "numeric_only": False}},
    ]
    assert [source["name"] for source in info["sources"]] == ["train.csv", "test.csv"]
    assert len(info["statistics"][1]["zscore"]["mean"]) == 5
    assert set(info["seconds"]) == {"reading", "statistics", "writing", "total"}
    assert info["peak_memory_bytes"] > 10_000_000


def test_the_same_steps_give_the_same_bytes(tmp_path, numbers):
    steps = [{"subset": {"n_train": 40, "n_test": 20}}, {"zscore": {}}, {"pca": {"n_components": 3}}]
    first, second = (prepared(tmp_path, numbers, steps, name=name) for name in ("one", "two"))
    for key in ARRAYS:
        assert (tmp_path / "one" / f"{key}.npy").read_bytes() == (tmp_path / "two" / f"{key}.npy").read_bytes()
    assert first.info["sha256"] == second.info["sha256"]
    third = prepared(tmp_path, numbers, [{"subset": {"n_train": 40, "n_test": 20, "seed": 1}}], name="three")
    assert third.info["sha256"] != first.info["sha256"]


@pytest.mark.parametrize("steps", LEARNING)
def test_blocks_make_no_difference(tmp_path, numbers, monkeypatch, steps):
    whole = prepared(tmp_path, numbers, steps, name="whole")
    monkeypatch.setattr(working_table, "BLOCK_BYTES", 7 * 8 * 5)  # seven rows
    blocks = prepared(tmp_path, numbers, steps, name="blocks")
    # Sums in another order: equal to a few float32 roundings.
    np.testing.assert_allclose(blocks.x_train, whole.x_train, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("steps", [*LEARNING, [{"subset": {"n_train": 30, "n_test": 10}}, {"zscore": {}}]])
def test_test_rows_change_neither_training_rows_nor_statistics(tmp_path, numbers, steps):
    x, y, x_test, y_test = numbers
    before = prepared(tmp_path, numbers, steps, name="before")
    after = prepared(tmp_path, (x, y, x_test * 3 - 100, y_test), steps, name="after")
    np.testing.assert_array_equal(after.x_train, before.x_train)
    assert after.info["statistics"] == before.info["statistics"]
    assert not np.array_equal(after.x_test, before.x_test)


# Scaling and coding


def test_unit_divides_pixels_by_their_known_range(tmp_path, numbers):
    x, y, x_test, y_test = numbers
    pixels = [np.clip(np.round(part * 10), 0, 255) for part in (x, x_test)]
    data = prepared(tmp_path, (pixels[0], y, pixels[1], y_test), [{"unit": {}}], value_range=(0, 255))
    np.testing.assert_allclose(data.x_test, pixels[1] / 255, rtol=1e-7)
    assert data.info["statistics"] == [{"unit": {"range": [0, 255]}}]


def test_unit_without_a_known_range_goes_by_each_feature_of_the_training_part(tmp_path, numbers):
    x, _, x_test, _ = numbers
    data = prepared(tmp_path, numbers, [{"unit": {}}])
    low, spread = x.min(axis=0), np.ptp(x, axis=0)
    spread[3] = 1.0  # the constant column
    np.testing.assert_allclose(data.x_test, (x_test - low) / spread, rtol=1e-5, atol=1e-6)
    assert data.x_train.min() == 0.0
    assert data.x_train.max() == 1.0


def test_zscore_is_exact_far_from_zero_and_gives_zero_for_constant_features(tmp_path, numbers):
    x, _, x_test, _ = numbers
    data = prepared(tmp_path, numbers, [{"zscore": {}}])
    scale = x.std(axis=0)
    scale[3] = 1.0
    np.testing.assert_allclose(data.x_test, (x_test - x.mean(axis=0)) / scale, rtol=1e-6, atol=1e-6)
    assert not data.x_train[:, 3].any()


@pytest.mark.parametrize("whiten", [False, True])
def test_pca_agrees_with_scikit_learn(tmp_path, numbers, whiten):
    data = prepared(tmp_path, numbers, [{"pca": {"n_components": 3, "whiten": whiten}}])
    peer = PCA(3, svd_solver="full", whiten=whiten).fit(numbers[0])
    # Float32 output; the covariance loses half the digits of the smallest of variances 1e2 .. 1.
    np.testing.assert_allclose(data.x_test, peer.transform(numbers[2]), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(data.info["statistics"][0]["pca"]["variances"], peer.explained_variance_, rtol=1e-9)


def test_one_hot_codes_the_training_values_and_leaves_strangers_zero(tmp_path, numbers):
    x, y, x_test, y_test = numbers
    x_test = x_test.copy()
    x_test[0, 1] = 99.0
    data = prepared(tmp_path, (x, y, x_test, y_test), [{"one_hot": {}}], categorical=(1,))
    coder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(x[:, [1]])
    np.testing.assert_array_equal(data.x_test[:, 4:], coder.transform(x_test[:, [1]]))
    np.testing.assert_array_equal(data.x_test[:, :4], x_test[:, [0, 2, 3, 4]].astype(np.float32))
    assert data.info["n_features"] == data.x_train.shape[1]


def test_steps_are_done_in_their_order(tmp_path, numbers):
    data = prepared(tmp_path, numbers, [{"zscore": {}}, {"pca": {"n_components": 2}}, {"unit": {}}])
    assert data.x_train.shape == (60, 2)
    np.testing.assert_allclose([data.x_train.min(axis=0), data.x_train.max(axis=0)], [[0, 0], [1, 1]])


def test_signs_of_two_classes_are_minus_and_plus_one(tmp_path, numbers):
    x, y, x_test, y_test = numbers
    data = prepared(tmp_path, (x, y // 3, x_test, y_test // 3), [{"signs": {}}])
    np.testing.assert_array_equal(data.y_train, np.where(y == 3, 1, -1))
    assert data.info["target_coding"] == "signs"


def test_signs_of_more_classes_are_a_matrix_or_one_against_the_rest(tmp_path, numbers):
    y = numbers[1]
    matrix = prepared(tmp_path, numbers, [{"signs": {}}]).y_train
    np.testing.assert_array_equal(matrix, np.where(y[:, None] == [1, 2, 3], 1, -1))
    rest = prepared(tmp_path, numbers, [{"signs": {"positive": ["1", 3]}}]).y_train
    np.testing.assert_array_equal(rest, np.where(y == 2, -1, 1))


def test_regression_targets_are_centred_by_the_training_mean(tmp_path, numbers):
    x, _, x_test, _ = numbers
    y, y_test = x @ np.arange(5.0), x_test @ np.arange(5.0)
    plain = prepared(tmp_path, (x, y, x_test, y_test), [], task="regression")
    np.testing.assert_array_equal(plain.y_train, y)
    assert plain.info["classes"] is None
    step = [{"center_target": {"scale": True}}]
    data = prepared(tmp_path, (x, y, x_test, y_test), step, task="regression")
    np.testing.assert_allclose(data.y_test, (y_test - y.mean()) / y.std())
    assert data.y_test.dtype == np.float64


def test_classes_may_be_text_and_may_have_names(tmp_path, numbers):
    x, y, x_test, y_test = numbers
    text = np.array(["", "low", "mid", "top"])
    data = prepared(tmp_path, (x, text[y], x_test, text[y_test]), [])
    assert data.info["classes"] == ["low", "mid", "top"]
    np.testing.assert_array_equal(data.y_train, y - 1)
    assert prepared(tmp_path, numbers, [], classes=("a", "b", "c")).info["classes"] == ["a", "b", "c"]


# Draws


def test_a_draw_keeps_class_shares_and_loses_no_class():
    labels = np.repeat([0, 1, 2], [700, 299, 1])
    rows = draw_rows(1000, 100, 0, "test", labels)
    assert np.bincount(labels[rows]).tolist() == [70, 29, 1]
    assert np.all(np.diff(rows) > 0)


def test_a_smaller_draw_is_a_part_of_a_larger_one():
    assert set(draw_rows(500, 50, 3, "a")) < set(draw_rows(500, 200, 3, "a"))


def test_draws_of_other_seeds_and_purposes_differ():
    draws = [tuple(draw_rows(500, 50, seed, purpose)) for seed in (0, 1) for purpose in ("a", "b")]
    assert len(set(draws)) == 4


def test_a_draw_takes_every_row_about_equally_often():
    counts = np.zeros(20)
    for seed in range(400):
        counts[draw_rows(20, 5, seed, "a")] += 1
    # Binomial(400, 1/4): mean 100, standard deviation 8.7; five of them.
    assert np.all(np.abs(counts - 100) < 44)


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
    step = datasets.check_steps([{"fold": {"fold": 2, "of": 7}}])[0]
    assert step.held_out(60) == len(draw_fold(60, 2, 7, 0, "fold")) == 9


def test_the_size_after_a_preparation_is_known_beforehand(tmp_path, numbers):
    steps = [{"subset": {"n_train": 50, "n_test": 7}}, {"split": {"n": 0.3}}, {"pca": {"n_components": 2}}]
    info = prepared(tmp_path, numbers, steps).info
    entry = write_table(tmp_path / "files", *numbers)
    assert datasets.shape_after(entry, steps) == (info["n_train"], info["n_test"], info["n_features"]) == (35, 15, 2)


# Classes


def test_a_pair_of_classes_is_kept_and_the_second_named_is_plus_one(tmp_path, numbers):
    x, y, _, y_test = numbers
    data = prepared(tmp_path, numbers, [{"keep_classes": {"classes": [3, 1]}}, {"signs": {}}])
    np.testing.assert_array_equal(data.x_train, x[y != 2].astype(np.float32))
    np.testing.assert_array_equal(data.y_train, np.where(y[y != 2] == 1, 1, -1))
    assert data.info["classes"] == ["3", "1"]
    assert len(data.y_test) == np.count_nonzero(y_test != 2)


def test_a_draw_after_a_pair_keeps_the_shares_of_the_pair(tmp_path, numbers):
    y = numbers[1]
    data = prepared(tmp_path, numbers, [{"keep_classes": {"classes": [1, 2]}}, {"subset": {"n_train": 20}}])
    shares = np.bincount(y[y != 3])[1:] / np.count_nonzero(y != 3) * 20
    assert np.all(np.abs(np.bincount(data.y_train) - shares) < 1)


def test_indicators_are_one_column_a_class(tmp_path, numbers):
    data = prepared(tmp_path, numbers, [{"indicators": {}}])
    np.testing.assert_array_equal(data.y_train, numbers[1][:, None] == [1, 2, 3])
    assert data.info["target_coding"] == "indicators"


# Images


@pytest.fixture
def images():
    """Nine pictures of 4 x 6 pixels in three colours, one row each: planar, and the same interleaved."""
    pixels = np.random.default_rng(1).integers(0, 256, size=(30, 3, 4, 6))
    return pixels, pixels.reshape(30, -1), pixels.transpose(0, 2, 3, 1).reshape(30, -1)


def of_images(x):
    y = np.arange(30) % 3 + 1
    return x[:20], y[:20], x[20:], y[20:]


@pytest.mark.parametrize("order", ["planar", "interleaved"])
def test_grey_is_the_weighted_sum_of_the_colours_of_each_pixel(tmp_path, images, order):
    pixels, planar, interleaved = images
    grey = np.tensordot([0.299, 0.587, 0.114], pixels, axes=(0, 1)).reshape(30, -1) / 255
    x = planar if order == "planar" else interleaved
    steps = [{"grayscale": {"height": 4, "width": 6, "order": order}}, {"unit": {}}]
    data = prepared(tmp_path, of_images(x), steps, value_range=(0, 255))
    np.testing.assert_allclose(data.x_train, grey[:20], rtol=1e-6)
    assert data.info["statistics"][1] == {"unit": {"range": [0, 255]}}


@pytest.mark.parametrize("order", ["planar", "interleaved"])
def test_halves_are_the_left_and_the_right_of_each_picture(tmp_path, images, order):
    pixels, planar, interleaved = images
    x = planar if order == "planar" else interleaved
    step = [{"halves": {"height": 4, "width": 6, "order": order}}]
    data = prepared(tmp_path, of_images(x), step)
    axes = (0, 1, 2, 3) if order == "planar" else (0, 2, 3, 1)
    for view, half in ((data.x_train, slice(0, 3)), (data.z_train, slice(3, 6))):
        expected = pixels[:20, :, :, half].transpose(axes).reshape(20, -1)
        np.testing.assert_array_equal(view, expected)


def test_the_catalogue_says_the_form_of_the_pictures(tmp_path, images):
    picture = {"height": 4, "width": 6, "channels": 3, "order": "planar"}
    steps = [{"grayscale": {}}, {"halves": {}}]
    data = prepared(tmp_path, of_images(images[1]), steps, picture=picture)
    assert data.info["views"] == [[0, 12], [12, 24]]


# Missing values


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", -1.5])
def test_missing_values_take_what_the_training_part_has(tmp_path, numbers, strategy):
    x, y, x_test, y_test = (array.copy() for array in numbers)
    x[::4, 1] = x_test[::3, 1] = np.nan
    x[::5, 0] = np.nan
    x_test[::3, 0] = np.nan
    steps = [{"impute": {"strategy": strategy}}]
    data = prepared(tmp_path, (x, y, x_test, y_test), steps, categorical=(1,))
    frequent = SimpleImputer(strategy="most_frequent").fit(x[:, [1]]).transform(x_test[:, [1]])
    np.testing.assert_allclose(data.x_test[:, [1]], frequent)
    peer = {"strategy": strategy} if isinstance(strategy, str) else {"strategy": "constant", "fill_value": strategy}
    np.testing.assert_allclose(data.x_test[:, [0]], SimpleImputer(**peer).fit(x[:, [0]]).transform(x_test[:, [0]]))


# Principal components of blocks


@pytest.fixture
def correlated():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 30)) * 0.7 ** np.arange(30) @ np.linalg.qr(rng.normal(size=(30, 30)))[0] + 5.0
    return x


@pytest.mark.parametrize(
    ("method", "tolerance"),
    # Exact to rounding; the last of the randomised components has converged by (λ₂₄/λ₄)^(2·iterations), 1e-15;
    # the incremental method leaves out, at each step, what its k components do not hold.
    [("covariance", 1e-10), ("randomised", 1e-10), ("incremental", 2e-2)],
)
def test_components_agree_with_scikit_learn_by_every_method(correlated, method, tolerance):
    def blocks():
        return (correlated[start : start + 64] for start in range(0, 400, 64))

    mean, variances, vectors = principal_components.principal(blocks, 400, 30, 4, method, 8, 0)
    peer = PCA(4, svd_solver="full").fit(correlated)
    np.testing.assert_allclose(mean, correlated.mean(axis=0))
    np.testing.assert_allclose(variances, peer.explained_variance_, rtol=tolerance)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-10)
    angles = np.linalg.svd(peer.components_ @ vectors)[1]
    np.testing.assert_allclose(angles, 1.0, atol=tolerance)


@pytest.mark.parametrize("method", ["covariance", "randomised"])
def test_components_of_sparse_rows_are_those_of_the_dense_ones(method):
    sparse = scipy.sparse.random(300, 40, 0.1, "csr", random_state=3)
    found = [
        principal_components.principal(lambda rows=rows: [rows[:100], rows[100:]], 300, 40, 3, method, 30, 0)
        for rows in (sparse, sparse.toarray())
    ]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


# Sparse data


def sparse_prepared(tmp_path, steps, name="out", density=0.01, memory=None):
    x = scipy.sparse.random(200, 1000, density, "csr", random_state=0, dtype=np.float64)
    y = np.arange(200) % 2
    found = dataset(name="words", state="generated", n_train=150, n_test=50, n_features=1000, files=())
    source = Source(ArrayPart(x[:150], y[:150]), ArrayPart(x[150:], y[150:]))
    pipeline.prepare_source(found, source, [], tmp_path / name, check_steps(steps), memory)
    return x, datasets.load(tmp_path / name)


def is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def test_sparse_rows_stay_sparse_and_are_mapped(tmp_path):
    x, data = sparse_prepared(tmp_path, [])
    assert data.info["sparse"] and scipy.sparse.isspmatrix_csr(data.x_train)
    assert all(is_mapped(array) for array in (data.x_train.data, data.x_train.indices))
    np.testing.assert_array_equal(data.x_train.toarray(), x[:150].toarray().astype(np.float32))
    np.testing.assert_array_equal(data.x_test.toarray(), x[150:].toarray().astype(np.float32))


@pytest.mark.parametrize("step", [{"unit": {}}, {"zscore": {"center": False}}, {"subset": {"n_train": 30}}])
def test_steps_that_keep_zeros_keep_rows_sparse(tmp_path, step):
    x, data = sparse_prepared(tmp_path, [step])
    assert data.info["sparse"]
    if "subset" in step:
        rows = draw_rows(150, 30, 0, "subset/train", np.arange(150) % 2)
        np.testing.assert_array_equal(data.x_train.toarray(), x[rows].toarray().astype(np.float32))
        return
    dense = x[:150].toarray()
    scale = dense.max(axis=0) if "unit" in step else dense.std(axis=0)
    np.testing.assert_allclose(data.x_train.toarray(), dense / np.where(scale > 0, scale, 1), rtol=1e-5)


def test_steps_that_fill_zeros_and_rows_that_are_hardly_sparse_give_dense_arrays(tmp_path):
    x, data = sparse_prepared(tmp_path, [{"zscore": {}}], name="filled")
    scale = x[:150].toarray().std(axis=0)
    expected = (x[:150].toarray() - x[:150].toarray().mean(axis=0)) / np.where(scale > 0, scale, 1)
    np.testing.assert_allclose(data.x_train, expected, rtol=1e-5, atol=1e-6)
    assert isinstance(sparse_prepared(tmp_path, [], name="full", density=0.2)[1].x_train, np.memmap)


def test_sparse_rows_wait_on_the_disk_where_memory_is_short(tmp_path, monkeypatch):
    whole = sparse_prepared(tmp_path, [{"subset": {"n_train": 31}}], name="whole")[1]
    short = sparse_prepared(tmp_path, [{"subset": {"n_train": 31}}], name="short", memory=1)[1]
    assert whole.info["sha256"] == short.info["sha256"]


def test_estimators_take_sparse_prepared_rows(tmp_path):
    from shallows import EigenProClassifier

    _, data = sparse_prepared(tmp_path, [])
    model = EigenProClassifier(bandwidth=1.0, max_epochs=2, random_state=0).fit(data.x_train, data.y_train)
    dense = EigenProClassifier(bandwidth=1.0, max_epochs=2, random_state=0).fit(data.x_train.toarray(), data.y_train)
    np.testing.assert_allclose(
        model.decision_function(data.x_test), dense.decision_function(data.x_test.toarray()), rtol=1e-6, atol=1e-8
    )


# The memory budget


def test_the_budget_makes_no_difference_to_what_comes_out(tmp_path, numbers):
    steps = [{"subset": {"n_train": 40}}, {"zscore": {}}, {"pca": {"n_components": 3}}]
    entry = write_table(tmp_path / "files", *numbers)
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    found = [datasets.prepare(entry, stamp, tmp_path / str(memory), steps, memory) for memory in (None, 1, "2 GB")]
    assert len({one["sha256"] for one in found}) == 1
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("kept", [0, 100, 10**6])
def test_a_store_gives_back_the_rows_it_was_given(tmp_path, kept):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(57, 3))
    store = RowStore(Allowance(kept), tmp_path)
    for start in range(0, 57, 5):
        store.append(x[start : start + 5])
    assert (store.n_rows, store.width) == (57, 3)
    for rows in (np.arange(57), np.arange(3, 9), np.array([0, 1, 20, 21, 56]), np.arange(0)):
        np.testing.assert_array_equal(store.take(rows), x[rows])


def test_rows_that_are_not_alike_are_refused(tmp_path):
    store = RowStore(Allowance(10**6), tmp_path)
    store.append(np.zeros((2, 3)))
    with pytest.raises(DatasetError, match="must be alike"):
        store.append(np.zeros((2, 4)))


@pytest.mark.slow
def test_five_million_rows_are_prepared_within_a_gigabyte(tmp_path):
    """A process of its own, so that its peak is its own; the numbers are those of SUSY: 5,000,000 x 18."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--memory", "1GB", "--out", str(tmp_path), "--form", "binary"],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["n_train"], told["n_test"], told["n_features"]) == (4_500_000, 500_000, 18)
    assert told["peak_memory_bytes"] < 1e9


# What goes wrong


@pytest.mark.parametrize(
    ("steps", "error", "words"),
    [
        ([{"zscor": {}}], UnknownNameError, "no preparation step 'zscor'. Did you mean 'zscore'"),
        ([{"pca": {"components": 3}}], UnknownNameError, "Did you mean 'n_components'"),
        ([{"zscore": {"mean": 3}}], UnknownNameError, "parameter of the step zscore"),
        ([{"pca": {}}], DatasetError, "The step pca needs n_components"),
        ([{"pca": {"n_components": 2.5}}], DatasetError, "positive whole number"),
        ([{"pca": {"n_components": 6}}], DatasetError, "asks for 6 components; 60 training rows of 5 features"),
        ([{"subset": {"n_train": 61}}], DatasetError, "asks for n_train = 61 rows, and 'table' has 60"),
        ([{"subset": {"n_train": 0}}], DatasetError, "positive whole number or null"),
        ([{"subset": {"seed": -1}}], DatasetError, "seed must be"),
        ([{"split": {"n": 1.5}}], DatasetError, "share between 0 and 1"),
        ([{"split": {"n": 60}}], DatasetError, "at least one be left"),
        ([{"zscore": {}}, {"split": {"n": 5}}], DatasetError, "split must stand before zscore"),
        ([{"fold": {"fold": 1}}], DatasetError, "The step fold needs of"),
        ([{"fold": {"fold": 0, "of": 3}}], DatasetError, "fold must be a whole number from 1 to 3, not 0"),
        ([{"fold": {"fold": 1, "of": 1}}], DatasetError, "of must be a whole number above 1"),
        ([{"fold": {"fold": 1, "of": 61}}], DatasetError, "61 parts of the 60 training rows of 'table'"),
        ([{"zscore": {}}, {"fold": {"fold": 1, "of": 3}}], DatasetError, "fold must stand before zscore"),
        ([{"unit": {"range": [1, 0]}}], DatasetError, "two ascending numbers"),
        ([{"one_hot": {}}], DatasetError, "no columns to work on"),
        ([{"one_hot": {"columns": [5]}}], DatasetError, "names column 5, and there are 5"),
        ([{"signs": {"positive": ["9"]}}], UnknownNameError, "no class '9'"),
        ([{"signs": {}}, {"signs": {}}], DatasetError, "the targets are signs"),
        ([{"signs": {"positive": [1, 2, 3]}}], DatasetError, "one class only"),
        ([{"center_target": {}}], DatasetError, "is for regression"),
        ([{"keep_classes": {"classes": [1, 9]}}], UnknownNameError, "no class '9'"),
        ([{"keep_classes": {"classes": [1]}}], DatasetError, "two or more different names"),
        ([{"signs": {}}, {"keep_classes": {"classes": [1, 2]}}], DatasetError, "Let it come first"),
        ([{"indicators": {}}, {"indicators": {}}], DatasetError, "the targets are indicators"),
        ([{"grayscale": {}}], DatasetError, "does not say that the features of 'table' are pixels"),
        ([{"grayscale": {"height": 5, "width": 1}}], DatasetError, "needs three channels, and the images have 1"),
        ([{"halves": {"height": 2, "width": 2}}], DatasetError, "5 features are no images of 2 x 2"),
        ([{"halves": {"order": "rows"}}], DatasetError, "planar or interleaved"),
        ([{"zscore": {}}, {"impute": {}}], DatasetError, "must be the first that changes features"),
        ([{"impute": {"strategy": "guess"}}], DatasetError, "one of mean, median, most_frequent, or a number"),
        ([{"pca": {"n_components": 2, "method": "exact"}}], UnknownNameError, "no method of the step pca 'exact'"),
        (["zscore"], DatasetError, "one name with its parameters"),
        ([{"zscore": {}, "unit": {}}], DatasetError, "one name with its parameters"),
        ([{"pca": 3}], DatasetError, "names with values"),
    ],
)
def test_a_step_that_cannot_be_done_is_told_and_leaves_nothing(tmp_path, numbers, steps, error, words):
    with pytest.raises(error, match=words):
        prepared(tmp_path, numbers, steps)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", [0, 2])
def test_a_value_that_is_no_number_is_told_with_its_place(tmp_path, numbers, value, part):
    spoilt = [array.copy() for array in numbers]
    spoilt[part][17, 2] = value
    words = f"{'test' if part else 'training'} part of 'table' holds {value} in row 18, feature 3"
    with pytest.raises(DatasetError, match=words):
        prepared(tmp_path, spoilt, [{"unit": {}}])
    assert not list(tmp_path.glob("out/*"))


def test_a_value_beyond_single_precision_is_told(tmp_path, numbers):
    numbers[0][3, 0] = 1e39
    with pytest.raises(DatasetError, match="too large for single precision"), np.errstate(over="ignore"):
        prepared(tmp_path, numbers, [])
    assert not list(tmp_path.glob("out/*"))


def test_a_target_that_is_no_number_is_told(tmp_path, numbers):
    x, y, x_test, y_test = numbers
    y = y.astype(float)
    y[4] = np.nan
    with pytest.raises(DatasetError, match=r"target of row 5 of 'table' is nan"):
        prepared(tmp_path, (x, y, x_test, y_test.astype(float)), [], task="regression")


def test_one_class_only_is_told(tmp_path, numbers):
    x, y, x_test, y_test = numbers
    with pytest.raises(DatasetError, match="one class only: 1"):
        prepared(tmp_path, (x, np.ones_like(y), x_test, np.ones_like(y_test)), [])


def test_a_class_that_training_lacks_is_told(tmp_path, numbers):
    x, y, x_test, y_test = numbers
    with pytest.raises(DatasetError, match="has the class 7, which the training part lacks"):
        prepared(tmp_path, (x, y, x_test, np.full_like(y_test, 7)), [])


def test_data_without_a_test_part_needs_a_split(tmp_path, numbers):
    x, y, _, _ = numbers
    entry = write_table(tmp_path / "files", x, y, x[:0], y[:0])
    entry = dataset(name="table", state="embedded", n_train=60, n_features=5, n_classes=3, files=entry.files[:1])
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    with pytest.raises(DatasetError, match=r"no test part of its own\. Add the step split"):
        datasets.prepare(entry, stamp, tmp_path / "out")
    info = datasets.prepare(entry, stamp, tmp_path / "out", [{"split": {"n": 10}}])
    assert (info["n_train"], info["n_test"]) == (50, 10)


def test_a_file_that_changed_after_it_was_verified_is_told(tmp_path, numbers):
    prepared(tmp_path, numbers, [])
    entry = write_table(tmp_path / "files", *numbers)
    path = tmp_path / "files" / "table" / "train.csv"
    path.write_bytes(path.read_bytes().replace(b"4.0", b"5.0"))
    stamp = tmp_path / "raw" / "table" / "verified.json"
    with pytest.raises(DatasetError, match="has changed since it was verified"):
        datasets.prepare(entry, stamp, tmp_path / "again")
    path.unlink()
    with pytest.raises(DatasetError, match="not there any more"):
        datasets.prepare(entry, stamp, tmp_path / "again")
    with pytest.raises(DatasetError, match="verifies the dataset 'table', not 'a9a'"):
        datasets.prepare("a9a", stamp, tmp_path / "again")
    with pytest.raises(DatasetError, match="Fetch the dataset 'table' first"):
        datasets.prepare(entry, tmp_path / "nothing.json", tmp_path / "again")


def test_a_full_disk_leaves_nothing_that_looks_finished(tmp_path, numbers, monkeypatch):
    prepared(tmp_path, numbers, [])
    genuine, calls = pipeline._write_array, []

    def full(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return genuine(*arguments)

    monkeypatch.setattr(pipeline, "_write_array", full)
    with pytest.raises(DatasetError, match=r"x_test\.npy could not be written: no space left on device"):
        prepared(tmp_path, numbers, [{"zscore": {}}])
    assert not list((tmp_path / "out").glob(".*"))
    with pytest.raises(DatasetError, match="no finished preparation"):
        datasets.load(tmp_path / "out")


def test_arrays_that_do_not_fit_their_record_are_told(tmp_path, numbers):
    prepared(tmp_path, numbers, [])
    np.save(tmp_path / "out" / "y_test.npy", np.zeros(3, dtype=np.int64))
    with pytest.raises(DatasetError, match=r"y_test\.npy holds <i8 of shape \(3,\), and its record says"):
        datasets.load(tmp_path / "out")
    (tmp_path / "out" / "y_test.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(DatasetError, match=r"y_test\.npy cannot be read"):
        datasets.load(tmp_path / "out")
    (tmp_path / "out" / "prepared.json").write_text("{")
    with pytest.raises(DatasetError, match="is not a record"):
        datasets.load(tmp_path / "out")


# Real data


@pytest.mark.parametrize("name", [n for n, d in datasets.catalogue().items() if d.state == "embedded"])
def test_embedded_data_is_prepared_as_the_catalogue_describes_it(name, tmp_path):
    entry = datasets.get(name)
    info = datasets.prepare(name, datasets.fetch(name, tmp_path), tmp_path / "out", [{"unit": {}}])
    data = datasets.load(tmp_path / "out")
    assert data.x_train.shape == (entry.n_train, entry.n_features)
    assert data.x_test.shape == (entry.n_test, entry.n_features)
    assert set(np.unique(data.y_test)) == set(range(entry.n_classes))
    assert 0.0 <= data.x_train.min() < data.x_train.max() <= 1.0
    assert info["subset_of"] == entry.subset_of


@needs_mirror
def test_mnist_is_prepared_whole(tmp_path):
    info = datasets.prepare("mnist", datasets.fetch("mnist", tmp_path, MIRROR), tmp_path / "out", [{"unit": {}}])
    data = datasets.load(tmp_path / "out")
    assert data.x_train.shape == (60_000, 784)
    # Well-known numbers of the training pixels: mean 0.1307, standard deviation 0.3081.
    assert float(data.x_train.mean(dtype=np.float64)) == pytest.approx(0.1307, abs=5e-5)
    assert float(data.x_train.std(dtype=np.float64)) == pytest.approx(0.3081, abs=5e-5)
    assert np.bincount(data.y_test).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert info["seconds"]["total"] < 60  # a bound on hanging; the measured time is about 2 s


@needs_mirror
def test_a9a_is_prepared_whole(tmp_path):
    datasets.prepare("a9a", datasets.fetch("a9a", tmp_path, MIRROR), tmp_path / "out", [{"signs": {}}])
    data = datasets.load(tmp_path / "out")
    assert data.x_train.shape == (32_561, 123)
    assert ((data.y_train == 1).sum(), (data.y_test == 1).sum()) == (7841, 3846)
    assert set(np.unique(data.x_train)) == {0.0, 1.0}


@needs_mirror
def test_covtype_is_prepared_with_a_split(tmp_path):
    steps = [{"subset": {"n_train": 20_000}}, {"split": {"n": 5_000}}, {"zscore": {}}]
    datasets.prepare("covtype", datasets.fetch("covtype", tmp_path, MIRROR), tmp_path / "out", steps)
    data = datasets.load(tmp_path / "out")
    assert (data.x_train.shape, data.x_test.shape) == ((15_000, 54), (5_000, 54))
    assert len(np.unique(data.y_test)) == 7
