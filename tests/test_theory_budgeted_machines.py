"""The analysis of orders of budgeted machines: exact sizes, rows as they are said to be, times of known machines."""

import numpy as np
import pytest

from shallows_papers.papers.lecture import budgeted_machines
from shallows_papers.papers.lecture.budgeted_machines import MachineSize, orders_of_budgeted_machines, rows_of

SMALL = {"n": 60, "nonzeros": 5, "d": 40, "classes": 3, "budget": 12, "iterations": 5}


def test_rows_have_so_many_entries_and_labels_of_all_classes():
    made = rows_of(MachineSize(50, 7, 30, 4), 50, 0, "train")
    assert (np.diff(made.points.indptr) == 7).all()
    assert made.points.shape == (50, 30)
    assert set(made.labels) == {0, 1, 2, 3}
    assert rows_of(MachineSize(50, 30, 30, 4), 50, 0, "train").points.nnz == 1500


@pytest.mark.parametrize(
    ("method", "along", "sizes", "expected"),
    [
        ("pegasos", "classes", [3, 6], [3 * 41, 6 * 41]),
        ("amm", "budget", [12, 24], [12 * 41, 24 * 41]),
        ("bsgd", "d", [40, 80], [12 * 43, 12 * 83]),
        ("llsvm", "budget", [10, 20], [10 * 5 + 100 + 30, 20 * 5 + 400 + 60]),
        ("svm", "classes", [3, 6], [60 * 5 + 2 * 60, 60 * 5 + 5 * 60]),
    ],
)
def test_the_numbers_of_a_model_are_those_of_its_arrays(method, along, sizes, expected):
    found = orders_of_budgeted_machines(method=method, along=along, sizes=sizes, fixed=SMALL, rounds=1)
    assert found.index == sizes
    assert found.curve["model"] == expected
    assert found.curve["training"][0] == found.curve["prediction"][0] == 1.0


def test_the_budget_is_full_before_the_timed_pass_and_after_it():
    given = MachineSize(**SMALL)
    train = rows_of(given, given.n, 0, "train")
    for name, count in (("bsgd", "n_points"), ("amm", "n_weights")):
        fit, _ = budgeted_machines.MACHINES[name](given, train)
        state = fit()
        assert getattr(state, count) == 12
        assert state.n_violations > 0.5 * given.n  # random labels: most examples change the machine
