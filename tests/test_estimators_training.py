"""How an estimator is trained: preconditioners given, observers, checkpoints."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import is_classifier

import shallows
from engine_example import sample
from estimators_example import brief, each, each_eigenpro, outputs, published, table, uncalibrated
from forms import centers_regressor, eigenpro_classifier, kernel_sgd_regressor, known
from shallows import arrays, kernels, spectrum, streams, training
from shallows.errors import ShallowsError
from shallows.models.centering import Centering
from solved_by import constructor

pytestmark = brief


def internal(X, *, rank, n_subsample, seed, kernel):
    """The preconditioner that a fit makes for itself, with its rows counted in the user's order."""
    order = streams.permutation(seed, "order", 0, len(X))
    points = Centering.of(X).training_points(X, order, arrays.Device(), np.float64)
    made = spectrum.make_preconditioner(kernel, points, rank=rank, n_subsample=n_subsample, seed=seed)
    return replace(made, indices=order[made.indices])


@each_eigenpro
@pytest.mark.parametrize("how", ["object", "path"])
def test_a_preconditioner_that_is_handed_in_serves_as_the_fits_own(Estimator, how, tmp_path):
    X, y, new = table(Estimator, 200)
    options = {"batch_size": 20, "max_epochs": 3, "random_state": 7, "bandwidth": 1.5}
    own = Estimator(rank=10, n_subsample=60, **options).fit(X, y)
    p = internal(X, rank=10, n_subsample=60, seed=7, kernel=kernels.Gaussian(1.5))
    p.save(tmp_path / "p.npz")
    given = p if how == "object" else str(tmp_path / "p.npz")
    handed = Estimator(preconditioner=given, **options).fit(X, y)
    assert np.array_equal(own.support_, handed.support_)
    assert np.array_equal(outputs(own, new), outputs(handed, new))


@each_eigenpro
def test_a_preconditioner_made_apart_leads_to_the_same_function(Estimator):
    X, y, new = table(Estimator, 200)
    p = spectrum.fit_preconditioner(X, "laplace", 1.5, rank=20, n_subsample=80, dtype="float64", device="cpu")
    # Both iterate until convergence, where the preconditioner no longer matters.
    options = {"kernel": "laplace", "tol": 0, "max_epochs": 400, "random_state": 0}
    handed = Estimator(preconditioner=p, **options).fit(X, y)
    assert handed.bandwidth_ == 1.5
    own = Estimator(bandwidth=1.5, rank=200, **options).fit(X, y)
    assert np.abs(outputs(handed, new) - outputs(own, new)).max() < 1e-5


@each_eigenpro
@pytest.mark.parametrize(
    "options", [{"kernel": "laplace"}, {"bandwidth": 2.0}, {"kernel": kernels.Cauchy(1.5)}], ids=str
)
def test_a_preconditioner_of_another_kernel_is_refused(Estimator, options):
    X, y, _ = table(Estimator)
    p = spectrum.fit_preconditioner(X, "gaussian", 1.5, rank=5, n_subsample=50, device="cpu")
    with pytest.raises(ShallowsError, match=r"made for the kernel 'gaussian' of bandwidth 1\.5"):
        Estimator(preconditioner=p, **options).fit(X, y)


@each_eigenpro
def test_a_preconditioner_that_does_not_fit_the_problem_is_refused(Estimator, tmp_path):
    X, y, _ = table(Estimator)
    p = spectrum.fit_preconditioner(X, "gaussian", 1.5, rank=5, n_subsample=120, device="cpu")
    with pytest.raises(ShallowsError, match="made for at least 120 training points, here are 100"):
        Estimator(preconditioner=p).fit(X[:100], y[:100])
    with pytest.raises(ShallowsError, match="sample weights"):
        Estimator(preconditioner=p).fit(X, y, sample_weight=np.linspace(1, 2, len(X)))
    with pytest.raises(ShallowsError, match="There is no file"):
        Estimator(preconditioner=tmp_path / "none.npz").fit(X, y)
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ShallowsError, match="not a preconditioner"):
        Estimator(preconditioner=tmp_path / "text.npz").fit(X, y)


# ----------------------------------------------------------------------------------- observers, checkpoints


@each
def test_an_observer_sees_the_model_of_each_epoch(Estimator):
    X, y, new = table(Estimator)
    options = {"random_state": 0, "kernel": "cauchy", "step_size": 0.02, "batch_size": 16, "tol": 0}
    seen = {}

    class Look(training.Observer):
        def on_epoch(self, run):
            snapshot = run.snapshot()
            seen[run.epoch] = snapshot.predict(new), snapshot.predict_training()

    Estimator(max_epochs=3, **options, **published(Estimator)).fit(X, y, observers=[Look()])
    for epoch in (1, 3):
        model = Estimator(max_epochs=epoch, **options, **published(Estimator)).fit(X, y)
        for found, points in zip(seen[epoch], (new, X), strict=True):
            assert np.abs(found - model.predict(points)).max() < 1e-12


@each
def test_what_was_chosen_is_told(Estimator):
    X, y, _ = table(Estimator)
    model = Estimator(random_state=0, max_epochs=2, tol=0).fit(X, y)
    told = model.report_
    assert (told["n_epochs"], told["stopped_by"], told["seed"], told["device"]) == (2, "max_epochs", 0, "cpu")
    assert len(model.losses_) == model.n_epochs_ == model.n_iter_ == 2
    assert sorted(model.support_.tolist()) == list(range(len(X)))
    assert all(seconds >= 0 for seconds in model.report_["timings"].values())


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize(
    "Estimator",
    [
        *(eigenpro_classifier, centers_regressor, shallows.KernelRidgeRegressor),
        *(kernel_sgd_regressor, shallows.RegularizedRiskClassifier),
        *map(constructor, ("pegasos: RegularizedRiskClassifier", "norma: RegularizedRiskRegressor")),
        constructor("block_descent: KernelRidgeClassifier"),
    ],
)
def test_support_numbers_the_rows_that_were_handed_over_those_of_weight_zero_too(Estimator, early_stopping):
    options = uncalibrated(Estimator) | ({"early_stopping": True} if early_stopping else {})
    if early_stopping and "early_stopping" not in known(Estimator):
        return
    X, y = sample(200, 3), np.sign(sample(200, 1, 1)[:, 0])
    weights = np.ones(200)
    weights[::5] = 0
    model = Estimator(random_state=0, **options).fit(X, y, sample_weight=weights)
    assert len(set(model.support_)) == len(model.support_) > 10
    assert weights[model.support_].all() and model.support_.max() > 160
    by_hand = getattr(model, "_kernel", None)
    if by_hand is None:
        by_hand = model._model["kernel"] if isinstance(model._model, dict) else model._model.kernel
    scores = by_hand(X, X[model.support_]) @ model.dual_coef_.reshape(len(model.support_), -1)
    found = model.decision_function(X) if is_classifier(model) else model.predict(X)
    # The function is that of these rows: it differs from the outputs by a shift and a scale only.
    assert abs(np.corrcoef(scores[:, 0], found)[0, 1]) > 0.99999
