"""Sums over blocks of streamed features: against their products, in any strips and threads."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from engine_example import sample
from expansion_example import D, make
from shallows import arrays
from shallows.features import block_sums


@pytest.mark.parametrize("form", ["pair", "cosine"])
@pytest.mark.parametrize("budget", [1, 2**26])
def test_a_sum_over_blocks_is_the_sum_of_their_products(form, budget):
    features = dataclasses.replace(make(form=form).features, cache_bytes=0 if budget == 1 else 2**20)
    x, A = sample(50, D), sample(5 * features.width, 3).reshape(5, features.width, 3)
    expected = sum(features.block(j + 2, x) @ A[j] for j in range(5))
    assert np.abs(block_sums.evaluate(features, x, A, first=2, budget=budget) - expected).max() < 1e-12


def test_a_sum_does_not_depend_on_the_number_of_threads_or_on_what_is_kept(monkeypatch):
    x, A = sample(1000, D).astype(np.float32), sample(40 * 16, 2).reshape(40, 16, 2).astype(np.float32)
    results = []
    for n_workers, cache in ((1, 0), (3, 0), (2, 2**20)):
        monkeypatch.setattr(arrays, "workers_for", lambda x, n=n_workers: n)
        monkeypatch.setattr(block_sums, "STRIP_BYTES", 40 * 8 * 4)
        features = dataclasses.replace(make().features, cache_bytes=cache)
        results.append(block_sums.evaluate(features, x, A, budget=2**12))
    # Strips of equal shape in the same places would be the same to the bit; shares of 334 rows end with other strips.
    assert all(np.abs(other - results[0]).max() < 2e-5 for other in results[1:])
