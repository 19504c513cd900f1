"""What a GPU is asked to do: launches, copies and waits, counted with NumPy instead of CuPy."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import cuda_on_cpu
from counted_arrays import LEDGER, counted
from engine_example import sample
from forms import eigenpro_classifier, eigenpro_regressor
from pretended_gpu import pretended_gpu
from shallows import KernelRidgeRegressor, Options, arrays, gram, kernels, losses, spectrum, training
from shallows.errors import DivergenceError
from shallows.features import FourierMap
from shallows.gpu import cuda
from shallows.gram.whole import WholeGram
from shallows.solvers import EigenPro
from shallows.solvers.expansions.doubly_stochastic import DoublyStochasticStepper
from shallows.solvers.expansions.expansion import ExpansionProblem
from shallows.solvers.least_squares.kernel_problem import KernelProblem
from shallows.solvers.least_squares.lifted_eigenpro import LiftedEigenPro, lifted
from shallows.solvers.least_squares.step_rules import Cycle

needs_compiler = pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason="there is no g++")

N, BATCH = 640, 64
AVERAGED = Cycle(1, (), (1.0,), memory=5.0)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cuda")


def kernel_problem(tile: int, regularisation: float, whole: bool = False) -> KernelProblem:
    """A problem of 640 points and three outputs, with a matrix in tiles or whole."""
    points = kernels.augmented(sample(N, 50, dtype=np.float32))
    kernel = kernels.Gaussian(6.0)
    p = spectrum.make_preconditioner(kernel, points, rank=20, n_subsample=150)
    p = replace(p, eigenvalues=counted(p.eigenvalues), vectors=counted(p.vectors))
    with cuda.off():
        matrix = (WholeGram if whole else gram.Gram)(kernel, counted(points), budget=2**30, tile=tile)
    return KernelProblem(matrix, counted(sample(N, 3, 1, np.float32)), None, p, regularisation)


def of_one_step(ledger, solver, problem, batch):
    """Launches, copied operands and waits of a step that is not the first."""
    state = solver.init(problem)
    for _ in range(2):
        state = solver.step(problem, state, batch)
    ledger.clear()
    solver.step(problem, state, batch)
    return ledger.n_launches, ledger.copied_operands, ledger.n_synchronisations


BELOW = slice(320, 384)
"""A batch of which most tiles lie below the diagonal."""


@needs_compiler
@pytest.mark.parametrize("batch", [slice(0, BATCH), slice(128, 192), BELOW], ids=["first", "both", "below"])
@pytest.mark.parametrize(
    ("cycle", "regularisation", "launches", "copies"),
    [(None, 0.0, 7, 0), (None, 0.01, 7, 0), (AVERAGED, 0.0, 11, 1), (AVERAGED, 0.01, 12, 1)],
)
def test_a_lifted_step_has_twelve_launches_at_most_and_no_wait(
    cycle, regularisation, launches, copies, batch, monkeypatch, folder
):
    with pretended_gpu(monkeypatch, folder) as ledger:
        problem = lifted(kernel_problem(128, regularisation, whole=True), BATCH)
        solver = LiftedEigenPro(0.1, cycle, n_batches=N // BATCH)
        # The only operand that is copied is the batch's own square of the matrix.
        assert of_one_step(ledger, solver, problem, batch) == (launches, copies, 0)


def test_a_wait_stands_at_every_k_th_step_and_at_the_end_of_an_epoch(monkeypatch):
    with pretended_gpu(monkeypatch) as ledger, cuda.off():
        problem = lifted(kernel_problem(N, 0.0, whole=True), BATCH)
        solver = LiftedEigenPro(0.1, n_batches=10, read_every=4)
        state, waits = solver.init(problem), []
        for start in range(0, N, BATCH):
            ledger.clear()
            state = solver.step(problem, state, slice(start, start + BATCH))
            waits.append(ledger.n_synchronisations)
        assert waits == [0, 0, 0, 1, 0, 0, 0, 1, 0, 1]


# ------------------------------------------------------------------------------------------ whole fits


def fits(Estimator, monkeypatch, folder, free=2**30, **options):
    """A model of the CPU and one of the pretended GPU, with the ledger of the latter."""
    X = sample(1600, options.pop("d", 40), dtype=np.float32)
    y = np.sin(X[:, 0]) + X[:, 1]
    y = np.digitize(y, [-0.7, 0.7]) if Estimator is eigenpro_classifier else y
    options = {"bandwidth": 6.0, "random_state": 0, "max_epochs": 3, "tol": 0, "batch_size": 50} | options
    ours = Estimator(device="cpu", **options).fit(X, y)
    with pretended_gpu(monkeypatch, folder, free) as ledger:
        theirs = Estimator(device="gpu", **options).fit(X, y)
        assert ours.predict(X[:100]) == pytest.approx(theirs.predict(X[:100]), rel=1e-2, abs=1e-3)
    assert theirs.losses_ == pytest.approx(ours.losses_, rel=1e-2)
    return ours, theirs, ledger


@needs_compiler
@pytest.mark.parametrize(
    ("Estimator", "free", "stepper"),
    [
        (eigenpro_regressor, 2**30, "LiftedEigenPro"),
        (eigenpro_regressor, 12 * 2**20, "EigenPro"),
        pytest.param(eigenpro_classifier, 2**30, "LiftedEigenPro", marks=pytest.mark.slow),
    ],
)
def test_a_fit_on_a_gpu_with_room_keeps_the_matrix_whole_and_takes_lifted_steps(
    Estimator, free, stepper, monkeypatch, folder
):
    _, model, _ = fits(Estimator, monkeypatch, folder, free)
    assert model.report_["stepper"] == stepper
    assert (model.report_["kept_fraction"] == 1.0) == (stepper == "LiftedEigenPro")


def test_a_step_that_is_too_long_is_noticed_before_the_epoch_ends(monkeypatch):
    with pretended_gpu(monkeypatch), cuda.off():
        problem = lifted(kernel_problem(N, 0.0, whole=True), BATCH)
        stopping, batches = training.Stopping(2), training.Batches(N, BATCH, 0)
        run = training.train(LiftedEigenPro(50.0, n_batches=10), problem, batches, stopping)
        assert run.n_rollbacks > 0
        assert run.losses[-1] < 1.0
        with pytest.raises(DivergenceError, match="step_size=50"):
            training.train(LiftedEigenPro(50.0, n_batches=10), problem, batches, stopping, may_shrink=False)


# ------------------------------------------------------------------------------ doubly stochastic gradients


@needs_compiler
@pytest.mark.parametrize(
    ("loss", "preconditioning", "search", "launches"),
    [
        ("square", None, False, 19),
        ("square", "block", False, 29),
        ("logistic", "block", False, 29),
        # With a search: the values of the last block, and two launches and a wait for each slope.
        ("logistic", "block", True, 35),
    ],
)
def test_a_step_with_new_frequencies_waits_once(loss, preconditioning, search, launches, monkeypatch, folder):
    def run(like):
        x, y = like(sample(400, 10, dtype=np.float32)), like(np.sign(sample(400, 3, 1, np.float32)))
        features = FourierMap(kernels.Gaussian(2.0), 10, 32, seed=0)
        p = ExpansionProblem(features, losses.LOSSES[loss](), 3, x, y, None, keep_values=True)
        rule = {"line_search": True} if search else {"theta_nu": 2.0}
        solver = DoublyStochasticStepper(0.3, regularization=1e-3, preconditioning=preconditioning, **rule)
        state = solver.init(p)
        for batch in [*arrays.blocks(400, 100)] * 2:
            LEDGER.clear()
            state = solver.step(p, state, batch)
        return arrays.to_numpy(state.coefficients)

    expected = run(np.asarray)
    with pretended_gpu(monkeypatch, folder) as ledger, warnings.catch_warnings():
        warnings.simplefilter("error")
        state = run(counted)
        # The coefficients that are compared took one more of each.
        counts = ledger.n_launches - 1, ledger.synchronisations["transfer to the host"] - 1, ledger.copied_operands
    # Written operation by operation it is some 570, and three waits.
    n_slopes = ledger.synchronisations["float"]
    assert counts == (launches + 2 * n_slopes, 1, 0)
    assert (n_slopes > 0) == search
    assert state == pytest.approx(expected, rel=1e-3, abs=float(1e-4 * np.abs(expected).max()))


# ---------------------------------------------------------------------------------------- sizes of batches


@needs_compiler
def test_by_default_a_gpu_takes_eight_batches_and_comes_to_the_scores_of_a_cpu(monkeypatch, folder):
    X, new = sample(1600, 8, dtype=np.float32), sample(400, 8, 1, np.float32)
    y, expected = (np.sin(x[:, 0]) + x[:, 1] for x in (X, new))

    def fitted(device, solver):
        options = {"random_state": 0, "bandwidth": 3.0, "options": Options(device=device)}
        return KernelRidgeRegressor(solver=solver, **options).fit(X, y)

    score = fitted("cpu", EigenPro(max_epochs=4)).score(new, expected)
    with pretended_gpu(monkeypatch, folder):
        gpu, chosen = fitted("gpu", EigenPro(max_epochs=4)), fitted("gpu", EigenPro(batch_size=64, max_epochs=1))
        assert gpu.score(new, expected) == pytest.approx(score, abs=0.05)
    assert gpu.report_["batch_size"] == 200
    assert gpu.report_["stepper"] == "ConjugateResiduals"
    assert chosen.report_["batch_size"] == 64
