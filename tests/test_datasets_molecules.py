"""Molecules: Coulomb matrices against their definition, what they must not depend on, and their virtual examples."""

import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from shallows.errors import MissingExtraError, ShallowsError
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.synthetic import make, molecules, smiles_molecules


def molecule(n_atoms=9, seed=0):
    """Return charges and places of atoms no two of which are alike, at least half a Bohr radius apart."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*3 * [np.arange(3.0)]), axis=-1).reshape(-1, 3) * 2
    places = grid[rng.permutation(27)[:n_atoms]] + rng.uniform(-0.5, 0.5, (n_atoms, 3))
    return rng.choice([1, 6, 7, 8, 16], n_atoms), places


def several_molecules(n=4, size=12):
    return np.stack([molecules.coulomb_matrix(*molecule(6 + i, seed=i), size) for i in range(n)])


# Matrices


def from_triangle(values):
    size = round((np.sqrt(8 * values.shape[1] + 1) - 1) / 2)
    made, (rows, columns) = np.empty((len(values), size, size)), np.triu_indices(size)
    made[:, rows, columns] = made[:, columns, rows] = values
    return made


def test_the_matrix_of_two_atoms_is_that_of_the_definition():
    found = molecules.coulomb_matrix([8, 1], [[0, 0, 0], [0, 3, 4]], size=3)
    np.testing.assert_allclose(found, [[0.5 * 8**2.4, 8 / 5, 0], [8 / 5, 0.5, 0], [0, 0, 0]])


def test_the_matrix_does_not_change_when_the_molecule_is_moved_and_turned():
    charges, places = molecule()
    moved = Rotation.from_rotvec([0.3, -1.1, 2.0]).apply(places) + np.array([5, -7, 1])
    np.testing.assert_allclose(
        molecules.coulomb_matrix(charges, moved), molecules.coulomb_matrix(charges, places), rtol=1e-12
    )


def test_features_do_not_depend_on_the_order_of_the_atoms():
    charges, places = molecule()
    rng = np.random.default_rng(1)
    first = molecules.represent(molecules.coulomb_matrix(charges, places, 12)[None])
    for _ in range(5):
        order = rng.permutation(len(charges))
        other = molecules.coulomb_matrix(charges[order], places[order], 12)[None]
        np.testing.assert_allclose(molecules.represent(other), first, rtol=1e-9, atol=1e-9)


def test_the_triangle_holds_276_numbers_of_23_rows_and_gives_the_matrix_back():
    rng = np.random.default_rng(0)
    matrices = rng.normal(size=(3, 23, 23))
    matrices += matrices.transpose(0, 2, 1)
    values = molecules.triangle(matrices)
    assert values.shape == (3, 276)
    np.testing.assert_array_equal(values[:, :23], matrices[:, 0])
    np.testing.assert_array_equal(from_triangle(values), matrices)


@pytest.mark.parametrize(
    ("charges", "places", "size", "words"),
    [
        ([1, 1, 1], np.eye(3), 2, "3 atoms"),
        ([1, 1], [[0, 0, 0], [0, 0, 0]], 2, "same position"),
        ([1, 1], [[0, 0, 0]], 2, r"shape \(2, 3\)"),
    ],
)
def test_atoms_that_make_no_matrix_are_told(charges, places, size, words):
    with pytest.raises(DatasetError, match=words):
        molecules.coulomb_matrix(charges, places, size)


# Virtual examples


def test_the_first_draw_is_sorted_and_the_others_are_orders_of_the_same_matrix():
    matrices = several_molecules()
    data = make("virtual_molecules", molecules=(matrices, np.arange(4.0)), noise=30.0)
    x, y = data.block(0, 40)
    np.testing.assert_array_equal(y, np.tile(np.arange(4.0), 10))
    np.testing.assert_array_equal(x[:4], molecules.represent(matrices))
    spectra = np.linalg.eigvalsh(from_triangle(x)).reshape(10, 4, -1)
    np.testing.assert_allclose(spectra, np.broadcast_to(np.linalg.eigvalsh(matrices), spectra.shape), atol=1e-9)
    # Few orders of so small a molecule are likely, so ten draws repeat some.
    assert len(np.unique(x[0::4], axis=0)) > 3


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"molecules": (np.zeros((2, 3, 4)), [0, 1])}, "must have the shape"),
        ({"molecules": (several_molecules(), [0.0])}, "4 molecules, but 1 targets"),
        ({"molecules": (several_molecules(), np.arange(4.0)), "noise": -1.0}, "noise"),
        ({}, "needs molecules"),
    ],
)
def test_wrong_molecules_are_told(wrong, words):
    with pytest.raises(ShallowsError, match=words):
        make("virtual_molecules", **wrong)


# Geometries


def test_a_geometry_without_rdkit_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    smiles_molecules._rdkit.cache_clear()
    with pytest.raises(MissingExtraError, match=r"shallows\[chem\]"):
        make("smiles_molecules", molecules=(["C"], [0.0]))
    smiles_molecules._rdkit.cache_clear()
