"""Features, losses and solvers of regularised risks: what the CPU gives, the GPU gives."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from engine_example import sample
from risk_example import N, batches_of, feature_risk, kernel_risk, run
from shallows import arrays, features, kernels, losses
from shallows.arrays import Device
from shallows.estimators import RegularizedRiskClassifier, RegularizedRiskRegressor
from shallows.kernel_approximation import FourierFeatures, NystroemFeatures
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


def test_nystrom_features_agree_up_to_signs():
    landmarks, x = sample(12), sample(9, seed=1)
    ours, theirs = (
        arrays.to_numpy(features.NystroemMap(kernels.Gaussian(1.0), xp.asarray(landmarks)).map(xp.asarray(x)))
        for xp in (np, GPU.namespace)
    )
    assert np.abs(ours @ ours.T - theirs @ theirs.T).max() < 1e-9


@pytest.mark.parametrize("name", sorted(losses.LOSSES))
def test_losses_agree(name):
    loss = losses.make(name)
    scores = sample(40, 3) * 5
    targets = loss.encode(np.arange(40) % 3, 3) if loss.for_classes else sample(40, 3, seed=1)
    there = [GPU.namespace.asarray(part) for part in (scores, targets)]
    for method in ("value", "derivative"):
        made = arrays.to_numpy(getattr(loss, method)(*there))
        assert np.abs(made - getattr(loss, method)(scores, targets)).max() < 1e-12


@pytest.mark.parametrize(
    ("make", "loss", "solver"),
    [
        (kernel_risk, "hinge", PegasosStepper(projection=True)),
        (kernel_risk, "logistic", NORMAStepper(1.0, truncation=30)),
        (kernel_risk, "hinge", SDCAStepper()),
        (feature_risk, "logistic", SDCAStepper()),
        (feature_risk, "logistic", SVRGStepper(0.5)),
        (feature_risk, "square", SAGStepper(0.3)),
    ],
    ids=lambda part: str(part)[:20],
)
def test_solvers_agree(make, loss, solver):
    ours, theirs = (
        run(solver, make(loss, c=2, weights=True, xp=xp).problem, batches_of(N, 16, 2)) for xp in (np, GPU.namespace)
    )
    assert np.abs(arrays.to_numpy(theirs.coefficients) - ours.coefficients).max() < 1e-9


@pytest.mark.parametrize(
    "model",
    [
        RegularizedRiskClassifier(solver="pegasos", random_state=0),
        RegularizedRiskRegressor(solver="norma", random_state=0),
        RegularizedRiskClassifier(random_state=0, features=NystroemFeatures(n_features=60), loss="squared_hinge"),
        RegularizedRiskRegressor(solver="sag", features=FourierFeatures(n_features=128), random_state=0),
    ],
    ids=str,
)
def test_estimators_agree(model):
    x = sample(400, 4)
    y = (x[:, 0] > 0) + 2 * (x[:, 1] > 0) if is_classifier(model) else np.sin(2 * x[:, 0]) + x[:, 1]
    ours, theirs = (
        clone(model).set_params(device=device, max_epochs=3).fit(x[:300], y[:300]) for device in ("cpu", "gpu")
    )
    outputs = [m.decision_function(x[300:]) if is_classifier(m) else m.predict(x[300:]) for m in (ours, theirs)]
    assert np.abs(outputs[0] - outputs[1]).max() < 1e-6 * max(1.0, np.abs(outputs[0]).max())
