"""Sums over blocks of streamed features: against their products, in any strips and threads."""

import dataclasses

import numpy as np
import pytest

from engine_example import sample
from expansion_example import D, N, make, run
from shallows import arrays
from shallows.features import block_sums
from shallows.solvers.expansions.doubly_stochastic import DoublyStochasticStepper


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


def test_a_prediction_does_not_depend_on_how_its_points_are_split():
    problem = make()
    state = run(DoublyStochasticStepper(2.0), problem)
    whole = state.values(problem, problem.points)
    parts = np.concatenate([state.values(problem, problem.points[rows]) for rows in arrays.blocks(N, 7)])
    assert np.abs(whole - parts).max() < 1e-13


def test_projections_on_a_block_are_the_same_in_strips():
    problem = make()
    x, g = problem.points, problem.targets
    Phi = problem.features.block(3, x)
    R, M = block_sums.correlate(problem.features, 3, x, g, with_gram=True, budget=5 * 16 * 8)
    assert np.abs(R - Phi.T @ g).max() < 1e-12
    assert np.abs(M - Phi.T @ Phi).max() < 1e-12
