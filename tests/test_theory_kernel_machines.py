"""The analyses of kernel machines: single-example solvers against their formulas, courses, and costs by n."""

from types import SimpleNamespace

import numpy as np
import pytest

from engine_example import naive_kernel, sample
from shallows import kernels
from shallows.gram.row_slab import KernelRowSlab
from shallows_papers.papers.lecture import kernel_machines
from shallows_papers.papers.lecture.kernel_machines import DualCoordinateAscent


def data(n=500):
    x, new = sample(n, 3), sample(300, 3, seed=7)
    label = lambda x, seed: (x[:, 0] ** 2 + x[:, 1] + 0.4 * sample(len(x), 1, seed)[:, 0] > 0.5).astype(int)  # noqa: E731
    return SimpleNamespace(x_train=x, y_train=label(x, 1), x_test=new, y_test=label(new, 2))


def slab(x, capacity):
    return KernelRowSlab(kernels.make("gaussian", 1.0), kernels.augmented(x), budget=capacity * len(x) * 8)


@pytest.mark.parametrize("capacity", [2, 60])
def test_dual_coordinate_ascent_ends_where_no_coordinate_can_gain(capacity):
    x = sample(60, 3)
    y = np.where(x[:, 0] + 0.5 * sample(60, 1, seed=4)[:, 0] > 0, 1.0, -1.0)
    machine = DualCoordinateAscent(slab(x, capacity), y, 2.0, seed=0)
    K = naive_kernel("gaussian", 1.0, x, x)
    objectives = [0.0]
    for _ in range(300):
        machine.advance(61)
        beta = machine.coefficients
        objectives.append(y @ beta - 0.5 * beta @ K @ beta)
    assert (np.diff(objectives) > -1e-9).all()
    alpha, margin = y * beta, y * (K @ beta)
    assert (alpha >= 0).all() and (alpha <= 2).all()
    free = (alpha > 0) & (alpha < 2)
    assert np.abs(margin[free] - 1).max() < 1e-4
    assert (margin[alpha == 0] > 1 - 1e-4).all() and (margin[alpha == 2] < 1 + 1e-4).all()


@pytest.mark.parametrize("solver", ["pegasos", "sdca", "lasvm", "smo", "decomposition"])
def test_every_solver_comes_near_the_optimum_and_predicts(solver):
    found = kernel_machines.course(data(), solver=solver, bandwidth=1.0, marks=[0.2, 30])
    first, last = found.curve["suboptimality"]
    # Pegasos' error falls as 1/t; LASVM ends after its one pass.
    assert last < {"pegasos": 30, "sdca": 0.1, "lasvm": 10, "smo": 0.1, "decomposition": 0.1}[solver]
    assert first > last
    assert found.numbers["time_within"] == (30 if last <= 5 < first else 0.2 if first <= 5 else np.inf)
    assert found.numbers["test_error"] == found.curve["error"][-1] < 20.0


def test_the_suboptimality_is_that_of_the_primal_objective():
    made = data(200)
    x, y, new, truth = kernel_machines.two_classes(made, None, 0)
    assert sorted(x[:, 0]) == sorted(made.x_train[:, 0])
    rows = slab(x, 200)
    evaluate = kernel_machines.Evaluation(rows.kernel, rows, y, 2.0, kernels.augmented(new), truth)
    beta, K = sample(200, 1, seed=5)[:, 0], naive_kernel("gaussian", 1.0, x, x)
    expected = 0.5 * beta @ K @ beta / (2.0 * 200) + np.maximum(0, 1 - y * (K @ beta + 0.3)).mean()
    value, error = evaluate((beta, 0.3))
    assert value == pytest.approx(expected, rel=1e-9)
    scores = naive_kernel("gaussian", 1.0, new, x) @ beta + 0.3
    assert error == 100 * np.mean((scores > 0) != (truth > 0))


def test_the_cost_of_an_exact_machine_grows_and_a_cache_spares_rows():
    found = kernel_machines.scaling(data(800), sizes=[100, 200, 400, 800, 1600], C=50.0, few=20, rounds=1)
    assert list(found.index) == [100, 200, 400, 800]
    slope = np.polyfit(np.log(found.index), np.log(found.curve["work"]), 1)[0]
    assert 1.8 < slope < 3.2
    kept, few, none = (np.array(found.curve[name]) for name in ("kept", "few", "none"))
    assert (kept <= 1).all() and (kept <= few).all() and (few <= none).all()
    assert none[-1] > 2 * kept[-1]
    assert found.curve["time"][0] == 1.0
