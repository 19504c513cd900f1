"""Which block a step moves: re-use of old blocks by UDSG and CDSG, against explicit sums and closed forms."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from expansion_example import B, make, naive, run
from shallows import losses
from shallows.errors import ShallowsError
from shallows.solvers.examples import Examples
from shallows.solvers.expansions.block_policies import CheckedBlocks, UniformReuse, admitted_steps
from shallows.solvers.expansions.doubly_stochastic import DoublyStochasticStepper

# ------------------------------------------------------------------------------------- UDSG


# ------------------------------------------------------------------------------------- CDSG


@pytest.mark.parametrize(
    "policy",
    [CheckedBlocks(0.1, cap=1.0), CheckedBlocks(1e12, gradient_bound=1e6)],
    ids=["cap of one", "infinite noise"],
)
def test_checking_that_admits_no_longer_step_is_dsg_to_the_bit(policy):
    problem = make("logistic")
    one = run(DoublyStochasticStepper(2.0, regularization=0.3), problem)
    other = run(DoublyStochasticStepper(2.0, regularization=0.3, policy=policy), problem)
    assert other.n_reused == 0
    assert np.array_equal(one.coefficients, other.coefficients)


def test_the_admitted_step_meets_its_inequality_with_equality():
    rng = np.random.default_rng(0)
    beta, g, gamma, c = rng.normal(size=(200, 3)), rng.normal(size=3), 0.3, 0.2
    steps = admitted_steps(beta, g, gamma, c)
    assert 20 < (steps > 0).sum() < 200

    def excess(s):
        left = 2 * ((beta - s[:, None] * g) ** 2).sum(axis=1) + 2 * s**2 * c
        return left - (beta**2).sum(axis=1) - gamma**2 * (g**2).sum()

    admitted = steps > 0
    assert np.abs(excess(steps)[admitted]).max() < 1e-12
    assert excess(steps * 1.001)[admitted].min() > 0
    # Where none is admitted, none is: on a fine grid of steps.
    assert min(excess(np.full(200, s))[~admitted].min() for s in np.linspace(1e-6, 5, 500)) > 0


def test_the_noise_term_is_that_of_the_errata_or_of_equation_9_as_printed():
    M, variance, B = 1.5, 0.4, 10
    for product_bound, corrected in ((2.0, 2 / 4), (3.0, 2 / 9)):
        policy = CheckedBlocks(variance, M, product_bound=product_bound)
        assert policy.noise_term(None, B) == pytest.approx(corrected * M**2 * variance / B, rel=1e-14)
        printed = dataclasses.replace(policy, noise="printed")
        assert printed.noise_term(None, B) == pytest.approx(M**2 * variance / B**2, rel=1e-14)
    with pytest.raises(ShallowsError, match="noise must be one of 'corrected', 'printed'"):
        CheckedBlocks(variance, noise="C8")


@pytest.mark.parametrize("policy", [UniformReuse(1, 1), CheckedBlocks(0.01, cap=1.5)], ids=["uniform", "checked"])
def test_re_use_takes_the_steps_of_explicit_sums(policy):
    problem, chosen, lengths = make("logistic"), [], []

    class Watched:
        def choose(self, state, *args):
            block, s = policy.choose(state, *args)
            chosen.append(state.n_blocks if block is None else block)
            lengths.append(s)
            return block, s

    state = run(DoublyStochasticStepper(2.0, 1.0, 0.3, policy=Watched(), seed=4), problem)
    A, beta = naive(problem, lambda t: lengths[t - 1], lambda i, m: chosen[i], 0.3, 20)
    assert 0 < state.n_reused < 20
    assert state.n_blocks + state.n_reused == 20
    longest = 1.5 if isinstance(policy, CheckedBlocks) else 1.0
    assert all(s <= longest * 2.0 / t * (1 + 1e-12) for t, s in enumerate(lengths, start=1))
    assert np.abs(state.coefficients - A).max() < 1e-12
    assert np.abs(state.traces - beta).max() < 1e-12


def test_a_batch_without_violations_re_uses_nothing_and_only_decays():
    problem = make("hinge")
    solver = DoublyStochasticStepper(0.5, 0.0, 0.2, policy=CheckedBlocks(0.01))
    state = run(solver, problem, 3)
    before, n = state.values(problem, problem.points), state.n_blocks
    easy = Examples(problem.points[:B], np.sign(before[:B]) + 0.0)
    scaled = dataclasses.replace(problem, loss=losses.make("hinge"))
    state.buffer *= 1e6 / np.abs(before[:B]).min()  # All margins far above one.
    before = state.values(problem, problem.points)
    state = solver.step(scaled, state, easy)
    assert (state.n_blocks, state.n_reused) == (n + 1, state.n_reused)
    assert np.all(state.coefficients[-1] == 0)
    assert np.abs(state.values(problem, problem.points) - 0.9 * before).max() < 1e-9 * np.abs(before).max()
