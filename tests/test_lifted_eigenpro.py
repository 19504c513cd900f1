"""EigenPro with the flattened directions' coefficients in addition to the points', against `EigenPro` itself."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import cuda_on_cpu
from counted_arrays import counted
from engine_example import PLENTY, problem
from pretended_gpu import pretended_gpu
from shallows import arrays, training
from shallows.gpu import cuda
from shallows.gpu.fused_expressions import FusedExpression
from shallows.gram.whole import WholeGram
from shallows.solvers.least_squares import lifted_eigenpro
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.solvers.least_squares.lifted_eigenpro import LiftedEigenPro, lifted
from shallows.solvers.least_squares.step_rules import Cycle

N, BATCH = 60, 12
BATCHES = training.Batches(N, BATCH, 0)
AVERAGED = Cycle(2, (), (1.0, 0.7), memory=4.0)


def both(cycle=None, *, weights=False, regularisation=0.0, whole=True, read_every=3, **options):
    """The plain and the lifted solver, each with its problem."""
    p = problem(rank=7, n_subsample=25, weights=weights, tile=16, **options)
    plain = replace(p.problem, regularization=regularisation)
    if whole:
        plain = replace(plain, gram=WholeGram(p.kernel, p.problem.gram.points, budget=PLENTY, tile=16))
    step = p.preconditioner.step_size(BATCH)
    fast = LiftedEigenPro(step, cycle, n_batches=len(BATCHES), read_every=read_every)
    return (EigenProStepper(step, cycle), plain), (fast, lifted(plain, BATCH))


@pytest.mark.parametrize(
    ("cycle", "weights", "regularisation", "whole"),
    [(None, False, 0.0, True), (AVERAGED, True, 0.1, False), (AVERAGED, False, 0.1, True), (None, True, 0.0, False)],
)
def test_the_iterates_are_those_of_eigenpro(cycle, weights, regularisation, whole):
    plain, fast = (
        training.train(solver, p, BATCHES, training.Stopping(6))
        for solver, p in both(cycle, weights=weights, regularisation=regularisation, whole=whole)
    )
    assert fast.state.coefficients == pytest.approx(plain.state.coefficients, rel=1e-11, abs=1e-13)
    assert fast.losses == pytest.approx(plain.losses, rel=1e-12)


def test_outputs_with_weights_of_their_own_are_those_of_eigenpro():
    (plain, p), (fast, _) = both(AVERAGED, regularisation=0.1)
    weights = np.ones((N, 2))
    weights[40:, 1] = 0.0  # rows that are held out of the second output, outside the subsample
    p = replace(p, weights=weights)
    runs = [training.train(s, q, BATCHES, training.Stopping(4)) for s, q in ((plain, p), (fast, lifted(p, BATCH)))]
    assert runs[1].state.coefficients == pytest.approx(runs[0].state.coefficients, rel=1e-11, abs=1e-13)
    assert runs[1].losses == pytest.approx(runs[0].losses, rel=1e-12)


@pytest.mark.parametrize("there_and_back", [False, True])
def test_a_checkpoint_in_the_middle_of_an_epoch_serves_both_forms(there_and_back):
    plain, fast = both(AVERAGED, regularisation=0.1)
    (first, p), (second, q) = (fast, plain) if there_and_back else (plain, fast)
    state, whole = first.init(p), first.init(p)
    for batch in BATCHES.of_epoch(0)[:4]:
        state, whole = first.step(p, state, batch), first.step(p, whole, batch)
    gone_on = second.init(q)
    gone_on.recall(*state.remember())
    for batch in [*BATCHES.of_epoch(0)[4:], *BATCHES.of_epoch(1)]:
        gone_on, whole = second.step(q, gone_on, batch), first.step(p, whole, batch)
    assert gone_on.coefficients == pytest.approx(whole.coefficients, rel=1e-11, abs=1e-13)


def test_losses_that_wait_on_the_device_survive_a_checkpoint():
    _, (solver, p) = both(read_every=100)
    runs = []
    for kept in (False, True):
        state, told = solver.init(p), []
        for k, batch in enumerate(BATCHES.of_epoch(0)):
            state = solver.step(p, state, batch)
            told.append(state.monitored())
            if kept and k == 2:
                held, numbers = state.remember()
                state = solver.init(p)
                state.recall(held, numbers)
        runs.append(told)
        assert told[:4] == [(0.0, 0.0)] * 4
    assert runs[1][4] == pytest.approx(runs[0][4], rel=1e-12)
    assert runs[0][4][1] == pytest.approx(np.sum(p.targets**2))


# --------------------------------------------------------------------------------- the text of the expressions

EXPRESSIONS = [lifted_eigenpro.residuals, lifted_eigenpro.bounded_move, lifted_eigenpro.move]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("expressions")


@pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason="there is no g++")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda expression: expression.name)
def test_the_text_gives_what_the_plain_expression_gives(expression, dtype, monkeypatch, folder):
    draw = np.random.default_rng(1)
    # Both signs, so that steps are bounded and are not.
    inputs = [draw.normal(size=shape).astype(dtype) for shape in expression.example]
    into = [draw.normal(size=(5, 3)).astype(dtype) for _ in expression.outputs]
    plain = [part.copy() for part in into]
    expression(*(part if part.ndim else float(part) for part in inputs), into=tuple(plain))
    with pretended_gpu(monkeypatch, folder) as ledger, warnings.catch_warnings():
        warnings.simplefilter("error")
        there = [counted(part) for part in into]
        expression._kernel(there[0])
        ledger.clear()
        expression(*(counted(part) if part.ndim else float(part) for part in inputs), into=tuple(there))
        assert ledger.n_launches == 1
    for made, expected in zip(there, plain, strict=True):
        np.testing.assert_allclose(made.held, expected, rtol=64 * np.finfo(dtype).eps, atol=64 * np.finfo(dtype).eps)


@pytest.mark.skipif(cuda_on_cpu.COMPILER is None, reason="there is no g++")
@pytest.mark.parametrize("operation", ["y = x * x + x", "y = no_such_thing(x)"], ids=["other numbers", "not C"])
def test_a_text_that_is_wrong_is_given_up_with_a_warning(operation, monkeypatch, folder):
    def plain(x, y):
        y[...] = x * x

    expression = FusedExpression("square", ("x",), ("y",), operation, plain, ((5, 3),))
    with pretended_gpu(monkeypatch, folder), pytest.warns(RuntimeWarning, match="CUDA function"):
        x, y = counted(np.full((5, 3), 3.0)), counted(np.zeros((5, 3)))
        expression(x, into=(y,))
        assert np.all(arrays.to_numpy(y) == 9.0)
        with cuda.off():
            expression(x, into=(y,))
