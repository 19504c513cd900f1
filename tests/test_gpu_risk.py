"""Features, losses and solvers of regularized risks: what the CPU gives, the GPU gives."""

import numpy as np
import pytest

from engine_example import sample
from risk_example import BY_SETTINGS, N, batches_of, feature_risk, kernel_risk, run
from shallows import arrays, features, kernels
from shallows.arrays import Device
from shallows.solvers.regularized.norma import NORMAStepper
from shallows.solvers.regularized.pegasos import PegasosStepper
from shallows.solvers.regularized.sdca import SDCAStepper
from shallows.solvers.regularized.variance_reduced import SAGStepper, SVRGStepper

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not arrays.gpu_is_available(), reason="there is no GPU that CuPy can use"),
]

GPU = Device("gpu", 0)


@pytest.mark.parametrize("form", ["pair", "cosine"])
@pytest.mark.parametrize("orthogonal", [False, True])
def test_blocks_of_fourier_features_agree(form, orthogonal):
    f = features.FourierMap(kernels.Laplace(2.0), 5, 12, seed=3, form=form, orthogonal=orthogonal)
    for dtype, tolerance in ((np.float64, 1e-11), (np.float32, 1e-4)):
        x = sample(30, 5, dtype=dtype)
        there = GPU.namespace.asarray(x)
        W = arrays.to_numpy(f.frequencies(7, there))
        assert W.dtype == dtype
        assert np.abs(W - f.frequencies(7, x)).max() <= tolerance * np.abs(W).max()
        assert np.abs(arrays.to_numpy(f.block(7, there)) - f.block(7, x)).max() < tolerance * 10
        assert np.abs(arrays.to_numpy(f.map(there, 3)) - f.map(x, 3)).max() < tolerance * 10


@pytest.mark.parametrize(
    ("make", "loss", "solver"),
    [
        (kernel_risk, "hinge", PegasosStepper(projection=True)),
        (kernel_risk, "logistic", NORMAStepper(1.0, truncation=30)),
        (kernel_risk, "hinge", SDCAStepper()),
        (feature_risk, "logistic", SDCAStepper()),
        (feature_risk, "logistic", SVRGStepper(0.5)),
        (feature_risk, "square", SAGStepper(0.3)),
        *BY_SETTINGS.values(),
    ],
    ids=lambda part: str(part)[:20],
)
def test_solvers_agree(make, loss, solver):
    ours, theirs = (
        run(solver, make(loss, c=2, weights=True, xp=xp).problem, batches_of(N, 16, 2)) for xp in (np, GPU.namespace)
    )
    assert np.abs(arrays.to_numpy(theirs.coefficients) - ours.coefficients).max() < 1e-9
