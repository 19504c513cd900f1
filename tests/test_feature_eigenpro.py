"""EigenPro on explicit features: the operator, the iteration and the estimators."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from engine_example import sample
from risk_example import Given
from shallows import features, kernels, spectrum
from shallows.features import Blocks, Design, LinearMap
from shallows.solvers.least_squares.feature_eigenpro import FeatureEigenProStepper, FeatureProblem

N, D = 60, 12


WHOLE = [slice(0, N)]


PLENTY = 2**30
N, D = 60, 12


def decaying(n=N, d=D, seed=0, rate=0.75, xp=np):
    """Rows whose second moments fall geometrically."""
    return xp.asarray(sample(n, d, seed) * rate ** np.arange(d))


def problem(n=N, d=D, c=2, *, rank=4, n_subsample=None, weights=False, seed=0, budget=PLENTY, xp=np, **options):
    X, y = decaying(n, d, seed, xp=xp), xp.asarray(sample(n, c, seed + 100))
    w = xp.asarray(np.random.default_rng(seed).uniform(0.2, 1.0, n)) if weights else None
    blocks = Blocks(Given(d))
    p = spectrum.make_feature_preconditioner(
        blocks, X, rank=rank, n_subsample=n_subsample or n, seed=seed, weights=w, **options
    )
    design = Design(blocks, X, budget=budget)
    held = FeatureProblem(design, y, None if w is None else w[:, None], p)
    return SimpleNamespace(X=X, y=y, w=w, p=p, problem=held)


def preconditioner_of(p):
    """P = I − Σ (1 − τ (λ_{q+1}/λᵢ)^a) eᵢ eᵢᵀ, shape (D, D)."""
    return np.eye(p.vectors.shape[0]) - (p.vectors * p.shrink) @ p.vectors.T


def root_of(P):
    values, vectors = np.linalg.eigh(P)
    return (vectors * np.sqrt(values)) @ vectors.T


def top_of(H, k):
    values, vectors = np.linalg.eigh(H)
    return values[::-1][:k], vectors[:, ::-1][:, :k]


def states(solver, held, n_steps, batches):
    state = solver.init(held)
    yield state.coefficients + 0.0
    for t in range(n_steps):
        state = solver.step(held, state, batches[t % len(batches)])
        yield state.coefficients + 0.0


BATCHES = [slice(0, 7), slice(42, 49), slice(7, 14), slice(56, 60)]


# ------------------------------------------------------------------------------------------- eigensystems


@pytest.mark.parametrize("eigensystem", ["nsvd", "rsvd"])
@pytest.mark.parametrize("weights", [False, True])
def test_the_eigensystem_of_all_rows_is_that_of_the_second_moments(eigensystem, weights):
    # A subsample of all rows and a block as wide as the matrix are exact.
    p = problem(rank=5, eigensystem=eigensystem, weights=weights)
    w = np.ones(N) if p.w is None else p.w
    values, vectors = top_of(p.X.T @ (w[:, None] * p.X) / N, 6)
    assert p.p.eigenvalues == pytest.approx(values, rel=1e-10)
    assert np.abs(p.p.vectors @ p.p.vectors.T - vectors[:, :5] @ vectors[:, :5].T).max() < 1e-10


# ---------------------------------------------------------------------------------------- the operator


@pytest.mark.parametrize("power", [1.0, 0.5, 0.8])
@pytest.mark.parametrize("damping", [1.0, 0.25])
@pytest.mark.parametrize("rank", [1, 4, 9])
def test_the_operator_has_the_spectrum_of_the_paper(rank, damping, power):
    # P H has τ λ_{q+1}^a λᵢ^(1−a) for i ≤ q, and the others as they were.
    p = problem(rank=rank, damping=damping, power=power)
    H = p.X.T @ p.X / N
    truth = top_of(H, D)[0]
    expected = np.sort([*damping * truth[rank] ** power * truth[:rank] ** (1 - power), *truth[rank:]])
    assert np.sort(np.linalg.eigvals(preconditioner_of(p.p) @ H).real) == pytest.approx(expected, rel=1e-9)
    assert p.p.flattened_top == pytest.approx(expected.max(), rel=1e-9)


@pytest.mark.parametrize("damping", [1.0, 0.25])
def test_the_preconditioner_is_symmetric_and_between_zero_and_the_identity(damping):
    p = problem(rank=5, n_subsample=40, damping=damping).p
    assert np.abs(p.vectors.T @ p.vectors - np.eye(5)).max() < 1e-13
    P = preconditioner_of(p)
    assert np.abs(P - P.T).max() < 1e-15
    spread = np.linalg.eigvalsh(P)
    assert 0 < spread.min() == pytest.approx(damping * p.eigenvalues[5] / p.eigenvalues[0], rel=1e-9)
    assert spread.max() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_the_certificate_is_that_of_the_operator_away_from_the_subsample(weights, power):
    p = problem(n=500, rank=4, n_subsample=50, weights=weights, power=power)
    fresh = p.X[50:200] if len(p.X) > 1000 else p.X[50:]
    w = np.ones(len(fresh)) if p.w is None else p.w[50:]
    root = root_of(preconditioner_of(p.p))
    H = root @ (fresh.T @ (w[:, None] * fresh)) @ root / len(fresh)
    assert p.p.top_eigenvalue == pytest.approx(np.linalg.eigvalsh(H)[-1], rel=1e-3)
    assert p.p.largest_diagonal == pytest.approx((w * ((fresh @ root) ** 2).sum(1)).max(), rel=1e-10)
    assert p.p.bound == pytest.approx((w * (fresh**2).sum(1)).max(), rel=1e-12)
    assert p.p.dimension == D


@pytest.mark.parametrize("weights", [False, True])
def test_the_diagonal_on_the_subsample_is_less_by_the_smallest_leverage(weights):
    p = problem(n=500, rank=4, n_subsample=50, weights=weights)
    sample_of = p.X[:50] if p.w is None else np.sqrt(p.w[:50, None]) * p.X[:50]
    leverage = (np.linalg.svd(sample_of, full_matrices=False)[0][:, :4] ** 2).sum(axis=1)
    assert p.p.subsample_diagonal == pytest.approx(p.p.bound - leverage.min(), rel=1e-12)


@pytest.mark.parametrize("limit", ["smallest", "smallest_share"])
def test_directions_below_a_limit_are_left_as_they_are(limit):
    values, _ = top_of(decaying().T @ decaying() / N, D)
    level = (values[5] + values[6]) / 2
    # A share of the mean square of the rows, which is the sum of the eigenvalues, or of the largest of them.
    made = problem(rank=11, **{limit: level / {"smallest": values.sum(), "smallest_share": values[0]}[limit]}).p
    assert made.eigenvalues == pytest.approx([*values[:6], level], rel=1e-10)


def test_more_directions_than_features_are_not_flattened():
    p = problem(n=40, d=3, rank=10)
    assert p.p.rank == 2
    assert p.p.eigenvalues.shape == (3,)


# --------------------------------------------------------------------------------------- the iteration


@pytest.mark.parametrize("budget", [PLENTY, 0], ids=["kept", "computed again"])
@pytest.mark.parametrize(("weights", "ridge"), [(False, 0.0), (True, 0.0), (True, 0.7)])
def test_a_step_is_the_equation_of_the_paper(weights, ridge, budget):
    p = problem(rank=4, n_subsample=30, damping=0.25, weights=weights, budget=budget)
    w = np.ones(N) if p.w is None else p.w
    P, A = preconditioner_of(p.p), np.zeros((D, 2))
    held = replace(p.problem, regularization=ridge)
    for t, reached in enumerate(states(FeatureEigenProStepper(0.05), held, 12, BATCHES)):
        assert np.abs(reached - A).max() < 1e-13
        rows = BATCHES[t % 4]
        g = p.X[rows].T @ (w[rows, None] * (p.X[rows] @ A - p.y[rows]))
        A = A - 0.05 * P @ (g + ridge * (rows.stop - rows.start) / N * A)


@pytest.mark.parametrize("batches", [WHOLE, BATCHES], ids=["whole", "batches"])
def test_rank_zero_is_plain_gradient_descent(batches):
    # To the bit: P is the identity.
    p = problem(rank=0)
    plain = FeatureProblem(p.problem.design, p.y)
    both = (states(FeatureEigenProStepper(0.01), held, 12, batches) for held in (p.problem, plain))
    assert all(np.array_equal(a, b) for a, b in zip(*both, strict=True))


# ------------------------------------------------------------------------------------ features in blocks


@pytest.mark.parametrize(("form", "n_features"), [("pair", 20), ("pair", 26), ("cosine", 13)])
def test_a_map_in_blocks_is_the_map(form, n_features):
    # The last block may be used in part: then it has its first frequencies, and the norm of all that are used.
    x = sample(9)
    f = features.FourierMap(kernels.Gaussian(1.5), 3, 4, seed=2, form=form)
    blocks = Blocks(f, n_features)
    whole = np.concatenate([blocks.block(x, k) for k in range(len(blocks.spans))], axis=1)
    assert whole.shape == (9, n_features)
    per_block = f.width
    frequencies = [f.frequencies(i, x) for i in range(math.ceil(n_features / per_block))]
    omega = np.concatenate(frequencies)[: n_features // (2 if form == "pair" else 1)]
    if form == "pair":
        direct = np.concatenate([np.cos(x @ omega.T), np.sin(x @ omega.T)], axis=1) / math.sqrt(len(omega))
        assert np.abs(whole @ whole.T - direct @ direct.T).max() < 1e-14
        assert np.abs((whole**2).sum(1) - 1).max() < 1e-14
    else:
        phases = np.concatenate([f.phases(i, x) for i in range(len(frequencies))])[:n_features]
        assert np.abs(whole - np.sqrt(2 / n_features) * np.cos(x @ omega.T + phases)).max() < 1e-14


@pytest.mark.parametrize("budget", [PLENTY, 0])
def test_a_design_multiplies_as_its_matrix_does(budget):
    x, a = sample(50), sample(22, 2, seed=1)
    blocks = Blocks(features.FourierMap(kernels.Gaussian(1.5), 3, 4, seed=2), 22)
    design = Design(blocks, x, budget=budget)
    assert design.kept == bool(budget)
    whole = np.concatenate([blocks.block(x, k) for k in range(len(blocks.spans))], axis=1)
    assert np.abs(design.dot(a) - whole @ a).max() < 1e-14
    rows = np.concatenate([design.block(slice(7, 20), k) for k in range(len(design.spans))], axis=1)
    assert np.abs(rows - whole[7:20]).max() < 1e-15


def test_linear_features_have_a_constant():
    x = sample(5)
    assert np.array_equal(LinearMap(3).map(x), np.hstack([x, np.ones((5, 1))]))


@pytest.mark.parametrize("holds", [True, False])
def test_batches_that_do_not_fit_are_gone_through_twice_and_move_alike(holds, monkeypatch):
    x, y = sample(50), sample(50, 2, seed=1)
    blocks = Blocks(features.FourierMap(kernels.Gaussian(1.5), 3, 4, seed=2), 22)
    p = spectrum.make_feature_preconditioner(blocks, x, rank=5, n_subsample=30)
    kept, anew = (FeatureProblem(Design(blocks, x, budget=b), y, None, p) for b in (PLENTY, 0))
    monkeypatch.setattr(Design, "holds", lambda self, n: self.kept or holds)
    both = (states(FeatureEigenProStepper(0.05), held, 8, [slice(0, 9), slice(33, 50)]) for held in (kept, anew))
    assert all(np.abs(a - b).max() < 1e-13 for a, b in zip(*both, strict=True))


@pytest.mark.parametrize(("weights", "eigensystem"), [(False, "nsvd"), (True, "rsvd")])
def test_any_array_library_gives_what_numpy_gives(weights, eigensystem):
    strict, reached = pytest.importorskip("array_api_strict"), []
    for xp in (np, strict):
        x, y = xp.asarray(sample(60)), xp.asarray(sample(60, 2, seed=1))
        w = xp.asarray(np.random.default_rng(0).uniform(0.2, 1, 60)) if weights else None
        blocks = Blocks(features.FourierMap(kernels.Gaussian(1.5), 3, 4, seed=2), 22)
        options = {"rank": 5, "n_subsample": 30, "eigensystem": eigensystem, "power": 0.5}
        p = spectrum.make_feature_preconditioner(blocks, x, weights=w, **options)
        held = FeatureProblem(Design(blocks, x, budget=0), y, None if w is None else w[:, None], p)
        batches = [slice(8 * t, 8 * t + 8) for t in (5, 1, 6, 3)]
        *_, last = states(FeatureEigenProStepper(p.step_size(8)), held, 12, batches)
        reached.append(np.asarray(last))
    assert np.abs(reached[0] - reached[1]).max() < 1e-9
