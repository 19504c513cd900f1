"""Training points that are put into order, centered and rounded on a GPU equal the host's."""

import numpy as np
import pytest
import scipy.sparse

from pretended_gpu import pretended_gpu
from shallows import arrays
from shallows.errors import ShallowsError
from shallows.models.centering import Centering

CPU, GPU = arrays.Device(), arrays.Device("gpu", 0)


def data(dtype=np.float64, n=300):
    """Rows at a distance from the origin, of which one column is constant."""
    x = np.random.default_rng(0).normal(size=(n, 7)) + 1000.0
    x[:, 2] = 5.0
    return x.astype(dtype)


@pytest.mark.parametrize("stored", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, scipy.sparse.csr_matrix])
def test_the_points_are_those_of_the_host_to_the_bit(stored, dtype, form, monkeypatch):
    x, order = form(data(stored)), np.random.default_rng(1).permutation(300)
    centering = Centering.of(x)
    expected = centering.training_points(x, order, CPU, dtype)
    monkeypatch.setattr("shallows.models.centering._BLOCK_BYTES", 64 * 8 * 7)
    with pretended_gpu(monkeypatch) as ledger:
        found = centering.training_points(x, order, GPU, dtype)
        # The host waits once, to learn whether all numbers are finite.
        assert ledger.n_synchronisations == 1
    assert found.dtype == dtype
    assert np.array_equal(found.held[:, :-2], expected[:, :-2])
    assert found.held[:, -2:] == pytest.approx(expected[:, -2:], rel=1e-5 if dtype == np.float32 else 1e-14)


def test_numbers_beyond_the_precision_are_told_on_both(monkeypatch):
    x = data()
    x[17, 1] = 1e200
    centering = Centering.of(x)
    with pytest.raises(ShallowsError) as of_host:
        centering.training_points(x, np.arange(300), CPU, np.float32)
    # A GPU rounds to infinity without a word.
    with pretended_gpu(monkeypatch), np.errstate(over="ignore"), pytest.raises(ShallowsError) as of_gpu:
        centering.training_points(x, np.arange(300), GPU, np.float32)
    assert str(of_gpu.value) == str(of_host.value)
