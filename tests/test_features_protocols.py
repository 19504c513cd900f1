"""Feature maps that multiply by no dense matrix, and feature maps with sparse rows instead of dense ones."""

from unittest import mock

import numpy as np
import pytest

from engine_example import sample
from shallows import features, kernels
from shallows.features import FEATURE_MAPS, Blocks, Design, FastfoodMap, FourierMap, RandomBinningMap, base, block_sums
from shallows.features.fourier import DenseProjector, join
from shallows.spectrum import make_feature_preconditioner
from structured_features_example import BinningStream, Dense

GAUSSIAN = kernels.make("gaussian", 2.0)
BINNING = RandomBinningMap(3.0, 3, 40, n_bins=64)


def test_the_maps_of_the_library_keep_the_protocols():
    x = sample(20)
    for name in FEATURE_MAPS:
        kernel = {"binning": "laplace_product", "polynomial": "polynomial", "tensor_sketch": "polynomial"}.get(name)
        kernel = kernels.make(kernel, 2.0 if name == "binning" else None) if kernel else GAUSSIAN
        assert isinstance(features.make(name, kernel, x, 8), base.ExplicitMap)
    assert isinstance(FourierMap(GAUSSIAN, 3, 8), base.FourierStream)
    assert not isinstance(FourierMap(GAUSSIAN, 3, 8), base.SparseFeatureMap)
    assert isinstance(BINNING, base.SparseFeatureMap)
    assert isinstance(BinningStream(3.0, 3, 8), base.FeatureStream)


# ------------------------------------------------------------------------------- projections without a matrix


@pytest.fixture(autouse=True)
def no_matrix(monkeypatch):
    """Nothing asks for the matrix of frequencies of a structured map."""
    monkeypatch.setattr(FastfoodMap, "frequencies", mock.Mock(side_effect=AssertionError))


def fastfood(F, form="pair"):
    return FastfoodMap(GAUSSIAN, 3, F, seed=1, form=form)


@pytest.mark.parametrize("form", ["pair", "cosine"])
@pytest.mark.parametrize("budget", [1, 2**28])
def test_a_sum_over_structured_blocks_is_that_of_its_parts(form, budget):
    x, f = sample(50), fastfood(5, form)
    A = np.random.default_rng(0).normal(size=(7, f.width, 2))
    expected = sum(f.block(2 + j, x) @ A[j] for j in range(7))
    assert np.abs(block_sums.evaluate(f, x, A, first=2, budget=budget) - expected).max() < 1e-12


def test_projections_of_different_kinds_can_stand_side_by_side():
    x, f = sample(9), fastfood(6)
    structured, dense = f.projector(0, x), DenseProjector(sample(3, 4))
    both = join([structured, dense])
    assert both.n_frequencies == 10
    expected = np.concatenate([structured.project(x), x @ dense.transposed], axis=1)
    assert np.array_equal(both.project(x), expected)
    assert np.array_equal(both.project(x, np.empty((9, 10))), expected)
    # Products with matrices are one product.
    assert isinstance(join([dense, dense]), DenseProjector)
    assert join([structured]) is structured


@pytest.mark.parametrize("n_features", [48, 40])
def test_a_linear_model_goes_through_a_structured_map_block_by_block(n_features):
    x = sample(30)
    blocks, a = Blocks(fastfood(12), n_features), sample(n_features, 2, seed=3)
    assert len(blocks.spans) == 2
    Z = np.concatenate([blocks.block(x, k) for k in range(2)], axis=1)
    assert np.abs(blocks.dot(x, a) - Z @ a).max() < 1e-12
    assert np.abs((Z**2).sum(axis=1) - 1).max() < 1e-12


# ------------------------------------------------------------------------------------------------ sparse rows


@pytest.mark.parametrize("budget", [0, 2**28])
def test_a_design_of_sparse_rows_is_kept_by_what_is_not_zero(budget):
    x, a = sample(70), sample(BINNING.n_features, 2, seed=1)
    design = Design(Blocks(BINNING), x, budget=budget)
    Z = BINNING.map(x).toarray()
    assert design.kept == bool(budget)
    assert np.abs(design.dot(a) - Z @ a).max() < 1e-12
    assert np.abs(design.block(slice(5, 20), 0).toarray() - Z[5:20]).max() == 0
    # The budget has to hold two numbers for each value, not one for each feature.
    assert Design(Blocks(BINNING), x, budget=70 * 2 * 40 * 8).kept
    assert not Design(Blocks(Dense(BINNING)), x, budget=70 * 2 * 40 * 8).kept


@pytest.mark.parametrize("eigensystem", ["nsvd", "rsvd"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_preconditioner_of_sparse_rows_is_that_of_dense_ones(eigensystem, weighted):
    x = sample(120)
    weights = np.random.default_rng(0).uniform(0.2, 1.0, size=120) if weighted else None
    made = [
        make_feature_preconditioner(Blocks(one), x, rank=10, n_subsample=60, eigensystem=eigensystem, weights=weights)
        for one in (BINNING, Dense(BINNING))
    ]
    assert np.abs(made[0].eigenvalues - made[1].eigenvalues).max() < 1e-12
    for name in ("top_eigenvalue", "largest_diagonal", "mean_diagonal"):
        assert getattr(made[0], name) == pytest.approx(getattr(made[1], name), rel=1e-9)
