"""Single preparation steps against direct formulas: scaling, classes, images, missing values, components, sparsity."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from datasets_example import prepared, prepared_rows, three_classes
from shallows_papers.datasets import DatasetError
from shallows_papers.datasets.preparation import working_table
from shallows_papers.datasets.preparation.row_draws import draw_rows
from shallows_papers.datasets.preparation.steps import pca


@pytest.fixture
def numbers():
    return three_classes()


# Scaling and coding


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
    coded = prepared(tmp_path, numbers, [{"zscore": {"numeric_only": True}}], categorical=(1,))
    np.testing.assert_array_equal(coded.x_test[:, 1], x_test[:, 1])
    np.testing.assert_array_equal(coded.x_test[:, 2:], data.x_test[:, 2:])


@pytest.mark.parametrize("block_bytes", [1, working_table.BLOCK_BYTES])
def test_columns_of_two_values_become_0_and_1_and_categories_stay_as_they_are(
    tmp_path, numbers, monkeypatch, block_bytes
):
    monkeypatch.setattr(working_table, "BLOCK_BYTES", block_bytes)  # One row in a block, or all rows
    x, y, x_test, y_test = (part.copy() for part in numbers)
    for part in (x, x_test):
        part[:, 0] = np.where(part[:, 0] > 1.0, 7.0, 3.0)
        part[:, 2] = np.sort(np.clip(np.round(20 * part[:, 2] - 20), -1.0, 1.0))  # Two in any two rows
    assert set(x[:, 0]) == {3.0, 7.0} and set(x[:, 2]) == {-1.0, 0.0, 1.0}
    data = prepared(tmp_path, (x, y, x_test, y_test), [{"scale_columns": {}}], categorical=(1,))
    np.testing.assert_array_equal(data.x_test[:, 0], x_test[:, 0] == 7.0)
    np.testing.assert_array_equal(data.x_test[:, 1], x_test[:, 1])
    assert not data.x_train[:, 3].any()
    expected = (x_test - x.mean(axis=0)) / np.where(np.arange(5) == 3, 1.0, x.std(axis=0))
    np.testing.assert_allclose(data.x_test[:, [2, 4]], expected[:, [2, 4]], rtol=1e-6, atol=1e-6)


def test_pca_agrees_with_scikit_learn(tmp_path, numbers):
    data = prepared(tmp_path, numbers, [{"pca": {"n_components": 3}}])
    peer = PCA(3, svd_solver="full").fit(numbers[0])
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


# Classes


def test_a_pair_of_classes_is_kept_and_the_second_named_is_plus_one(tmp_path, numbers):
    x, y, _, y_test = numbers
    data = prepared(tmp_path, numbers, [{"keep_classes": {"classes": [3, 1]}}, {"signs": {}}])
    np.testing.assert_array_equal(data.x_train, x[y != 2].astype(np.float32))
    np.testing.assert_array_equal(data.y_train, np.where(y[y != 2] == 1, 1, -1))
    assert data.info["classes"] == ["3", "1"]
    assert len(data.y_test) == np.count_nonzero(y_test != 2)


# Images


PICTURE = {"height": 4, "width": 6, "channels": 3, "order": "planar"}


@pytest.fixture
def pixels():
    """Thirty pictures of 4 x 6 pixels in three colors."""
    return np.random.default_rng(1).integers(0, 256, size=(30, 3, 4, 6))


def of_images(pixels):
    x, y = pixels.reshape(30, -1), np.arange(30) % 3 + 1
    return x[:20], y[:20], x[20:], y[20:]


def test_grey_is_the_weighted_sum_of_the_colours_of_each_pixel(tmp_path, pixels):
    grey = np.tensordot([0.299, 0.587, 0.114], pixels, axes=(0, 1)).reshape(30, -1) / 255
    changes = {"value_range": (0, 255), "picture": PICTURE}
    data = prepared(tmp_path, of_images(pixels), [{"grayscale": {}}, {"unit": {}}], **changes)
    np.testing.assert_allclose(data.x_train, grey[:20], rtol=1e-6)
    assert data.info["statistics"][1] == {"unit": {"range": [0, 255]}}


def test_halves_are_the_left_and_the_right_of_each_picture(tmp_path, pixels):
    data = prepared(tmp_path, of_images(pixels), [{"halves": {}}], picture=PICTURE)
    for view, half in ((data.x_train, slice(0, 3)), (data.z_train, slice(3, 6))):
        np.testing.assert_array_equal(view, pixels[:20, :, :, half].reshape(20, -1))


@pytest.mark.parametrize(
    ("step", "picture", "words"),
    [
        ("grayscale", {**PICTURE, "width": 18, "channels": 1}, "needs three channels, but the images have 1"),
        ("halves", {**PICTURE, "width": 5}, "72 features are not images of 4 x 5 pixels in 3 channels"),
    ],
)
def test_pictures_of_another_form_are_told(tmp_path, pixels, step, picture, words):
    with pytest.raises(DatasetError, match=words):
        prepared(tmp_path, of_images(pixels), [{step: {}}], picture=picture)


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


def test_components_of_blocks_agree_with_scikit_learn(correlated):
    def blocks():
        return (correlated[start : start + 64] for start in range(0, 400, 64))

    mean, variances, vectors = pca.principal(blocks, 400, 30, 4)
    peer = PCA(4, svd_solver="full").fit(correlated)
    np.testing.assert_allclose(mean, correlated.mean(axis=0))
    np.testing.assert_allclose(variances, peer.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-10)
    angles = np.linalg.svd(peer.components_ @ vectors)[1]
    np.testing.assert_allclose(angles, 1.0, atol=1e-10)


# Sparse data


def sparse_prepared(tmp_path, steps, name="out", density=0.01, memory=None):
    x = scipy.sparse.random(200, 1000, density, "csr", random_state=0, dtype=np.float64)
    return x, prepared_rows(tmp_path / name, x, np.arange(200) % 2, 50, steps, memory)[1]


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


def test_logarithms_are_of_one_plus_the_size_and_keep_the_sign(tmp_path, numbers):
    x, _, x_test, _ = numbers
    y, y_test = x @ np.arange(5.0), x_test @ np.arange(5.0)
    regression = (x, y, x_test, y_test)
    data = prepared(tmp_path, regression, [{"logarithm": {}}], task="regression")
    np.testing.assert_allclose(data.x_test, np.sign(x_test) * np.log(1 + np.abs(x_test)), rtol=1e-6)
    np.testing.assert_array_equal(data.y_train, y)
    data = prepared(tmp_path, regression, [{"logarithm": {"features": False, "target": True}}], task="regression")
    np.testing.assert_array_equal(data.x_test, x_test.astype(np.float32))
    np.testing.assert_allclose(data.y_train, np.sign(y) * np.log(1 + np.abs(y)), rtol=1e-12)
    unit = prepared(tmp_path, numbers, [{"logarithm": {}}, {"unit": {}}], value_range=(0, 255)).info["statistics"][0]
    assert "minimum" in unit["unit"]  # the range of the catalogue is not that of logarithms


def test_logarithms_leave_codes_of_categories_and_sparse_zeros_as_they_are(tmp_path, numbers):
    x, y, x_test, y_test = numbers
    codes = [np.column_stack([part, np.arange(len(part)) % 3]) for part in (x, x_test)]
    data = prepared(tmp_path, (codes[0], y, codes[1], y_test), [{"logarithm": {}}], categorical=(5,))
    np.testing.assert_array_equal(data.x_test[:, 5], codes[1][:, 5])
    raw, data = sparse_prepared(tmp_path, [{"logarithm": {}}], name="sparse")
    np.testing.assert_allclose(data.x_train.toarray(), np.log1p(raw[:150].toarray()), rtol=1e-6)
    assert data.info["sparse"]
