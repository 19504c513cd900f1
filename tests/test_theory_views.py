"""Analyses of two views, of pictures of components and of printed statements, compared with what is known."""

from types import SimpleNamespace

import numpy as np
import pytest

from shallows.errors import ShallowsError
from shallows_papers.datasets.synthetic import make
from shallows_papers.papers.kpca.latent_densities import PLACES, classes_of, latent_densities, smoothed_densities
from shallows_papers.papers.kpca.printed_statements import printed_statements
from shallows_papers.papers.kpca.projected_regression import projected_regression
from shallows_papers.papers.kpca.two_components import two_components


@pytest.fixture(scope="module")
def hidden_class():
    return SimpleNamespace(x_train=make("latent_views", n_views=3).block(0, 8192)[0])


def test_the_classes_of_three_views_are_those_that_they_were_drawn_from():
    rng = np.random.default_rng(0)
    means = np.array([[1.0, 0.2], [-0.4, 1.5]])
    classes = (rng.uniform(size=40_000) < 0.3).astype(int)
    views = [means[classes] + 0.1 * rng.normal(size=(40_000, 2)) for _ in range(3)]
    weights, found = classes_of(views)
    order = np.argsort(-weights)
    assert weights[order] == pytest.approx([0.7, 0.3], abs=0.01)
    assert np.abs(found[order] - means).max() < 0.02


def test_smoothed_densities_are_densities_and_near_the_densities_for_a_narrow_kernel():
    truth = make("latent_views").densities(PLACES)
    assert smoothed_densities(PLACES, 0.5).sum(axis=0) * (PLACES[1] - PLACES[0]) == pytest.approx([1.0, 1.0], abs=0.01)
    near = smoothed_densities(PLACES, 0.05)
    assert np.abs(near[:, 0] - truth[:, 0]).max() < 1e-3
    away = np.abs(PLACES) > 0.5  # at zero the density of the Gamma law has an edge
    assert np.abs(near[away, 1] - truth[away, 1]).max() < 1e-3


@pytest.mark.parametrize(
    ("method", "options", "most"),
    [
        ("nystroem", {"n_features": 200}, 0.002),
        ("fourier", {"n_features": 1024}, 0.02),
        ("doubly_stochastic", {"n_features": 1024, "block_size": 128, "n_iter": 150}, 0.03),
    ],
)
def test_the_densities_of_the_classes_are_recovered_from_the_views_alone(hidden_class, method, options, most):
    found = latent_densities(hidden_class, method=method, **options)
    assert found.numbers["smooth_squared_error"] < most
    assert found.numbers["weight"] == pytest.approx(0.5, abs=0.02)
    # A density of nothing, which the errors are compared with, would have an error of the squared densities.
    assert found.numbers["relative_error"] < 0.2


@pytest.fixture(scope="module")
def arm():
    x, y = make("planar_arm").block(0, 1500)
    x = x / x.std(axis=0)
    return SimpleNamespace(x_train=x[:1000], y_train=y[:1000], x_test=x[1000:], y_test=y[1000:])


@pytest.mark.parametrize("method", ["fourier", "nystroem", "doubly_stochastic"])
def test_a_linear_model_on_the_functions_found_is_far_ahead_of_one_on_the_inputs(arm, method):
    sizes = [256] if method == "doubly_stochastic" else [32, 256]
    options = {"n_iter": 15} if method == "doubly_stochastic" else {}
    found = projected_regression(arm, method=method, sizes=sizes, n_components=2, ridges=[1e-5, 1e-3], **options)
    errors = found.curve["test_error"]
    assert found.index == sizes
    assert errors[-1] < 0.4  # a linear model of the inputs explains next to nothing of a swinging arm
    assert errors[-1] <= errors[0]
    design = np.column_stack([arm.x_train, np.ones(1000)])
    linear = np.linalg.lstsq(design, arm.y_train, rcond=None)[0]
    off = np.column_stack([arm.x_test, np.ones(500)]) @ linear - arm.y_test
    assert errors[-1] < 0.6 * np.mean(off**2) / np.var(arm.y_test)


def test_a_step_with_which_the_printed_rule_diverges_is_not_chosen(arm):
    options = {"rule": "printed", "ridges": [0.0], "step_sizes": [100.0, 2.0], "n_iter": 30, "block_size": 32}
    found = projected_regression(arm, sizes=[256], n_components=2, batch_size=128, **options)
    assert found.curve["step"] == [2.0] and found.curve["test_error"][0] < 1.0


def test_two_components_are_near_those_of_exact_kernel_pca():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3)) * [3.0, 2.0, 0.3]
    data = SimpleNamespace(x_train=x, y_train=np.linalg.norm(x, axis=1))
    options = {"max_features": 4096, "block_size": 128, "n_iter": 150}
    ours, exact = (
        two_components(data, method=name, **extra) for name, extra in (("doubly_stochastic", options), ("exact", {}))
    )
    assert ours.numbers["squared_sine"] < 0.02
    assert len(ours.index) == len(exact.index) == 300
    assert ours.curve["colour"] == exact.curve["colour"]
    plane = [np.column_stack([one.curve["first"], one.curve["second"]]) for one in (ours, exact)]
    left, right = (np.linalg.qr(one - one.mean(axis=0))[0] for one in plane)
    assert np.linalg.svd(left.T @ right, compute_uv=False).min() > 0.98
    # Linear components lie as far out as the points do.
    assert two_components(data, method="linear").numbers["centre_correlation"] > 0.9
    with pytest.raises(ShallowsError, match="There is no method"):
        two_components(data, method="sparse")


def test_each_printed_statement_fails_and_its_correction_holds():
    data = SimpleNamespace(x_train=np.random.default_rng(0).normal(size=(100, 1)), y_train=np.zeros(100))
    found = printed_statements(data, n_points=100, n_steps=2000).numbers
    assert found["eigenvector_printed"] == pytest.approx(99)  # n − 1
    assert found["eigenvector_corrected"] < 1e-10
    assert found["frequencies_printed"] == pytest.approx(np.sqrt(2 * np.pi) / 0.5, rel=1e-6)
    assert found["frequencies_corrected"] == pytest.approx(1, rel=1e-6)
    assert found["start_printed"] == 0
    assert found["start_corrected"] == pytest.approx(1, rel=1e-6)
    assert found["joint_printed"] < 0.1 < 0.5 < found["joint_corrected"]
    assert found["singular_printed"] == pytest.approx(0.5, rel=1e-6)
    assert found["singular_corrected"] == pytest.approx(1, rel=1e-6)
    assert found["same_sample_printed"] > 1 > 0.1 > found["same_sample_corrected"]
    assert found["projection_printed"] > 10
    assert found["projection_corrected"] == pytest.approx(1, rel=1e-6)
    assert found["hebbian_printed"] > 1e3
    assert found["hebbian_corrected"] == pytest.approx(1, rel=1e-6)
