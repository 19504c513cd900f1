"""Which block a step moves: re-use of old blocks by UDSG and CDSG, against explicit sums and closed forms."""

import dataclasses

import numpy as np
import pytest

from engine_example import sample
from expansion_example import B, make, naive, run
from shallows import kernels, losses, streams
from shallows.errors import ShallowsError
from shallows.features import FourierMap
from shallows.solvers.examples import Examples
from shallows.solvers.expansions.block_policies import CheckedBlocks, CheckedReuse, UniformReuse, admitted_steps
from shallows.solvers.expansions.doubly_stochastic import DoublyStochasticStepper, feature_variance
from shallows.solvers.expansions.expansion import ExpansionState

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


def test_the_variance_of_the_features_is_that_of_its_definition():
    # Pair form, one frequency: Var over ω and x of cos ω(x − z) − k, against draws of both.
    features = FourierMap(kernels.make("gaussian", 2.0), 2, 1, seed=0)
    x = sample(2000, 2)
    found = feature_variance(features, x, n_points=500, n_blocks=400)
    rng = np.random.default_rng(1)
    omega, points, z = rng.normal(size=(400, 2)) / 2.0, rng.normal(size=(500, 2)), rng.normal(size=(50, 2))
    difference = points[:, None, :] - z[None, :, :]
    k = np.exp(-(difference**2).sum(axis=2) / 8)
    expected = np.mean([(np.cos(difference @ w) - k).var(axis=0).mean() for w in omega])
    assert found == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("reuse", [UniformReuse(0, 1), UniformReuse(1, -1), CheckedReuse(0.5), CheckedReuse(2.0, 0.0)])
def test_rounds_without_a_fresh_step_and_caps_below_the_plain_step_are_refused(reuse):
    with pytest.raises(ShallowsError, match=r"(fresh|reused|cap|gradient_bound) must be a"):
        reuse.check()


@pytest.mark.parametrize(("G", "U"), [(1, 1), (2, 1), (1, 3), (3, 2)])
def test_uniform_re_use_has_the_features_that_its_rounds_give(G, U):
    problem, t = make(), 23
    state = run(DoublyStochasticStepper(1.0, policy=UniformReuse(G, U)), problem, t)
    assert state.n_blocks == G * (t // (G + U)) + min(G, t % (G + U))
    assert state.n_reused == t - state.n_blocks


def test_old_blocks_are_drawn_uniformly():
    state = ExpansionState(np.zeros((7, 1, 1)), np.zeros((7, 1)), 1.0, n_blocks=7)
    for seed, t in [(3, 2), (3, 4), (4, 2), (4, 4)]:
        state.n_steps = t
        drawn = int(streams.integers(seed, "reuse", t - 1, 1)[0] % 7)
        assert UniformReuse(1, 1).choose(state, 0.5, None, 1, seed) == (drawn, 0.5)
    counts = np.zeros(7)
    for i in range(1, 14001, 2):
        state.n_steps = i + 1
        counts[UniformReuse(1, 1).choose(state, 1.0, None, 1, 3)[0]] += 1
    # χ² with 6 degrees of freedom exceeds 22.5 once in a thousand; the draws are fixed.
    assert ((counts - 1000) ** 2 / 1000).sum() < 22.5
