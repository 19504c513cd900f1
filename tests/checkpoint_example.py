"""A small training that can be stopped and gone on with, and what has to be the same then."""

import numpy as np

from engine_example import problem
from shallows.solvers.least_squares.eigenpro import EigenProStepper
from shallows.training import Batches, Curve, Stopping, train
from training_example import SIZE


def solve(checkpoint=None, observers=(), *, seed=1, solver=None, stopping=None, marks=(1, 2, 3), weights=False):
    """EigenPro on a small problem; the run and the rows of its curve."""
    p = problem(rank=5, n_subsample=30, weights=weights)
    curve = Curve(marks, lambda snapshot: {"norm": np.linalg.norm(snapshot.coefficients)})
    run = train(
        solver or EigenProStepper(p.preconditioner.step_size(SIZE)),
        p.problem,
        Batches(60, SIZE, seed),
        stopping or Stopping(max_epochs=3),
        observers=[curve, *observers],
        checkpoint=checkpoint,
    )
    return run, [{name: row[name] for name in ("epoch", "iteration", "norm")} for row in curve.rows]


def assert_the_same(one, other):
    (run, rows), (run2, rows2) = one, other
    assert np.array_equal(run.state.coefficients, run2.state.coefficients)
    for name in ("losses", "iteration", "epoch", "stopped_by", "n_rollbacks", "validation_errors"):
        assert getattr(run, name) == getattr(run2, name), name
    assert run.state.step_size == run2.state.step_size
    assert rows == rows2
