"""Step rules by name: their formulas, and what is certified of the spectrum that they are made of."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from engine_example import preconditioning_matrix, problem, sample
from shallows import kernels, spectrum
from shallows.errors import ShallowsError
from shallows.solvers.least_squares import step_rules
from step_rules_example import FACTS, N

pytestmark = pytest.mark.filterwarnings("ignore:After max_epochs:sklearn.exceptions.ConvergenceWarning")


def step(name, m, p=FACTS, n=N):
    return step_rules.make(name)(p, m, n)


@pytest.mark.parametrize("m", [1, 7, 300, N])
def test_the_certified_step_is_two_over_what_a_batch_amounts_to(m):
    assert step("certified", m) == pytest.approx(2 / (0.9 + (m - 1) * 0.02))


@pytest.mark.parametrize("m", [1, 30, N])
@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_the_theorems_step_is_the_reciprocal_of_its_bound(m, delta):
    log = math.log(8 * 40 / delta)
    bound = 0.01 + 2 * (0.01 + 1) / (3 * m) * log + math.sqrt(2 * 0.01 / m * log)
    assert step_rules.Theorem(delta)(FACTS, m, N) == pytest.approx(1 / (m * bound))


def test_the_papers_step_is_its_rule_of_thumb_where_the_root_is_largest_and_exact_for_large_batches():
    # E32: √(m/(κ λ_{q+1})) for the mean gradient; both other terms are a tenth of the root and less.
    p = SimpleNamespace(**{**vars(FACTS), "flattened_top": 1e-6})
    for c2 in (1.0, 3.0):
        m = 1e6
        assert m * step_rules.Paper(c1=0.0, c2=c2)(p, m, N) == pytest.approx(math.sqrt(m / 1e-6) / (c2 + 1), rel=1e-9)
    assert 1e12 * step("paper", 1e12, p) == pytest.approx(1e6, rel=1e-2)
    assert step("paper", 1, p) == pytest.approx(1.0, rel=2e-3)


def test_the_first_release_takes_the_same_mean_step_whatever_the_batch():
    assert 7 * step("release2017", 7) == pytest.approx(300 * step("release2017", 300))
    assert 7 * step("release2017", 7) == pytest.approx(1.5 / 0.5 * math.sqrt(0.5 / 0.01))
    assert 7 * step(step_rules.Release2017(5.0), 7) == pytest.approx(5.0 * math.sqrt(0.5 / 0.01))
    with pytest.raises(ShallowsError, match="eta must be a positive number"):
        step_rules.make(step_rules.Release2017(0.0))


def test_the_second_release_has_three_ranges_of_batches():
    top = 0.5 * (0.01 / 0.5) ** 0.95
    critical = 0.9 / top + 1
    assert step("release2019", int(critical)) == pytest.approx(1 / 0.9)
    assert step("release2019", int(critical) + 1) == pytest.approx(2 / (0.9 + int(critical) * top))
    assert step("release2019", 500) == pytest.approx(2 / (0.9 + 499 * top))
    assert step("release2019", N) == pytest.approx(0.95 * 2 / (N * top))


def test_the_exact_step_wants_everything_in_the_batch_and_in_the_subsample():
    whole = SimpleNamespace(**{**vars(FACTS), "n_subsample": N})
    assert step("exact", N, whole) == pytest.approx(1 / (N * 0.01))
    for m, p in ((N - 1, whole), (N, FACTS)):
        with pytest.raises(ShallowsError, match=r"n_subsample=\d+ and batch_size=\d+. Use step='certified'"):
            step("exact", m, p)


def test_a_rule_with_parameters_is_an_object():
    assert step_rules.make(step_rules.Certified(noise=0.3)) == step_rules.Certified(noise=0.3)
    assert step_rules.make("theorem") == step_rules.Theorem()
    for impossible in (
        {"noise": 0.0},
        {"noise": float("nan")},
        {"memory": -1.0},
        {"noise": float("inf")},
        {"noise": "0.3"},
    ):
        with pytest.raises(ShallowsError, match=r"^(noise must be a positive|memory must be a) number"):
            step_rules.make(step_rules.Certified(**impossible))


@pytest.mark.parametrize(("name", "power"), [("theorem", 1.0), ("paper", 0.5)])
def test_rules_made_of_bounds_stay_below_the_edge_of_every_batch(name, power):
    p = problem(n=300, rank=10, n_subsample=100, kernel="gaussian", d=5, power=power)
    K_P = p.K - p.K @ preconditioning_matrix(p.preconditioner, 300) @ p.K
    rng = np.random.default_rng(0)
    for m in (4, 30, 300):
        tops = [
            np.linalg.eigvalsh(K_P[np.ix_(rows, rows)])[-1]
            for rows in (rng.choice(300, size=m, replace=False) for _ in range(20))
        ]
        assert step(name, m, p.preconditioner, 300) * max(tops) < 2


@pytest.mark.parametrize("damping", [1.0, 0.25])
@pytest.mark.parametrize("power", [0.5, 0.8])
@pytest.mark.parametrize("rank", [1, 7, 30])
def test_the_kernel_form_has_powers_of_the_ratio_too(rank, power, damping):
    # (I − DK)K has τ λ_{q+1}^a λᵢ^(1−a) for i ≤ q, and the others as they were.
    p = problem(rank=rank, damping=damping, power=power)
    truth = np.linalg.eigvalsh(p.K)[::-1]
    flattened = (np.eye(60) - preconditioning_matrix(p.preconditioner, 60) @ p.K) @ p.K
    expected = np.sort([*damping * truth[rank] ** power * truth[:rank] ** (1 - power), *truth[rank:]])
    assert np.sort(np.linalg.eigvals(flattened).real) == pytest.approx(expected, abs=1e-12 * truth[0])
    assert 60 * p.preconditioner.flattened_top == pytest.approx(expected.max(), rel=1e-9)


def test_the_certificate_has_the_mean_of_the_diagonal():
    p = problem(n=400, rank=10, n_subsample=100, kernel="gaussian", d=5)
    K_P = (p.K - p.K @ preconditioning_matrix(p.preconditioner, 400) @ p.K)[100:, 100:]
    diagonal = np.sort(np.diagonal(K_P))
    assert p.preconditioner.mean_diagonal == pytest.approx(diagonal.mean(), rel=1e-10)
    assert p.preconditioner.upper_diagonal == pytest.approx(diagonal[-6:].mean(), rel=1e-10)  # a fiftieth of 300
    assert p.preconditioner.usual_diagonal == p.preconditioner.upper_diagonal < p.preconditioner.largest_diagonal
    assert p.preconditioner.bound == 1.0


@pytest.mark.parametrize(("kernel", "d", "low"), [("polynomial", 4, True), ("laplace", 4, False)])
def test_a_matrix_of_low_rank_is_known_by_what_its_first_directions_leave(kernel, d, low):
    x = kernels.augmented(np.random.default_rng(0).normal(size=(300, d)))
    of = kernels.make(kernel, **({"degree": 1} if low else {"bandwidth": 2.0}))
    p = spectrum.make_preconditioner(of, x, rank=2, n_subsample=100)
    K_P = kernels.matrix(of, x[100:])
    functions = kernels.values(of, x[100:], x[:100]) @ p.vectors / np.sqrt(100 * p.eigenvalues[:2])
    K_P -= functions * p.shrink @ functions.T
    values = np.linalg.eigvalsh(K_P)[::-1]
    assert p.remainder == pytest.approx(1 - values[:8].sum() / values.sum(), rel=1e-3, abs=1e-12)
    assert p.n_functions == (2 + 8 if low else math.inf)


@pytest.mark.parametrize(("copies", "n_functions"), [(1, math.inf), (2, 150), (3, 100)])
def test_where_most_points_are_copies_there_are_as_many_functions_as_places(copies, n_functions):
    x = np.random.default_rng(1).normal(size=(300 // copies, 4)).astype(np.float32)
    x = np.random.default_rng(2).permutation(np.repeat(x, copies, axis=0))
    p = spectrum.make_preconditioner(kernels.make("laplace", 2.0), kernels.augmented(x), rank=5, n_subsample=100)
    assert p.n_functions == n_functions


def test_a_preconditioner_keeps_its_power_in_a_file(tmp_path):
    X = sample(100)
    p = spectrum.fit_preconditioner(X, kernels.Laplace(2.0), rank=5, n_subsample=50, power=0.5, device="cpu")
    p.save(tmp_path / "p.npz")
    read = spectrum.load_preconditioner(tmp_path / "p.npz")
    for name in ("power", "upper_diagonal", "mean_diagonal", "bound", "dimension", "subsample_diagonal"):
        assert getattr(read, name) == getattr(p, name)
    assert np.array_equal(read.scale, p.scale)
