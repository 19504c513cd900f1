"""Peak memory and time of preparing 5,000,000 rows of 18 numbers, the size of SUSY, under a budget.

``python benchmarks/preparation.py --memory 1GB --form csv`` generates the file (also ``--form binary``, ``--rows N``),
prepares it (a tenth held out, features standardized) and prints one line of JSON. The peak is of one process.
``--record`` writes it to the record that the repository keeps.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from record import Record

WIDTH = 18
BLOCK = 100_000


def generate(path: Path, rows: int, form: str) -> None:
    """Write rows of 18 normal numbers and a class that depends on them."""
    rng = np.random.default_rng(0)
    with open(path, "wb") as file:
        if form == "binary":
            header = {"descr": "<f4", "fortran_order": False, "shape": (rows, WIDTH + 1)}
            np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, rows, BLOCK):
            x = rng.standard_normal((min(BLOCK, rows - start), WIDTH), dtype=np.float32)
            y = (x[:, :3].sum(axis=1) > 0).astype(np.float32)
            both = np.column_stack([x, y])
            if form == "binary":
                file.write(both.data)
            else:
                np.savetxt(file, both, fmt="%.6g", delimiter=",")


def main() -> None:
    """Generate in another process, so that its memory is not counted, and prepare in this one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--form", choices=("binary", "csv"), default="binary")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--generate", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.generate:
        generate(asked.generate, asked.rows, asked.form)
        return
    with tempfile.TemporaryDirectory(dir=asked.out) as folder:
        path = Path(folder) / ("rows.npy" if asked.form == "binary" else "rows.csv")
        given = ["--form", asked.form, "--rows", str(asked.rows), "--generate", str(path)]
        subprocess.run([sys.executable, __file__, *given], check=True)
        found = prepare(path, Path(folder), asked.memory)
    print(json.dumps(found))
    if asked.record:
        title = f"{asked.rows:,} rows, {asked.form}, {asked.memory}"
        Record("preparation", resume=True).add(title, ("what", "value"), list(found.items()))


def prepare(path: Path, folder: Path, memory: str) -> dict[str, object]:
    """Describe a file like a user's file, and prepare it."""
    from shallows_papers import datasets
    from shallows_papers.datasets.user_data import describe, request

    clock = time.perf_counter()
    description = describe.write(request.make("rows", {"file": str(path)}, "here"), folder / "verified.json")
    described = time.perf_counter() - clock
    steps = [{"split": {"n": 0.1}}, {"zscore": {}}]
    dataset = describe.dataset_of(description)
    record = datasets.prepare(dataset, folder / "verified.json", folder / "out", steps, memory)
    counts = {key: record[key] for key in ("n_train", "n_test", "n_features", "peak_memory_bytes", "seconds", "sha256")}
    return {"file_bytes": path.stat().st_size, "describe_seconds": round(described, 3), **counts}


if __name__ == "__main__":
    main()
