"""Doubly stochastic gradients: the solver against explicit sums, closed forms, and the exact kernel machine."""

import dataclasses
import math

import array_api_strict
import numpy as np
import pytest

from engine_example import naive_kernel
from expansion_example import B, C, F, N, batches, fresh, make, naive, run
from shallows import arrays, losses
from shallows.errors import ShallowsError
from shallows.solvers.expansions import doubly_stochastic
from shallows.solvers.expansions.block_policies import CheckedBlocks, UniformReuse
from shallows.solvers.expansions.doubly_stochastic import DoublyStochasticStepper, minimize_convex, stable_step

INVERTED = {"weights": True, "block_size": 4}


@pytest.mark.parametrize(
    ("solver", "step", "options"),
    [
        (DoublyStochasticStepper(3.0, regularization=0.5), lambda t: 3.0 / t, {"weights": True}),
        (DoublyStochasticStepper(3.0, regularization=0.5), lambda t: 3.0 / t, {"loss": "hinge", "form": "cosine"}),
        (DoublyStochasticStepper(3.0, regularization=0.5), lambda t: 3.0 / t, {"loss": "logistic"}),
        # θν = 2: factors −1, 0, 1/3, ...; the second wipes out all that was before.
        (DoublyStochasticStepper(4.0, regularization=0.5), lambda t: 4.0 / t, {}),
        (DoublyStochasticStepper(0.5, 0.0), lambda t: 0.5, {}),
        (DoublyStochasticStepper(0.5, 0.3), lambda t: 0.5 / (1 + 0.3 * (t - 1)), {"loss": "huber"}),
        (DoublyStochasticStepper(0.5, 0.0, 0.1, preconditioning="block", damping=3.0), lambda t: 0.5, INVERTED),
        (DoublyStochasticStepper(0.5, 0.0, 0.1, preconditioning="decoupled", damping=0.01), lambda t: 0.5, INVERTED),
    ],
)
def test_steps_are_those_of_explicit_sums(solver, step, options):
    problem = make(**options)
    state = run(solver, problem)
    A, beta = naive(problem, step, fresh, solver.regularization, 20, solver.preconditioning, solver.damping)
    tolerance = 1e-10 if solver.preconditioning else 1e-12
    assert np.abs(state.coefficients - A).max() < tolerance * max(1, np.abs(A).max())
    assert np.abs(state.traces - beta).max() < tolerance * max(1, np.abs(beta).max())
    assert (state.n_blocks, state.n_steps, state.n_reused) == (20, 20, 0)


def test_no_step_shrinks_the_function_by_more_than_a_tenth():
    solver = DoublyStochasticStepper(2.0, 0.0, 0.5, preconditioning="block", damping=1e-7)
    assert 2.0 * solver.shrinkage(16, 100) == pytest.approx(0.1)


def test_a_batch_of_few_examples_is_damped_more_and_counts_less_in_the_schedule():
    solver = DoublyStochasticStepper(
        0.5, 0.0, 1e-3, preconditioning="block", damping=1e-2, damping_of_batch=0.5, theta_nu=2.0
    )
    assert solver.damping_at(32, 10) == 0.5 * 32 / 10
    # A step of ½ then shrinks f by no more than a tenth.
    assert solver.damping_at(32, 10**6) == pytest.approx(0.5 * 1e-3 * 32 / 0.1)
    assert solver.shrinkage(32, 10) == 32 * 1e-3 / 1.6
    problem = make(block_size=4)
    few, many = (run(solver, problem, 9, size=size) for size in (3, 60))
    assert few.shrunk == pytest.approx(9 * solver.shrinkage(4, 3))
    assert many.shrunk == pytest.approx(9 * solver.shrinkage(4, 60))
    assert few.shrunk < many.shrunk
    assert few.last_step > many.last_step


def test_what_is_seen_in_training_is_what_is_predicted_to_the_bit():
    problem = make()
    state = run(DoublyStochasticStepper(2.0), problem)
    seen = state.values(problem, problem.points[batches(1)[0]])
    elsewhere = dataclasses.replace(problem, features=dataclasses.replace(problem.features, cache_bytes=0))
    assert np.array_equal(state.values(elsewhere, problem.points[batches(1)[0]]), seen)


def test_one_block_used_again_and_again_is_gradient_descent_with_weight_decay_on_it():
    problem = make()
    state = run(DoublyStochasticStepper(0.4, 0.0, 0.2, policy=UniformReuse(1, 10**9)), problem, 30)
    assert state.n_blocks == 1
    A = np.zeros((16, C))
    for batch in batches(30):
        Phi = problem.features.block(0, problem.points[batch])
        A = (1 - 0.4 * 0.2) * A - 0.4 * Phi.T @ (Phi @ A - problem.targets[batch]) / (B * F)
    assert np.abs(state.coefficients[0] - A).max() < 1e-13


def test_decay_costs_no_pass_over_the_coefficients():
    problem = make()
    state = run(DoublyStochasticStepper(0.1, 0.0, 0.1), problem, 5)
    before, coefficients = state.buffer[:5].copy(), state.coefficients.copy()
    state.decay(0.9)
    assert np.array_equal(state.buffer[:5], before)
    # Nor does it lose digits in the long run: the common factor is multiplied in before it underflows.
    for _ in range(400):
        state.decay(0.9)
    assert 1e-7 < abs(state.scale) <= 1.0
    assert np.abs(state.coefficients / (coefficients * 0.9**401) - 1).max() < 1e-12


# ------------------------------------------------------------------------------------ steps by the next batch


def test_a_step_is_settled_to_the_one_that_serves_the_next_batch_best():
    problem = make("logistic")
    solver = DoublyStochasticStepper(50.0, line_search=True)
    state = run(solver, problem, 4)
    direction, block, used = state.direction.copy(), state.direction_block, state.last_step
    batch = batches(5)[4]
    x, y = problem.points[batch], problem.targets[batch]
    start = state.values(problem, x) - used * problem.features.block(block, x) @ direction
    change = problem.features.block(block, x) @ direction
    grid = np.linspace(0, 50, 5001)
    totals = [problem.loss.value(start + s * change, y).sum() for s in grid]
    state = solver.step(problem, state, batch)
    assert state.loss == pytest.approx(min(totals), rel=1e-4)


@pytest.mark.parametrize("guess", [0.0, 1e-3, 1.0, 7.0, 100.0])
def test_a_convex_function_is_made_least(guess):
    assert minimize_convex(lambda s: 2 * s - 6, 100.0, guess) == pytest.approx(3.0, rel=1e-12)
    assert minimize_convex(lambda s: math.tanh(s - 3), 100.0, guess) == pytest.approx(3.0, abs=2e-3)
    assert minimize_convex(lambda s: s + 1, 100.0, guess) == 0.0
    assert minimize_convex(lambda s: s - 200, 100.0, guess) == 100.0
    assert minimize_convex(lambda s: math.copysign(1.0, s - 3), 100.0, guess) == pytest.approx(3.0, rel=0.01)


def test_the_stable_step_is_stable_and_ten_times_it_is_not():
    problem = make(n=200, c=1)
    problem = dataclasses.replace(problem, targets=np.sin(problem.points[:, :1]))
    K = naive_kernel("gaussian", 2.0, problem.points, problem.points)
    step = stable_step(problem.loss, np.linalg.eigvalsh(K / 200)[-1], B, F, preconditioned=False)
    start = float((problem.targets**2).mean())
    for factor, stable in ((1.0, True), (10.0, False)):
        solver = DoublyStochasticStepper(factor * step, 0.0)
        state = run(solver, problem, 60)
        error = float(((state.values(problem, problem.points) - problem.targets) ** 2).mean())
        assert (error < start) == stable


@pytest.mark.parametrize(("loss", "smoothness"), [("square", 1.0), ("logistic", 0.25), ("hinge", 1.0)])
def test_the_stable_step_counts_the_noise_of_examples_and_features(loss, smoothness):
    plain = stable_step(losses.make(loss), 0.3, 12, 8, preconditioned=False, size=2.0, moment=3.0)
    assert plain == pytest.approx(1 / (smoothness * (0.3 + 2 / 12 + 2 * 3 / 8)))
    assert stable_step(losses.make(loss), 0.3, 12, 8, preconditioned=True) == pytest.approx(
        1 / smoothness / (1 + 16 / 12)
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_a_stream_adds_its_targets_to_the_counts_of_the_intercept(weighted):
    problem = dataclasses.replace(make("logistic", weights=weighted), counts=np.array([1.0, 2.0, 3.0, 4.0]))
    batch, state = problem.take(slice(0, 5)), DoublyStochasticStepper(1.0).init(problem)
    state.count(batch)
    w = batch.weights[:, 0] if weighted else np.ones(5)
    assert state.counts == pytest.approx([*(np.array([1.0, 2.0]) + w @ batch.targets), 3.0 + w.sum(), 9.0])


def test_a_step_that_is_settled_begins_where_the_last_one_did(monkeypatch):
    best, nu = [], 0.3
    monkeypatch.setattr(
        doubly_stochastic, "minimize_convex", lambda *given: best.append(minimize_convex(*given)) or best[-1]
    )
    problem, solver = make("logistic"), DoublyStochasticStepper(2.0, regularization=nu, line_search=True)
    state, before, direction = solver.init(problem), None, None
    for batch in batches(6):
        state = solver.step(problem, state, batch)
        if best:
            last = best[-1] * direction[None]
            before = last if before is None else np.concatenate([(1 - best[-1] * nu) * before, last])
        direction, s = state.direction, state.last_step
        step = s * direction[None]
        expected = step if before is None else np.concatenate([(1 - s * nu) * before, step])
        assert np.abs(state.coefficients - expected).max() < 1e-13
    assert len(best) == 5 and len(set(best)) > 1


@pytest.mark.parametrize("policy", [UniformReuse(1, 0), UniformReuse(1, 2)], ids=["fresh", "re-used"])
def test_values_that_are_kept_of_a_set_are_those_of_the_function(policy):
    solver, problem = DoublyStochasticStepper(2.0, regularization=0.3, policy=policy), make("logistic")
    keeps = dataclasses.replace(problem, keep_values=True)
    plain, kept = run(solver, problem, 40), run(solver, keeps, 25)
    resumed = solver.init(keeps)
    resumed.recall(*kept.remember())
    for state in (kept, resumed):
        state = run(solver, keeps, 40, state, 25)
        assert np.abs(state.coefficients - plain.coefficients).max() < 1e-12 * np.abs(plain.coefficients).max()


def test_the_mean_loss_of_the_zero_function_is_for_as_many_rows_as_the_last_batch_has():
    state = DoublyStochasticStepper(1.0).init(make())
    state.observe_zero_loss(6.0, 3)
    state.observe_zero_loss(10.0, 5)
    assert (state.zero_loss, state.mean_zero_loss) == (10.0, 16.0 / 8 * 5)


# ------------------------------------------------------------------------------------------ novelty


def test_the_offset_is_the_quantile_and_the_gradient_has_mean_minus_one():
    problem = dataclasses.replace(make(c=1), loss=losses.make("novelty", fraction=0.3), targets=None)
    state = run(DoublyStochasticStepper(1.0, regularization=1.0), problem, 5)
    scores = state.values(problem, problem.points)
    targets = state.targets_for(problem, problem.take(slice(0, N)), scores)
    below = float((scores < state.offset).mean())
    assert below <= 0.3 <= float((scores <= state.offset).mean())
    G = state.gradient(problem, scores, targets)
    assert G.mean() == pytest.approx(-1.0, abs=1e-12)
    assert G.max() <= 0
    assert G.min() >= -1 / 0.3 - 1e-12
    # With θν = 1 the traces are a mean: they add up to the dual's, Σ α = 1.
    assert state.traces.sum() == pytest.approx(1.0, abs=1e-12)


# ------------------------------------------------------------------------------------------ states

SOLVERS = {
    "dsg": DoublyStochasticStepper(2.0, regularization=0.3),
    "udsg": DoublyStochasticStepper(2.0, regularization=0.3, policy=UniformReuse(1, 2)),
    "cdsg": DoublyStochasticStepper(2.0, regularization=0.3, policy=CheckedBlocks(0.01)),
    "settled": DoublyStochasticStepper(
        4.0, regularization=1e-3, preconditioning="block", damping=1e-3, line_search=True
    ),
    "settled decoupled": DoublyStochasticStepper(
        4.0, regularization=1e-2, preconditioning="decoupled", damping=1e-3, line_search=True
    ),
    "settled cdsg": DoublyStochasticStepper(
        4.0, policy=CheckedBlocks(0.01), preconditioning="block", damping=1e-3, line_search=True
    ),
}


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_a_state_that_was_kept_goes_on_to_the_same_to_the_bit(solver):
    problem = make("logistic")
    whole = run(solver, problem)
    half = run(solver, problem, 11)
    held, numbers = half.remember()
    other = solver.init(problem)
    other.recall({name: part.copy() for name, part in held.items()}, dict(numbers))
    other = run(solver, problem, 20, state=other, start=11)
    assert np.array_equal(other.coefficients, whole.coefficients)
    assert other.remember()[1] == whole.remember()[1]


def test_what_is_kept_does_not_change_with_the_steps_that_follow():
    problem = make()
    state = run(SOLVERS["settled"], problem, 5)
    held, _ = state.remember()
    copies = {name: part.copy() for name, part in held.items()}
    run(SOLVERS["settled"], problem, 20, state=state, start=5)
    assert all(np.array_equal(held[name], copies[name]) for name in held)


@pytest.mark.parametrize(
    ("solver", "form"), [*((solver, "pair") for solver in SOLVERS.values()), (SOLVERS["settled"], "cosine")]
)
def test_steps_are_the_same_on_another_array_library(solver, form):
    one = run(solver, make("logistic", form=form))
    other = run(solver, make("logistic", form=form, xp=array_api_strict))
    assert one.n_blocks == other.n_blocks
    assert np.abs(one.coefficients - arrays.to_numpy(other.coefficients)).max() < 1e-8
    moved = other.to(arrays.Device("cpu"))
    assert np.abs(moved.coefficients - one.coefficients).max() < 1e-8


def test_an_unknown_preconditioning_is_refused():
    with pytest.raises(ShallowsError, match="preconditioning must be None, 'block' or 'decoupled'"):
        DoublyStochasticStepper(1.0, preconditioning="whole")
