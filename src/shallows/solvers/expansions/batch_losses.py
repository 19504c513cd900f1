"""The loss on a batch for a step of a growing expansion: gradient, sums, and the slope along a direction.

Each has a plain form, and for losses in `shallows.losses.in_c` a form with one launch and one sum on a GPU.
"""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from ... import arrays
from ...arrays import Array
from ...gpu import cuda
from ...gpu.fused_expressions import FusedExpression
from ...losses import LOSSES
from ...losses.in_c import BODIES, has_text, parameter
from ..examples import Examples
from .expansion import ExpansionProblem, ExpansionState

EXAMPLE = (64, 3)  # scores on which the compiled and the plain form are compared


@dataclass(frozen=True)
class BatchLosses:
    """The loss on a batch of m examples, with the intercept added to f and to the zero function."""

    gradient: Array  # (m, c): w ℓ'
    less_function: Array  # (m, c): w (ℓ' − κ f); the gradient itself if κ is 0
    mean_gradient: Array  # (c,)
    loss: float  # Σ w ℓ of f
    zero_loss: float  # Σ w ℓ of the zero function
    gradient_square: float  # mean of ‖w ℓ'‖² over the examples


def observe(
    problem: ExpansionProblem, state: ExpansionState, examples: Examples, scores: Array, kappa: float
) -> BatchLosses:
    """The loss on a batch; κ is the share by which a step of one shrinks f. The host waits once for the sums."""
    targets, b = state.targets_for(problem, examples, scores), state.intercept(problem)
    if cuda.is_enabled(scores) and has_text(problem.loss) and targets.dtype == scores.dtype:
        return _in_one_launch(problem.loss, scores, targets, b, examples.weights, kappa)
    xp, w = arrays.namespace(scores), examples.weights
    shifted, zero = (part if b is None else part + b for part in (scores, xp.zeros_like(scores)))
    G = state.gradient(problem, shifted, targets, w)
    losses = (problem.loss.value(of, targets) for of in (shifted, zero))
    totals = [xp.sum(one if w is None else one * w[:, 0]) for one in losses]
    # Three numbers at once, because the host of a GPU waits for each read.
    read = arrays.to_numpy(xp.stack([*totals, xp.mean(xp.sum(G * G, axis=1))]))
    less = G
    if kappa:
        shrunk = scores * kappa
        less = G - (shrunk if w is None else w * shrunk)
    return BatchLosses(G, less, xp.mean(G, axis=0), *(float(number) for number in read))


def slope_along(
    problem: ExpansionProblem, state: ExpansionState, examples: Examples, before: Array, direction: Array, s: float
) -> float:
    """The derivative in s of the loss of f + s g on a batch, from the values of f and g there, shape (m, c) each."""
    loss, w, xp, b = problem.loss, examples.weights, arrays.namespace(before), state.intercept(problem)
    if cuda.is_enabled(before) and has_text(loss) and examples.targets.dtype == before.dtype:
        slopes = xp.empty_like(before)
        inputs = (before, direction, -s, 0.0 if b is None else b, examples.targets, 1.0 if w is None else w)
        expressions(loss.name)[1](*inputs, parameter(loss), into=(slopes,))
        return float(xp.sum(slopes))
    at = before + s * direction
    at = at if b is None else at + b
    G = loss.derivative(at, state.targets_for(problem, examples, at))
    return float(xp.sum((G if w is None else w * G) * direction))


def _in_one_launch(
    loss: Any, scores: Array, targets: Array, b: Array | None, w: Array | None, kappa: float
) -> BatchLosses:
    xp, (m, c) = arrays.namespace(scores), scores.shape
    parts = xp.empty((5, m, c), dtype=scores.dtype)
    each = tuple(parts[k, :, :] for k in range(5))
    inputs = (scores, 0.0 if b is None else b, targets, 1.0 if w is None else w, float(kappa), parameter(loss))
    expressions(loss.name)[0](*inputs, into=each)
    sums = xp.sum(parts[:4, :, :], axis=1)
    _, loss_sum, zero_sum, squares = arrays.to_numpy(sums).sum(axis=1).tolist()
    gradient, less = each[0], each[4] if kappa else each[0]
    return BatchLosses(gradient, less, sums[0, :] * (1.0 / m), loss_sum, zero_sum, squares / m)


@cache
def expressions(name: str) -> tuple[FusedExpression, FusedExpression]:
    """The elementwise parts of `observe` and of `slope_along` for a loss, whose parameter is an operand."""
    body = BODIES[name]

    def loss_with(number: float) -> Any:
        # Without the check of the loss, because the number of an example may be outside its range.
        loss = object.__new__(LOSSES[name])
        for field in fields(loss):
            object.__setattr__(loss, field.name, float(number))
        return loss

    def observed(*operands: Array) -> None:
        scores, intercept, targets, weight, kappa, number, gradient, value, zero, square, less_function = operands
        loss = loss_with(number)
        gradient[...] = weight * loss.derivative(scores + intercept, targets)
        for of, into in ((scores, value), (scores * 0.0, zero)):
            into[...] = weight * loss._each(of + intercept, targets)
        square[...] = gradient * gradient
        less_function[...] = gradient - weight * (kappa * scores)

    # With the negative step, so that the positive numbers of an example give scores on both sides of a hinge.
    def slopes(*operands: Array) -> None:
        before, direction, opposite, intercept, targets, weight, number, slope_of_each = operands
        loss = loss_with(number)
        at = before - opposite * direction + intercept
        slope_of_each[...] = weight * loss.derivative(at, targets) * direction

    return (
        FusedExpression(
            f"losses_{name}",
            ("score", "intercept", "target", "weight", "kappa", "parameter"),
            ("gradient", "of_function", "of_zero", "square", "less_function"),
            f"T value, slope; const T y = target; {{ const T u = intercept; {body} }} of_zero = weight * value; "
            f"{{ const T u = score + intercept; {body} }} of_function = weight * value; gradient = weight * slope; "
            "square = gradient * gradient; less_function = gradient - weight * (kappa * score)",
            observed,
            (EXAMPLE, EXAMPLE[1:], EXAMPLE, (EXAMPLE[0], 1), (), ()),
        ),
        FusedExpression(
            f"slopes_{name}",
            ("before", "direction", "opposite", "intercept", "target", "weight", "parameter"),
            ("slope_of_each",),
            f"T value, slope; const T y = target; const T u = before - opposite * direction + intercept; {body} "
            "slope_of_each = weight * slope * direction",
            slopes,
            (EXAMPLE, EXAMPLE, (), EXAMPLE[1:], EXAMPLE, (EXAMPLE[0], 1), ()),
        ),
    )
