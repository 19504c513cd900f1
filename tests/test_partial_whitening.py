"""Partial whitening, EigenPro's P^½ as a transformer, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from engine_example import sample
from shallows import streams
from shallows.errors import ShallowsError
from shallows.kernel_approximation import PartialWhitening


def columns(n: int, d: int) -> np.ndarray:
    """Rows whose covariance has eigenvalues that fall by a factor, in no special directions."""
    turned = np.linalg.qr(sample(d, d, seed=1))[0]
    return sample(n, d) * 0.7 ** np.arange(d) @ turned + 0.3


@pytest.mark.parametrize(("n", "d", "n_subsample"), [(200, 12, 200), (200, 12, 40), (30, 50, 4800)])
@pytest.mark.parametrize("damping", [1.0, 0.25])
def test_it_is_the_root_of_the_preconditioner(n, d, n_subsample, damping):
    X = columns(n, d)
    model = PartialWhitening(rank=4, n_subsample=n_subsample, damping=damping, random_state=3).fit(X)
    m = min(n, n_subsample)
    chosen = np.sort(streams.permutation(3, "whitening", 0, n)[:m])
    values, E = np.linalg.eigh(X[chosen].T @ X[chosen] / m)
    values, E = values[::-1], E[:, ::-1][:, :4]
    P = np.eye(d) - E * (1.0 - damping * values[4] / values[:4]) @ E.T
    w, V = np.linalg.eigh(P)
    np.testing.assert_allclose(model.transform(X), X @ (V * np.sqrt(w) @ V.T), atol=1e-9)
    np.testing.assert_allclose(model.eigenvalues_, values[:5], rtol=1e-9)


def test_the_top_eigenvalues_become_the_next_one():
    X = columns(300, 15)
    Z = PartialWhitening(rank=6, damping=0.5).fit_transform(X)
    before, after = (np.linalg.eigvalsh(part.T @ part)[::-1] for part in (X, Z))
    np.testing.assert_allclose(after[0], before[6], rtol=1e-9)
    np.testing.assert_allclose(after[9:], np.sort(np.r_[np.full(6, 0.5 * before[6]), before[6:]])[::-1][9:], rtol=1e-6)


def test_sparse_rows_are_those_of_the_array():
    X = np.where(sample(100, 9) > 0.8, columns(100, 9), 0.0)
    model = PartialWhitening(rank=3, random_state=0)
    dense, sparse = model.fit_transform(X), model.fit_transform(scipy.sparse.csr_matrix(X))
    np.testing.assert_allclose(sparse, dense, atol=1e-10)


def test_directions_below_rounding_are_not_whitened():
    X = columns(100, 10)[:, :3] @ sample(3, 10, seed=2)
    model = PartialWhitening(rank=8, random_state=0).fit(X)
    assert model.report_["rank"] == 2
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("wrong", [{"damping": 1.5}, {"damping": 0.0}, {"rank": 0}, {"n_subsample": 1.5}])
def test_a_wrong_parameter_is_named(wrong):
    with pytest.raises(ShallowsError, match=next(iter(wrong))):
        PartialWhitening(**wrong).fit(columns(20, 4))
