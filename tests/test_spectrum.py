"""Eigensystems and preconditioners against dense linear algebra in float64."""

from dataclasses import fields, replace
from unittest import mock

import numpy as np
import pytest

from engine_example import naive_kernel, preconditioning_matrix, problem, sample
from shallows import arrays, gram, kernels, spectrum, streams
from shallows.errors import ShallowsError
from shallows.spectrum import certificates, principal_components
from shallows.spectrum.spectral_preconditioner import flatten


def matrix(n=80, kernel="laplace", bandwidth=2.0, seed=0):
    x = sample(n, seed=seed)
    return naive_kernel(kernel, bandwidth, x, x)


def exact(K, k):
    values, vectors = np.linalg.eigh(K)
    return values[::-1][:k], vectors[:, ::-1][:, :k]


# ------------------------------------------------------------------------------------------- eigensystems


def test_subspace_iteration_finds_the_top_of_the_spectrum():
    K = matrix()
    values, vectors = spectrum.top_eigensystem(lambda a: K @ a, 80, 6, like=K, tolerance=1e-12)
    truth, _ = exact(K, 6)
    # Eigenvalues stop changing by 1e-12 of themselves, while eigenvectors have the square root of that.
    assert values == pytest.approx(truth, rel=1e-10)
    assert np.abs(vectors.T @ vectors - np.eye(6)).max() < 1e-13
    assert np.abs(K @ vectors - vectors * values).max() < 1e-4 * truth[0]


@pytest.mark.parametrize("k", [1, 60, 80])
def test_a_block_as_wide_as_the_matrix_is_exact_at_once(k):
    K = matrix()
    values, vectors = spectrum.top_eigensystem(
        lambda a: K @ a, 80, k, like=K, n_iterations=0, oversampling=max(0, 80 / k - 1)
    )
    assert np.abs(values - exact(K, k)[0]).max() < 80 * 80 * np.finfo(float).eps
    assert np.abs(K @ vectors - vectors * values).max() < 1e-12


@pytest.mark.parametrize(("n", "k"), [(40, 4), (80, 4), (80, 40)])
def test_the_truncated_and_the_full_decomposition_agree(n, k, monkeypatch):
    monkeypatch.setattr(spectrum.eigensystems, "FULL_BELOW", 50)  # So that the second case is truncated.
    K = matrix(n)
    values, vectors = spectrum.eigensystem(K, k, tolerance=1e-13)
    truth, directions = exact(K, k)
    assert values == pytest.approx(truth, rel=1e-10)
    # The projection on the eigenspace, because the sign of a vector is arbitrary.
    assert np.abs(vectors @ vectors.T - directions @ directions.T).max() < 1e-4


def test_a_matrix_of_lower_rank_than_asked_has_eigenvalues_of_zero():
    factor = sample(50, 3)
    K = factor @ factor.T
    values, vectors = spectrum.top_eigensystem(lambda a: K @ a, 50, 8, like=K)
    assert values == pytest.approx([*exact(K, 3)[0], *np.zeros(5)], abs=1e-12 * values[0])
    assert values.min() >= 0
    assert np.abs(vectors.T @ vectors - np.eye(8)).max() < 1e-12
    assert spectrum.eigensystem(K, 50)[0].min() == 0.0


def test_the_spectrum_of_a_subsample_is_that_of_its_kernel_matrix_divided_by_its_size():
    x = sample(200)
    rows = streams.permutation(3, "eigenspectrum", 0, 200)[:50]
    asked = {"n_subsample": 50, "n_eigenvalues": 20, "random_state": 3, "dtype": "float64", "device": "cpu"}
    got = spectrum.eigenspectrum(x, "laplace", 2.0, **asked)
    truth, _ = exact(naive_kernel("laplace", 2.0, x[rows], x[rows]), 20)
    assert got.values == pytest.approx(truth / 50, rel=1e-12)
    assert got.effective["n_subsample"] == 50
    few = spectrum.eigenspectrum(x[:30], n_subsample=100, n_eigenvalues=50, device="cpu")
    assert len(few.values) == few.effective["n_subsample"] == 30


def test_a_curve_of_the_spectrum_has_a_point_for_each_eigenvalue():
    made = spectrum.fitting.Spectrum(np.array([0.5, 0.25, 0.0]), {})
    assert made.index == [1, 2, 3]
    assert made.curve["eigenvalue_ratio"][:2].tolist() == [1.0, 2.0]
    assert np.isfinite(made.curve["eigenvalue_ratio"]).all()
    large = spectrum.fitting.Spectrum(np.array([8.0, 0.0]), {})
    assert np.isfinite(large.curve["eigenvalue_ratio"]).all()


def test_the_spectrum_of_a_matrix_that_does_not_fit_is_that_of_one_that_does():
    x, options = sample(600), {"n_eigenvalues": 8, "device": "cpu", "dtype": "float64", "tolerance": 1e-8}
    with mock.patch.object(gram, "Gram", wraps=gram.Gram) as made:
        small, large = (spectrum.eigenspectrum(x, memory=memory, **options) for memory in (10**6, 10**9))
    assert small.effective["kept_fraction"] < 1.0 == large.effective["kept_fraction"]
    assert small.values == pytest.approx(large.values, rel=1e-8)
    # The matrix has what is left by points with their two columns more, and by eight blocks of 8 + 10 columns.
    assert made.call_args_list[0].kwargs["budget"] == 10**6 - 600 * 5 * 8 - 8 * 600 * 18 * 8


# ----------------------------------------------------------------------------------------- preconditioner


@pytest.mark.parametrize("damping", [1.0, 0.25])
@pytest.mark.parametrize("rank", [1, 7, 30])
def test_the_operator_has_the_spectrum_of_the_paper(rank, damping):
    # (I − DK)K has τ λ_{q+1} q times, and the others as they were.
    p = problem(rank=rank, damping=damping)
    truth, _ = exact(p.K, 60)
    flattened = (np.eye(60) - preconditioning_matrix(p.preconditioner, 60) @ p.K) @ p.K
    expected = np.sort([*np.full(rank, damping * truth[rank]), *truth[rank:]])
    assert np.sort(np.linalg.eigvals(flattened).real) == pytest.approx(expected, abs=1e-12 * truth[0])


@pytest.mark.parametrize("damping", [1.0, 0.25])
def test_the_preconditioner_is_symmetric_and_between_zero_and_the_identity(damping):
    # In the kernel's space, P = I − Φᵀ D Φ has, next to ones, the eigenvalues of K^½(I − KD)K^−½.
    p = problem(rank=10, damping=damping)
    E = p.preconditioner.vectors
    assert np.abs(E.T @ E - np.eye(10)).max() < 1e-13
    values, vectors = np.linalg.eigh(p.K)
    root = (vectors * np.sqrt(values)) @ vectors.T
    P = np.eye(60) - root @ preconditioning_matrix(p.preconditioner, 60) @ root
    assert np.abs(P - P.T).max() < 1e-13
    spread = np.linalg.eigvalsh(P)
    truth = values[::-1]
    assert spread.min() == pytest.approx(damping * truth[10] / truth[0], rel=1e-10)
    assert spread.max() == pytest.approx(1.0, rel=1e-12)


def test_sample_weights_enter_as_repetitions_would():
    # K weighted from both sides is the matrix of repeated points, folded: the operator Σ wᵢ kᵢ ⊗ kᵢ is the same.
    p = problem(rank=6, weights=True)
    root = np.sqrt(p.w)
    truth, _ = exact(p.K * np.outer(root, root), 60)
    assert p.preconditioner.eigenvalues == pytest.approx(truth[:7] / 60, rel=1e-12)
    operator = (np.eye(60) - preconditioning_matrix(p.preconditioner, 60) @ p.K) @ (p.w[:, None] * p.K)
    expected = np.sort([*np.full(6, truth[6]), *truth[6:]])
    assert np.sort(np.linalg.eigvals(operator).real) == pytest.approx(expected, abs=1e-12 * truth[0])


def test_the_correction_and_the_energy_that_it_takes_off_are_those_of_the_matrix_of_the_equation():
    p = problem(rank=6, n_subsample=30)
    D, columns, g = preconditioning_matrix(p.preconditioner, 30), p.K[30:39, :30], sample(9, 2, seed=1)
    assert np.abs(p.preconditioner.correction(columns, g) - D @ columns.T @ g).max() < 1e-12
    taken = np.sum(g * (columns @ D @ columns.T @ g), axis=0)
    assert p.preconditioner.energy(p.preconditioner.project(columns, g)) == pytest.approx(taken[None, :], rel=1e-10)


def test_the_correction_of_a_large_preconditioner_is_the_same_on_several_threads(monkeypatch):
    monkeypatch.setattr(arrays, "workers_for", lambda x: 3)
    p = problem(rank=6, n_subsample=30).preconditioner
    large = replace(p, vectors=sample(20_000, 70), eigenvalues=np.linspace(2, 1, 71), indices=np.arange(20_000))
    columns, gradient = sample(3, 20_000), sample(3, 2)
    direct = large.vectors @ (large.scale[:, None] * (large.vectors.T @ (columns.T @ gradient)))
    assert np.abs(large.correction(columns, gradient) - direct).max() < 1e-13 * np.abs(direct).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_that_drown_in_rounding_are_left_out(dtype):
    # A very wide Gaussian kernel has hardly a dozen eigenvalues above rounding.
    points = kernels.augmented(sample(200, dtype=dtype))
    p = spectrum.make_preconditioner(kernels.Gaussian(30.0), points, rank=150, n_subsample=200)
    assert 1 < p.rank < 60
    assert float(p.eigenvalues[-1]) > np.finfo(dtype).eps * float(p.eigenvalues[0])
    assert np.all(np.isfinite(p.scale))
    assert np.all(p.scale >= 0)


@pytest.mark.parametrize(("resolves_more", "share"), [(False, 200.0), (True, 4 * 200**0.5)])
def test_rounding_is_as_large_as_it_can_be_or_that_of_a_random_matrix(resolves_more, share):
    points, kernel = kernels.augmented(sample(200, dtype=np.float32)), kernels.Gaussian(20.0)
    values, _ = spectrum.eigensystem(kernels.matrix(kernel, points), 150)
    p = spectrum.make_preconditioner(kernel, points, rank=150, n_subsample=200, resolves_more=resolves_more)
    assert p.rank == np.sum(values > share * np.finfo(np.float32).eps * values[0]) - 1


@pytest.mark.parametrize(("limit", "unit"), [("smallest", 1 / 60), ("smallest_share", None)])
def test_directions_below_a_limit_are_left_as_they_are_and_those_above_come_down_to_it(limit, unit):
    p = problem(rank=30)
    truth, _ = exact(p.K, 13)
    level = (truth[11] + truth[12]) / 2
    asked = {limit: level * (unit or 1 / truth[0])}
    made = spectrum.make_preconditioner(p.kernel, kernels.augmented(p.x), rank=30, n_subsample=60, **asked)
    assert made.rank == 12
    assert made.eigenvalues == pytest.approx(np.array([*truth[:12], level]) / 60, rel=1e-12)


def test_points_that_coincide_have_one_direction_and_one_point_has_none():
    points = kernels.augmented(np.zeros((20, 2)))
    p = spectrum.make_preconditioner(kernels.Gaussian(1.0), points, rank=10, n_subsample=20)
    assert p.rank == 0
    assert p.eigenvalues == pytest.approx([1.0])
    # The matrix of ones: λ = 1 and β = 1, so a full batch of m points takes the step 2/m.
    assert p.step_size(20) == pytest.approx(2 / 20, rel=1e-6)
    p = spectrum.make_preconditioner(kernels.Gaussian(1.0), points[:1], rank=5, n_subsample=5)
    assert (p.rank, p.n_subsample) == (0, 1)
    assert p.step_size(1) == pytest.approx(2.0)


# ------------------------------------------------------------------------------------------- certificate


def preconditioned(p, rest):
    """k_P between all points of a problem: K − K D K."""
    return p.K - p.K @ preconditioning_matrix(p.preconditioner, len(p.K)) @ p.K


@pytest.mark.parametrize("damping", [1.0, 0.25])
def test_where_the_subsample_is_everything_the_top_eigenvalue_is_the_next_one(damping):
    p = problem(rank=8, damping=damping)
    # Thirty steps of a block of eight come near eigenvalues that lie close together, from below.
    assert p.preconditioner.top_eigenvalue == pytest.approx(exact(p.K, 9)[0][8] / 60, rel=0.01)
    # No point is an outlier there: the diagonal of a usual batch is the largest one.
    assert p.preconditioner.usual_diagonal == p.preconditioner.largest_diagonal


@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_is_measured_away_from_the_subsample(weighted):
    p = problem(n=500, rank=20, n_subsample=60, kernel="gaussian", d=5, weights=weighted)
    root = np.sqrt(p.w[60:]) if weighted else np.ones(440)
    outside = preconditioned(p, 60)[60:, 60:] * np.outer(root, root)
    assert p.preconditioner.largest_diagonal == pytest.approx(np.diagonal(outside).max(), rel=1e-10)
    assert p.preconditioner.top_eigenvalue == pytest.approx(np.linalg.eigvalsh(outside)[-1] / 440, rel=1e-3)
    # On the subsample itself the operator would look smaller than it is.
    assert weighted or p.preconditioner.top_eigenvalue > 1.1 * float(p.preconditioner.eigenvalues[20])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_certificate_is_that_of_dense_linear_algebra(weighted):
    n, shrink = 120, np.array([0.9, 0.5])
    K = matrix(n)
    functions = np.sqrt(exact(K, 2)[0]) * exact(K, 2)[1]
    w = np.linspace(0.5, 1.5, n) if weighted else np.ones(n)
    P = (K - (functions * shrink) @ functions.T) * np.sqrt(np.outer(w, w))
    values, vectors = np.linalg.eigh(P)
    own, top = np.diagonal(P), values[-1] / n
    along = top * (vectors[:, -1] ** 2 @ own - top)
    got = certificates.certify(K.copy(), functions, shrink, w if weighted else None, 0)
    exactly = [own.max(), np.sort(own)[-3:].mean(), own.mean(), (np.diagonal(K) * w).max()]
    assert [got.largest_diagonal, got.upper_diagonal, got.mean_diagonal, got.bound] == pytest.approx(exactly, rel=1e-12)
    # Thirty steps of subspace iteration come near the largest eight eigenvalues.
    assert got.top_eigenvalue == pytest.approx(top, rel=1e-6)
    assert got.remainder == pytest.approx(1 - values[-8:].sum() / values.sum(), rel=0.01)
    assert got.dimension == pytest.approx((np.mean(own**2) - np.mean(P**2)) / along, rel=1e-3)


@pytest.mark.parametrize(
    ("n", "m", "fresh"), [(9000, 100, (100, 1100)), (9000, 2000, (2000, 6000)), (50, 50, (0, 50)), (50, 40, (0, 50))]
)
def test_the_step_is_certified_away_from_the_subsample_where_points_are_left(n, m, fresh):
    assert certificates.subsample_and_fresh(n, m) == (slice(0, m), slice(*fresh))


def test_directions_that_the_subsample_alone_has_are_not_flattened():
    # Off the subsample the operator keeps 0.05, so that what lies below is not brought to 1e-5.
    asked = {"level": 0.0, "damping": 1.0, "power": 1.0, "weights": None, "seed": 0, "whole": False}
    values = np.array([1.0, 0.1, 0.01, 1e-4, 1e-5])
    kept, found = flatten(values, np.zeros((30, 4)), lambda: np.full((30, 30), 0.05), q=4, **asked)
    assert found.top_eigenvalue == pytest.approx(0.05)
    assert kept == pytest.approx([1.0, 0.1, 0.05])
    # Where no direction was found nothing is flattened, however large the operator.
    kept, found = flatten(np.array([1e-6]), np.zeros((30, 0)), lambda: np.ones((30, 30)), q=0, **asked)
    assert kept == pytest.approx([1e-6])
    assert found.top_eigenvalue == pytest.approx(1.0)


@pytest.mark.parametrize(("n_places", "expected"), [(20, 20), (30, np.inf), (40, np.inf)])
def test_a_preconditioner_knows_how_many_points_differ_if_most_are_copies(n_places, expected):
    x = sample(n_places)
    x[0] = x[1] + 1e-9
    p = spectrum.make_preconditioner(
        kernels.Laplace(2.0), kernels.augmented(np.resize(x, (40, x.shape[1]))), rank=3, n_subsample=40
    )
    assert p.n_places == expected
    K = kernels.matrix(p.kernel, kernels.augmented(np.resize(x, (40, x.shape[1]))))
    leverage = (exact(K, 3)[1] ** 2).sum(axis=1).min()
    assert p.subsample_diagonal == pytest.approx(1 - leverage, rel=1e-6)


def test_points_that_differ_by_rounding_are_one_whatever_their_size():
    x = sample(20)
    for scale in (1e-6, 1.0, 1e6):
        assert certificates.different(scale * np.vstack([x, x * (1 + 2.0**-52), x])) == 20


def test_the_kernel_of_eigenpro_is_the_preconditioned_one():
    p = problem(rank=6, n_subsample=30)
    made, points = spectrum.EigenProKernel.of(p.preconditioner, p.x), kernels.augmented(p.x)
    expected = preconditioned(p, 30)
    # A distance of zero comes out as the root of its rounding.
    assert kernels.values(made, points, points) == pytest.approx(expected, abs=1e-7)
    assert made.diagonal(p.x) == pytest.approx(np.diagonal(expected), abs=1e-7)


@pytest.mark.parametrize(
    ("n_places", "remainder", "expected"), [(20.0, 0.5, 20), (20.0, 0.0, 3 + 8), (5.0, 0.0, 5), (np.inf, 0.5, np.inf)]
)
def test_the_step_and_the_number_of_functions_follow_from_the_certificate(n_places, remainder, expected):
    found = {"n_places": n_places, "remainder": remainder, "top_eigenvalue": 0.01, "largest_diagonal": 0.5}
    p = replace(problem(rank=3).preconditioner, **found)
    assert p.n_functions == expected
    assert p.step_size(1) == pytest.approx(2 / 0.5)
    assert p.step_size(51) == pytest.approx(2 / (0.5 + 50 * 0.01))
    assert p.critical_batch_size() == pytest.approx(50)


# ---------------------------------------------------------------------------------- to and from the user


ASKED = {"kernel": "laplace", "bandwidth": 2.0, "rank": 9, "n_subsample": 50, "device": "cpu", "dtype": "float64"}


@pytest.fixture(scope="module")
def fitted():
    x = sample(300)
    return x, spectrum.fit_preconditioner(x, **ASKED, random_state=4)


def test_a_preconditioner_of_training_data_says_which_rows_it_is_made_of_and_is_a_function_of_its_seed(fitted):
    x, p = fitted
    chosen = x[p.indices]
    assert len(set(p.indices.tolist())) == 50
    truth, _ = exact(naive_kernel("laplace", 2.0, chosen, chosen), 10)
    assert p.eigenvalues == pytest.approx(truth / 50, rel=1e-12)
    again, other = (spectrum.fit_preconditioner(x, **{**ASKED, "random_state": seed}) for seed in (4, 5))
    assert np.array_equal(p.vectors, again.vectors)
    assert not np.array_equal(p.indices, other.indices)


def test_no_row_is_read_that_is_not_needed(monkeypatch):
    class Watched:
        shape = (10_000, 2)
        read = 0

        def __getitem__(self, rows):
            Watched.read += len(rows)
            assert np.all(np.diff(rows) > 0), "a memory map is read from front to back"
            return sample(len(rows), 2)

    monkeypatch.setattr(spectrum.certificates, "N_FRESH", 200)
    spectrum.fit_preconditioner(Watched(), rank=5, n_subsample=50, device="cpu")
    assert Watched.read <= 250


def test_the_bandwidth_is_the_median_rule_unless_one_is_named():
    x = sample(300)
    p = spectrum.fit_preconditioner(x, rank=5, n_subsample=50, device="cpu")
    assert p.kernel.bandwidth == pytest.approx(kernels.median_bandwidth(x), rel=0.05)
    for bad in (np.nan, np.inf):
        x[3, 1] = bad
        with pytest.raises(ShallowsError, match="NaN or infinity"):
            spectrum.fit_preconditioner(x[:100], rank=5, n_subsample=100, device="cpu")
    for wrong in ("half", 0, 1.5, True, None):
        with pytest.raises(ShallowsError, match="power must be a number"):
            spectrum.fit_preconditioner(sample(20), power=wrong)


def test_what_is_saved_is_what_is_read_or_a_clear_error(fitted, tmp_path, monkeypatch):
    p, path = fitted[1], tmp_path / "p.npz"
    with pytest.raises(ShallowsError, match="There is no file"):
        spectrum.load_preconditioner(path)
    p.save(path)
    read, whole = spectrum.load_preconditioner(path), path.read_bytes()
    assert [place.name for place in tmp_path.iterdir()] == ["p.npz"]
    for name in ("indices", "eigenvalues", "vectors"):
        assert np.array_equal(getattr(read, name), getattr(p, name))
        assert getattr(read, name).dtype == getattr(p, name).dtype
    for name in {one.name for one in fields(p)} - {"indices", "eigenvalues", "vectors"}:
        assert getattr(read, name) == getattr(p, name)
    np.savez(tmp_path / "other.npz", indices=np.arange(3))
    for content in (b"something else", whole[:-200], (tmp_path / "other.npz").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(ShallowsError, match="not a preconditioner"):
            spectrum.load_preconditioner(path)
    monkeypatch.setattr(np, "savez", mock.Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        p.save(tmp_path / "new.npz")
    assert sorted(place.name for place in tmp_path.iterdir()) == ["other.npz", "p.npz"]


def test_a_diagonal_of_ones_is_set_wherever_the_diagonal_begins():
    block = kernels.set_diagonal(kernels.Gaussian(1.0), np.zeros((2, 5)), np.zeros((2, 3)), 2)
    assert np.array_equal(block, np.eye(5)[2:4])


@pytest.mark.parametrize(("n", "d", "rows"), [(100, 5, 100), (10**6, 5, principal_components.ROWS)])
def test_components_need_their_rows_two_copies_and_the_covariance(n, d, rows):
    assert principal_components.bytes_beside(n, d) == 8 * (3 * rows * d + 2 * d * d)
