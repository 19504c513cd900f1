"""What a comparison on a user's own data asks a batch system for."""

from __future__ import annotations

import json

import pytest

from shallows.experiments.planning.configuration import load
from shallows.experiments.user_data import comparison as own


@pytest.fixture
def methods():
    return load(".").methods


def record(path, n_train, n_test=100, d=10):
    arrays = {"y_train": {"shape": [n_train]}}
    info = {"n_train": n_train, "n_test": n_test, "n_features": d, "classes": ["no", "yes"], "arrays": arrays}
    path.write_text(json.dumps(info))
    return path


@pytest.mark.parametrize("name", ["eigenpro", "svm", "linear_ridge", "constant"])
def test_the_cost_of_every_method_grows_with_the_rows(tmp_path, methods, name):
    choose = record(tmp_path / "choose.json", 500)
    small, large = (own.cost(methods[name], choose, record(tmp_path / f"{n}.json", n)) for n in (1_000, 20_000))
    assert 0 < small.seconds < large.seconds
    assert 0 < small.memory_bytes < large.memory_bytes


def test_the_cost_counts_every_trial(tmp_path, methods):
    choose, test = record(tmp_path / "choose.json", 4_000), record(tmp_path / "test.json", 4_000)
    once = {**methods["eigenpro"], "compare": {"epochs": [40]}}
    four = {**once, "compare": {"epochs": [40], "choose": {"kernel": ["gaussian", "laplace"], "rank": [10, 20]}}}
    assert own.cost(four, choose, test).seconds == pytest.approx(2.5 * own.cost(once, choose, test).seconds)


def test_a_method_that_would_hold_the_matrix_of_all_rows_is_estimated_at_the_most_that_it_is_run_on(tmp_path, methods):
    choose = record(tmp_path / "choose.json", 500)
    most = methods["svm"]["compare"]["most_rows"]
    at_most, beyond = (own.cost(methods["svm"], choose, record(tmp_path / f"{n}.json", n)) for n in (most, 50 * most))
    assert at_most == beyond
    assert at_most.memory_bytes > 8 * most**2
