"""Comparisons of the EigenPro paper: their runs, the cost of trainings, and several processes."""

import numpy as np
import pytest

from forms import eigenpro_regressor
from shallows.errors import ShallowsError
from shallows.spectrum.spectral_preconditioner import shrinkage
from shallows_papers.papers.claim_functions import slope
from shallows_papers.papers.eigenpro import rank_scaling, training_cost

SCALES = ("demo", "laptop", "paper")


def test_what_the_exact_solution_takes_was_tried_on_a_validation_part(plan):
    tried = {
        (run.dataset, run.parameters["kernel"], run.parameters["bandwidth"], run.parameters["alpha"])
        for run in plan.runs_of("eigenpro_choice", "laptop")
    }
    for run in plan.runs_of("eigenpro_table_krls", "laptop"):
        given = run.parameters
        assert (run.dataset, given["kernel"], given["bandwidth"], given["alpha"]) in tried


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("target", ["eigenpro_table3", "eigenpro_table8"])
def test_both_methods_are_judged_with_the_algorithm_and_the_step_of_the_authors_first_public_code(plan, target, scale):
    steps = {}
    for one in plan.series(target, scale):
        at = one.setting.get("sigma2", "")
        if one.method == "Pegasos":
            steps.setdefault(at, set()).add(256 * one.parameters["solver__step"])
        elif one.method == "EigenPro":
            assert one.parameters["solver__eigensystem"] == "rsvd" and one.parameters["solver__power"] == 0.5
            steps.setdefault(at, set()).add(one.parameters["solver__step__eta"])
    assert steps == ({"50": {4.0}, "25": {5.0}, "5": {50.0}} if target == "eigenpro_table8" else {"": {5.0}})
    ours = [one.parameters for one in plan.series(target, scale) if one.method in ("EigenPro (ours)", "Pegasos (ours)")]
    assert ours and not any("solver__power" in one or "release2017" in str(one) for one in ours)
    assert {one.get("solver__step", "certified") for one in ours} == {"certified"}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("target", ["eigenpro_table4", "eigenpro_table5"])
def test_tables_4_and_5_shrink_directions_as_the_first_release(plan, target, scale):
    # eigenpro_iterate.m of EigenPro-matlab, a406c0e: run_expr.m gives τ = 1 on kernels and τ = 1/4 on random features.
    values = np.array([9.0, 4.0, 1.0, 0.5])  # eigenvalues on kernels; on features the release has their square roots
    singular = np.sqrt(values)
    released = {
        "EigenPro": 1.0 - np.sqrt(1.0 * values[-1] / values[:-1]),
        "EigenPro-RF": 1.0 - 0.25 * singular[-1] / singular[:-1],
    }
    runs = [one for one in plan.series(target, scale) if one.method in released]
    assert {one.method for one in runs} == {*released}
    for one in runs:
        assert one.parameters["solver__power"] == 0.5
        assert shrinkage(values, one.parameters["solver__damping"], 0.5) == pytest.approx(
            released[one.method], rel=1e-12
        )


def test_choosing_never_sees_the_test_part(plan):
    for scale in SCALES:
        for run in (*plan.runs_of("eigenpro_choice", scale), *plan.runs_of("eigenpro_choice_noise", scale)):
            steps = plan.configuration.steps_of(run.variant)
            assert {"split", "fold"} & set(steps[0]), "the first step makes the test part out of training points"


def test_the_published_ratios_are_those_of_the_published_epochs(plan):
    published = plan.configuration.published
    epochs = {
        (row["dataset"], row["setting"], row["method"]): float(row["published"]) for row in published["eigenpro_table3"]
    }
    ratios = [row for row in published["eigenpro_acceleration_claim"] if row["metric"] == "ratio"]
    assert len(ratios) == 12
    for row in ratios:
        place = row["dataset"], row["setting"]
        expected = epochs[(*place, "Pegasos")] / epochs[(*place, "EigenPro")]
        assert float(row["published"]) == pytest.approx(expected, rel=1e-3)


# Time and memory of trainings against their sizes.


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
    found = training_cost.training_cost(method=method, defaults=defaults, sizes=[75, 150], n_inputs=5, rounds=1)
    assert found.index == [75, 150] and found.curve["training"][0] == 1.0
    assert all(value > 0 for values in found.curve.values() for value in values)


# What a process computes and sends where several share a training, and the threads that replace them.

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
    given = {"n_points": 1000, "n_inputs": 5, "n_outputs": 3, "ranks": [1, 2], "rounds": 1}
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
        given = {"method": method, "n_points": 500, "n_inputs": 5, "rounds": 1, "ranks": [1, 2]}
        assert rank_scaling.rank_scaling(**given, points_grow=True).curve["values"][1] < 1.2
