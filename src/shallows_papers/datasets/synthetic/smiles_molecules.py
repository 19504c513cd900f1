"""Molecules given by SMILES strings, with geometries that RDKit computes (extra ``chem``)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shallows.errors import MissingExtraError, ShallowsError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import COUNT, one_of
from shallows_papers.datasets.synthetic.generator import Generator
from shallows_papers.datasets.synthetic.molecules import BOHR_IN_ANGSTROM, REPRESENTATIONS, coulomb_matrix, represent


@dataclass(frozen=True, eq=False, kw_only=True)
class SmilesMolecules(Generator):
    """Coulomb matrices of molecules given by SMILES strings, with conformers that `geometry` computes by the seed."""

    name = "smiles_molecules"
    task = "regression"
    made_of = "molecules"

    molecules: tuple[Sequence[str], Any]  # Strings, and a number each
    # Rows of the matrices, that is, the largest number of atoms with hydrogens
    size: int = field(default=75, metadata=COUNT)
    representation: str = field(default="sorted", metadata=one_of(*REPRESENTATIONS))  # {"sorted", "eigenspectrum"}

    def __post_init__(self) -> None:
        _rdkit()  # fails before anything is computed
        super().__post_init__()
        object.__setattr__(self, "smiles", [str(one) for one in np.asarray(self.molecules[0]).ravel()])
        object.__setattr__(self, "targets", np.asarray(self.molecules[1], dtype=np.float64))
        if len(self.smiles) != len(self.targets):
            raise ShallowsError(f"There are {len(self.smiles):,} molecules and {len(self.targets):,} targets.")

    def test_rows(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return test molecules in the same representation."""
        return replace(self, molecules=(x, y)).block(0, len(y))

    @property
    def n(self) -> int:
        """Number of strings."""
        return len(self.smiles)

    @property
    def d(self) -> int:
        """Numbers of a triangle, or eigenvalues."""
        return self.size if self.representation == "eigenspectrum" else self.size * (self.size + 1) // 2

    def _rows_per_chunk(self) -> int:
        return 1  # a geometry takes a tenth of a second, and depends on its molecule alone

    def _chunk(self, chunk: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        charges, positions, _ = geometry(self.smiles[chunk], self.seed)
        try:
            matrix = coulomb_matrix(charges, positions, self.size)
        except DatasetError as error:
            raise DatasetError(f"Molecule {chunk + 1:,} ({self.smiles[chunk]}): {error}") from None
        return represent(matrix[None], self.representation), self.targets[chunk : chunk + 1]


def geometry(smiles: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray, str]:
    """Compute a geometry of a molecule by RDKit.

    A conformer is embedded by ETKDG (version 3) from the seed, its hydrogens included, and relaxed in the force field
    MMFF94, or in UFF where MMFF94 lacks parameters for an atom, or not at all where both do: the selenium that 3 of 10
    molecules of the Clean Energy Project hold.

    Returns charges, positions in Bohr radii, and the force field that relaxed them, or "none".

    The papers' Coulomb matrices of the Clean Energy Project come from geometries that its authors optimised with
    density functional theory, and which are not published with the strings. A force field gives bond lengths that are
    off by some hundredths of an Ångström and, for these flexible molecules, often another conformer. So results on
    these matrices are not comparable with those of the papers. Another version of RDKit may give another geometry.
    """
    chemistry, forces = _rdkit()
    molecule = chemistry.MolFromSmiles(smiles)
    if molecule is None:
        raise DatasetError(f"{smiles!r} is not a molecule in SMILES.")
    molecule = chemistry.AddHs(molecule)
    how = forces.ETKDGv3()
    how.randomSeed = int(seed) % 2**31
    if forces.EmbedMolecule(molecule, how) != 0:
        how.useRandomCoords = True
        if forces.EmbedMolecule(molecule, how) != 0:
            raise DatasetError(f"No geometry was found for the molecule {smiles!r}.")
    force_field = "none"
    if forces.MMFFHasAllMoleculeParams(molecule):
        forces.MMFFOptimizeMolecule(molecule, maxIters=1000)
        force_field = "MMFF94"
    elif forces.UFFHasAllMoleculeParams(molecule):
        forces.UFFOptimizeMolecule(molecule, maxIters=1000)
        force_field = "UFF"
    charges = np.array([atom.GetAtomicNum() for atom in molecule.GetAtoms()], dtype=np.float64)
    return charges, molecule.GetConformer().GetPositions() / BOHR_IN_ANGSTROM, force_field


@functools.cache
def _rdkit() -> tuple[Any, Any]:
    try:
        from rdkit import Chem, RDLogger
        from rdkit.Chem import AllChem
    except ImportError:
        raise MissingExtraError("chem", "A molecule's geometry") from None
    RDLogger.DisableLog("rdApp.*")  # our errors say it
    return Chem, AllChem
