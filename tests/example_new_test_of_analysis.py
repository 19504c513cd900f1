"""The worked example of an analysis, against the definition of the alignment."""

from types import SimpleNamespace

import numpy as np
import pytest

from shallows_papers.papers.alignment.alignment import alignment
from shallows_papers.papers.alignment.claims import place_of_largest


def test_the_alignment_is_that_of_the_definition():
    x, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    found = alignment(SimpleNamespace(x_train=x, y_train=y), bandwidths=[0.5, 2.0]).curve["alignment"]
    signs = np.where(y == 1, 1.0, -1.0)
    T = np.outer(signs, signs)
    for bandwidth, value in zip([0.5, 2.0], found, strict=True):
        K = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2) / (2 * bandwidth**2))
        assert value == pytest.approx((K * T).sum() / np.sqrt((K * K).sum() * (T * T).sum()), rel=1e-12)


def test_the_place_of_the_largest_value():
    assert place_of_largest({1: 0.1, 2: 0.4, 3: 0.2}) == 2
