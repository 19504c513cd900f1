"""Estimators of models with fewer centers than data, against exact least squares."""

import re
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_classifier

from engine_example import least_squares, naive_kernel, sample
from estimators_example import outputs
from forms import centers_classifier, centers_regressor, eigenpro_regressor, kernel_ridge_regressor
from shallows import KernelRidgeRegressor, Options, arrays, training
from shallows.errors import ShallowsError
from shallows.fitting import kernel_centers
from shallows.fitting.center_points import Centers, RoomForCenters, number_of_use
from shallows.solvers import NystromConjugateGradients

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")
BOTH = [centers_classifier, centers_regressor]
each = pytest.mark.parametrize("Estimator", BOTH)


def table(Estimator, n=1500, seed=0, d=3):
    x = sample(n + 100, d, seed)
    signal = np.sin(2 * x[:, 0]) + x[:, 1]
    y = np.digitize(signal, [-0.7, 0.7]) if is_classifier(Estimator()) else signal
    return x[:n], y[:n], x[n:]


@pytest.mark.parametrize(("Estimator", "given"), [(BOTH[0], True), (BOTH[1], False), (BOTH[1], True)])
def test_predictions_are_the_expansion_in_the_centres(Estimator, given):
    X, y, new = table(Estimator)
    Z = sample(60, seed=5)
    options = {"centres": Z if given else 60, "calibration": None, "random_state": 0, "max_epochs": 2}
    model = Estimator("cauchy", bandwidth=2.0, **options).fit(X, y)
    assert model.dual_coef_.shape == (60, 3 if is_classifier(model) else 1)
    if given:
        assert model.support_ is None
        centres = model._model.points[:, :3].astype(float) + model._model.centering.mean
        assert np.abs(np.sort(centres, axis=0) - np.sort(Z, axis=0)).max() < 1e-5
    else:
        centres = X[model.support_]
    scores = naive_kernel("cauchy", 2.0, new, centres) @ model.dual_coef_
    if not is_classifier(model):
        scores = scores[:, 0] * model._targets.scale + model.intercept_
    assert np.abs(outputs(model, new) - scores).max() < 1e-5 * np.abs(model.dual_coef_).sum()


@pytest.mark.parametrize(("Estimator", "weighted"), [(centers_classifier, False), (centers_regressor, True)])
def test_a_model_comes_near_the_least_squares_solution_of_its_span(Estimator, weighted):
    X, y, _ = table(Estimator)
    w = np.random.default_rng(0).uniform(0.2, 1.0, size=len(X)) if weighted else None
    model = Estimator("laplace", bandwidth=2.0, centres=100, random_state=0, max_epochs=20, tol=0).fit(X, y, w)
    K = naive_kernel("laplace", 2.0, X, X[model.support_])
    codes = model._targets.aims(y)
    if not is_classifier(model):
        codes = (codes - model.intercept_) / model._targets.scale
    w = np.ones(len(X)) if w is None else w
    loss, best = ((w[:, None] * (K @ a - codes) ** 2).sum() for a in (model.dual_coef_, least_squares(K, codes, w)))
    assert best * (1 - 1e-6) < loss < 1.01 * best


def test_as_many_centres_as_data_give_what_eigenpro_gives():
    X, y, new = table(eigenpro_regressor, 300)
    options = {"kernel": "laplace", "bandwidth": 2.0, "random_state": 0, "tol": 0, "dtype": "float64"}
    steps = {"batch_size": 300, "step_size": 0.5, "rank": 30, "n_subsample": 100, "max_epochs": 5}
    ours = centers_regressor(centers=10_000, **options, **steps).fit(X, y)
    theirs = eigenpro_regressor(**options, **steps).fit(X, y)
    assert ours.report_["n_centers"] == 300
    assert np.abs(ours.predict(new) - theirs.predict(new)).max() < 1e-8


@each
def test_several_outputs_are_what_they_are_apart(Estimator):
    X, y, new = table(centers_regressor)
    of_classes = Estimator is centers_classifier
    y = np.stack([y > 0, y > 1], axis=1).astype(int) if of_classes else np.stack([y, np.cos(y)], axis=1)
    options = {"regularisation": 0.1, "calibration": None, "bandwidth": 1.5, "random_state": 0}
    together = Estimator(centres=60, max_epochs=3, **options).fit(X, y)
    assert together.report_["n_validation"] == 0
    for j in range(2):
        apart = outputs(clone(together).fit(X, y[:, j]), new)
        # Products of two columns are rounded otherwise than those of one.
        assert np.abs(outputs(together, new)[:, j] - apart).max() < 1e-3 * np.abs(apart).max()


def test_an_observer_sees_the_model_of_each_epoch():
    X, y, new = table(centers_regressor)
    seen = []
    curve = training.Curve([1, 2], lambda s: seen.append((s.predict(new), s.predict_training())) or {})
    solver = NystromConjugateGradients(max_iterations=2, tol=0)
    model = KernelRidgeRegressor(solver=solver, centers=50, random_state=0).fit(X, y, observers=[curve])
    assert np.array_equal(seen[-1][0], model.predict(new))
    # Blocks of other sizes round otherwise: by some units in the last place of the terms Σ |αⱼ| k(zⱼ, x).
    rounding = 4 * np.finfo(np.float32).eps * np.abs(model.dual_coef_).sum()
    assert np.abs(seen[-1][1] - model.predict(X)).max() < rounding
    assert not np.array_equal(seen[0][0], seen[1][0])


@pytest.mark.parametrize("kernel", ["polynomial", "matern"])
def test_other_kernels_have_centres_too(kernel):
    X, y, new = table(centers_regressor)
    model = KernelRidgeRegressor(kernel, centers=60, random_state=0).fit(X, y)
    truth = np.sin(2 * new[:, 0]) + new[:, 1]
    assert np.corrcoef(model.predict(new), truth)[0, 1] > (0.9 if kernel == "matern" else 0.75)


@pytest.mark.parametrize(
    ("centres", "says"),
    [
        (0, "from 1 to"),
        (2.5, "whole number"),
        ("many", "whole number"),
        (None, "needs centers"),
        (np.zeros((5, 2)), "2 features and X has 3"),
        (np.full((5, 3), np.nan), "NaN or infinity"),
        (np.array([["a", "b", "c"]]), r"array of shape \(p, 3\)"),
    ],
)
def test_centres_that_are_none_are_refused(centres, says):
    X, y, _ = table(centers_classifier, 50)
    with pytest.raises(ShallowsError, match=says):
        centers_classifier(centres=centres).fit(X, y)


def test_more_centres_than_the_memory_takes_are_refused_before_anything_is_made():
    X, y, _ = table(centers_regressor, 20_000)
    room = f"{arrays.resident_memory() // 10**6 + 400}MB"
    with pytest.raises(ShallowsError, match=r"20,000 centers take 3\.\d GB .* Use centers=\d\d+ at most"):
        KernelRidgeRegressor(centers=20_000, options=Options(memory=room)).fit(X, y)


@pytest.mark.parametrize("room", [0, 250])
def test_what_the_error_of_too_little_memory_advises_works(room):
    X, y, _ = table(centers_regressor, 4000)
    options = {"centres": 500 if room == 0 else 4000, "max_epochs": 1, "random_state": 0, "dtype": "float64"}
    options["solver"] = "projected_eigenpro"
    with pytest.raises(ShallowsError, match=r"centers take .* Use ") as raised:
        centers_regressor(**options, memory=f"{arrays.resident_memory() // 10**6 + room}MB").fit(X, y)
    advised = str(raised.value)
    fewer, memory = re.search(r"centers=(\d+) at most", advised), re.search(r'memory="(\d+MB)"', advised)[1]
    if room == 0:
        centers_regressor(**options, memory=memory).fit(X, y)
    # Where there is little room, the step is measured on fewer points, so that some centers always fit.
    fewer = {**options, "centres": int(fewer[1]) // 2}
    centers_regressor(**fewer, memory=f"{arrays.resident_memory() // 10**6 + room}MB").fit(X, y)


@pytest.mark.slow
def test_a_fit_stays_within_its_memory(tmp_path):
    # The matrix of points and centers would be 800 MB. Pages of the file that were read, 40 MB, count too.
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(100_000, 100)).astype(np.float32))
    script = """
        import sys, numpy as np
        from shallows import KernelRidgeRegressor, Options, arrays
        from shallows.solvers import ProjectedEigenPro
        X = np.load(sys.argv[1], mmap_mode="r")
        y = np.sin(X[:, 0].astype(float))
        solver = ProjectedEigenPro(n_subsample=500, rank=50, max_epochs=1)
        model = KernelRidgeRegressor(
            centers=2000, solver=solver, options=Options(memory="500MB"), random_state=0, bandwidth=10.0
        ).fit(X, y)
        print(arrays.peak_memory())
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script), str(tmp_path / "x.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500e6


@pytest.mark.parametrize(
    ("seconds", "rows", "given", "solver"),
    [
        (100.0, 1500, {"max_seconds": 50}, "projected_eigenpro"),
        (10.0, 1500, {"max_seconds": 50}, "nystrom_conjugate_gradients"),  # five iterations fit into the time
        (100.0, 1500, {}, "nystrom_conjugate_gradients"),  # no limit
        (100.0, 1490, {"max_seconds": 50}, "nystrom_conjugate_gradients"),  # fewer than fifty rows for each center
        (100.0, 1500, {"max_seconds": 50, "solver": "nystrom_conjugate_gradients"}, "nystrom_conjugate_gradients"),
    ],
)
def test_steps_are_taken_where_the_time_ends_before_some_conjugate_gradients(monkeypatch, seconds, rows, given, solver):
    monkeypatch.setattr(kernel_centers, "seconds_of_passes", lambda *given: seconds)
    X, y, _ = table(centers_regressor, rows)
    model = kernel_ridge_regressor(centers=30, random_state=0, **given).fit(X, y)
    assert model.report_["solver"] == solver
    timed = given == {"max_seconds": 50} and rows >= 1500
    assert model.report_.get("predicted_seconds") == (seconds if timed else None)
    named = kernel_ridge_regressor(centers=30, random_state=0, solver=solver).fit(X, y)
    assert np.array_equal(model.dual_coef_, named.dual_coef_)


@pytest.mark.parametrize("given", [{"kernel": "precomputed"}, {"bandwidth": 2.0}])
def test_a_limit_of_time_needs_no_values_of_a_kernel_that_cannot_be_had(given):
    x = np.zeros((3000, 3))
    x[0] = 1.0  # all centers are one point
    if "kernel" in given:
        x = naive_kernel("gaussian", 2.0, sample(1000, 3, 0), sample(1000, 3, 0))
    model = kernel_ridge_regressor(centers=20, max_seconds=50, random_state=0, **given).fit(x, x[:, 0])
    assert np.isfinite(model.predict(x[:5])).all()


@pytest.mark.parametrize(("dtype", "slower"), [(np.float32, 1.0), (np.float64, 2.0)])
def test_the_estimated_time_of_conjugate_gradients_is_operations_by_a_rate(dtype, slower):
    points, pairs = np.zeros((30, 5), dtype=dtype), 6000 * 30
    placed = SimpleNamespace(rows=range(6000), of_model=points, n=30, n_inputs=3)
    for budget, n_made in ((0, 3.0), (pairs * points.itemsize, 2.0), (10 * pairs * points.itemsize, 1.0)):
        operations = pairs * (n_made * (110 + 2 * 3) + 3 * 8 * 2)
        found = kernel_centers.seconds_of_passes(placed, 2, budget)
        assert found == pytest.approx(slower * operations / 2.2e11, rel=1e-12)
    sparse = arrays.SparsePoints(scipy.sparse.csr_array(np.eye(30, 50, dtype=dtype)))
    placed = SimpleNamespace(rows=range(6000), of_model=sparse, n=30, n_inputs=50)
    operations = pairs * (3 * (110 + 2 * 1) + 3 * 8)
    assert kernel_centers.seconds_of_passes(placed, 1, 0) == pytest.approx(slower * operations / 2.2e11, rel=1e-12)


@pytest.mark.parametrize(("takes_steps", "n_numbers"), [(True, 400 + 164 * 20 + 5000), (False, 800 + 45 * 20 + 450)])
def test_the_room_for_centers_is_what_their_matrices_take(takes_steps, n_numbers):
    # 7 inputs, 3 outputs, 50 points beside 20 centers.
    room = RoomForCenters(7, 3, 4, 50, takes_steps)
    assert room.bytes_of(20) == 4 * n_numbers
    assert room.fitting(room.bytes_of(20)) == 20 == room.fitting(room.bytes_of(21) - 1)


@pytest.mark.parametrize(
    ("n", "sampled", "chosen"), [(500, True, range(500)), (40, True, range(40, 140)), (500, False, range(100))]
)
def test_parameters_are_chosen_with_the_first_centers_or_with_the_points_after_them(n, sampled, chosen):
    numbers, fresh = np.arange(900.0)[:, None], slice(n, n + 100) if sampled else slice(0, 100)
    points = np.concatenate([numbers[:n] if sampled else -1 - numbers[:n], numbers[fresh]])
    found = Centers(points, n, fresh, sampled, numbers, 1).rows_to_choose_with(2 * numbers, 3 * numbers[:, 0])
    assert found.points[:, 0].tolist() == [*chosen]
    assert np.array_equal(found.targets, 2 * found.points) and np.array_equal(found.weights, 3 * found.points[:, 0])


@pytest.mark.parametrize(("held", "of_points"), [(777, 777), (0, 5 * 64 * 20)])
def test_a_step_takes_the_points_in_memory_and_the_arrays_of_its_solver(held, of_points):
    placed = SimpleNamespace(n=30, rows=SimpleNamespace(held_bytes=held, row_bytes=20))
    targets = np.zeros((9, 2), np.float32)
    of_gradients = kernel_centers.bytes_of_step(None, placed, 64, targets)
    assert of_gradients == of_points + 4 * (2 * 30 * 30 + 12 * 30 * 2)
    plan = SimpleNamespace(n_subsample=25, preconditioner=SimpleNamespace(rank=7))
    of_steps = kernel_centers.bytes_of_step(plan, placed, 64, targets)
    assert of_steps == of_points + 4 * (30 * 30 + 25 * 7 + 8 * 30 * 2)


@pytest.mark.parametrize(
    ("n_kept", "batch_size", "expected"),
    [(0, 10_000, (100, 100)), (300, 100, (100, 300)), (350, 100, (100, 300)), (701, 100, (100, 0)), (0, 30, (30, 90))],
)
def test_conjugate_gradients_learn_first_the_rows_whose_values_are_kept(n_kept, batch_size, expected):
    # 1,000 rows and 50 centers: at least a tenth of the rows, in whole batches, unless more than 0.7 are kept.
    assert kernel_centers.first_rows_to_learn(1000, 50, n_kept, batch_size) == expected
    assert kernel_centers.first_rows_to_learn(1000, 101, 0, batch_size) == (batch_size, 0)


@pytest.mark.parametrize(
    ("changed", "expected"), [({}, 1600), ({"given": 60}, 4000), ({"narrowing": {}}, 4000), ({"ridge": 0.0}, 4000)]
)
def test_no_more_centers_are_used_than_ten_times_the_effective_dimension(changed, expected):
    # On 1,000 of 2,000 rows λ counts half: 200 eigenvalues of 16 are 16/(16 + 4) dimensions each.
    given = {"given": "auto", "narrowing": None, "ridge": 8.0} | changed
    path = SimpleNamespace(values=np.array([16.0] * 200 + [0.0] * 800))
    found = SimpleNamespace(narrowing=given["narrowing"], path=path)
    choices, placed = (
        SimpleNamespace(found=found, regularization=given["ridge"]),
        SimpleNamespace(n=4000, rows=range(2000)),
    )
    assert number_of_use(given["given"], placed, choices) == expected
    choices.found = None
    assert number_of_use("auto", placed, choices) == 4000
