"""Molecules over and over, with their atoms in another random order each time: endless virtual examples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shallows import streams
from shallows.datasets.parameter_rules import NOT_NEGATIVE, one_of
from shallows.datasets.synthetic.coulomb_matrices import REPRESENTATIONS, represent
from shallows.datasets.synthetic.generator import Generator
from shallows.errors import ShallowsError


@dataclass(frozen=True, eq=False)
class VirtualMolecules(Generator):
    """Molecules over and over, with their atoms in another random order each time.

    Example i is the molecule ``i % n_molecules`` in draw ``i // n_molecules``. Draw 0 is sorted by the norms alone; in
    every later one, normal noise is added to the norms first, so that atoms of similar rows change places.

    Parameters
    ----------
    seed : int, default=0
    molecules : (matrices, targets)
        Coulomb matrices of shape (n, size, size) or (n, size^2) in any order of the atoms, and a number each.
    noise : float, default=1.0
        Standard deviation of the noise, as in Montavon et al. (2012): about the difference between the rows of a
        hydrogen at one place of a molecule and at another, and far below that between two elements.
    representation : {"sorted", "eigenspectrum"}, default="sorted"
        What the features are. The eigenspectrum is the same in every draw.
    """

    name = "virtual_molecules"
    task = "regression"
    made_of = "molecules"

    molecules: tuple[Any, Any] = None
    noise: float = field(default=1.0, metadata=NOT_NEGATIVE)
    representation: str = field(default="sorted", metadata=one_of(*REPRESENTATIONS))

    def __post_init__(self) -> None:
        if self.molecules is None:
            raise ShallowsError("The generator 'virtual_molecules' needs molecules=(matrices, targets).")
        super().__post_init__()
        object.__setattr__(self, "matrices", _square(self.molecules[0]))
        object.__setattr__(self, "targets", np.asarray(self.molecules[1], dtype=np.float64))
        if len(self.matrices) != len(self.targets) or not len(self.targets):
            raise ShallowsError(f"There are {len(self.matrices):,} molecules and {len(self.targets):,} targets.")

    def test_rows(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return test molecules in the same representation, sorted without noise."""
        return represent(_square(x), self.representation), y

    @property
    def d(self) -> int:
        """Numbers of a triangle, or eigenvalues."""
        size = self.matrices.shape[1]
        return size if self.representation == "eigenspectrum" else size * (size + 1) // 2

    def number(self, index: int, draw: int) -> int:
        """Return the number of the example that is molecule `index` in draw `draw`."""
        return draw * len(self.targets) + index

    def _numbers_per_row(self) -> int:
        return self.matrices[0].size

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        draw, index = np.divmod(np.arange(chunk * n_rows, (chunk + 1) * n_rows), len(self.targets))
        noise = self.noise * streams.normal(self.seed, self.name, chunk, (n_rows, self.matrices.shape[1]))
        noise[draw == 0] = 0.0
        return represent(self.matrices[index], self.representation, noise), self.targets[index]


def _square(matrices: Any) -> np.ndarray:
    matrices = np.asarray(matrices)
    if matrices.ndim == 2 and math.isqrt(matrices.shape[1]) ** 2 == matrices.shape[1]:
        matrices = matrices.reshape(len(matrices), math.isqrt(matrices.shape[1]), -1)
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ShallowsError(f"Coulomb matrices are square: (n, size, size), not {matrices.shape}.")
    return matrices
