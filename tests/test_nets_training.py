"""Neural nets as estimators: what they learn, their steps, where they end, continue or fail."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nets_example import TINY, bars, needs_torch, one_thread, tiny  # noqa: F401
from resumed_example import StopAt
from shallows import training
from shallows.errors import DivergenceError, ShallowsError, TrainingInterrupted
from shallows_papers.nets import NeuralNetClassifier, NeuralNetRegressor
from shallows_papers.nets.architectures import Architecture, Dense
from shallows_papers.nets.descent import Coding

# Training


@needs_torch
def test_a_tiny_net_learns_what_no_line_separates():
    x, y = bars(400)
    x_test, y_test = bars(400, seed=1)
    net = tiny(max_epochs=12, step_size=0.05).fit(x, y)
    assert np.mean(net.predict(x_test) == y_test) > 0.97
    assert net.losses_[-1] < 0.2 * net.losses_[0]


@needs_torch
def test_a_step_is_the_momentum_rule_on_the_mean_gradient():
    """One linear layer, whose gradient of the square loss is known."""
    import torch

    from shallows_papers.nets.descent import MomentumDescent, NetProblem

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    architecture = Architecture(body=())
    coding = Coding((3,), None, None, None, np.zeros(3), 1.0, None)
    problem = NetProblem(x, y, np.arange(12), architecture, coding, 2, 0, torch.device("cpu"), torch.float64)
    solver = MomentumDescent(0.1, momentum=0.8, weight_decay=0.3, smaller_after=(2,))
    state = solver.init(problem)
    w, b = (state.weights[f"output.{kind}"].detach().numpy().copy() for kind in ("weight", "bias"))
    vw, vb = np.zeros_like(w), np.zeros_like(b)
    for number, batch in enumerate([slice(0, 5), slice(5, 12), slice(0, 5)]):
        error = x[batch] @ w.T + b - y[batch]
        state = solver.step(problem, state, batch)
        assert state.loss == pytest.approx(0.5 * (error**2).sum(), rel=1e-12)
        assert state.zero_loss == pytest.approx(0.5 * (y[batch] ** 2).sum(), rel=1e-12)
        rate = 0.1 if number < 2 else 0.01
        vw = 0.8 * vw - rate * (error.T @ x[batch] / len(error) + 0.3 * w)
        vb = 0.8 * vb - rate * error.mean(axis=0)
        w, b = w + vw, b + vb
        np.testing.assert_allclose(state.weights["output.weight"].detach().numpy(), w, rtol=1e-12)
        np.testing.assert_allclose(state.weights["output.bias"].detach().numpy(), b, rtol=1e-12)


@needs_torch
@pytest.mark.parametrize("iteration", [3, 8, 17])  # within an epoch of 8 batches, at its end, in the third
def test_a_resumed_training_is_the_uninterrupted_one(tmp_path, iteration):
    x, y = bars()
    net = Architecture(body=TINY.body, top=TINY.top, crop=6)  # whose pieces of images are random
    whole = NeuralNetClassifier(net, max_epochs=3, batch_size=16, random_state=0).fit(x, y)
    checkpoint = training.Checkpoint(tmp_path, "key", every_seconds=1e9)
    part = NeuralNetClassifier(net, max_epochs=3, batch_size=16, random_state=0)
    with pytest.raises(TrainingInterrupted):
        part.fit(x, y, observers=[StopAt(checkpoint, iteration)], checkpoint=checkpoint)
    part.fit(x, y, checkpoint=training.Checkpoint(tmp_path, "key"))
    assert part.n_resumes_ == 1
    assert all((part.weights_[name] == whole.weights_[name]).all() for name in whole.weights_)
    assert part.losses_ == whole.losses_


@needs_torch
def test_a_curve_at_the_last_mark_is_what_the_finished_net_says():
    x, y = bars()
    curve = training.Curve(
        [1, 3],
        lambda net: {
            "error": np.mean(net.predict(x) != y),
            "training_error": np.mean(net.predict_training() != y),
            "cross_entropy": net.mean_loss(x, y),
            "loss": net.training_square_loss(y),
            "norm": net.coefficient_norm(),
        },
    )
    net = tiny().fit(x, y, observers=[curve])
    assert [row["epoch"] for row in curve.rows] == [1, 3]
    last = curve.rows[-1]
    assert last["error"] == last["training_error"] == np.mean(net.predict(x) != y)
    signs = np.where(y[:, None] == net.classes_, 1.0, -1.0)
    assert last["loss"] == pytest.approx(np.mean((2 * net.predict_proba(x) - 1 - signs) ** 2))
    cross_entropy = -np.log(net.predict_proba(x)[np.arange(len(y)), y]).mean()
    assert last["cross_entropy"] == pytest.approx(cross_entropy, rel=1e-6)
    norm = math.sqrt(sum((value.astype(float) ** 2).sum() for value in net.weights_.values()))
    assert last["norm"] == pytest.approx(norm, rel=1e-6)


@needs_torch
def test_training_ends_after_so_many_steps_or_seconds():
    x, y = bars()
    net = tiny(n_iter=11).fit(x, y)
    assert (net.n_iter_, net.n_epochs_, net.report_["stopped_by"]) == (11, 1, "max_iterations")
    timed = tiny(max_epochs=10**6, max_seconds=0.05).fit(x, y)
    assert timed.report_["stopped_by"] == "max_seconds"
    assert timed.report_["timings"]["training"] >= 0.05


@needs_torch
def test_a_step_that_diverges_is_halved_unless_it_was_asked_for():
    x, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60.0)
    with pytest.raises(DivergenceError, match="step_size=1e"):
        NeuralNetRegressor("molecules_plain", step_size=1e3, max_epochs=5, random_state=0).fit(x, y)
    import shallows_papers.nets.neural_net as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STEP_SIZE", 50.0)
        net = NeuralNetRegressor("molecules_plain", max_epochs=5, random_state=0).fit(x, y)
    assert net.n_rollbacks_ > 0
    assert np.isfinite(net.predict(x)).all()


@needs_torch
def test_regression_finds_a_smooth_function_in_the_units_of_its_targets():
    rng = np.random.default_rng(0)
    x, x_test = rng.uniform(-2, 2, size=(600, 2)), rng.uniform(-2, 2, size=(200, 2))

    def truth(x):
        return np.stack([-1500 + 200 * np.sin(x[:, 0]) * x[:, 1], 3e-3 * x[:, 0] ** 2], axis=1)

    net = NeuralNetRegressor("molecules_plain", max_epochs=40, batch_size=32, step_size=0.03, random_state=0)
    net.fit(x, truth(x))
    error = np.sqrt(np.mean((net.predict(x_test) - truth(x_test)) ** 2, axis=0))
    assert (error < 0.1 * truth(x_test).std(axis=0)).all()
    assert net.fit(x, truth(x)[:, 0]).predict(x_test).shape == (200,)


@needs_torch
@pytest.mark.parametrize("name", ["cuda_convnet", "cuda_convnet_local"])
def test_the_nets_for_small_photos_train_on_pieces_and_predict(name):
    rng = np.random.default_rng(0)
    x, y = rng.random((6, 3072)).astype(np.float32), np.arange(6) % 3
    net = NeuralNetClassifier(name, max_epochs=1, batch_size=3, random_state=0).fit(x, y)
    assert net.transform(x).shape == (6, 2304)
    assert net.predict_proba(x).shape == (6, 3)
    # As the number of weights says: 64 filters of 5 x 5 on 3 and on 64 channels, then the top.
    body = 64 * (75 + 1) + 64 * (1600 + 1)
    top = 128 * 2305 if name == "cuda_convnet" else 36 * 64 * (576 + 1) + 36 * 32 * (576 + 1)
    assert net.report_["n_weights"] == body + top + 3 * (129 if name == "cuda_convnet" else 36 * 32 + 1)


# The face


@needs_torch
@pytest.mark.parametrize("kind", [NeuralNetClassifier, NeuralNetRegressor])
def test_scikit_learn_accepts_the_nets(kind):
    from sklearn.utils.estimator_checks import check_estimator

    net = Architecture(body=(Dense(8),))
    check_estimator(kind(net, max_epochs=15, batch_size=8, step_size=0.05, random_state=0))


@needs_torch
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_epochs": 0}, "max_epochs must be a whole number of at least 1, got 0"),
        ({"max_seconds": -1}, "max_seconds must be a positive number or None"),
        ({"step_size": -1}, "step_size must be a positive number or None, got -1"),
        ({"momentum": 1.0}, "momentum must be a number from 0 and below 1"),
        ({"smaller_steps": (2,)}, "smaller_steps must be shares"),
        ({"device": "tpu"}, "device must be 'auto', 'cpu', 'gpu'"),
    ],
)
def test_a_wrong_parameter_is_told(changes, message):
    with pytest.raises(ShallowsError, match=message):
        tiny(**changes).fit(*bars())


# Fits that fail


class Interrupt(training.Observer):
    def on_batch(self, run):
        raise KeyboardInterrupt


@needs_torch
@pytest.mark.parametrize("how", ["NaN", "Ctrl-C", "a parameter"])
def test_a_net_that_is_fitted_again_and_fails_is_the_one_it_was(how):
    x, y = bars()
    net = tiny().fit(x, y)
    before, names = net.decision_function(x), set(vars(net))
    other = np.hstack([x, x])
    if how == "NaN":
        other[0, 0] = np.nan
    with pytest.raises((ValueError, KeyboardInterrupt, ShallowsError)):
        net.set_params(momentum=2.0 if how == "a parameter" else 0.9).fit(other, y, observers=[Interrupt()])
    assert np.array_equal(net.decision_function(x), before)
    assert set(vars(net)) == names
