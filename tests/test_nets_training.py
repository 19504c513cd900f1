"""Neural nets as estimators: what they learn, their steps, where they end, continue or fail."""

import numpy as np
import pytest

from nets_example import TINY, bars, needs_torch, one_thread, tiny  # noqa: F401
from resumed_example import StopAt
from shallows import training
from shallows.errors import DivergenceError, ShallowsError, TrainingInterrupted
from shallows_papers.nets import NeuralNetClassifier, NeuralNetRegressor
from shallows_papers.nets.architectures import Architecture
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
