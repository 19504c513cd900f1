"""What a process computes and sends where several share a training, and the threads that replace them."""

import numpy as np
import pytest

from forms import eigenpro_regressor
from shallows.errors import ShallowsError
from shallows_papers.papers.claim_functions import slope
from shallows_papers.papers.eigenpro import rank_scaling

SAME = {
    "rank": 5,
    "n_subsample": 60,
    "batch_size": 40,
    "max_epochs": 2,
    "tol": 0.0,
    "bandwidth": 2.0,
    "dtype": "float64",
}


def problem():
    draws = np.random.default_rng(0)
    x = draws.normal(size=(600, 3))
    return x, np.sin(x[:, :2])


def test_simulated_processes_find_the_model_of_one():
    x, y = problem()
    alone = eigenpro_regressor(**SAME, random_state=0).fit(x, y)
    together = [eigenpro_regressor(**SAME, random_state=0) for _ in range(3)]
    rank_scaling.fit(together, x, y)
    for model in together:
        assert np.abs(model.dual_coef_ - alone.dual_coef_).max() <= 1e-10 * np.abs(alone.dual_coef_).max()
    assert not np.array_equal(together[0].dual_coef_, alone.dual_coef_)  # the sums have another order


def test_simulated_processes_that_differ_are_told_and_one_that_fails_ends_them_all():
    x, y = problem()
    with pytest.raises(ShallowsError, match="parameters differ"):
        rank_scaling.fit([eigenpro_regressor(**SAME | {"rank": rank}, random_state=0) for rank in (5, 6)], x, y)

    def fails(ranks):
        if ranks.rank == 1:
            raise OSError("the disk is full")
        return ()

    with pytest.raises(OSError, match="the disk is full"):
        rank_scaling.fit([eigenpro_regressor(**SAME, random_state=0) for _ in range(3)], x, y, observers=fails)


@pytest.mark.parametrize("method", rank_scaling.METHODS)
def test_the_work_of_a_step_is_divided_and_what_is_sent_is_what_theory_counts(method):
    given = {"n_points": 2000, "n_inputs": 5, "n_outputs": 3, "ranks": [1, 2], "rounds": 1}
    found = rank_scaling.rank_scaling(method=method, **given)
    curve = {name: dict(zip(found.index, values, strict=True)) for name, values in found.curve.items()}
    m, q, p, c, float32 = rank_scaling.BATCH, rank_scaling._EIGENPRO["rank"], rank_scaling.N_CENTRES, 3, 4
    numbers = {"eigenpro": m * c + (q + 1) * c, "centres": (p + 1) * c, "doubly_stochastic": 2 * m * c}[method]
    assert curve["sent"] == {1: None, 2: numbers * float32}
    assert slope(curve["values"]) == pytest.approx(-1, abs=0.1)
    assert all(value > 0 for name in ("processor", "held") for value in found.curve[name])


def test_the_matrix_of_a_process_falls_with_their_number_and_its_work_stays_where_the_points_grow():
    held = rank_scaling.rank_scaling(n_points=2000, n_inputs=5, rounds=1, ranks=[1, 4]).curve["held"]
    assert held[1] < 0.5 * held[0]
    for method in ("eigenpro", "doubly_stochastic"):
        given = {"method": method, "n_points": 500, "n_inputs": 5, "rounds": 1, "ranks": [1, 4]}
        assert rank_scaling.rank_scaling(**given, points_grow=True).curve["values"][1] < 1.2
