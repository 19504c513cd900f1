"""Coulomb matrices of molecules, their invariant forms, and random orders of atoms as virtual examples.

The Coulomb matrix of atoms with charges Z at positions R (in Bohr radii) has the diagonal entries ``0.5 Z_i^2.4`` and
the other entries ``Z_i Z_j / |R_i - R_j|``. Small molecules are padded with zeros. The matrix does not change when the
molecule is moved or rotated, but its rows depend on the order of the atoms in the file. Sorting the rows by their norm,
or using the eigenvalues, removes this dependence. Sorting by the norm plus noise makes many examples from one molecule.

References
----------
M. Rupp, A. Tkatchenko, K.-R. Müller and O. A. von Lilienfeld. Fast and accurate modeling of molecular atomization
energies with machine learning. Physical Review Letters 108:058301, 2012. G. Montavon et al. Learning invariant
representations of molecules for atomization energy prediction. NIPS 2012.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shallows import streams
from shallows.errors import ShallowsError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import NOT_NEGATIVE
from shallows_papers.datasets.synthetic.generator import Generator

BOHR_IN_ANGSTROM = 0.529177210903

# Norms are rounded to these steps before sorting. Equivalent atoms have equal norms up to rounding, which differs
# between machines, so atoms with nearly equal norms keep their order.
_NORM_STEP = 2.0**-20


def coulomb_matrix(charges: Any, positions: Any, size: int | None = None) -> np.ndarray:
    """Return the Coulomb matrix of a molecule, shape (size, size), padded with zeros.

    Positions are in Bohr radii, shape (n_atoms, 3); `size` defaults to the number of atoms.
    """
    charges, positions = np.asarray(charges, dtype=np.float64), np.asarray(positions, dtype=np.float64)
    n = len(charges)
    size = n if size is None else size
    if n > size:
        raise DatasetError(f"The molecule has {n} atoms, but its Coulomb matrix should have only {size} rows.")
    if positions.shape != (n, 3):
        raise DatasetError(f"{n} atoms need positions of shape ({n}, 3), not {positions.shape}.")
    distance = np.sqrt(((positions[:, None] - positions) ** 2).sum(axis=2))
    np.fill_diagonal(distance, 1.0)
    if (distance == 0).any():
        raise DatasetError("Two atoms of the molecule have the same position.")
    matrix = np.zeros((size, size))
    matrix[:n, :n] = charges[:, None] * charges / distance
    matrix[np.arange(n), np.arange(n)] = 0.5 * charges**2.4
    return matrix


def sort_rows(matrices: Any, noise: Any = 0.0) -> np.ndarray:
    """Order the atoms of every molecule by the norms of their rows, largest first.

    The noise, of shape (n, size), is added to the norms before sorting. Padding zeros stay last. Without noise the
    result does not depend on the order of the input, except for atoms with equal norms.
    """
    matrices = np.asarray(matrices)
    norms = np.sqrt((matrices.astype(np.float64) ** 2).sum(axis=2))
    keys = np.rint(norms / _NORM_STEP) * _NORM_STEP + noise
    keys[np.diagonal(matrices, axis1=1, axis2=2) == 0] = -np.inf
    order = np.argsort(-keys, axis=1, kind="stable")
    rows = np.take_along_axis(matrices, order[:, :, None], axis=1)
    return np.take_along_axis(rows, order[:, None, :], axis=2)


def triangle(matrices: Any) -> np.ndarray:
    """Return the upper triangles, row by row with the diagonal: shape (n, size (size + 1) / 2), 276 numbers for 23."""
    matrices = np.asarray(matrices)
    rows, columns = np.triu_indices(matrices.shape[1])
    return matrices[:, rows, columns]


def represent(matrices: Any, noise: Any = 0.0) -> np.ndarray:
    """Return the features of molecules: the triangles of the sorted matrices."""
    return triangle(sort_rows(matrices, noise))


@dataclass(frozen=True, eq=False, kw_only=True)
class VirtualMolecules(Generator):
    """Molecules, repeated endlessly with a new random order of atoms each time.

    Example i is the molecule ``i % n_molecules`` in draw ``i // n_molecules``. Draw 0 is sorted by the norms. In later
    draws, normal noise is added to the norms first, so that atoms with similar rows are swapped.
    """

    name = "virtual_molecules"
    task = "regression"
    made_of = "molecules"

    # Coulomb matrices of shape (n, size, size) or (n, size^2) with atoms in any order, and one target per molecule
    molecules: tuple[Any, Any]
    # Standard deviation of the noise, as in Montavon et al. (2012). It is about the difference between the norms of two
    # hydrogen atoms at different positions, and much smaller than the difference between two elements.
    noise: float = field(default=1.0, metadata=NOT_NEGATIVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "matrices", _square(self.molecules[0]))
        object.__setattr__(self, "targets", np.asarray(self.molecules[1], dtype=np.float64))
        if len(self.matrices) != len(self.targets) or not len(self.targets):
            raise ShallowsError(f"There are {len(self.matrices):,} molecules, but {len(self.targets):,} targets.")

    def test_rows(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return test molecules in the same representation, sorted without noise."""
        return represent(_square(x)), y

    @property
    def d(self) -> int:
        """The number of features: the size of a triangle."""
        size = self.matrices.shape[1]
        return size * (size + 1) // 2

    def _numbers_per_row(self) -> int:
        return self.matrices[0].size

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        draw, index = np.divmod(np.arange(chunk * n_rows, (chunk + 1) * n_rows), len(self.targets))
        noise = self.noise * streams.normal(self.seed, self.name, chunk, (n_rows, self.matrices.shape[1]))
        noise[draw == 0] = 0.0
        return represent(self.matrices[index], noise), self.targets[index]


def _square(matrices: Any) -> np.ndarray:
    matrices = np.asarray(matrices)
    if matrices.ndim == 2 and math.isqrt(matrices.shape[1]) ** 2 == matrices.shape[1]:
        matrices = matrices.reshape(len(matrices), math.isqrt(matrices.shape[1]), -1)
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ShallowsError(f"Coulomb matrices must have the shape (n, size, size), not {matrices.shape}.")
    return matrices
