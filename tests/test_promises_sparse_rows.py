"""Sparse rows of every form give what the same rows give in canonical form, and what they give dense, to rounding."""

import numpy as np
import pytest
import scipy.sparse as sp

from promises_example import EVERY, WITH_STREAMS, outputs, targets, unfitted
from shallows.arrays.user_arrays import canonical_rows
from shallows.kernel_approximation import PolynomialFeatures
from shallows.svm import BudgetedSVMClassifier
from shallows_papers.datasets.formats.libsvm import libsvm_blocks

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

_rng = np.random.default_rng(0)
X = _rng.integers(-4, 5, size=(60, 6)) / 4.0 * (_rng.random((60, 6)) < 0.5)
NEW = X[:20] + 0.25 * (X[:20] != 0)


def in_parts(rows, kind):
    """Each value as a quarter and, in the reverse order behind all quarters, three quarters of it."""
    rows = sp.csr_array(rows)
    columns, values = [], []
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        columns += [rows.indices[start:stop], rows.indices[start:stop][::-1]]
        values += [0.25 * rows.data[start:stop], 0.75 * rows.data[start:stop][::-1]]
    return kind((np.concatenate(values), np.concatenate(columns), 2 * rows.indptr), shape=rows.shape)


def backwards(rows):
    rows = sp.csr_matrix(rows)
    order = np.concatenate([np.arange(b, a, -1) - 1 for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)])
    return sp.csr_matrix((rows.data[order], rows.indices[order], rows.indptr), shape=rows.shape)


def with_zeros(rows):
    n, d = rows.shape
    return sp.csr_matrix((rows.ravel(), np.tile(np.arange(d), n), d * np.arange(n + 1)), shape=(n, d))


def of_large_indices(rows, kind=sp.csr_matrix):
    rows = sp.csr_matrix(rows) if kind is sp.csr_matrix else in_parts(rows, kind)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def said_to_be_sorted(rows):
    rows = in_parts(rows, sp.csr_matrix)
    rows.has_canonical_format = rows.has_sorted_indices = True
    return rows


def which_cancel(rows):
    """A value and its negative next to each row's own values."""
    apart = sp.coo_array(rows)
    n, d = rows.shape
    columns = np.concatenate([np.full(n, d - 1), apart.col, np.full(n, d - 1)])
    at = np.concatenate([np.arange(n), apart.row, np.arange(n)])
    return sp.coo_array((np.concatenate([np.full(n, 2.0), apart.data, np.full(n, -2.0)]), (at, columns)), shape=(n, d))


KINDS = {
    "csr_array": sp.csr_array,
    "columns in reverse order": backwards,
    "repeated entries, matrix": lambda rows: in_parts(rows, sp.csr_matrix),
    "repeated entries, array": lambda rows: in_parts(rows, sp.csr_array),
    "repeated entries under wrong flags": said_to_be_sorted,
    "stored zeros": with_zeros,
    "64-bit indices, repeated entries": lambda rows: of_large_indices(rows, sp.csr_array),
    "COO with entries that cancel": which_cancel,
    "CSC with repeated entries": lambda rows: in_parts(rows.T, sp.csr_array).T,
    "BSR": lambda rows: sp.bsr_array(rows, blocksize=(2, 3)),
    "DOK": sp.dok_array,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_becomes_canonical_and_the_given_object_stays_as_it_is(kind):
    given = KINDS[kind](X)
    kept = {name: np.array(part) for name, part in vars(given).items() if isinstance(part, np.ndarray)}
    rows = canonical_rows(given)
    assert rows.format == "csr" and isinstance(rows, sp.sparray) == isinstance(given, sp.sparray)
    expected = sp.csr_array(X)
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(rows, name), getattr(expected, name)), name
    for name, part in kept.items():
        assert np.array_equal(getattr(given, name), part) and getattr(given, name).dtype == part.dtype, name


@pytest.mark.parametrize("name", EVERY)
def test_every_estimator_gives_what_dense_rows_give(name):
    y = targets(name, X)
    of_dense = outputs(unfitted(name).fit(X, y), NEW)
    of_canonical = outputs(unfitted(name).fit(sp.csr_matrix(X), y), sp.csr_matrix(NEW))
    of_parts = outputs(
        unfitted(name).fit(KINDS["64-bit indices, repeated entries"](X), y), in_parts(NEW, sp.csr_matrix)
    )
    for dense, canonical, parts in zip(of_dense, of_canonical, of_parts, strict=True):
        assert np.array_equal(parts, canonical)
        # Sums over the values of a row, in four parts of dense ones, and 20,000 steps with them.
        assert np.abs(canonical - dense).max() <= 1e-9 * np.abs(dense).max()


@pytest.mark.parametrize("name", WITH_STREAMS)
def test_every_partial_fit_gives_what_dense_rows_give(name):
    y = targets(name, X)
    first = {"classes": [0, 1]} if name.endswith("Classifier") else {}
    of_dense, of_parts = (
        unfitted(name).partial_fit(rows, y, **first).partial_fit(rows, y) for rows in (X, in_parts(X, sp.csr_array))
    )
    for dense, parts in zip(outputs(of_dense, NEW), outputs(of_parts, in_parts(NEW, sp.csr_matrix)), strict=True):
        assert np.abs(parts - dense).max() <= 1e-9 * np.abs(dense).max()


def broken(columns, ends):
    rows = sp.csr_matrix((2, 3))
    rows.data, rows.indices, rows.indptr = np.ones(len(columns)), np.array(columns), np.array([0, *ends])
    return rows


@pytest.mark.parametrize("rows", [broken([0, 3], [1, 2]), broken([0, -1], [1, 2]), broken([0, 1], [2, 1])])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("Estimator", [BudgetedSVMClassifier, PolynomialFeatures])
def test_indices_beyond_the_shape_are_refused(Estimator, rows, turned):
    with pytest.raises(ValueError, match="X is no valid sparse matrix: ind"):
        Estimator().fit(rows.T if turned else rows, [0, 1])


LIBSVM_FILES = {
    "a row of no values": ("1 2:3\n-1\n", [[0, 3, 0, 0], [0, 0, 0, 0]]),
    "an index beyond 32 bits": (f"1 {2**31 + 2}:1\n", None),
}


@pytest.mark.parametrize("kind", LIBSVM_FILES)
def test_a_libsvm_file_gives_its_rows_or_is_refused_with_its_lines(kind, tmp_path):
    text, dense = LIBSVM_FILES[kind]
    (tmp_path / "rows.libsvm").write_text(text)
    blocks = libsvm_blocks(tmp_path / "rows.libsvm", 4, rows=10)
    if dense is None:
        with pytest.raises(ValueError, match="somewhere in lines 1 to 1"):
            next(blocks)
        return
    [block] = blocks
    assert canonical_rows(block.x).toarray().tolist() == dense
