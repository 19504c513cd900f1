"""Noise on the targets of any generator, with the clean targets kept in reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shallows import streams
from shallows.datasets.synthetic.generator import Generator


@dataclass(frozen=True, eq=False, init=False)
class LabelNoise(Generator):
    """A generator whose targets are partly wrong.

    In classification, every label is replaced with the given probability by one of the other classes, each as likely.
    In regression, normal noise is added.

    Parameters
    ----------
    of : Generator
        Whose examples. Their features stay as they are.
    amount : float
        Probability of a wrong label, at most ``1 - 1 / n_classes`` (where nothing is left to learn); in regression, the
        standard deviation of the noise.
    seed : int, default=0
        Of the noise alone.
    """

    name = "label_noise"

    of: Generator = None
    amount: float = 0.0

    def __init__(self, of: Generator, amount: float, seed: int = 0):
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "amount", amount)
        object.__setattr__(self, "seed", seed)
        self.__post_init__()

    @property
    def task(self) -> str:
        """That of the generator inside."""
        return self.of.task

    @property
    def n(self) -> int | None:
        """As many examples as the generator inside has."""
        return self.of.n

    @property
    def d(self) -> int:
        """Features of an example."""
        return self.of.d

    @property
    def n_classes(self) -> int:
        """Classes; 0 where there are none."""
        return self.of.n_classes

    def truth(self, x: np.ndarray) -> np.ndarray:
        """Return what the generator inside says of `x`."""
        return self.of.truth(x)

    def clean(self, start: int, stop: int) -> np.ndarray:
        """Return the targets of a block before the noise."""
        return self.of.block(start, stop)[1]

    def parameters(self) -> dict:
        """Return those of the generator inside and the amount of noise."""
        return {**self.of.parameters(), "label_noise": self.amount}

    def _problem(self) -> str | None:
        if self.of.task == "none":
            return f"'{self.of.name}' has no targets to put noise on"
        most = 1 - 1 / self.of.n_classes if self.of.n_classes else np.inf
        if not 0 <= self.amount <= most:
            return f"the noise must lie between 0 and {most:.3g}, not {self.amount!r}"
        return None

    def block(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a block as `Generator.block` does."""
        x, clean = self.of.block(start, stop)
        _, y = super().block(start, stop)
        if self.task == "classification":
            return x, (clean + y) % self.n_classes
        return x, clean + y

    def _numbers_per_row(self) -> int:
        return 2

    def _empty(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        return np.empty((n_rows, 0)), super()._empty(n_rows)[1]

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what is added to the targets of a chunk."""
        nothing = np.empty((n_rows, 0))
        if self.task == "regression":
            return nothing, self.amount * streams.normal(self.seed, "label_noise", chunk, (n_rows,))
        wrong, other = streams.uniform(self.seed, "label_noise", chunk, (n_rows, 2)).T
        step = 1 + (other * (self.n_classes - 1)).astype(np.int64)
        return nothing, np.where(wrong < self.amount, step, 0)
