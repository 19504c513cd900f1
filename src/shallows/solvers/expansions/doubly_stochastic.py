"""Doubly stochastic gradients: DSG, UDSG and CDSG in block and multi-output form, as one solver with a policy.

A step takes a batch of B examples and one block of F random features, new or old, with values Φ:

    f ← (1 − s ν) f − s · (1/(BF)) block(k, ·) Φᵀ ℓ'(f(X), Y).

A preconditioned step, with ε = F η, κ = ν/η and the weights W of the examples, is (docs/methods/doubly_stochastic.md)

    f ← (1 − s κ) f − s · block(k, ·) (ΦᵀWΦ/B + ε I)⁻¹ ΦᵀW (ℓ' − κ f)/B.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from ... import arrays
from ...arrays import Array
from ...errors import ShallowsError
from ...features import block_sums
from ...gpu.fused_expressions import fused
from ..examples import Examples
from ..settings import (
    Checked,
    Settings,
    at_least_zero,
    choice,
    chosen,
    count,
    flag,
    object_or_name,
    positive,
    setting,
)
from .batch_losses import observe, slope_along
from .block_policies import REUSE, CheckedReuse, Fresh, UniformReuse
from .expansion import ExpansionProblem, ExpansionState
from .growing_expansion import add

PRECONDITIONINGS = (None, "block", "decoupled")

MOST_SHRINKAGE = 0.1  # share of f by which the longest step may shrink it


@dataclass(frozen=True)
class DecayingStep(Checked):
    """Steps of step_size/(1 + decrease (t − 1)).

    Parameters
    ----------
    decrease : float
        The default is the value of the authors' release.
    """

    decrease: float = setting(at_least_zero(1e-4))
    name = "decay"


@dataclass(frozen=True)
class TheoryStep(Checked):
    """Steps of θ/(t + t₀), which tend to those of the theory; t₀ makes the first one stable.

    Parameters
    ----------
    theta_nu : float, optional
        θν: in (1, 2) or a positive whole number. None: 2 with preconditioning, otherwise 1.
    """

    theta_nu: float | None = setting(positive())
    name = "theory"


SCHEDULES: dict[str, type[Checked]] = {"decaying_step": DecayingStep, "theory_step": TheoryStep}
"""What ``schedule`` may be besides a name of its own."""


@dataclass(frozen=True)
class DoublyStochastic(Settings):
    """Doubly stochastic gradients: each step draws a batch of rows and a block of random features.

    Parameters
    ----------
    schedule : {"auto", "line_search", "constant"}, DecayingStep or TheoryStep
        Steps. "auto": ``TheoryStep()`` with preconditioning and λ > 0, otherwise "line_search", the best step for the
        next batch.
    step_size : float, optional
        First step, or the longest of the line search. None: from the smoothness of the loss or the stability edge.
    reuse : "fresh", UniformReuse or CheckedReuse
        Block that a step moves. "fresh": a new one (DSG). The others sometimes take an old one (UDSG, CDSG).
    preconditioning : {"auto", "block", "decoupled", None}
        "block": invert the covariance of a block. "decoupled": only for the gradient of the loss, as in the authors'
        release; the solution then depends on the damping. "auto": "block", for novelty None.
    damping : float, optional
        Added to the diagonal of the covariance. None: from F, λ and the loss, see the method guide.
    block_size : int, optional
        F, frequencies of a block. None: n/32 rounded up to a power of two, from 32 to 1,024.
    batch_size : int, optional
        B, rows of a step. None: five for each column of a block; in ``partial_fit`` n/10, and one for each column.
    form : {"pair", "cosine"}
        Cosines and sines, or cosines with random phases, for kernels with frequencies.
    orthogonal : bool
        Make the frequencies of a block orthogonal.
    keep_values : bool
        ``fit`` keeps f at the training points (n × c numbers), so that a repeated batch needs only the new blocks.
    n_iter, max_epochs : int, optional
        Most steps and passes. If both are None: ten passes, and at least 200 steps (large data: 50).

    Examples
    --------
    >>> from shallows import DoublyStochasticClassifier
    >>> from shallows.solvers import DoublyStochastic, UniformReuse
    >>> model = DoublyStochasticClassifier(solver=DoublyStochastic(reuse=UniformReuse(fresh=1, reused=2)))
    """

    schedule: str | DecayingStep | TheoryStep = setting(object_or_name(SCHEDULES, "auto", "line_search", "constant"))  # noqa: RUF009
    step_size: float | None = setting(positive())
    reuse: str | UniformReuse | CheckedReuse = setting(object_or_name(REUSE, "fresh"))  # noqa: RUF009
    preconditioning: str | None = setting(choice("auto", "block", "decoupled", None))
    damping: float | None = setting(at_least_zero())
    block_size: int | None = setting(count())
    batch_size: int | None = setting(count())
    form: str = setting(choice("pair", "cosine"))
    orthogonal: bool = setting(flag())
    keep_values: bool = setting(flag(True))
    n_iter: int | None = setting(count())
    max_epochs: int | None = setting(count())

    takes_sparse: ClassVar[bool] = False  # Random features are made of dense rows.
    is_online: ClassVar[bool] = True
    takes_ranks: ClassVar[bool] = True

    def for_targets(self) -> Self:
        """The settings for a loss with targets, with objects in place of names."""
        preconditioning = "block" if self.preconditioning == "auto" else self.preconditioning
        return replace(self, **self._objects(), preconditioning=preconditioning)

    def for_novelty(self) -> Self:
        """The settings for novelty detection. With free steps f and ρ would grow together forever."""
        objects = self._objects()
        for name, right, expected in (
            ("schedule", self.schedule == "auto" or isinstance(objects["schedule"], TheoryStep), "TheoryStep()"),
            ("preconditioning", self.preconditioning in ("auto", None), "None"),
            ("step_size", self.step_size is None, "None"),
        ):
            if not right:
                raise ShallowsError(
                    f"{name} must be {expected} for novelty detection, got {getattr(self, name)!r}: the function and "
                    "its offset would grow together without end."
                )
        schedule = TheoryStep() if self.schedule == "auto" else objects["schedule"]
        return replace(self, schedule=schedule, reuse=objects["reuse"], preconditioning=None, damping=0.0)

    def _objects(self) -> dict[str, Any]:
        return {name: chosen(self, name) for name in ("schedule", "reuse")}

    def sizes(self, n: int, *, in_pairs: bool) -> tuple[int, int]:
        """F and B for n rows: five examples for each column of a block; features ``in_pairs`` have two columns."""
        columns = 2 if in_pairs else 1
        F = self.block_size or min(1024, max(32, 2 ** math.ceil(math.log2(max(1.0, n / 32))))) * 2 // columns
        return F, min(n, self.batch_size or min(n, 5 * columns * F))


@dataclass(frozen=True)
class DoublyStochasticStepper:
    """Doubly stochastic gradient descent in the space of a kernel, for the objective E ℓ + ν/2 ‖f‖².

    The step of iteration t is γ_t = γ₁ / (1 + ρ (t − 1)): θ/t of the theory for ρ = 1 (θ = γ₁), θ/(t + t₀) for ρ =
    γ₁/θ, a constant for ρ = 0. Sources: B. Dai, B. Xie, N. He, Y. Liang, A. Raj, M.-F. Balcan and L. Song (2014), NIPS
    27; C.-L. Li and B. Póczos (2016), UAI (reuse of blocks).
    """

    step_size: float  # γ₁; with ``line_search`` the largest step
    decrease: float = 1.0  # ρ ≥ 0
    regularization: float = 0.0  # ν ≥ 0
    policy: Any = field(default_factory=Fresh)  # which block a step moves, see `block_policies`
    # "block" is the preconditioned step above. "decoupled" fits the block to ℓ' and shrinks f by s ν, as the release of
    # Dai et al. does; its fixed point depends on ε. With ν = 0 they are the same.
    preconditioning: str | None = None
    # ε; "block" increases it if a step would shrink f by more than a tenth, which a single block has to restore
    damping: float = 1e-7
    # Use the best step of a block for the next batch, whose examples did not determine the block's coefficients; it is
    # a convex problem in one variable, and needs no schedule
    line_search: bool = False
    seed: int = 0  # for the draws of `UniformReuse`
    # c: ε is at least c F/B, because a batch cannot separate directions with an eigenvalue below c/B from noise
    damping_of_batch: float = 0.0
    # θν: γ_t = γ₁ / (1 + γ₁ Σ_{i<t} κᵢ / θν), so that γ_t κ_t tends to θν/t for batches of equal size, and every
    # example has an equal share in f for others
    theta_nu: float | None = None
    # Rows of a batch of the fit. On b rows of a stream, if they are fewer, a step is √(b/full_batch) γ_t, because few
    # rows have more noise. 0: every step is γ_t
    full_batch: int = 0

    def __post_init__(self) -> None:
        if self.preconditioning not in PRECONDITIONINGS:
            raise ShallowsError(f"preconditioning must be None, 'block' or 'decoupled', got {self.preconditioning!r}.")

    def init(self, problem: ExpansionProblem) -> ExpansionState:
        return ExpansionState.zero(problem, self.step_size)

    def step(self, problem: ExpansionProblem, state: ExpansionState, batch: slice | Examples) -> ExpansionState:
        examples = problem.take(batch)
        if examples is batch:
            state.count(examples)
        x, (known, rows) = examples.points, (state.known, batch) if isinstance(batch, slice) else (None, slice(0))
        scores = state.values(problem, x) if known is None else known.at(state, problem, rows)
        if self.line_search and state.direction is not None:
            scores = self._settle(problem, state, examples, scores)
        if known is not None:
            known.note(state, rows, scores)

        shrinkage = self.shrinkage(problem.features.block_size, x.shape[0])
        seen = observe(problem, state, examples, scores, shrinkage if self.preconditioning == "block" else 0.0)
        state.n_steps += 1
        state.loss = seen.loss
        state.observe_zero_loss(seen.zero_loss, x.shape[0])
        state.gradient_square += (seen.gradient_square - state.gradient_square) / state.n_steps
        gamma = self.step_at(state, shrinkage)
        if examples is batch and x.shape[0] < self.full_batch:
            gamma *= math.sqrt(x.shape[0] / self.full_batch)
        g = seen.mean_gradient
        block, s = self.policy.choose(state, gamma, g, x.shape[0], self.seed)
        # An old block may have a longer step, but no step shrinks f by more than f.
        s = min(s, 1.0 / shrinkage) if shrinkage > 0 and self.preconditioning else s
        direction = self._direction(problem, state.n_blocks if block is None else block, examples, seen.less_function)
        state.decay(1.0 - s * shrinkage)
        if block is None:
            block = state.grow(direction, s, g)
        else:
            state.add(block, direction, s, g)
            state.n_reused += 1
        state.last_step = s
        state.shrunk += shrinkage
        if self.line_search:
            state.direction, state.direction_block, state.direction_shrinkage = direction, block, shrinkage
        return state

    def step_at(self, state: ExpansionState, kappa: float = 0.0) -> float:
        """γ of the current iteration, in which a step of size 1 shrinks f by ``kappa``."""
        if self.line_search:
            return min(state.last_step if state.n_steps > 1 else 0.5 * state.step_size, self._longest(state, kappa))
        if self.theta_nu is not None:
            return state.step_size / (1.0 + state.step_size * state.shrunk / self.theta_nu)
        return state.step_size / (1.0 + self.decrease * (state.n_steps - 1))

    @staticmethod
    def _longest(state: ExpansionState, kappa: float) -> float:
        """The longest step of a search, after which the earlier function can still be computed."""
        return min(state.step_size, 0.5 / kappa) if kappa > 0 else state.step_size

    def damping_at(self, block_size: int, batch_size: int) -> float:
        """ε of a step with F frequencies and B examples."""
        damping = max(self.damping, self.damping_of_batch * block_size / batch_size)
        if self.preconditioning != "block":
            return damping
        longest = self.step_size * (2.0 if self.line_search else 1.0)
        return max(damping, longest * self.regularization * block_size / MOST_SHRINKAGE)

    def shrinkage(self, block_size: int, batch_size: int) -> float:
        """κ: a step of s multiplies f with 1 − s κ. It is F ν/ε with "block", else ν."""
        if self.preconditioning != "block" or self.regularization == 0:
            return self.regularization
        return block_size * self.regularization / self.damping_at(block_size, batch_size)

    def _direction(self, problem: ExpansionProblem, block: int, examples: Examples, G: Array) -> Array:
        """The change of the block's coefficients by a step of one, shape (width, c)."""
        x, features = examples.points, problem.features
        B, preconditioned = x.shape[0], self.preconditioning is not None
        R, C = block_sums.correlate(
            features, block, x, G, with_gram=preconditioned, weights=examples.weights, budget=problem.budget
        )
        if not preconditioned:
            return R * (-1.0 / (B * features.block_size))
        # Row by row as in a checkpoint: a product with another memory order rounds differently.
        return arrays.contiguous(arrays.solve_damped(C, R, B * self.damping_at(features.block_size, B)) * -1.0)

    def _settle(self, problem: ExpansionProblem, state: ExpansionState, examples: Examples, scores: Array) -> Array:
        """Replace the last step by the best step for these examples; returns their scores after it."""
        change = block_sums.evaluate(
            problem.features, examples.points, state.direction[None, :, :], first=state.direction_block
        )
        last, kappa = state.last_step, state.direction_shrinkage
        before, direction = (arrays.namespace(scores).empty_like(scores) for _ in range(2))
        before_step(scores, change, last, kappa, into=(before, direction))

        def slope(s: float) -> float:
            return slope_along(problem, state, examples, before, direction, s)

        best = minimize_convex(slope, self._longest(state, kappa), last)
        ratio = (1.0 - best * kappa) / (1.0 - last * kappa)
        if ratio != 1.0:
            state.decay(ratio)
        state.add(state.direction_block, state.direction, best - ratio * last)
        # A step of zero would stay zero, so the next block starts from a small one.
        state.last_step = max(best, 1e-3 * state.step_size)
        state.direction = None
        add(direction, best, 1.0, into=(before,))
        return before


@fused(
    "before = (scores - last * change) / (T(1) - last * kappa); direction = change - kappa * before",
    *((5, 3), (5, 3), (), ()),
)
def before_step(scores: Array, change: Array, last: float, kappa: float, before: Array, direction: Array) -> None:
    """From the values of f after a step: its values before the step, and its change by a step of length one."""
    before[...] = (scores - last * change) / (1.0 - last * kappa)
    direction[...] = change - kappa * before


def minimize_convex(slope: Any, highest: float, guess: float) -> float:
    """The minimum of a convex function on [0, highest], from its slope, to a thousandth of the slope at 0."""
    low, at_low = 0.0, slope(0.0)
    small = 1e-3 * abs(at_low)
    if not at_low < 0:
        return 0.0
    high = at_high = None
    at = min(guess, highest) if guess > 0 else highest
    for _ in range(16):
        here = slope(at)
        if abs(here) <= small or not math.isfinite(here):
            break
        if here < 0:
            if at >= highest:
                break
            gain = (here - at_low) / (at - low)
            low, at_low, at_high = at, here, None if at_high is None else 0.5 * at_high
        else:
            high, at_high, at_low = at, here, 0.5 * at_low if high is not None else at_low
        if high is None:
            at = min(highest, 10.0 * low, low - at_low / gain if gain > 0 else math.inf)
        else:
            at = low + (high - low) * at_low / (at_low - at_high)
    return at if math.isfinite(at) else low


def stable_step(
    loss: Any,
    top_eigenvalue: float,
    batch_size: int,
    block_size: int,
    preconditioned: bool,
    size: float = 1.0,
    moment: float = 1.0,
) -> float:
    """A constant step at half of the edge of stability, 2/(L λ₁) for the mean of a step.

    L is the smoothness of the loss (1 for a loss with kinks) and λ₁ the top eigenvalue of K/n. The batch's examples and
    the block's features each add noise, κ/B and κμ/F to λ₁, with the ``size`` κ of k(x, x) and the ``moment`` μ of
    features that vary more than cosines. With the block's covariance inverted λ₁ is 1, and the noise of a block is
    2F/B.
    """
    L = loss.smoothness if loss.smoothness < float("inf") else 1.0
    if preconditioned:
        return 1.0 / (L * (1.0 + 2.0 * block_size / batch_size))
    return 1.0 / (L * (top_eigenvalue + size / batch_size + size * moment / block_size))


def feature_variance(features: Any, x: Array, n_points: int = 512, n_blocks: int = 4) -> float:
    """σ² = E_ω Var_x[φ_ω(x)φ_ω(z) − k(x, z)] of a block's average product, over the first points of the data."""
    xp = arrays.namespace(x)
    n = max(1, min(n_points, x.shape[0] // 2))
    left, right = x[:n, :], x[x.shape[0] - n :, :] if x.shape[0] < 2 * n_points else x[n : 2 * n, :]
    K = features.kernel(left, right)
    total = 0.0
    for i in range(n_blocks):
        error = features.block(i, left) @ features.block(i, right).T / features.block_size - K
        total += float(xp.mean(xp.var(error, axis=0)))
    return total / n_blocks
