"""Analyses of components, of two views and of doubly stochastic gradients, compared with closed forms."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from shallows import streams
from shallows.errors import ShallowsError
from shallows.features import FourierMap
from shallows.solvers.expansions.block_policies import CheckedBlocks, Fresh, UniformReuse
from shallows_papers.datasets.synthetic import make
from shallows_papers.papers.dsg import batched_trajectories, expansion_cost
from shallows_papers.papers.dsg.batched_trajectories import Population, Trajectories, minimiser
from shallows_papers.papers.dsg.convergence import Bounds, cost_of_reuse, errors_by_iteration
from shallows_papers.papers.dsg.orders_of_cost import orders_of_cost
from shallows_papers.papers.kpca.gaussian_subspace import Law, convergence, eigenfunctions
from shallows_papers.papers.kpca.kept_bytes import kept_bytes
from shallows_papers.papers.kpca.latent_densities import PLACES, classes_of, latent_densities, smoothed_densities
from shallows_papers.papers.kpca.orthogonalised_steps import angle_by_iteration, one_step
from shallows_papers.papers.kpca.printed_statements import printed_statements
from shallows_papers.papers.kpca.projected_regression import projected_regression
from shallows_papers.papers.kpca.two_components import two_components

BRIEF = {"batch_size": 128, "block_size": 64, "max_blocks": 40}


@pytest.fixture(scope="module")
def normal():
    return SimpleNamespace(x_train=np.random.default_rng(0).normal(size=(8000, 1)))


def test_the_measures_are_zero_for_the_eigenfunctions_and_say_how_far_others_are():
    law = Law(0.5, 3)
    turned = law.truth @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    same, other = law.compare(law.truth), law.compare(turned)
    assert max(same["squared_sine"], same["pointwise_error"], other["squared_sine"]) < 1e-6
    assert same["alignment"] > 0.999 > other["alignment"]
    # The third function is mixed with the fourth, of the same size, by an angle of cos² = 0.9.
    wide = Law(0.5, 4).truth
    mixed = np.column_stack([wide[:, :2], np.sqrt(0.9) * wide[:, 2] + np.sqrt(0.1) * wide[:, 3]])
    found = law.compare(mixed)
    assert found["squared_sine"] == pytest.approx(0.1, rel=0.02)
    assert found["pointwise_error"] == pytest.approx(0.1 * law.eigenvalues[2], rel=0.05)


@pytest.mark.parametrize("start", ["warm", "poor"])
def test_the_functions_come_near_the_hermite_functions(normal, start):
    found = convergence(normal, start=start, decrease=0.1, n_marks=6, **BRIEF)
    assert found.index[-1] == 62 * 128
    assert found.curve["squared_sine"][-1] < 0.02
    assert found.curve["squared_sine"][-1] == found.numbers["final"]
    if start == "poor":
        assert 0.5 < found.numbers["start_cosine"] < 0.6
        assert found.curve["squared_sine"][0] > 0.2
    else:
        assert found.numbers["start_cosine"] > 0.95


def test_single_eigenfunctions_are_found_by_the_generalised_hebbian_rule_alone(normal):
    single, span = (
        convergence(normal, start="turned", individual=individual, decrease=0.1, n_marks=4, **BRIEF).curve["alignment"]
        for individual in (True, False)
    )
    assert single[-1] > 0.95
    assert span[-1] < 0.6, "the rule for the span undid a mixing within it"


def test_eigenfunctions_have_the_size_and_the_sign_of_the_hermite_functions(normal):
    found = eigenfunctions(normal, decrease=0.1, **BRIEF)
    for i in (1, 2, 3):
        assert found.numbers[f"deviation_{i}"] < 0.12
        off = np.array(found.curve[f"found_{i}"]) - np.array(found.curve[f"true_{i}"])
        assert np.sqrt(np.mean(off**2)) < 0.2


def test_bytes_grow_with_the_features_and_not_with_the_inputs():
    by_features = kept_bytes(None, sizes=[512, 1024, 2048]).curve["bytes"]
    assert np.diff(by_features) == pytest.approx([512 * 2 * 3 * 8, 1024 * 2 * 3 * 8], rel=0.3)
    by_inputs = kept_bytes(None, along="n_inputs", sizes=[5, 500], n_features=256).curve["bytes"]
    assert by_inputs[1] == pytest.approx(by_inputs[0], rel=0.1)
    kept = kept_bytes(None, along="n_inputs", sizes=[5, 500], n_features=256, cache_bytes=2**24).curve["bytes"]
    assert kept[1] > 10 * kept[0], "frequencies that are kept are not counted"


def test_without_orthogonalisation_the_angle_falls_as_with_it_and_a_step_differs_by_the_square_of_its_size():
    data = SimpleNamespace(
        x_train=np.random.default_rng(1).normal(size=(300, 2)), y_train=np.zeros(300), info={"task": "none"}
    )
    found = angle_by_iteration(data, n_points=200, n_iterations=600, n_marks=8)
    for name in ("squared_sine", "orthogonalised"):
        assert found.curve[name][0] > 0.3
        assert found.curve[name][-1] < 0.02
    steps = [0.001, 0.01, 0.1]
    difference = one_step(data, steps=steps, n_points=200).curve["difference"]
    assert np.polyfit(np.log(steps), np.log(difference), 1)[0] == pytest.approx(2.0, abs=0.15)


# Analyses of two views, of pictures of components and of printed statements, compared with what is known.


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


# Checks of the theory of doubly stochastic gradients, against closed forms and against the solver itself.


@pytest.fixture(scope="module")
def data():
    x = streams.normal(3, "theory test", 0, (80, 4))
    return SimpleNamespace(x_train=x, y_train=(x[:, 0] + 0.5 * x[:, 1] > 0).astype(np.int64))


@pytest.fixture(scope="module")
def population(data):
    return Population.of(data, "gaussian", None, "logistic", 0.1, 50, 20, 0)


def test_the_minimum_of_the_square_is_that_of_kernel_ridge(data):
    p = Population.of(data, "gaussian", 2.0, "square", 0.3, 50, 20, 0)
    K = p.rows[:, : p.n]
    exact = np.linalg.solve(K + p.n * 0.3 * np.eye(p.n), p.targets)
    np.testing.assert_allclose(p.minimum, exact @ p.rows, atol=1e-12)
    assert p.norm == pytest.approx(math.sqrt(exact @ K @ exact))


def test_no_small_change_lowers_the_regularised_risk_at_the_minimum(population):
    p, K = population, population.rows[:, : population.n]
    a = minimiser(K, p.targets, p.loss, p.regularisation)

    def risk(a):
        u = K @ a
        return p.loss.value(u[:, None], p.targets[:, None]).mean() + 0.5 * p.regularisation * a @ u

    for k in range(5):
        change = 1e-4 * streams.normal(k, "change", 0, a.shape)
        assert risk(a + change) > risk(a)


def test_losses_that_are_not_smooth_have_no_known_minimum(data):
    with pytest.raises(ShallowsError, match=r"square.*logistic"):
        Population.of(data, "gaussian", None, "hinge", 0.1, 50, 20, 0)


@pytest.mark.parametrize(
    "policy", [Fresh(), UniformReuse(2, 3), CheckedBlocks(0.1, 1.0, 2.0)], ids=lambda one: one.name
)
@pytest.mark.parametrize("theta_nu", [1.0, 1.5])
def test_trajectories_are_those_of_the_solver(population, policy, theta_nu):
    many = Trajectories(population, theta_nu / 0.1, policy, [5, 6, 7])
    assert list(many.run([150])) == [150]
    by_solver, _ = batched_trajectories.by_the_solver(many, 150)
    np.testing.assert_allclose(many.values[0], by_solver, atol=1e-10 * np.abs(by_solver).max())
    if isinstance(policy, CheckedBlocks):
        assert (many.in_use < 150).all()  # some were used again, so that this branch was tried


def test_features_one_by_one_are_those_of_the_blocks_they_are_drawn_in(population):
    d, x = population.points.shape[1], population.points
    wide = FourierMap(population.kernel, d, batched_trajectories.CHUNK, 9, form="cosine")
    single = batched_trajectories.SingleFeatures(population.kernel, d, 1, 9, form="cosine")
    i = batched_trajectories.CHUNK + 3
    np.testing.assert_allclose(single.block(i, x)[:, 0], wide.block(1, x)[:, 3], atol=1e-12)


def test_companions_are_the_mean_of_f_over_the_features(population):
    # f − h has mean zero (the proof's martingale): over many seeds it is smaller than its spread over √R.
    many = Trajectories(population, 10.0, Fresh(), list(range(200)))
    list(many.run([40]))
    off = many.values - many.companions
    assert np.abs(off.mean(axis=0)).max() < 5.0 * off.std() / math.sqrt(200)


def coefficient_ratio(theta_nu, t):
    """The largest |aᵗᵢ| over i ≤ t, in units of θ/t, of aᵗᵢ = −γᵢ Π_{j>i} (1 − γⱼν) with γᵢ = θ/i."""
    return max(abs(t / i * math.prod(1 - theta_nu / j for j in range(i + 1, t + 1))) for i in range(1, t + 1))


@pytest.mark.parametrize("theta_nu", [1.0, 1.4, 4.0])
def test_coefficients_of_the_solver_are_the_products_of_their_formula(population, theta_nu):
    many = Trajectories(population, theta_nu / population.regularisation, Fresh(), [5])
    _, sizes = batched_trajectories.by_the_solver(many, 40)
    np.testing.assert_allclose(sizes, [coefficient_ratio(theta_nu, t) for t in range(1, 41)], rtol=1e-9)


@pytest.mark.parametrize(("theta_nu", "largest"), [(1.5, 1.0), (2.0, 1.0), (4.0, 2.0), (6.0, 6.0)])
def test_coefficients_keep_to_the_bound_where_it_is_true_and_leave_it_where_it_is_not(data, theta_nu, largest):
    found = errors_by_iteration(data, theta_nu=theta_nu, n_points=40, n_places=5, n_iterations=60, n_repeats=1).numbers
    assert found["coefficient"] == pytest.approx(largest, rel=1e-9)
    assert found["coefficient"] == pytest.approx(max(coefficient_ratio(theta_nu, t) for t in range(1, 61)))
    assert found["later_coefficient"] == pytest.approx(1.0)


def test_the_bound_without_reuse_is_that_of_theorem_4():
    M, L, theta, nu, norm, kappa, phi = 1.0, 0.25, 15.0, 0.1, 2.0, 1.0, 2.0
    C2 = 4 * (kappa + phi) ** 2 * M**2 * theta**2
    Q0 = 2 * math.sqrt(2) * math.sqrt(kappa) * (kappa + phi) * L * M * theta**2
    z = 2 * theta * nu - 1
    Q1 = max(norm, (Q0 + math.sqrt(Q0**2 + z * (1 + theta * nu) ** 2 * theta**2 * kappa * M**2)) / z)
    assert Bounds(theta, nu, M, L, norm).expected(7) == pytest.approx((2 * C2 + 2 * kappa * Q1**2) / 7)


def test_reuse_multiplies_the_constant_of_the_samples_by_one_and_two_u_over_g():
    plain = Bounds(15.0, 0.1, 1.0, 0.0, 0.0)  # with L = 0 the bound is 2C² and what does not depend on C
    rest = plain.expected(1e9) * 1e9 - 2 * plain.constant**2
    for G, U in ((1, 1), (2, 1), (1, 3)):
        squared = (plain.expected(1e9, G, U) * 1e9 - rest) / (2 * plain.constant**2)
        assert squared == pytest.approx(1 + 2 * U / G, rel=1e-6)


@pytest.mark.parametrize("method", ["dsg", "udsg", "cdsg"])
def test_the_error_falls_as_one_over_t(data, method):
    found = errors_by_iteration(data, method=method, n_points=50, n_places=20, n_iterations=600, n_repeats=24)
    t, error = np.array(found.index), np.array(found.curve["error"])
    slope = np.polyfit(np.log(t[t >= 30]), np.log(error[t >= 30]), 1)[0]
    assert -1.25 < slope < -0.75
    assert (error <= found.curve["bound"]).all()
    assert found.numbers["solver_difference"] < 1e-10


def test_reuse_tells_the_share_of_features_and_what_was_printed(data):
    found = cost_of_reuse(data, n_iterations=200, n_repeats=4, n_points=40, n_places=10).curve
    np.testing.assert_allclose(found["feature_share"], found["predicted_share"], atol=0.01)
    assert found["printed_bound"][1] == 1.5 and found["corrected"][1] == 4.5  # G = U = 1


def exponent(sizes, values):
    return np.polyfit(np.log(sizes), np.log(values), 1)[0]


def test_what_dsg_keeps_grows_with_its_features_and_not_with_the_inputs():
    features, inputs = (4096, 8192, 16384), (8, 64, 512)
    found = expansion_cost.iteration_cost(sizes=features, n_inputs=8, rounds=1).curve["bytes"]
    assert 0.85 < exponent(features, found) < 1.15
    found = expansion_cost.iteration_cost(along="n_inputs", sizes=inputs, n_features=1024, rounds=1).curve["bytes"]
    assert abs(exponent(inputs, found)) < 0.1


def test_a_landmark_method_stores_its_landmarks():
    found = orders_of_cost(method="nystrom", along="d", sizes=(50, 1000), n_points=60, rounds=1).curve["storage"]
    assert found[1] - found[0] >= 0.9 * 4 * 30 * 950  # 30 landmarks of 950 inputs more
    found = orders_of_cost(method="dsg", along="d", sizes=(50, 1000), n_points=60, rounds=1).curve["storage"]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("method", "in_n", "in_d"),
    [
        ("dsg", (0.9, 1.1), (-0.01, 0.01)),
        ("fourier", (0.9, 1.1), (-0.01, 0.01)),
        ("kernel", (0.5, 1.3), (0.8, 1.2)),  # not every example has a coefficient
        ("nystrom", (1.4, 2.0), (0.2, 0.8)),  # between the powers of the landmarks and of their map
    ],
)
def test_what_a_training_stores_grows_with_its_examples_and_with_the_points_that_it_keeps(method, in_n, in_d):
    sizes, d = (100, 200, 400), (50, 100, 200)
    found = orders_of_cost(method=method, sizes=sizes, n_inputs=20, rounds=1).curve
    assert in_n[0] < exponent(sizes, found["training_storage"]) < in_n[1]
    assert all(during >= after for during, after in zip(found["training_storage"], found["storage"], strict=True))
    found = orders_of_cost(method=method, along="d", sizes=d, n_points=200, rounds=1).curve["training_storage"]
    assert in_d[0] < exponent(d, found) < in_d[1]


def test_landmarks_are_computed_before_the_first_step_and_random_features_are_not():
    # Three times the landmarks take 27 times as long. Doubly stochastic gradients look at a sample of 1,000 rows first.
    assert orders_of_cost(method="nystrom", sizes=(600, 1800), rounds=1).curve["before"][1] > 2
    found = orders_of_cost(method="dsg", sizes=(1200, 6000), rounds=1).curve
    assert found["before"][1] < 1.7 < 4 < found["training"][1]


def test_stored_features_take_their_product_in_bytes(data):
    found = expansion_cost.stored_feature_bytes(data, n_points=8_100_000, n_features=100_000, n_outputs=10).numbers
    assert found["stored_terabytes"] == pytest.approx(8.1e6 * 1e5 * 8 / 1e12)
    assert found["coefficients_megabytes"] == pytest.approx(4.0)
