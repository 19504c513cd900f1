"""Kernel Pegasos and dual coordinate ascent on rows of the kernel matrix, compiled, one example a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import streams
from ...gram.row_slab import KernelRowSlab
from ...utils.compilation import njit


@njit(cache=True)
def _pegasos(order, start, t, regularisation, counts, signs, rows, slot_of, used, clock):
    """Steps on the examples of an order from a place on, while their rows are at hand; the place and t after them."""
    for place in range(start, len(order)):
        i = order[place]
        slot = slot_of[i]
        if slot < 0:
            return place, t
        clock[0] += 1
        used[slot] = clock[0]
        score = 0.0
        for j in range(len(counts)):
            score += counts[j] * signs[j] * rows[slot, j]
        # f of the step t is the mean of t - 1 directions over λ; the first is zero.
        if t == 1 or signs[i] * score < regularisation * (t - 1):
            counts[i] += 1.0
        t += 1
    return len(order), t


@njit(cache=True)
def _coordinates(order, start, beta, signs, C, diagonal, rows, slot_of, used, clock):
    """Best values of single dual variables, while the rows are at hand; the place after them."""
    for place in range(start, len(order)):
        i = order[place]
        slot = slot_of[i]
        if slot < 0:
            return place
        clock[0] += 1
        used[slot] = clock[0]
        score = 0.0
        for j in range(len(beta)):
            score += beta[j] * rows[slot, j]
        alpha = signs[i] * (beta[i] + (signs[i] - score) / diagonal[i])
        beta[i] = signs[i] * min(C, max(0.0, alpha))
    return len(order)


@dataclass
class KernelPegasos:
    """Pegasos as the lecture writes it for kernels: f = 1/(λT) Σ cⱼ yⱼ k(xⱼ, ·), cⱼ counting j's violations.

    At step t an example i is drawn; if yᵢ f(xᵢ) < 1 for the f of the t − 1 steps before, or at the first step, cᵢ grows
    by one. There is no projection and no average.
    """

    rows: KernelRowSlab
    signs: np.ndarray
    regularisation: float
    seed: int

    def __post_init__(self) -> None:
        self.counts, self.t, self.n_chunks = np.zeros(self.rows.n), 1, 0

    def advance(self, n_steps: int) -> None:
        """So many steps on examples that are drawn uniformly."""
        raw = streams.integers(self.seed, "pegasos", self.n_chunks, n_steps)
        order, place = (raw % np.uint64(self.rows.n)).astype(np.int64), 0
        self.n_chunks += 1
        slab = self.rows
        while place < n_steps:
            slab.fetch(order[place])
            place, self.t = _pegasos(
                order,
                place,
                self.t,
                self.regularisation,
                self.counts,
                self.signs,
                slab.rows,
                slab.slot_of,
                slab.used,
                slab.clock,
            )

    @property
    def coefficients(self) -> np.ndarray:
        """The coefficients of the kernel functions, shape (n,)."""
        return self.counts * self.signs / (self.regularisation * max(1, self.t - 1))


@dataclass
class DualCoordinateAscent:
    """Stochastic dual coordinate ascent with the hinge and no intercept: one αᵢ after the other to its best value.

    αᵢ ← clip(αᵢ + (1 − yᵢ f(xᵢ))/k(xᵢ, xᵢ), 0, C) with f = Σ αⱼ yⱼ k(xⱼ, ·), each epoch in a new order.
    """

    rows: KernelRowSlab
    signs: np.ndarray
    C: float
    seed: int

    def __post_init__(self) -> None:
        self.coefficients, self.order, self.place, self.n_epochs = np.zeros(self.rows.n), np.empty(0, np.int64), 0, 0

    def advance(self, n_steps: int) -> None:
        """So many steps."""
        slab = self.rows
        while n_steps > 0:
            if self.place == len(self.order):
                self.order, self.place = streams.permutation(self.seed, "order", self.n_epochs, slab.n), 0
                self.n_epochs += 1
            end = min(len(self.order), self.place + n_steps)
            n_steps -= end - self.place
            while self.place < end:
                slab.fetch(self.order[self.place])
                self.place = _coordinates(
                    self.order[:end],
                    self.place,
                    self.coefficients,
                    self.signs,
                    self.C,
                    slab.diagonal,
                    slab.rows,
                    slab.slot_of,
                    slab.used,
                    slab.clock,
                )
