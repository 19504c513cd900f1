"""Neural nets: shapes without PyTorch; with it, layers against direct formulas, training, features as prepared data."""

from __future__ import annotations

import importlib.util
import math
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.signal

from datasets_example import write_table
from shallows import datasets, training
from shallows.datasets import DatasetError
from shallows.datasets.steps import shape_after
from shallows.errors import DivergenceError, MissingExtraError, ShallowsError, TrainingInterrupted, UnknownNameError
from shallows.experiments import code, configuration, costs
from shallows.experiments.plan import Plan
from shallows.nets import ARCHITECTURES, NeuralNetClassifier, NeuralNetRegressor
from shallows.nets.architectures import (
    Architecture,
    Convolution,
    Dense,
    Local,
    MaxPool,
    ResponseNorm,
    shape_of_examples,
)
from shallows.nets.inputs import Coding
from workflow_runs import PROJECT

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch (the extra nets)")

TINY = Architecture(body=(Convolution(4, 3, 1), MaxPool(2, 2)), top=(Dense(8),))


@pytest.fixture(autouse=True)
def one_thread():
    """Sums on several threads differ in their last digits; and the cores of a test run are shared."""
    if HAS_TORCH:
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(before)
    else:
        yield


def bars(n=120, side=8, seed=0):
    """Images with a bright row or a bright column, and which of both: no straight line tells them apart."""
    rng = np.random.default_rng(seed)
    images, y = 0.1 * rng.random((n, side, side)), rng.integers(0, 2, n)
    for image, label, place in zip(images, y, rng.integers(0, side, n), strict=True):
        image[(place, slice(None)) if label else (slice(None), place)] += 1.0
    return images.reshape(n, -1).astype(np.float32), y


def tiny(**changes):
    return NeuralNetClassifier(TINY, **{"max_epochs": 3, "batch_size": 16, "random_state": 0, **changes})


# Shapes


def test_lenet_has_1568_features_of_a_digit():
    assert 7 * 7 * 32 == 1568
    assert ARCHITECTURES["lenet"].n_features((1, 28, 28)) == 1568


@pytest.mark.parametrize("name", ["cuda_convnet", "cuda_convnet_local"])
def test_cuda_convnet_has_2304_features_of_a_small_photo(name):
    assert 6 * 6 * 64 == 2304
    assert ARCHITECTURES[name].n_features((3, 32, 32)) == 2304


def test_the_shapes_of_lenet_are_those_of_its_layers():
    shapes = ARCHITECTURES["lenet"].shapes((1, 28, 28), 10)
    assert list(shapes.values()) == [(1, 28, 28), (16, 28, 28), (16, 14, 14), (32, 14, 14), (32, 7, 7), (128,)]


def test_the_molecular_net_has_the_hidden_layers_of_its_source():
    assert [layer.units for layer in ARCHITECTURES["molecules"].body] == [400, 100]


def test_every_architecture_says_where_it_is_from():
    assert all(architecture.source for architecture in ARCHITECTURES.values())


def test_square_images_need_no_description_and_others_do():
    assert shape_of_examples(784, True) == (1, 28, 28)
    assert shape_of_examples(3072, True) == (3, 32, 32)
    assert shape_of_examples(24, True, (1, 4, 6)) == (1, 4, 6)
    assert shape_of_examples(17, False) == (17,)
    with pytest.raises(ShallowsError, match=r"17 features are no square images.*image_shape=\(channels"):
        shape_of_examples(17, True)
    with pytest.raises(ShallowsError, match="whose product is the number of features, 784"):
        shape_of_examples(784, True, (1, 28, 27))


def test_images_that_are_too_small_are_refused():
    with pytest.raises(ShallowsError, match="too small to be cut to 24"):
        ARCHITECTURES["cuda_convnet"].shapes((3, 20, 20), 10)
    with pytest.raises(ShallowsError, match="too small for Convolution"):
        Architecture(body=(Convolution(2, 5, 0),)).shapes((1, 4, 4), 2)


def test_windows_that_would_leave_pixels_out_are_refused():
    with pytest.raises(ShallowsError, match="leave pixels out"):
        MaxPool(2, 3)


def test_the_width_of_features_is_known_before_the_preparation():
    steps = [{"unit": {}}, {"net_features": {"architecture": "lenet"}}]
    assert shape_after(datasets.get("mnist_demo"), steps) == (4000, 1000, 1568)
    steps = [{"net_features": {"architecture": "cuda_convnet"}}, {"pca": {"n_components": 256}}]
    assert shape_after(datasets.get("cifar10"), steps[:1]) == (50000, 10000, 2304)
    assert shape_after(datasets.get("cifar10"), steps) == (50000, 10000, 256)


# Without PyTorch


def test_without_pytorch_one_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"A neural net needs .* extra 'nets': pip install 'shallows\[nets\]'"):
        tiny().fit(*bars())


def test_nothing_imports_pytorch_before_a_net_is_used():
    code = "import sys, shallows.nets.estimators, shallows.nets.layers; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Layers against direct formulas


def computed(layer, x, seed=0):
    """Output of a layer in PyTorch for one example in float64, and its weights as NumPy has them."""
    import torch

    from shallows.nets import layers

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
    from shallows.nets import layers

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


def test_steps_of_an_entry_reach_from_zero_to_its_largest_value():
    x = np.array([[0.0, 2.4], [0.5, 1.0]])
    coding = Coding.of(x, (2,), Architecture(body=(Dense(2),), steps=1.0))
    assert list(zip(coding.columns, coding.values, strict=True)) == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3)]
    raw = np.tanh(x[:, coding.columns] - coding.values)
    expected = (raw - raw.mean(axis=0)) / np.sqrt(((raw - raw.mean(axis=0)) ** 2).mean())
    np.testing.assert_allclose(coding.middle(x), expected, rtol=1e-12)


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


# Training


@needs_torch
def test_a_tiny_net_learns_what_no_line_separates():
    x, y = bars(400)
    x_test, y_test = bars(400, seed=1)
    net = tiny(max_epochs=12, step_size=0.05).fit(x, y)
    assert np.mean(net.predict(x_test) == y_test) > 0.97
    assert net.losses_[-1] < 0.2 * net.losses_[0]


@needs_torch
def test_a_net_learns_digits():
    data = digits()
    net = NeuralNetClassifier("lenet", max_epochs=6, batch_size=16, random_state=0)
    net.fit(data[0][:600], data[1][:600])
    # 0.83 to 0.90 over the seeds 0 to 4; a guess has 0.1.
    assert np.mean(net.predict(data[2][:300]) == data[3][:300]) > 0.75
    assert net.transform(data[2][:5]).shape == (5, 1568)


def digits():
    from shallows.datasets.formats import read_idx

    folder = PROJECT / "data" / "embedded" / "mnist_demo"
    parts = [read_idx(folder / f"{part}-ubyte.gz") for part in ("train-images-idx3", "train-labels-idx1")]
    parts += [read_idx(folder / f"{part}-ubyte.gz") for part in ("t10k-images-idx3", "t10k-labels-idx1")]
    images, labels, test_images, test_labels = parts
    flat = (one.reshape(len(one), -1).astype(np.float32) / 255 for one in (images, test_images))
    return next(flat), labels, next(flat), test_labels


@needs_torch
def test_one_seed_gives_one_net_and_another_seed_another():
    x, y = bars()
    first, again, other = (tiny(random_state=seed).fit(x, y) for seed in (3, 3, 4))
    assert all((first.weights_[name] == again.weights_[name]).all() for name in first.weights_)
    assert (first.decision_function(x) != other.decision_function(x)).any()


@needs_torch
def test_pytorch_s_own_random_state_is_neither_used_nor_changed():
    import torch

    torch.manual_seed(11)
    before = torch.get_rng_state()
    first = tiny().fit(*bars())
    assert (torch.get_rng_state() == before).all()
    torch.manual_seed(12)
    assert (tiny().fit(*bars()).weights_["output.weight"] == first.weights_["output.weight"]).all()


@needs_torch
def test_a_step_is_the_momentum_rule_on_the_mean_gradient():
    """One linear layer, whose gradient of the square loss is known."""
    import torch

    from shallows.nets.descent import MomentumDescent, NetProblem

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


class StopAt(training.Observer):
    """Asks a checkpoint's run to stop after so many batches."""

    def __init__(self, checkpoint, iteration):
        self.checkpoint, self.iteration = checkpoint, iteration

    def on_batch(self, run):
        if run.iteration == self.iteration:
            self.checkpoint.request_stop()


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
    assert (net.n_iter_, net.n_epochs_, net.effective_params_["stopped_by"]) == (11, 1, "max_iterations")
    timed = tiny(max_epochs=10**6, max_seconds=0.05).fit(x, y)
    assert timed.effective_params_["stopped_by"] == "max_seconds"
    assert timed.timings_["training"] >= 0.05


@needs_torch
def test_a_step_that_diverges_is_halved_unless_it_was_asked_for():
    x, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60.0)
    with pytest.raises(DivergenceError, match="step_size=1e"):
        NeuralNetRegressor("molecules_plain", step_size=1e3, max_epochs=5, random_state=0).fit(x, y)
    import shallows.nets.estimators as module

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
    assert net.effective_params_["n_weights"] == body + top + 3 * (129 if name == "cuda_convnet" else 36 * 32 + 1)


@needs_torch
def test_the_molecular_net_reads_coulomb_matrices_in_steps():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 5, size=(40, 6)), rng.normal(size=40)
    net = NeuralNetRegressor("molecules", max_epochs=2, random_state=0).fit(x, y)
    assert net.coding_.shape == (sum(int(np.ceil(column.max())) + 1 for column in x.T),)
    assert net.transform(x).shape == (40, 100)


# The face


@needs_torch
@pytest.mark.parametrize("kind", [NeuralNetClassifier, NeuralNetRegressor])
def test_scikit_learn_accepts_the_nets(kind):
    from sklearn.utils.estimator_checks import check_estimator

    net = Architecture(body=(Dense(8),))
    check_estimator(kind(net, max_epochs=15, batch_size=8, step_size=0.05, random_state=0))


@needs_torch
def test_a_pickled_net_predicts_the_same_and_is_small():
    x, y = bars()
    net = tiny().fit(x, y)
    stored = pickle.dumps(net)
    np.testing.assert_array_equal(pickle.loads(stored).predict_proba(x), net.predict_proba(x))
    assert len(stored) < 20_000 + 4 * net.effective_params_["n_weights"]


@needs_torch
def test_a_small_memory_gives_the_same_prediction():
    x, y = bars()
    net = tiny().fit(x, y)
    expected = net.predict_proba(x)
    np.testing.assert_allclose(net.set_params(memory="1MB").predict_proba(x), expected, rtol=1e-5)


@needs_torch
def test_rows_of_a_memory_map_are_read_as_they_are(tmp_path):
    x, y = bars()
    np.save(tmp_path / "x.npy", x)
    mapped = tiny().fit(np.load(tmp_path / "x.npy", mmap_mode="r"), y)
    assert (mapped.weights_["output.weight"] == tiny().fit(x, y).weights_["output.weight"]).all()


@needs_torch
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_epochs": 0}, "max_epochs must be a whole number of at least 1, got 0"),
        ({"batch_size": 2.5}, "batch_size must be"),
        ({"n_iter": 0}, "n_iter must be"),
        ({"max_seconds": -1}, "max_seconds must be a positive number or None"),
        ({"step_size": -1}, "step_size must be a positive number or None, got -1"),
        ({"momentum": 1.0}, "momentum must be a number from 0 and below 1"),
        ({"weight_decay": float("nan")}, "weight_decay must be"),
        ({"smaller_steps": (2,)}, "smaller_steps must be shares"),
        ({"dtype": "float16"}, "dtype must be"),
        ({"device": "tpu"}, "device must be 'auto', 'cpu', 'gpu'"),
    ],
)
def test_a_wrong_parameter_is_told(changes, message):
    with pytest.raises(ShallowsError, match=message):
        tiny(**changes).fit(*bars())


@needs_torch
def test_a_gpu_that_is_not_there_is_told():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ShallowsError, match=r"device='gpu' was asked for, but PyTorch finds no such GPU"):
        tiny(device="gpu").fit(*bars())


def test_an_unknown_architecture_is_told_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match="Did you mean 'lenet'"):
        NeuralNetClassifier("lenet5").fit(*bars())


# In the workflow


@pytest.fixture
def without_torch(monkeypatch):
    """As if PyTorch were not installed."""
    found = importlib.util.find_spec
    absent = {"torch": None}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: absent[name] if name in absent else found(name))


def test_what_needs_a_net_is_not_run_without_pytorch_and_says_so(without_torch):
    made = planned()
    assert {run.method for run in made.runs("demo").values()} == {"kernel_sgd"}
    told = made.comparison("first", "demo")
    reason = "needs the optional packages of the extra 'nets': pip install 'shallows[nets]'"
    assert told["missing"] == {"Features": reason}
    assert told["left_out"] == f"joint net {reason}"


def test_what_needs_a_net_is_run_where_pytorch_is(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    made = planned()
    runs = {(run.method, run.variant) for run in made.runs("demo").values()}
    assert runs == {(m, v) for m in ("kernel_sgd", "net_joint") for v in ("unit", "lenet_features")}
    assert made.size("mnist_demo", "lenet_features").n_features == 1568
    assert made.comparison("first", "demo")["left_out"] == ""


def planned(features="lenet_features", base=None):
    """The plan of one target, with a net among its methods and a net's features among its data."""
    base = base or configuration.load(PROJECT)
    target = {
        "kind": "marks",
        "title": "One",
        "source": "Table 1",
        "caption": "None",
        "published_data": {},
        "mark": "epochs",
        "metrics": {"test_error": {"label": "test error"}},
        "settings": {},
        "methods": {
            "joint net": {"method": "net_joint", "parameters": {"architecture": "top_layers"}},
            "kernel": {"method": "kernel_sgd"},
        },
        "layout": {"rows": ["data"], "columns": ["metric"]},
    }
    data = {
        "Digits": {"dataset": "mnist_demo", "variant": "unit"},
        "Features": {"dataset": "mnist_demo", "variant": features},
    }
    target["scales"] = {scale: {"seeds": [0], "data": data, "runs": [{"marks": [1]}]} for scale in configuration.SCALES}
    paper = {"paper": "small", "title": "Small", "citation": "Nobody", "targets": {"first": target}}
    return Plan(replace(base, papers={"small": paper}, published={"first": []}), datasets.catalogue())


def test_results_of_nets_alone_depend_on_the_code_of_nets():
    kernels = code.version_of_runs(["shallows:EigenProClassifier"])
    nets = code.version_of_runs(["shallows.nets:NeuralNetClassifier"])
    assert nets.startswith(kernels) and nets != kernels
    plain = code.version_of_preparation([{"unit": {}}])
    assert code.version_of_preparation([{"unit": {}}, STEP]) != plain == code.version_of("preparation")


def test_what_stands_after_features_of_a_net_depends_on_the_code_of_nets_and_needs_pytorch(without_torch):
    base = configuration.load(PROJECT)
    later = {"title": "", "after": "lenet_features", "steps": [{"pca": {"n_components": 5}}]}
    made = replace(base, variants={**base.variants, "later": later})
    versions = [code.version_of_preparation(made.steps_of(name)) for name in ("later", "lenet_features", "unit")]
    assert versions[0] == versions[1] != versions[2]
    assert "extra 'nets'" in planned("later", made).comparison("first", "demo")["missing"]["Features"]


def test_the_cost_of_a_net_grows_with_its_products():
    size = costs.Size(60_000, 10_000, 784, 10)
    # Convolutions of 28 x 28 x 16 x 25 and 14 x 14 x 32 x 400, then 1,568 x 128 and 128 x 10.
    assert ARCHITECTURES["lenet"].products((1, 28, 28), 10) == 313_600 + 2_508_800 + 200_704 + 1_280
    one, ten = (costs.net_epochs(size, {"architecture": "lenet"}, (epochs,)).seconds for epochs in (1, 10))
    # Nine epochs of 60,000 images, forward and twice backward.
    assert ten - one == pytest.approx(9 * 3 * 60_000 * 2 * 3_024_384 / costs.NET_FLOPS)


# Features as prepared data


def features_of(tmp_path, steps, name="out", **changes):
    x, y = bars(90)
    entry = write_table(tmp_path / "files", x[:60], y[:60], x[60:], y[60:], **changes)
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    datasets.prepare(entry, stamp, tmp_path / name, steps)
    return datasets.load(tmp_path / name)


STEP = {"net_features": {"architecture": "lenet", "epochs": 2, "batch_size": 16, "seed": 4}}


@needs_torch
def test_prepared_features_are_the_transform_of_a_net_trained_on_the_training_part(tmp_path):
    data = features_of(tmp_path, [STEP])
    n_features = ARCHITECTURES["lenet"].n_features((1, 8, 8))
    assert data.x_train.shape == (60, n_features) == (60, 2 * 2 * 32)
    assert data.x_test.shape == (30, n_features)
    x, y = bars(90)
    net = NeuralNetClassifier("lenet", max_epochs=2, batch_size=16, random_state=4).fit(x[:60], y[:60])
    np.testing.assert_allclose(data.x_train, net.transform(x[:60]), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(data.x_test, net.transform(x[60:]), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(data.y_train, y[:60])


@needs_torch
def test_the_record_says_which_net_made_the_features(tmp_path):
    info = features_of(tmp_path, [{"split": {"n": 10}}, STEP]).info
    (_, told) = info["statistics"]
    told = told["net_features"]
    assert (told["architecture"], told["epochs"], told["seed"], told["trained_on_rows"]) == ("lenet", 2, 4, 50)
    assert told["input_shape"] == [1, 8, 8]
    assert told["source"] == ARCHITECTURES["lenet"].source
    assert 0 <= told["train_error"] <= 100
    assert len(told["weights_sha256"]) == 64
    assert told["torch"] and told["device"] and told["threads"] == 1
    assert info["n_features"] == 128


@needs_torch
def test_features_are_the_same_whenever_they_are_prepared(tmp_path):
    first, again = (features_of(tmp_path, [STEP], name) for name in ("one", "two"))
    assert first.info["sha256"] == again.info["sha256"]
    other = features_of(tmp_path, [{"net_features": {**STEP["net_features"], "seed": 5}}], "three")
    assert other.info["sha256"] != first.info["sha256"]


@needs_torch
def test_a_net_can_be_trained_on_a_draw_of_the_rows_and_its_features_projected(tmp_path):
    step = {"net_features": {**STEP["net_features"], "rows": 20}}
    data = features_of(tmp_path, [step, {"pca": {"n_components": 5}}])
    assert data.x_train.shape == (60, 5)
    assert data.info["statistics"][0]["net_features"]["trained_on_rows"] == 20


@needs_torch
def test_the_order_of_the_numbers_of_an_image_does_not_matter(tmp_path):
    rng = np.random.default_rng(0)
    images, y = rng.random((24, 3, 8, 8)).astype(np.float32), np.arange(24) % 2
    found = []
    for order, axes in (("planar", (0, 1, 2, 3)), ("interleaved", (0, 2, 3, 1))):
        x = images.transpose(axes).reshape(24, -1)
        picture = {"height": 8, "width": 8, "channels": 3, "order": order}
        entry = write_table(tmp_path, x[:16], y[:16], x[16:], y[16:], name=order, picture=picture)
        stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path)
        found.append(datasets.prepare(entry, stamp, tmp_path / "out" / order, [STEP])["sha256"])
    assert found[0] == found[1]


@needs_torch
def test_the_fixed_net_is_the_top_layers_on_prepared_features(tmp_path):
    data = features_of(tmp_path, [STEP])
    fixed = NeuralNetClassifier("top_layers", max_epochs=2, batch_size=16, random_state=0)
    fixed.fit(data.x_train, data.y_train)
    assert fixed.effective_params_["n_weights"] == 128 * (128 + 1) + 2 * (128 + 1)


@needs_torch
def test_regression_targets_train_a_net_too(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 3, size=(50, 6)), rng.normal(size=50)
    entry = write_table(tmp_path / "files", x[:40], y[:40], x[40:], y[40:], task="regression")
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    step = {"net_features": {"architecture": "molecules", "epochs": 1}}
    datasets.prepare(entry, stamp, tmp_path / "out", [step])
    data = datasets.load(tmp_path / "out")
    assert data.x_train.shape == (40, 100)
    assert data.info["statistics"][0]["net_features"]["train_rmse"] > 0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"architecture": "lenett"}, UnknownNameError, "Did you mean 'lenet'"),
        ({}, DatasetError, "needs architecture"),
        ({"architecture": "lenet", "epochs": 0}, DatasetError, "epochs must be a positive whole number"),
        ({"architecture": "lenet", "rows": 1.5}, DatasetError, "rows must be a positive whole number or null"),
        ({"architecture": "lenet", "step_size": 0}, DatasetError, "step_size must be a positive number or null"),
        ({"architecture": "lenet", "seed": -1}, DatasetError, "seed must be"),
    ],
)
def test_a_wrong_step_is_told_before_anything_is_read(parameters, error, message):
    with pytest.raises(error, match=message):
        datasets.check_steps([{"net_features": parameters}])


def test_a_split_after_a_net_is_refused():
    with pytest.raises(DatasetError, match="The step split must stand before net_features"):
        datasets.check_steps([STEP, {"split": {"n": 5}}])


@needs_torch
def test_features_that_are_no_images_are_told(tmp_path):
    with pytest.raises(DatasetError, match=r"net_features.*no square images"):
        features_of(tmp_path, [{"pca": {"n_components": 7}}, STEP])


@needs_torch
def test_a_workflow_s_run_trains_a_net_to_its_marks(tmp_path):
    from shallows.experiments import run

    features_of(tmp_path, [{"subset": {"n_train": 40}}])
    job = run.Job(
        asked={
            "id": "net",
            "scale": "demo",
            "dataset": "table",
            "variant": "out",
            "method": "net_joint",
            "definition": {"runs": "estimator", "call": {"classification": "shallows.nets:NeuralNetClassifier"}},
            "parameters": {"architecture": "lenet", "batch_size": 16},
            "marks": [1, 2],
            "seed": 0,
            "target_ids": [],
        },
        prepared=tmp_path / "out",
        out=tmp_path / "run",
        checkpoints=tmp_path / "checkpoints",
    )
    record = run.execute(job, run.Conditions(device="cpu"))
    assert [row["epoch"] for row in record["metrics"]["marks"]] == [1, 2]
    assert set(record["metrics"]["final"]) >= {"train_error", "test_error", "test_l2"}
    assert record["effective"]["architecture"] == "lenet"
    assert os.path.exists(tmp_path / "run" / "record.json")
