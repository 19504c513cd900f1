"""What a step of a growing expansion asks of the loss on its batch: gradient, sums, and the slope along a direction.

Each has a plain form in operations of the array library and, for losses that `shallows.losses.in_c` knows, one in a
launch and a sum on a GPU, where every operation of the plain form would be a launch of its own.
"""

from __future__ import annotations

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

EXAMPLE = (64, 3)  # scores on which compiled and plain form are compared


@dataclass(frozen=True)
class BatchLosses:
    """The loss on a batch of m examples, of f and of the zero function, each with the intercept added.

    ``loss, zero_loss``: Σ w ℓ of f and of the zero function.
    """

    gradient: Array  # (m, c): w ℓ'
    less_function: Array  # (m, c): w (ℓ' − κ f); the gradient itself where κ is 0
    mean_gradient: Array  # (c,)
    loss: float
    zero_loss: float
    gradient_square: float  # The mean of ‖w ℓ'‖² over the examples


def observe(
    problem: ExpansionProblem, state: ExpansionState, examples: Examples, scores: Array, kappa: float
) -> BatchLosses:
    """The loss on a batch, with one wait of the host for its sums; κ is what a step of one shrinks f by."""
    targets, b = state.targets_for(problem, examples, scores), state.intercept(problem)
    if cuda.wanted(scores) and has_text(problem.loss) and targets.dtype == scores.dtype:
        return _in_one_launch(problem.loss, scores, targets, b, examples.weights, kappa)
    xp, w = arrays.namespace(scores), examples.weights
    shifted, zero = (part if b is None else part + b for part in (scores, xp.zeros_like(scores)))
    G = state.gradient(problem, shifted, targets, w)
    losses = (problem.loss.value(of, targets) for of in (shifted, zero))
    totals = [xp.sum(one if w is None else one * w[:, 0]) for one in losses]
    # One reading of three numbers: a GPU's host waits for each.
    read = arrays.to_numpy(xp.stack([*totals, xp.mean(xp.sum(G * G, axis=1))]))
    less = G
    if kappa:
        held_back = scores * kappa
        less = G - (held_back if w is None else w * held_back)
    return BatchLosses(G, less, xp.mean(G, axis=0), *(float(number) for number in read))


def slope_along(
    problem: ExpansionProblem, state: ExpansionState, examples: Examples, before: Array, direction: Array, s: float
) -> float:
    """The derivative in s of the loss of f + s g on a batch, from the values of f and g there, shape (m, c) each."""
    loss, w, xp, b = problem.loss, examples.weights, arrays.namespace(before), state.intercept(problem)
    if cuda.wanted(before) and has_text(loss) and examples.targets.dtype == before.dtype:
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
    """The elementwise part of `observe` and of `slope_along` for the loss of a name, a sum over outputs.

    The parameter of the loss is an operand, so that fits with other ones need nothing compiled anew.
    """
    body = BODIES[name]

    def loss_with(number: float) -> Any:
        # Not checked: the number of an example need not be one that the loss takes.
        loss = object.__new__(LOSSES[name])
        for field in fields(loss):
            object.__setattr__(loss, field.name, float(number))
        return loss

    def observed(scores, intercept, targets, weight, kappa, number, gradient, value, zero, square, less_function):
        loss = loss_with(number)
        gradient[...] = weight * loss.derivative(scores + intercept, targets)
        for of, into in ((scores, value), (scores * 0.0, zero)):
            into[...] = weight * loss._each(of + intercept, targets)
        square[...] = gradient * gradient
        less_function[...] = gradient - weight * (kappa * scores)

    # With the step's opposite, so that the positive numbers of an example give scores on both sides of a hinge.
    def slopes(before, direction, opposite, intercept, targets, weight, number, slope_of_each):
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
