"""Neural nets: shapes without PyTorch; with it, layers and inputs against direct formulas, and nets as estimators."""

import math
import sys

import numpy as np
import pytest
import scipy.signal

from nets_example import (  # noqa: F401
    TINY,
    bars,
    needs_torch,
    one_thread,
    tiny,
)
from resumed_example import StopAt
from shallows import training
from shallows.errors import DivergenceError, MissingExtraError, ShallowsError, TrainingInterrupted
from shallows_papers.nets import ARCHITECTURES, NeuralNetClassifier, NeuralNetRegressor
from shallows_papers.nets.architectures import (
    Architecture,
    Convolution,
    Dense,
    Local,
    MaxPool,
    ResponseNorm,
)
from shallows_papers.nets.descent import Coding

# Shapes


@pytest.mark.parametrize("name", ["cuda_convnet", "cuda_convnet_local"])
def test_cuda_convnet_has_2304_features_of_a_small_photo(name):
    assert 6 * 6 * 64 == 2304
    assert ARCHITECTURES[name].n_features((3, 32, 32)) == 2304


# Without PyTorch


def test_without_pytorch_one_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"A neural net needs .* extra 'nets': pip install 'shallows\[nets\]'"):
        tiny().fit(*bars())


# Layers against direct formulas


def computed(layer, x, seed=0):
    """Output of a layer in PyTorch for one example in float64, and its weights as NumPy has them."""
    import torch

    from shallows_papers.nets import layers

    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(size=shape) for name, (shape, _) in layer.weights(x.shape).items()}
    tensors = {name: torch.from_numpy(value) for name, value in weights.items()}
    out = layers.apply(layer, tensors, torch.from_numpy(x[None])).numpy()[0]
    assert out.shape == layer.shape_after(x.shape)
    return out, weights


@needs_torch
@pytest.mark.parametrize("side", [5, 6, 8])
@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 2), (3, 3)])
def test_pooling_takes_the_largest_of_every_window_and_of_what_is_left_at_the_border(side, size, stride):
    x = np.random.default_rng(1).normal(size=(2, side, side))
    out, _ = computed(MaxPool(size, stride), x)
    for row in range(out.shape[1]):
        for column in range(out.shape[2]):
            window = x[:, row * stride : row * stride + size, column * stride : column * stride + size]
            np.testing.assert_array_equal(out[:, row, column], window.max(axis=(1, 2)))
    assert (out.shape[1] - 1) * stride + size >= side  # no pixel is left out


@needs_torch
def test_response_normalisation_is_that_of_cuda_convnet():
    x = np.random.default_rng(2).normal(size=(7, 3, 3))
    out, _ = computed(ResponseNorm(5, 0.3, 0.75), x)
    for channel in range(7):
        around = x[max(0, channel - 2) : channel + 3]
        expected = x[channel] / (1 + 0.3 / 5 * (around**2).sum(axis=0)) ** 0.75
        np.testing.assert_allclose(out[channel], expected, rtol=1e-12)


@needs_torch
def test_a_local_layer_has_other_filters_at_every_place():
    x = np.random.default_rng(3).normal(size=(2, 4, 5))
    layer = Local(3, 3, 1, activation=None)
    out, weights = computed(layer, x)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    for row in range(4):
        for column in range(5):
            place = row * 5 + column
            patch = padded[:, row : row + 3, column : column + 3].ravel()
            expected = weights["weight"][place] @ patch + weights["bias"][:, place]
            np.testing.assert_allclose(out[:, row, column], expected, rtol=1e-12)


@needs_torch
def test_first_weights_are_of_the_stated_variance_and_a_function_of_the_seed():
    from shallows_papers.nets import layers

    architecture = Architecture(body=(Dense(500),), top=(Dense(400, "tanh"),))
    first = layers.first_weights(architecture, (300,), 3, seed=5)
    again = layers.first_weights(architecture, (300,), 3, seed=5)
    other = layers.first_weights(architecture, (300,), 3, seed=6)
    assert all((first[name] == again[name]).all() for name in first)
    assert (first["body0.weight"] != other["body0.weight"]).all()
    # The sample variance of 150,000 normal numbers is within 2 % of the true one.
    assert first["body0.weight"].var() == pytest.approx(2 / 300, rel=0.02)
    assert first["top0.weight"].var() == pytest.approx(1 / 500, rel=0.02)
    assert not any(value.any() for name, value in first.items() if name.endswith("bias"))


@needs_torch
def test_features_are_the_activations_recomputed_by_hand():
    x, y = bars()
    net = NeuralNetClassifier(
        Architecture(body=(Convolution(3, 5, 2), MaxPool(2, 2), Convolution(4, 3, 0), MaxPool(3, 2)), top=(Dense(5),)),
        max_epochs=1,
        dtype="float64",
        random_state=1,
    ).fit(x, y)
    image = ((x[7].astype(np.float64) - x.astype(np.float64).mean(axis=0)) / net.coding_.scale).reshape(1, 8, 8)

    def convolved(maps, name, padding):
        weight, bias = net.weights_[f"{name}.weight"], net.weights_[f"{name}.bias"]
        maps = np.pad(maps, ((0, 0), (padding, padding), (padding, padding)))
        sums = [sum(scipy.signal.correlate2d(m, w, "valid") for m, w in zip(maps, one, strict=True)) for one in weight]
        return np.maximum(np.stack(sums) + bias[:, None, None], 0)

    def pooled(maps, size, stride):
        starts = range(0, stride * math.ceil((maps.shape[1] - size) / stride) + 1, stride)
        return np.array([[[m[i : i + size, j : j + size].max() for j in starts] for i in starts] for m in maps])

    expected = pooled(convolved(pooled(convolved(image, "body0", 2), 2, 2), "body2", 0), 3, 2).ravel()
    features = net.transform(x)
    assert features.shape == (120, 4 * 1 * 1)
    np.testing.assert_allclose(features[7], expected, rtol=1e-10, atol=1e-12)
    hidden = np.maximum(net.weights_["top0.weight"] @ expected + net.weights_["top0.bias"], 0)
    scores = net.weights_["output.weight"] @ hidden + net.weights_["output.bias"]
    assert net.decision_function(x)[7] == pytest.approx(scores[1] - scores[0], rel=1e-9)
    shares = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(net.predict_proba(x)[7], shares, rtol=1e-9)


# Inputs


def test_inputs_have_mean_zero_and_one_common_scale():
    x = np.random.default_rng(0).normal(3.0, [1.0, 2.0, 5.0], size=(3000, 3))
    coded = Coding.of(x, (3,), ARCHITECTURES["top_layers"]).middle(x)
    np.testing.assert_allclose(coded.mean(axis=0), 0, atol=1e-12)
    assert (coded**2).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(coded.std(axis=0) / coded.std(axis=0)[0], x.std(axis=0) / x.std(axis=0)[0], rtol=1e-9)


def test_pieces_of_images_are_windows_of_them_as_they_are_or_reflected():
    x = np.arange(2 * 3 * 6 * 6, dtype=float).reshape(2, -1)
    architecture = Architecture(body=(Convolution(1),), crop=4)
    coding = Coding((3, 6, 6), None, None, None, np.zeros(1), 1.0, architecture.crop)
    images = x.reshape(2, 3, 6, 6)
    kinds = set()
    for counter in range(40):
        pieces = coding.random_pieces(x, 0, counter)
        np.testing.assert_array_equal(pieces, coding.random_pieces(x, 0, counter))
        for piece, image in zip(pieces, images, strict=True):
            places = [
                (top, left, flip)
                for top in range(3)
                for left in range(3)
                for flip in (False, True)
                if (piece == (window := image[:, top : top + 4, left : left + 4])[:, :, :: -1 if flip else 1]).all()
                and window.size
            ]
            assert len(places) == 1
            kinds.add(places[0])
    # 80 draws of 18 kinds: that one never comes has probability 18 (17/18)^80 < 0.2, that five never do below 1e-5.
    assert len(kinds) >= 14
    np.testing.assert_array_equal(coding.middle(x), images[:, :, 1:5, 1:5])


# Neural nets as estimators: what they learn, their steps, where they end, continue or fail.

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
