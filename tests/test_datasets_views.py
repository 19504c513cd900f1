"""Data with two views of each example: the arrays of both, and that data with one view are as they were."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse

from datasets_example import prepared_in_two_ways, prepared_rows
from shallows_papers import datasets
from shallows_papers.datasets import DatasetError
from shallows_papers.datasets.preparation.steps import check_steps
from shallows_papers.datasets.synthetic import make


def two_views(tmp_path, x, steps, name="out"):
    return prepared_rows(tmp_path / name, x, np.arange(x.shape[0]) % 2, 10, steps)


def test_the_two_views_of_a_generated_dataset_are_arrays_of_their_own(tmp_path):
    entry = dataclasses.replace(datasets.get("latent_views"), n_train=500, n_test=60)
    stamp = datasets.fetch(entry, tmp_path / "raw")
    datasets.prepare(entry, stamp, tmp_path / "out", [{"views": {"n_first": 1}}])
    data = datasets.load(tmp_path / "out")
    x, _ = make("latent_views").block(0, 560)
    for part, rows in (("train", slice(0, 500)), ("test", slice(500, 560))):
        for column, view in enumerate((getattr(data, f"x_{part}"), getattr(data, f"z_{part}"))):
            np.testing.assert_array_equal(view, x[rows, [column]].astype(np.float32))
            assert isinstance(view, np.memmap) and view.flags.c_contiguous
    assert data.info["views"] == [[0, 1], [1, 2]]


def test_views_of_different_widths_are_scaled_as_the_features_they_are(tmp_path):
    x = np.random.default_rng(0).normal(2.0, 3.0, (60, 5))
    _, whole = two_views(tmp_path, x, [{"zscore": {}}], "whole")
    for steps in ([{"views": {"n_first": 2}}, {"zscore": {}}], [{"zscore": {}}, {"views": {"n_first": 2}}]):
        _, data = two_views(tmp_path, x, steps)
        np.testing.assert_array_equal(np.hstack([data.x_train, data.z_train]), whole.x_train)
        np.testing.assert_array_equal(np.hstack([data.x_test, data.z_test]), whole.x_test)
        assert (data.x_train.shape[1], data.z_train.shape[1], data.info["n_features"]) == (2, 3, 5)


@pytest.mark.parametrize("sparse", [False, True])
def test_further_steps_begin_from_both_views(tmp_path, sparse):
    x = (
        scipy.sparse.random(80, 2000, 0.01, "csr", random_state=0)
        if sparse
        else np.random.default_rng(0).random((80, 6))
    )
    steps = [{"views": {"n_first": 4}}], [{"zscore": {"center": False}}]
    whole, chain = prepared_in_two_ways(tmp_path, x, np.arange(80) % 2, 10, *steps)
    for key in ("x_train", "x_test", "z_train", "z_test"):
        views = (getattr(whole, key), getattr(chain, key))
        left, right = (one.toarray() if sparse else one for one in views)
        np.testing.assert_allclose(left, right, rtol=1e-6)


def test_a_view_that_leaves_nothing_to_the_other_is_told(tmp_path):
    with pytest.raises(DatasetError, match="gives 5 features to the first view, but 'rows' has 5 for both"):
        two_views(tmp_path, np.zeros((60, 5)), [{"views": {"n_first": 5}}])
    with pytest.raises(DatasetError, match="n_first must be a positive whole number"):
        check_steps([{"views": {"n_first": 0}}])
