"""A small net, images that it learns, and what its tests need of PyTorch."""

import importlib.util

import numpy as np
import pytest

from shallows_papers.nets import NeuralNetClassifier
from shallows_papers.nets.architectures import Architecture, Convolution, Dense, MaxPool

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
    """Images with a bright row or a bright column, and which of both: no straight line separates them."""
    rng = np.random.default_rng(seed)
    images, y = 0.1 * rng.random((n, side, side)), rng.integers(0, 2, n)
    for image, label, place in zip(images, y, rng.integers(0, side, n), strict=True):
        image[(place, slice(None)) if label else (slice(None), place)] += 1.0
    return images.reshape(n, -1).astype(np.float32), y


def tiny(**changes):
    return NeuralNetClassifier(TINY, **{"max_epochs": 3, "batch_size": 16, "random_state": 0, **changes})
