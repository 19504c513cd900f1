"""What to say of a training that ended at max_epochs far from the training targets, and what can help."""

from __future__ import annotations

from .. import training

FAR = 0.5
"""A loss above this share of the zero function's is far from the training targets."""

FAST, SLOW = 0.05, 0.01
"""Shares of the loss by which it falls in an epoch: below SLOW it counts as at rest. On pure noise in 5 dimensions it
fell by 0.1 to 3 % an epoch at the defaults; in 20 by up to 10 %, so that a fast fall alone is no proof of structure."""

HELD_DOWN = 0.1
"""A damping below this holds the leading directions back so much that a far loss is more likely its work than noise."""


def message(
    run: training.Run,
    *,
    max_epochs: int,
    tol: float,
    step_size: float | None,
    damping: float = 1.0,
    regularisation: float = 0.0,
    nothing_to_learn: bool = False,
) -> str | None:
    """What the user should know of a training, or None where nothing is known to help.

    Nothing is said where all points or all targets are equal: the mean of the targets is then all there is to learn.
    Nor with a regularisation, which keeps a loss from falling where it was chosen for noisy targets, unless a small
    damping explains it.
    Nor is anything said where the loss has come to rest at a step of the program's: what is left of it is noise, or too
    fine for the kernel, and more epochs do not change that.

    Parameters
    ----------
    run : shallows.training.Run
    max_epochs, tol, step_size, damping
        As the parameters of the estimator.
    regularisation : float
        λ that was given or chosen.
    nothing_to_learn : bool
        Whether all points or all targets are equal.
    """
    losses = run.losses
    if tol == 0 or run.stopped_by != "max_epochs" or losses[-1] <= FAR or nothing_to_learn:
        return None
    if damping < HELD_DOWN and not run.validation_errors:
        return (
            f"After max_epochs={max_epochs} the training loss is still {losses[-1]:.2f} of that of the zero "
            f"function. With damping={damping:g} the leading directions move {1.0 / damping:.0f} times more slowly "
            "than the others; take damping=1."
        )
    if regularisation > 0:
        return None
    advice = _advice(step_size, losses, run.validation_errors)
    return advice and (
        f"After max_epochs={max_epochs} the training loss is still {losses[-1]:.2f} of that of the zero "
        f"function, above tol={tol:g}. {advice}"
    )


def fall_per_epoch(losses: list[float]) -> float:
    """The share by which the loss falls in an epoch, of late.

    Where batches are small a loss varies by a tenth from epoch to epoch, so that means over up to ten are compared.
    """
    n = min(10, len(losses) // 2)
    before, after = sum(losses[-2 * n : -n]), sum(losses[-n:])
    return 1.0 - (after / before) ** (1.0 / n)


def _advice(step_size: float | None, losses: list[float], validation_errors: list[float]) -> str | None:
    if validation_errors:
        # The model is that of the best epoch. Where that was not the last, more epochs have made predictions worse.
        rising = min(validation_errors[:-1], default=float("inf")) > validation_errors[-1]
        return "The score of the held-out rows was still rising: a larger max_epochs may help." if rising else None
    if len(losses) == 1:
        return "One epoch does not show whether it falls: take a larger max_epochs."
    fall = fall_per_epoch(losses)
    if fall >= FAST:
        return (
            f"It still falls, by {fall:.0%} an epoch: a larger max_epochs comes nearer to the training targets. Where "
            "these are noisy, that can make predictions worse; early_stopping=True ends the training where held-out "
            "rows are predicted best."
        )
    if fall >= SLOW:
        return (
            f"It falls slowly, by {fall:.1%} an epoch, as it does where targets are noisy: more epochs would then fit "
            "the noise, and early_stopping=True, which ends the training where held-out rows are predicted best, can "
            "help."
        )
    if step_size is not None:
        return f"It hardly falls with step_size={step_size:g}; leave the step to the program (step_size=None)."
    return None
