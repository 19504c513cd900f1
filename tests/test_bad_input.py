"""Input that is odd but allowed gives right answers, and what is not allowed is refused with a message."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from bad_input_example import (
    ALL,
    each_regressor_of_least_squares,
    every,
    every_regressor,
    made,
    table,
)
from engine_example import sample
from estimators_example import outputs
from feature_forms import feature_eigenpro_classifier, feature_eigenpro_regressor
from forms import centers_regressor, eigenpro_regressor, kernel_sgd_regressor
from shallows import KernelRidgeRegressor, RegularizedRiskRegressor, kernels
from shallows.errors import ShallowsError
from shallows.solvers import ProjectedEigenPro

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")


LAYOUTS = {
    "fortran": np.asfortranarray,
    "rows apart": lambda x: np.repeat(x, 2, axis=0)[::2],
    "columns apart": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "read-only": lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
}


@pytest.mark.slow
@every
def test_the_layout_of_the_points_changes_nothing(Estimator):
    X, y, new = table(Estimator)
    dtype = np.float32 if is_classifier(Estimator()) else np.float64
    X, new = X.astype(dtype), new.astype(dtype)
    plain = made(Estimator).fit(X, y)
    expected = outputs(plain, new)
    for name, form in LAYOUTS.items():
        assert np.array_equal(expected, outputs(plain, form(new))), name
        assert np.array_equal(expected, outputs(made(Estimator).fit(form(X), y), new)), name


@pytest.mark.slow
@every_regressor
@pytest.mark.parametrize(("n_outputs", "weighted"), [(None, True), (3, False)])
def test_the_layout_of_the_targets_changes_nothing(Estimator, n_outputs, weighted):
    X, y, new = table(Estimator)
    y = y if n_outputs is None else np.sin(y[:, None] * np.arange(1, n_outputs + 1))
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X)) if weighted else None
    expected = made(Estimator).fit(X, y, sample_weight=w).predict(new)
    for name, form in LAYOUTS.items():
        laid_out = made(Estimator).fit(X, form(y), sample_weight=None if w is None else form(w))
        assert np.array_equal(expected, laid_out.predict(new)), name


def test_the_layout_of_given_centres_changes_nothing():
    X, y, new = (part.astype(np.float32) for part in table(centers_regressor))
    expected = made(centers_regressor, centres=X[:50]).fit(X, y).predict(new)
    for name, form in LAYOUTS.items():
        assert np.array_equal(made(centers_regressor, centres=form(X[:50])).fit(X, y).predict(new), expected), name


@pytest.mark.parametrize("Estimator", [eigenpro_regressor, kernel_sgd_regressor])
@pytest.mark.parametrize("batch_size", [None, 16])
def test_in_small_batches_too_the_same_point_with_other_targets_comes_near_to_their_mean(Estimator, batch_size):
    X = np.repeat(sample(220), 5, axis=0)
    y = np.tile([0.0, 0.0, 0.0, 0.0, 5.0], 220)
    model = made(Estimator, kernel="laplace", max_epochs=20, batch_size=batch_size).fit(X, y)
    # The targets differ by 2 from their mean 1.
    assert np.sqrt(np.mean((model.predict(X) - 1.0) ** 2)) < 0.15
    assert model.n_rollbacks_ == 0


@pytest.mark.parametrize("Estimator", [feature_eigenpro_regressor, KernelRidgeRegressor, centers_regressor])
def test_the_same_point_with_other_targets_gives_their_mean(Estimator):
    X = np.repeat(sample(50), 24, axis=0)
    y = np.tile([0.0, 1.0, 5.0], 400)
    # In one batch there is no noise.
    options = {"batch_size": len(X)} if Estimator is feature_eigenpro_regressor else {}
    model = made(Estimator, kernel="laplace", max_epochs=20, **options).fit(X, y)
    tolerance = 0.1 if Estimator is centers_regressor else 1e-3
    assert model.predict(X) == pytest.approx(np.full(len(X), 2.0), abs=tolerance)


@each_regressor_of_least_squares
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_unit_of_the_targets_changes_nothing(Estimator, scale):
    X, y, new = table(Estimator)
    unit, scaled = (made(Estimator).fit(X, y * s).predict(new) for s in (1.0, scale))
    assert np.abs(scaled / scale - unit).max() < 1e-7 * np.abs(unit).max()


@each_regressor_of_least_squares
def test_targets_whose_mean_overflows_are_refused(Estimator):
    X, _, _ = table(Estimator)
    y = np.where(np.arange(len(X)) % 3 == 0, 1.7e308, 1.6e308)
    with pytest.raises(ShallowsError, match="targets are too large"):
        Estimator().fit(X, y)


def test_rank_subsample_and_batch_beyond_the_data_are_brought_down_over_centres():
    X, y, new = table(centers_regressor)
    solver = ProjectedEigenPro(rank=10_000, n_subsample=10_000, batch_size=10_000)
    model = KernelRidgeRegressor("linear", solver=solver, centers=10_000, random_state=0).fit(X, y)
    told = model.report_
    # Three features: the matrix has three directions, and the last is the level of the others.
    assert (told["rank"], told["batch_size"], told["n_centers"]) == (2, 120, 120)
    assert np.isfinite(model.predict(new)).all()


@pytest.mark.parametrize("Estimator", [kernel_sgd_regressor, feature_eigenpro_regressor, RegularizedRiskRegressor])
def test_a_batch_beyond_the_data_is_brought_down_to_them(Estimator):
    X, y, new = table(Estimator)
    large, all_rows = (made(Estimator, batch_size=size).fit(X, y) for size in (10**6, len(X)))
    assert large.report_["batch_size"] == len(X)
    assert np.array_equal(large.predict(new), all_rows.predict(new))


@pytest.mark.parametrize(("Estimator", "fraction"), [(ALL[0], 0.1), (feature_eigenpro_classifier, 0.99)])
def test_classes_of_one_row_each_leave_none_to_hold_out(Estimator, fraction):
    X, y = sample(4), np.arange(4)
    with pytest.raises(
        ShallowsError, match=r"one row of every class .* only 4 rows were given\. Give more rows, or set early"
    ):
        Estimator(early_stopping=True, validation_fraction=fraction).fit(X, y)
    with pytest.raises(ShallowsError, match=r"gives no validation row of 5 rows\. Use a larger fraction"):
        Estimator(early_stopping=True, validation_fraction=0.01).fit(sample(5), [0, 1, 2, 3, 3])


@pytest.mark.parametrize("Estimator", [eigenpro_regressor, centers_regressor])
def test_a_rank_above_that_of_the_matrix_is_brought_down_to_it(Estimator):
    X, y, new = table(Estimator)
    kernel = kernels.Polynomial(2, 1.0, 0.3)
    model = Estimator(kernel, regularisation=0.0, rank=100, random_state=0, tol=0, max_epochs=60).fit(X, y)
    # Ten monomials of degree two or less in three features, and the function is least squares over them.
    assert model.report_["rank"] <= 10
    powers = [np.ones(len(X) + len(new)), *np.concatenate([X, new]).T]
    design = np.stack([powers[i] * powers[j] for i in range(4) for j in range(i + 1)], axis=1)
    truth = design[len(X) :] @ np.linalg.lstsq(design[: len(X)], y, rcond=None)[0]
    assert np.abs(model.predict(new) - truth).max() < 1e-3 * np.abs(truth).max()


@every
def test_a_single_feature_may_come_as_a_column_of_a_table(Estimator):
    X, y, new = table(Estimator)
    apart, column = np.ascontiguousarray(X[:, :1]), X[:, :1]
    first, second = (made(Estimator).fit(x, y) for x in (apart, column))
    assert np.array_equal(outputs(first, new[:, :1]), outputs(second, np.ascontiguousarray(new[:, :1])))
