"""Reads tables and LIBSVM files with this project's readers and with the well-kept ones, turn by turn.

``python benchmarks/readers.py [--rows N] [--rounds R]`` writes files of a known size, reads each with every reader in
turn, checks that all give the same numbers, and prints medians. Ours should be no slower than the fastest of them:
1 is the exit status where its median is more than a tenth above. pyarrow is measured where it is installed.
"""

from __future__ import annotations

import argparse
import bz2
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import scipy.sparse
from sklearn.datasets import load_svmlight_file

from shallows_papers.datasets.formats.delimited_text import TableColumns, TextLayout, csv_blocks
from shallows_papers.datasets.formats.libsvm import libsvm_blocks

ALLOWED = 1.1
_BLOCK_ROWS = 65_536


def main() -> int:
    """Measure every kind of file and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    slower = 0
    print(
        f"{'file':<34}{'MB':>7}  " + "".join(f"{name:>16}" for name in ("ours s", "pandas s", "pyarrow s", "sklearn s"))
    )
    with tempfile.TemporaryDirectory() as folder:
        for title, path, readers in cases(Path(folder), options.rows):
            medians = measure(readers, path, options.rounds)
            others = [seconds for name, seconds in medians.items() if name != "ours"]
            worse = medians["ours"] > ALLOWED * min(others)
            slower += worse
            told = "".join(
                f"{medians[name]:16.3f}" if name in medians else f"{'':16}"
                for name in ("ours", "pandas", "pyarrow", "sklearn")
            )
            print(f"{title:<34}{path.stat().st_size / 1e6:7.1f}  {told}{'  slower' if worse else ''}", flush=True)
    return 1 if slower else 0


def cases(folder: Path, n: int) -> list[tuple[str, Path, dict[str, Callable[[Path], Any]]]]:
    """Write the files and name their readers."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((n, 28))
    labels = rng.integers(0, 2, n)
    whole = np.where(rng.random((n, 54)) < 0.2, rng.integers(0, 7000, (n, 54)), 0)
    reals = folder / "reals.csv"  # of the form of HIGGS: the label first
    pandas.DataFrame(np.column_stack([labels, numbers])).to_csv(reals, header=False, index=False, float_format="%.18e")
    integers = folder / "integers.csv.gz"  # of the form of Covertype: the label last
    pandas.DataFrame(np.column_stack([whole, labels])).to_csv(integers, header=False, index=False)
    sparse = folder / "sparse"  # of the form of a9a and MNIST-8M
    sparse.write_text(
        "".join(
            f"{label} " + " ".join(f"{place + 1}:{row[place]}" for place in np.flatnonzero(row)) + "\n"
            for label, row in zip(labels, whole, strict=True)
        )
    )
    packed = folder / "sparse.bz2"
    packed.write_bytes(bz2.compress(sparse.read_bytes()))
    return [
        ("CSV, 28 real numbers", reals, csv_readers(0, "float64", 29)),
        ("CSV, 54 whole numbers, gzip", integers, csv_readers(54, "int16", 55)),
        ("LIBSVM, 54 features", sparse, libsvm_readers()),
        ("LIBSVM, 54 features, bzip2", packed, libsvm_readers()),
    ]


def csv_readers(target: int, dtype: str, n_columns: int) -> dict[str, Callable[[Path], Any]]:
    """Readers of a table into an array of features and one of targets."""

    def ours(path: Path) -> Any:
        return together(csv_blocks(path, TextLayout(), TableColumns(target=target, dtype=dtype), _BLOCK_ROWS))

    def with_pandas(path: Path) -> Any:
        types = {column: dtype for column in range(n_columns) if column != target}
        table = pandas.read_csv(path, header=None, dtype=types)
        y = table.pop(target).to_numpy()
        return table.to_numpy(dtype), y

    def with_pyarrow(path: Path) -> Any:
        import pyarrow
        from pyarrow import csv

        kind = pyarrow.from_numpy_dtype(np.dtype(dtype))
        types = {f"f{column}": kind for column in range(n_columns) if column != target}
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(autogenerate_column_names=True),
            convert_options=csv.ConvertOptions(column_types=types),
        )
        x = np.empty((table.num_rows, n_columns - 1), dtype)
        for place, name in enumerate(types):
            x[:, place] = table[name].to_numpy()
        return x, table[f"f{target}"].to_numpy()

    readers = {"ours": ours, "pandas": with_pandas}
    return readers | ({"pyarrow": with_pyarrow} if importlib.util.find_spec("pyarrow") else {})


def libsvm_readers() -> dict[str, Callable[[Path], Any]]:
    """Readers of a LIBSVM file into a CSR matrix and an array of targets."""
    return {
        "ours": lambda path: together(libsvm_blocks(path, 54, _BLOCK_ROWS)),
        "sklearn": lambda path: load_svmlight_file(str(path), n_features=54, zero_based=False),
    }


def together(blocks: Iterable[Any]) -> tuple[Any, np.ndarray]:
    """Return the features and the targets of all blocks."""
    x, y = zip(*blocks, strict=True)
    return (scipy.sparse.vstack(x, "csr") if hasattr(x[0], "indptr") else np.concatenate(x)), np.concatenate(y)


def measure(readers: dict[str, Callable[[Path], Any]], path: Path, rounds: int) -> dict[str, float]:
    """Time every reader once a round, in another order each time, after a first round that checks their answers."""
    expected = dense(next(iter(readers.values()))(path))
    for name, reader in readers.items():
        x, y = dense(reader(path))
        if not (np.array_equal(x, expected[0]) and np.array_equal(y, expected[1])):
            raise SystemExit(f"{name} reads other numbers from {path.name} than ours")
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for number in range(rounds):
        order = list(readers)
        for name in order[number % len(order) :] + order[: number % len(order)]:
            start = time.perf_counter()
            readers[name](path)
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def dense(read: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return features with their zeros, and targets."""
    x, y = read
    return (x.toarray() if hasattr(x, "toarray") else np.asarray(x)), np.asarray(y)


if __name__ == "__main__":
    sys.exit(main())
