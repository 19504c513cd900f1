"""Machines on the leaves of a tree of the inputs, blended near the borders between leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays
from ..arrays import Device
from ..spectrum.principal_components import Components
from .functions import KernelSum
from .learned_metric import LearnedMetric

ROWS = 2**16
"""Rows whose leaves are found at a time."""


@dataclass(frozen=True)
class LeafTree:
    """Splits of the inputs. The split k is at one column, and its children are splits or leaves.

    Up to the lower border a row belongs to the first child, above the upper border to the second, and its weight grows
    linearly in between. Equal borders are a hard split.
    """

    columns: np.ndarray  # (k,)
    borders: np.ndarray  # (k, 2)
    children: np.ndarray  # (k, 2): the number of a split, or −1 − l for the leaf l
    n_leaves: int

    def weights(self, z: np.ndarray) -> np.ndarray:
        """The weight of each leaf at some rows, shape (m, n_leaves); the sum of a row is one."""
        out = np.zeros((len(z), self.n_leaves))
        waiting = [(0 if len(self.columns) else -1, np.ones(len(z)))]
        while waiting:
            node, weight = waiting.pop()
            if node < 0:
                out[:, -1 - node] = weight
                continue
            second = share_of_second(z[:, self.columns[node]], *self.borders[node])
            waiting += [(self.children[node, 0], weight * (1.0 - second)), (self.children[node, 1], weight * second)]
        return out


def share_of_second(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """The weight of the second child of a split at some values of its column."""
    if low == high:
        return (values > low).astype(np.float64)
    return np.clip((values - low) / (high - low), 0.0, 1.0)


@dataclass(frozen=True)
class LeafMachines:
    """f(x) = Σₗ wₗ(x) (cₗ + fₗ(x)) with the weights of the leaves l, which are zero for all but a few."""

    tree: LeafTree
    machines: tuple[KernelSum, ...]  # fₗ
    outputs: tuple[np.ndarray, ...]  # The columns that fₗ has
    constants: np.ndarray  # cₗ, shape (n_leaves, c)
    components: Components | LearnedMetric | None  # What replaces the inputs, in the tree and in the machines

    def scores(self, X: Any, device: Device, budget: int) -> np.ndarray:
        """Values at checked points, shape (m, c), on the host; ``budget`` is the bytes of a block of kernel values."""
        out = np.zeros((X.shape[0], self.constants.shape[1]), dtype=self.constants.dtype)
        for rows in arrays.blocks(X.shape[0], ROWS):
            x = X[rows]
            z: Any = x if self.components is None else self.components(x)[:]
            weights = self.tree.weights(z.toarray() if scipy.sparse.issparse(z) else np.asarray(z))
            for leaf, machine in enumerate(self.machines):
                here = np.flatnonzero(weights[:, leaf])
                values = np.repeat(self.constants[[leaf]], len(here), axis=0)
                if len(here):
                    values[:, self.outputs[leaf]] += machine.scores(x[here], device, budget)
                out[rows.start + here] += weights[here, leaf, None].astype(out.dtype) * values
        return out

    @property
    def coefficients(self) -> np.ndarray:
        """The coefficients of all leaves below each other, shape (m, c)."""
        parts = []
        for machine, outputs in zip(self.machines, self.outputs, strict=True):
            parts.append(np.zeros((len(machine.coefficients), self.constants.shape[1]), dtype=self.constants.dtype))
            parts[-1][:, outputs] = machine.coefficients
        return np.concatenate(parts)

    def input_coefficients(self) -> np.ndarray:
        """Refuse: each leaf has another function."""
        raise AttributeError("A model with leaves has no coef_: each leaf has another function. Set leaf_size=None.")
