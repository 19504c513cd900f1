"""Step sizes that vary from step to step in a cycle, and the average of the iterates that goes with them."""

from __future__ import annotations

from dataclasses import dataclass

FORGETTING = 3.0
"""Power of their number with which the first iterates are averaged."""


@dataclass(frozen=True)
class Cycle:
    """Factors of a step size, one for each step, which begin again after a round, and an average of the iterates."""

    length: int  # Steps of a round
    head: tuple[float, ...]  # The first factors
    body: tuple[float, ...]  # Those that follow, repeated
    # How many steps the average that is the model lies behind the iterate once there are many: it takes in every
    # iterate with the share 1/(1 + memory), and the first ones with larger shares, see `at`. With 0 the model is the
    # iterate; else no step of `EigenPro` is longer than its own batch allows.
    memory: float = 0.0
    # (unit, w, g): from round to round the share g of noise that is allowed falls as one over their number, and no
    # factor is above ``unit`` 2g/(w + g)
    falling: tuple[float, float, float] | None = None
    # The number of batches of an epoch, where they are so few that the kernel form can take `ConjugateResiduals` in
    # place of the factors; else 0
    few: int = 0

    def at(self, t: int) -> tuple[float, float]:
        """The factor of step t, from 0, and what its iterate weighs in the average, 0 where the model is the iterate.

        (c + 1)/(t + c + 1) weighs the iterates by about the c-th power of their number, so that the first ones are soon
        forgotten, until that is the share that ``memory`` asks for.
        """
        share = max((FORGETTING + 1.0) / (t + FORGETTING + 1.0), 1.0 / (1.0 + self.memory)) if self.memory else 0.0
        done, t = divmod(t, self.length)
        factor = self.head[t] if t < len(self.head) else self.body[(t - len(self.head)) % len(self.body)]
        if self.falling is not None:
            unit, w, allowed = self.falling
            factor = min(factor, unit * step_of_noise(allowed / (1 + done), w))
        return factor, share


def step_of_noise(share: float, w: float) -> float:
    """The step a, in units of 1/(m λ), at which noise makes up a share g = a w/(2 − a) of the loss."""
    return 2.0 * share / (w + share)
