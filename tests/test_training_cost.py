"""Time and memory of trainings against their sizes."""

import pytest

from shallows_papers.papers.claim_functions import slope
from shallows_papers.papers.eigenpro import training_cost


def grown(along, what, **given):
    found = training_cost.training_cost(along=along, rounds=1, **given)
    return slope(dict(zip(given["sizes"], found.curve[what], strict=True)))


def test_memory_grows_as_the_kernel_matrix_where_it_is_kept_and_not_with_outputs():
    assert grown("n", "bytes", method="exact", sizes=[500, 1000, 2000], n_inputs=10) > 1.5
    assert grown("n", "bytes", method="features", sizes=[500, 1000, 2000], n_inputs=10) < 1.15
    assert abs(grown("outputs", "bytes", method="exact", sizes=[1, 8], n_points=800, n_inputs=10)) < 0.2


@pytest.mark.parametrize(
    ("method", "defaults"),
    [(one, False) for one in training_cost.METHODS] + [(one, True) for one in training_cost.DEFAULTS],
)
def test_each_method_is_timed_beside_its_first_size(method, defaults):
    found = training_cost.training_cost(method=method, defaults=defaults, sizes=[150, 300], n_inputs=5, rounds=1)
    assert found.index == [150, 300] and found.curve["training"][0] == 1.0
    assert all(value > 0 for values in found.curve.values() for value in values)
