"""What preconditioning does to steps, batches and eigensystems, against closed forms and direct formulas."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from shallows import kernels, spectrum
from shallows.fitting.rsvd_preconditioner import fit_rsvd_preconditioner
from shallows_papers.papers import data_summary, samples
from shallows_papers.papers.eigenpro import (
    batch_norms,
    claims,
    eigensystem_cost,
    eigenvalues,
    iteration_cost,
    step_sizes,
)
from shallows_papers.papers.eigenpro.approximate_eigenvectors import damped_descent
from shallows_papers.papers.eigenpro.batch_norms import (
    intrinsic_dimension,
    norms_of_feature_batches,
    norms_of_kernel_batches,
)
from shallows_papers.papers.eigenpro.eigensystem_cost import compare_eigensystems
from shallows_papers.papers.eigenpro.epochs_by_batch_size import _epochs, epochs_by_batch_size
from shallows_papers.papers.eigenpro.nearest_neighbor_risk import nearest_neighbor_risk
from shallows_papers.papers.eigenpro.released_draws import released_draws
from shallows_papers.papers.eigenpro.residuals_by_direction import residuals_by_direction


@pytest.fixture(scope="module")
def data():
    """Three clusters in five dimensions, with labels."""
    rng = np.random.default_rng(0)
    labels = np.arange(240) % 3
    x = rng.normal(size=(240, 5)) + 1.5 * np.eye(3, 5)[labels]
    return SimpleNamespace(x_train=x.astype(np.float32), y_train=labels, x_test=x[:7].astype(np.float32))


# Bounds


def test_the_bound_is_the_printed_formula():
    expected = 0.1 + 2 * (0.1 + 2.0) / (3 * 16) * 5.0 + math.sqrt(2 * 0.1 * 2.0 / 16 * 5.0)
    assert batch_norms.bound(0.1, 2.0, 16, 5.0) == pytest.approx(expected)


def test_norms_of_batches_of_features_are_those_of_the_direct_formula(data):
    found = norms_of_feature_batches(
        data, bandwidth=2.0, rank=3, n_features=20, n_points=240, batch_sizes=[240], n_batches=1
    )
    # The batch of all points: the largest eigenvalue of P^½ H P^½ is λ_{q+1}.
    assert found.curve["norm"][0] == pytest.approx(found.numbers["following"], rel=1e-9)
    assert found.numbers["kappa"] == pytest.approx(1.0)


def test_the_deviation_of_all_points_is_nothing_and_small_batches_keep_to_the_lemma(data):
    found = norms_of_feature_batches(data, bandwidth=2.0, rank=0, n_features=20, batch_sizes=[8, 240], n_batches=20)
    assert found.curve["deviation"][1] < 1e-12
    assert found.curve["deviation_share"] == [1.0, 1.0] and found.curve["share"] == [1.0, 1.0]
    assert found.curve["largest_norm"][0] > found.curve["norm"][0]


def test_norms_of_batches_in_the_kernels_space_are_those_of_the_direct_formula(data):
    found = norms_of_kernel_batches(data, bandwidth=2.0, rank=4, batch_sizes=[1, 240], n_batches=240)
    part = samples.sample(data, "gaussian", 2.0)
    values, vectors = np.linalg.eigh(np.asarray(part.matrix))
    values, vectors = values[::-1], vectors[:, ::-1]
    reduced = part.matrix - (vectors[:, :4] * (values[:4] - values[4])) @ vectors[:, :4].T
    assert found.curve["largest_norm"][0] <= reduced.diagonal().max() + 1e-12
    assert found.curve["norm"][1] == pytest.approx(values[4] / 240, rel=1e-9)


def test_the_intrinsic_dimension_is_that_of_the_variance_in_feature_space():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 4))
    matrix = x @ x.T
    values, vectors = eigenvalues.eigenpairs(matrix)
    covariance = x.T @ x / 30
    variance = sum(np.outer(row, row) @ np.outer(row, row) for row in x) / 30 - covariance @ covariance
    expected = np.trace(variance) / np.linalg.eigvalsh(variance)[-1]
    assert intrinsic_dimension(matrix, values / 30, vectors) == pytest.approx(expected, rel=1e-9)


# Acceleration, steps, damping


@pytest.fixture(params=[False, True], ids=["few points", "as with many points"])
def truncating(request, monkeypatch):
    """With many points eigensystems are truncated ones unless they are asked to be accurate."""
    if request.param:
        monkeypatch.setattr(spectrum.eigensystems, "FULL_BELOW", 20)


@pytest.mark.usefixtures("truncating")
def test_the_solvers_leave_in_each_direction_what_the_eigenvalues_say(data):
    found = residuals_by_direction(data, "laplace", 2.0, rank=10, n_directions=60, n_points=240)
    assert found.numbers["difference"] < 1e-9 and found.numbers["solved"] < 1e-9
    gains = np.asarray(found.curve["acceleration"][12:])
    assert np.all(gains >= found.numbers["eigenvalue_ratio"])
    np.testing.assert_allclose(gains, np.asarray(found.curve["acceleration_predicted"][12:]), rtol=1e-6)


def test_epochs_to_a_level_are_those_of_the_closed_form_with_full_batches(data):
    part = samples.sample(data, "laplace", 2.0, n_points=60)
    matrix = np.asarray(part.matrix)
    values, vectors = np.linalg.eigh(matrix)
    epochs = _epochs(part, matrix, 60, 1.0 / values[-1], 400, 0.05, 0)
    start = vectors.T @ np.asarray(part.targets)

    def loss(t):
        return ((((1 - values / values[-1]) ** t)[:, None] * start) ** 2).sum() / (start**2).sum()

    assert loss(math.ceil(epochs)) <= 0.05 < loss(math.ceil(epochs) - 1)


def test_small_batches_take_no_more_epochs_with_a_flat_spectrum(data):
    found = epochs_by_batch_size(data, bandwidth=2.0, rank=20, n_points=120, batch_sizes=[1, 60], share=0.1)
    few, many = found.curve["acceleration"]
    assert 0.8 < few < many
    assert found.numbers["root"] == pytest.approx(math.sqrt(found.numbers["eigenvalue_ratio"]))


def test_a_step_that_is_too_long_diverges_and_a_rule_is_where_it_says(data):
    found = step_sizes.losses_by_step(
        data,
        bandwidth=2.0,
        rank=5,
        n_subsample=100,
        batch_size=40,
        n_epochs=3,
        largest=64.0,
        rules=["certified", "paper"],
    )
    assert found.numbers["step_certified"] == 1.0
    assert math.isinf(found.curve["loss"][-1]) and math.isfinite(found.curve["loss"][0])
    assert all(loss < 1.0 or math.isinf(loss) for loss in found.curve["loss"])
    assert found.numbers["largest_stable"] < 64.0
    assert 0 < found.numbers["speed_paper"] <= 1.1
    at_one = found.curve["loss"][list(found.index).index(1.0)]
    best = min(found.curve["loss"])
    assert found.numbers["speed_certified"] == pytest.approx(math.log(at_one) / math.log(best))


def test_rules_by_batch_are_those_of_the_single_batches(data):
    asked = {"bandwidth": 2.0, "rank": 5, "n_subsample": 100, "n_epochs": 2, "rules": ["paper"], "largest": 2.0}
    both = step_sizes.rules_by_batch(data, batch_sizes=[20, 60], **asked)
    single = step_sizes.losses_by_step(data, batch_size=60, **asked)
    assert both.curve["speed_paper"][1] == single.numbers["speed_paper"]
    assert set(both.curve) == set(single.numbers)


@pytest.mark.usefixtures("truncating")
def test_damping_leaves_other_directions_alone_where_eigenvectors_are_exact(data):
    exact = damped_descent(data, bandwidth=2.0, rank=5, n_subsample=None, damping=0.25)
    assert exact.numbers["other_directions"] == pytest.approx(1.0, abs=1e-9)
    assert exact.numbers["spill"] == pytest.approx(1.0, rel=1e-9)
    lowered = damped_descent(data, bandwidth=2.0, rank=5, n_subsample=60, lowered=0.25)
    assert lowered.numbers["other_directions"] == pytest.approx(0.25)


def test_the_damped_loss_is_that_of_the_iteration(data):
    found = damped_descent(data, bandwidth=2.0, rank=5, n_subsample=60, damping=0.5, iterations=[1, 20])
    part = samples.sample(data, "gaussian", 2.0)
    matrix, y = np.asarray(part.matrix), np.asarray(part.targets)
    values, vectors = np.linalg.eigh(matrix[:60, :60])
    values, vectors = values[::-1], vectors[:, ::-1]
    psi = matrix[:, :60] @ vectors[:, :5] / np.sqrt(values[:5])
    operators = [matrix - (psi * (1 - tau * values[5] / values[:5])) @ psi.T for tau in (0.5, 1.0)]
    step, f = 1.0 / np.linalg.eigvalsh(operators[1])[-1], np.zeros_like(y)
    for _ in range(20):
        f = f - step * operators[0] @ (f - y)
    assert found.curve["loss"][1] == pytest.approx(((f - y) ** 2).sum() / (y**2).sum(), rel=1e-8)


# Cost


def test_nsvd_has_the_exact_singular_vectors_of_its_rows_and_nystrom_has_not():
    x = np.random.default_rng(0).normal(size=(120, 3))
    rows = kernels.make("laplace", 2.0)(x[:30], x)
    _, singular, exact = np.linalg.svd(rows, full_matrices=False)

    def sine(space):  # The largest; W has the squares of the singular values, so that 1e-8 may be lost to rounding.
        return np.linalg.norm(space - exact[:4].T @ (exact[:4] @ space), 2)

    values, space = eigensystem_cost.nsvd(rows, 4)
    np.testing.assert_allclose(values, np.sqrt(120 / 30) * singular[:4], rtol=1e-10)
    assert sine(space) < 1e-7
    np.testing.assert_allclose(eigensystem_cost.rsvd(rows, 4, seed=0)[0], values, rtol=0.02)
    assert sine(eigensystem_cost.nystrom(rows, 4)[1]) > 0.05


def test_errors_of_the_eigensystems_fall_with_the_subsample(data):
    found = compare_eigensystems(data, bandwidth=2.0, rank=5, subsamples=[30, 240], n_points=240, rounds=1)
    for name in ("rsvd", "nsvd", "nystrom"):
        first, last = found.curve[f"error_{name}"]
        assert last < first and last < 0.05
        assert name == "nystrom" or found.curve[f"top_{name}"][1] == pytest.approx(1.0, abs=0.02)
    assert found.curve["error_nsvd"][0] < 1.01 * found.curve["error_rsvd"][0]
    assert found.curve["error_nystrom"][0] > 1.05 * found.curve["error_nsvd"][0]


def test_every_center_counts_in_the_time_of_an_iteration():
    data = SimpleNamespace(x_train=np.random.default_rng(0).normal(size=(16384, 20)), y_train=np.arange(16384) % 2)
    found = iteration_cost.per_iteration(data, bandwidth=2.0, sizes=[2048, 16384], batch_size=64, rounds=3)
    assert found.curve["time"][1] > 3  # eight times the centers; products with rows of zeros are skipped


def test_a_truncated_preconditioner_keeps_the_first_directions(data):
    found = iteration_cost.overhead(data, bandwidth=2.0, ranks=[2, 5], n_subsample=100, batch_size=40, rounds=2)
    assert found.curve["extra_numbers"] == [1.0, 1.0]
    assert found.curve["extra_operations"][0] == pytest.approx(100 * (40 * 100 * 3 + 2 * 2 * 100 * 3) / (40 * 240 * 8))
    assert all(math.isfinite(value) for value in found.curve["overhead"])


def test_facts_are_those_of_the_data(data):
    found = data_summary.summarise(data).numbers
    assert (found["n"], found["d"], found["n_labels"]) == (240, 5, 3)
    assert found["largest"] == pytest.approx(float(data.x_train.max()))
    assert found["n_all"] == 247
    assert (found["n_test"], found["smallest_target"], found["largest_target"]) == (7, 0, 2)
    several = SimpleNamespace(x_train=np.zeros((4, 2)), y_train=np.zeros((4, 7)), x_test=np.zeros((3, 2)))
    assert data_summary.summarise(several).numbers["n_labels"] == 7


# Data


# What would contradict a bound


@pytest.mark.parametrize("norms", [norms_of_feature_batches, norms_of_kernel_batches])
def test_batches_twice_as_large_or_not_flattened_are_beyond_the_bounds_of_theorems_3_and_4(data, norms):
    more = {"n_features": 60} if norms is norms_of_feature_batches else {}
    plain, flattened = (
        norms(data, bandwidth=2.0, rank=rank, n_points=240, batch_sizes=[16, 200], n_batches=20, **more).curve
        for rank in (0, 20)
    )
    assert plain["largest_norm"][1] < plain["bound"][1] < 2.0 * plain["largest_norm"][1]
    assert flattened["largest_norm"][1] < flattened["bound"][1] < plain["largest_norm"][1]


# The first release by the draw of its sketch


def test_the_steps_of_a_sketch_along_the_top_direction_are_those_of_dense_algebra(data):
    made = {"kernel": "laplace", "bandwidth": 3.0, "rank": 8, "n_subsample": 120, "batch_size": 240, "eta": 3.0}
    found = released_draws(data, **made, draws=[0, 4], epochs=[1, 2])
    X = data.x_train.astype(np.float64)
    K = np.exp(-np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)) / 3.0)
    n, values, vectors = len(K), *np.linalg.eigh(K)
    top, first = values[-1] / n, vectors[:, -1]
    Y = np.where(np.arange(3) == data.y_train[:, None], 1.0, -1.0)
    for i, seed in enumerate([0, 4]):
        p = fit_rsvd_preconditioner(data.x_train, "laplace", 3.0, rank=8, n_subsample=120, random_state=seed)
        V, s = np.zeros((n, 8)), p.shrink / (n * p.eigenvalues[:-1])
        V[p.indices] = p.vectors
        P = np.eye(n) - V * s @ V.T @ K
        step = 3.0 * np.sqrt(p.eigenvalues[0] / p.eigenvalues[-1])
        assert found.curve["estimate"][i] == pytest.approx(p.eigenvalues[0] / top, rel=1e-4)
        assert found.curve["alignment"][i] == pytest.approx((first @ V[:, 0]) ** 2, rel=1e-4)
        assert found.curve["top_step"][i] == pytest.approx(step * first @ K @ P @ first / n, rel=1e-3)
        # A batch of all points: the residual is multiplied by I − step K P/n.
        for name, used in (("loss", step), ("measured_loss", step * 1.5 / found.curve["top_step"][i])):
            residual = Y
            for epoch in (1, 2):
                residual = residual - used * K @ (P @ residual) / n
                assert found.curve[f"{name}_{epoch}"][i] == pytest.approx(np.mean(residual**2), rel=1e-3)


def test_median_and_spread_of_a_curve():
    assert (claims.median({0: 3.0, 1: 1.0, 2: 8.0}), claims.spread({0: 3.0, 1: 1.0, 2: 8.0})) == (3.0, 8.0)


def test_the_nearest_neighbor_errs_as_cover_and_hart_say_of_laws_with_a_known_bayes_error():
    R = 0.05
    found = nearest_neighbor_risk(law="flipped labels", sizes=(10, 20_000))
    assert found.numbers["limit"] == pytest.approx(2 * (1 - R))
    few, many = found.curve["ratio"]
    assert many == pytest.approx(2 * (1 - R), rel=0.05)
    assert few > 2
    found = nearest_neighbor_risk(law="normal classes", sizes=(10, 20_000))
    x, half = np.linspace(-9, 9, 20_001), -norm.ppf(R)
    one, other = norm.pdf(x - half), norm.pdf(x + half)
    assert np.trapezoid(np.minimum(one, other), x) / 2 == pytest.approx(R, rel=1e-6)
    limit = np.trapezoid(one * other / (one + other), x) / R
    assert found.numbers["limit"] == pytest.approx(limit, rel=0.02)  # over 50,000 points
    assert found.curve["ratio"][1] == pytest.approx(limit, rel=0.05)
