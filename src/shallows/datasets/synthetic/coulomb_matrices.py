"""Molecules as numbers: Coulomb matrices, their invariant forms, and their random orders as virtual examples.

The Coulomb matrix of atoms with charges Z at places R (in Bohr radii) has ``0.5 Z_i^2.4`` on its diagonal and
``Z_i Z_j / |R_i - R_j|`` beside it; small molecules are filled up with zeros. It does not change when the molecule is
moved or turned, but its rows are in the order in which somebody wrote down the atoms. Sorting the rows by their norm,
or taking the eigenvalues, removes that order; sorting by the norm plus noise makes many examples of one molecule.

References
----------
M. Rupp, A. Tkatchenko, K.-R. Müller and O. A. von Lilienfeld. Fast and accurate modeling of molecular atomization
energies with machine learning. Physical Review Letters 108:058301, 2012. G. Montavon et al. Learning invariant
representations of molecules for atomization energy prediction. NIPS 2012.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shallows.datasets.files import DatasetError

BOHR_IN_ANGSTROM = 0.529177210903
REPRESENTATIONS = ("sorted", "eigenspectrum")

# Norms are compared in these steps. Atoms that are alike have equal norms up to the rounding of a sum, which is not the
# same on every machine; so near each other they keep the order that they have.
_NORM_STEP = 2.0**-20


def coulomb_matrix(charges: Any, positions: Any, size: int | None = None) -> np.ndarray:
    """Return the Coulomb matrix of a molecule.

    Parameters
    ----------
    charges : array-like of shape (n_atoms,)
        Nuclear charges.
    positions : array-like of shape (n_atoms, 3)
        In Bohr radii.
    size : int, optional
        Rows of the result, the rest being zeros; ``n_atoms`` if absent.

    Returns
    -------
    ndarray of shape (size, size)

    Raises
    ------
    DatasetError
        When there are more atoms than rows, or two atoms are at one place.
    """
    charges, positions = np.asarray(charges, dtype=np.float64), np.asarray(positions, dtype=np.float64)
    n = len(charges)
    size = n if size is None else size
    if n > size:
        raise DatasetError(f"The molecule has {n} atoms, and its Coulomb matrix is to have {size} rows.")
    if positions.shape != (n, 3):
        raise DatasetError(f"{n} atoms need positions of shape ({n}, 3), not {positions.shape}.")
    distance = np.sqrt(((positions[:, None] - positions) ** 2).sum(axis=2))
    np.fill_diagonal(distance, 1.0)
    if (distance == 0).any():
        raise DatasetError("Two atoms of the molecule are at one place.")
    matrix = np.zeros((size, size))
    matrix[:n, :n] = charges[:, None] * charges / distance
    matrix[np.arange(n), np.arange(n)] = 0.5 * charges**2.4
    return matrix


def sort_rows(matrices: Any, noise: Any = 0.0) -> np.ndarray:
    """Order the atoms of every molecule by the norms of their rows, largest first.

    Parameters
    ----------
    matrices : array-like of shape (n, size, size)
    noise : array-like of shape (n, size), default=0.0
        What is added to the norms before. The zeros that fill up a matrix stay last.

    Returns
    -------
    ndarray of shape (n, size, size)
        Rows and columns in the same order. Without noise it does not depend on the order that came in, but for atoms
        whose rows have one norm.
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


def from_triangle(values: Any) -> np.ndarray:
    """Return the symmetric matrices whose upper triangles these are."""
    values = np.asarray(values)
    size = (math.isqrt(8 * values.shape[1] + 1) - 1) // 2
    rows, columns = np.triu_indices(size)
    matrices = np.empty((len(values), size, size), values.dtype)
    matrices[:, rows, columns] = matrices[:, columns, rows] = values
    return matrices


def eigenspectrum(matrices: Any) -> np.ndarray:
    """Return the eigenvalues of every matrix, the largest in absolute value first: shape (n, size).

    They do not depend on the order of the atoms at all, but different molecules may share them.
    """
    values = np.linalg.eigvalsh(np.asarray(matrices, dtype=np.float64))
    order = np.argsort(-np.abs(values), axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1)


def represent(matrices: Any, representation: str = "sorted", noise: Any = 0.0) -> np.ndarray:
    """Return the features of molecules: the triangle of the sorted matrix, or the eigenspectrum."""
    if representation == "eigenspectrum":
        return eigenspectrum(matrices)
    return triangle(sort_rows(matrices, noise))
