"""The worked example of a new solver is short, keeps scikit-learn's contract and finds the minimizer."""

import inspect
import textwrap
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

import example_new_solver
from engine_example import sample
from example_new_solver import AveragedSGD, AveragedSGDStepper
from resumed_example import StopAt
from risk_example import kernel_risk
from shallows import RegularizedRiskClassifier, RegularizedRiskRegressor
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.solvers.regularized import SOLVERS
from shallows.training import Checkpoint


@pytest.fixture(autouse=True)
def _entry(monkeypatch):
    monkeypatch.setitem(SOLVERS, "averaged_sgd", AveragedSGD)


def not_at_their_limit(estimator):
    reason = "a weight and a repetition make other batches, and some epochs of them do not end at the same function"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [RegularizedRiskRegressor(solver="averaged_sgd", features="fourier")],
    expected_failed_checks=not_at_their_limit,
)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_solver_takes_fewer_than_120_lines():
    assert len(inspect.getsource(example_new_solver).splitlines()) < 120


def test_its_entry_is_one_that_the_configuration_takes():
    entry = yaml.safe_load(textwrap.dedent(example_new_solver.__doc__.partition("::\n")[2]))
    path = Path(__file__).parents[1] / "workflow/schemas/methods.schema.yaml"
    schema = yaml.safe_load(path.read_text(encoding="utf-8"))
    of_a_method = {**schema["properties"]["methods"], "$defs": schema["$defs"]}
    jsonschema.validate(entry, of_a_method)


@pytest.mark.parametrize("weights", [False, True])
def test_a_step_is_that_of_the_formula(weights):
    p = kernel_risk("logistic", weights=weights)
    solver, f, average = AveragedSGDStepper(0.3, 20), np.zeros((p.n, 1)), np.zeros((p.n, 1))
    state, w = solver.init(p.problem), np.ones((p.n, 1)) if p.w is None else p.w
    for t, batch in enumerate([slice(0, 20), slice(20, 40), slice(0, 20), slice(40, 55)], start=1):
        state = solver.step(p.problem, state, batch)
        y, scores = p.y[batch], p.K[batch] @ f
        f *= 1 - 0.3 * p.reg * len(y) / 20
        f[batch] += 0.3 / 20 * w[batch] * y / (1 + np.exp(y * scores))
        average += 2 / (t + 1) * (f - average)
        assert np.abs(state.iterate - f).max() < 1e-14
        assert np.abs(state.coefficients - average).max() < 1e-14


@pytest.mark.parametrize(("batch_size", "max_epochs", "tolerance"), [(None, 300, 1e-2), (100, 4000, 1e-3)])
def test_it_comes_to_the_minimiser(batch_size, max_epochs, tolerance):
    X = sample(100, 2)
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    solver = AveragedSGD(batch_size=batch_size, max_epochs=max_epochs)
    model = RegularizedRiskRegressor(solver=solver, bandwidth=1.0, regularization=1e-2, random_state=0).fit(X, y)
    # λ/2 ‖f‖² + (1/n) Σ ½ (f(xᵢ) − yᵢ)² is n λ ‖f‖² + Σ (f(xᵢ) − yᵢ)², about the mean of the targets. Batches that are
    # no random draws leave the mean of the iterates a little next to the minimizer; the full batch comes to it.
    exact = KernelRidge(kernel="rbf", gamma=0.5, alpha=100 * 1e-2).fit(X, y - y.mean()).predict(X) + y.mean()
    assert np.abs(model.predict(X) - exact).max() < tolerance * np.abs(exact).max()


def test_a_loss_with_a_kink_is_refused():
    with pytest.raises(ShallowsError, match="smooth loss"):
        RegularizedRiskClassifier(solver="averaged_sgd", loss="hinge").fit(sample(40), np.arange(40) % 2)


def test_a_training_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    X, y = sample(300, 4), np.arange(300) % 3
    model, checkpoint = RegularizedRiskClassifier(solver="averaged_sgd", random_state=0), Checkpoint(tmp_path, "k")
    with pytest.raises(TrainingInterrupted):
        clone(model).fit(X, y, observers=[StopAt(checkpoint, 30)], checkpoint=checkpoint)
    resumed, whole = clone(model).fit(X, y, checkpoint=Checkpoint(tmp_path, "k")), clone(model).fit(X, y)
    assert resumed.n_resumes_ == 1
    assert np.array_equal(resumed.decision_function(X), whole.decision_function(X))
    assert np.allclose(whole.predict_proba(X).sum(axis=1), 1.0)
