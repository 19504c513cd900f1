"""Kernel PCA on explicit features, as users meet it."""

import itertools
import re

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA

import shallows
from component_example import points, sine_squared
from flat import flat
from pretended_gpu import pretended_gpu
from shallows.decomposition import FeatureKernelPCA
from shallows.errors import ShallowsError
from shallows.kernel_approximation import NystroemFeatures, RandomBinning, SparseRandomFeatures
from shallows.solvers.feature_components import SOLVERS

each = pytest.mark.parametrize("solver", SOLVERS)
ONLINE = [name for name in SOLVERS if SOLVERS[name].is_online]


def brief(solver="feature_oja", **options):
    options = {"bandwidth": 2.0, "n_features": 60, "random_state": 0, "dtype": "float64", **options}
    return flat(FeatureKernelPCA, solver=solver, **options)


def endless(size=300, seed=0, spoilt=None):
    for i in itertools.count():
        x = points(size, seed + i)
        if i == spoilt:
            x[3, 1] = np.nan
        yield x


@pytest.fixture
def a_short_beginning(monkeypatch):
    """Let a stream continue by steps after few rows."""
    monkeypatch.setattr("shallows.fitting.stream_training.FIRST_ROWS", 600)


@pytest.fixture
def a_small_sample(monkeypatch):
    """Start the training from few rows."""
    monkeypatch.setattr("shallows.fitting.feature_components.SAMPLE", 50)


@pytest.mark.parametrize(("features", "center"), [("nystrom", False), ("fourier", True)])
@each
def test_components_are_the_top_eigenvectors_of_the_covariance_of_the_features(solver, center, features):
    x = points(1500)
    model = brief(solver, center=center, features=features).fit(x)
    Z = model.transformer_.transform(x)
    Z = Z - Z.mean(axis=0) * center
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
    assert sine_squared(vectors, model.dual_coef_) < (1e-9 if solver in ("vr_pca", "noisy_power_method") else 5e-3)
    assert model.eigenvalues_ == pytest.approx(values, rel=5e-3)
    assert model.transform(x) == pytest.approx(Z @ model.dual_coef_, abs=1e-10)
    assert np.abs(np.corrcoef(model.transform(x).T)[0, 1]) < (1e-8 if center else 1.0)
    assert model.losses_[-1] == pytest.approx(values.sum() / np.mean((Z * Z).sum(axis=1)), rel=5e-3)


@pytest.mark.parametrize("solver", ONLINE)
def test_a_stream_gives_the_components_of_its_distribution(solver, a_short_beginning, a_small_sample):
    model = brief(solver).partial_fit(endless(), n_iter=60)
    exact = KernelPCA(2, kernel="rbf", gamma=1 / 8).fit(points(2000, seed=999)).transform(points(400, seed=998))
    found = model.transform(points(400, seed=998))
    assert sine_squared(exact - exact.mean(axis=0), found - found.mean(axis=0)) < 0.02
    # Turned by the running moment to the components themselves.
    for ours, theirs in zip(found.T, exact.T, strict=True):
        assert abs(np.corrcoef(ours, theirs)[0, 1]) > 0.98


def test_a_solver_that_needs_passes_is_refused_for_streams_and_keeps_its_model():
    model = brief("vr_pca").fit(points(100))
    before = model.transform(points())
    assert not hasattr(model, "partial_fit") and hasattr(brief("feature_oja"), "partial_fit")
    with pytest.raises(AttributeError) as caught:
        model.partial_fit(points(100))
    assert re.search(r"takes rows one by one \('feature_oja', .*\), got 'vr_pca'", str(caught.value.__cause__))
    assert np.array_equal(model.transform(points()), before)


def test_features_that_do_not_fit_into_memory_are_computed_for_each_batch(monkeypatch):
    x = points(400)
    kept = brief("vr_pca").fit(x)
    on_demand = lambda blocks, x, budget: shallows.features.Design(blocks, x, budget=0)  # noqa: E731
    monkeypatch.setattr("shallows.fitting.feature_components.Design", on_demand)
    assert brief("vr_pca").fit(x).dual_coef_ == pytest.approx(kept.dual_coef_, abs=1e-9)


@pytest.mark.filterwarnings("ignore:A CUDA function of this package cannot be used here")
@pytest.mark.parametrize(("solver", "features"), list(zip(ONLINE, ["nystrom", "fourier"], strict=False)))
def test_a_fit_and_a_stream_on_a_gpu_give_what_they_give_on_a_cpu(solver, features, monkeypatch, a_short_beginning):
    # VR-PCA has a singular value decomposition, which the pretended library lacks.
    def of(device):
        model = brief(solver, features=features, n_iter=20, device=device).fit(points(700))
        return model.partial_fit(points(600, seed=3)).transform(points(50, seed=5))

    expected = of("cpu")
    with pretended_gpu(monkeypatch):
        assert of("gpu") == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("features", "match"),
    [
        (RandomBinning(), "dense rows, and the rows of RandomBinning are sparse"),
        (SparseRandomFeatures(), "SparseRandomFeatures, which learns from targets"),
        (NystroemFeatures, r"is a class. Give an object: NystroemFeatures\(\)"),
        ("nystrm", "no feature map 'nystrm'. Did you mean 'nystrom'"),
        (3, "features must be a name, such as 'fourier', or a transformer"),
    ],
)
def test_features_that_cannot_be_used_are_refused(features, match):
    with pytest.raises(ShallowsError, match=match):
        FeatureKernelPCA(2, features=features).fit(points(50))


# --------------------------------------------------------------------------------------------------- what is refused
