"""Deep semi-random features: the formula by hand, switches that stay, and what is refused."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from nets_example import needs_torch, one_thread  # noqa: F401
from shallows.errors import ShallowsError
from shallows_papers.nets import NeuralNetClassifier
from shallows_papers.nets.semi_random import semi_random_net, switch_weights


def fitted(seed=5, n_units=(30, 20, 10)):
    X, y = load_digits(return_X_y=True)
    net = NeuralNetClassifier(semi_random_net(n_units, seed), batch_size=32, random_state=0, dtype="float64")
    return net.fit(X[:1000], y[:1000]), X[1000:], y[1000:]


@needs_torch
def test_the_net_is_the_formula_of_the_paper_and_learns():
    net, X, y = fitted()
    h = z = (X - net.coding_.mean) / net.coding_.scale
    for place, layer in enumerate(net.architecture.body):
        R = switch_weights(layer, z.shape[1])
        z = np.where(z @ R[:, :-1].T + R[:, -1] > 0, 1.0, 0.0)
        h = z * (h @ net.weights_[f"body{place}.weight"].T + net.weights_[f"body{place}.bias"])
    assert 0.05 < z.mean() < 0.95
    scores = h @ net.weights_["output.weight"].T + net.weights_["output.bias"]
    assert np.abs(net.transform(X) - h).max() < 1e-10 * np.abs(h).max()
    assert np.abs(net.decision_function(X) - scores).max() < 1e-10 * np.abs(scores).max()
    assert np.mean(net.predict(X) == y) > 0.6  # a guess has 0.1


def test_switches_are_a_function_of_the_seed_and_differ_between_layers():
    first, second = semi_random_net((6, 6), seed=2).body
    assert np.array_equal(switch_weights(first, 6), switch_weights(semi_random_net((6, 6), seed=2).body[0], 6))
    other = semi_random_net((6, 6), seed=3).body[0]
    assert not any(np.array_equal(switch_weights(first, 6), switch_weights(one, 6)) for one in (second, other))


def test_a_layer_without_units_is_refused():
    for n_units in ((), (3, 0), (2.5,)):
        with pytest.raises(ShallowsError, match="n_units must be whole numbers of at least 1"):
            semi_random_net(n_units)
