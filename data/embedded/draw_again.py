"""The embedded datasets: seeded subsets of public ones, small enough for the repository.

``python data/embedded/draw_again.py --mirror FOLDER`` draws them again from the full files.
"""

from __future__ import annotations

import argparse
import gzip
import io
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from shallows_papers.datasets.catalogue import Dataset, catalogue, get
from shallows_papers.datasets.download.fetching import fetch
from shallows_papers.datasets.files import DatasetError, digest, replacing
from shallows_papers.datasets.formats.containers import open_binary
from shallows_papers.datasets.formats.idx import read_idx, write_idx
from shallows_papers.datasets.preparation.row_draws import draw_rows


def rebuild(name: str, raw: Path, out: Path) -> list[Path]:
    """Draw an embedded dataset from the full one's files in `raw`; return the files written to `out`.

    Training and test rows are drawn by `draw_rows` with the purposes "embedded/train" and "embedded/test", each class
    keeping its share. A full dataset without a test part gives both from its one part: the test rows are drawn first,
    the training rows from what is left. Rows stay in their order; lines of text files are copied as they are.
    """
    dataset = get(name)
    if dataset.draw is None:
        raise DatasetError(f"'{name}' is not an embedded dataset.")
    full = get(dataset.subset_of)
    contents = _WRITERS[dataset.format](dataset, {file.part: raw / file.name for file in full.files})
    written = []
    for file in dataset.files:
        with replacing(out / file.name) as partial:
            partial.write_bytes(gzip_bytes(contents[file.part]))
        written.append(out / file.name)
    return written


def gzip_bytes(content: bytes) -> bytes:
    """Compress without time or name in the header, so that equal contents give equal files."""
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, packed, mtime=0) as file:
        file.write(content)
    return packed.getvalue()


def _rows(dataset: Dataset, labels: Mapping[str, np.ndarray]) -> dict[str, tuple[str, np.ndarray]]:
    """Return, for "train" and "test", the part of the full dataset and the rows to take from it."""
    draw = dataset.draw

    def drawn(part: str, y: np.ndarray) -> np.ndarray:
        return draw_rows(len(y), draw[f"n_{part}"], draw["seed"], f"embedded/{part}", y)

    if "all" not in labels:
        return {part: (part, drawn(part, labels[part])) for part in ("train", "test")}
    y = labels["all"]
    test = drawn("test", y)
    left = np.delete(np.arange(len(y)), test)
    return {"train": ("all", left[drawn("train", y[left])]), "test": ("all", test)}


def _idx(dataset: Dataset, paths: Mapping[str, Path]) -> dict[str, bytes]:
    labels = {part: read_idx(paths[f"{part}_labels"]) for part in ("train", "test")}
    contents = {}
    for part, (source, rows) in _rows(dataset, labels).items():
        contents[f"{part}_images"] = write_idx(read_idx(paths[f"{source}_images"])[rows])
        contents[f"{part}_labels"] = write_idx(labels[source][rows])
    return contents


def _lines(
    label_of: Callable[[Dataset, bytes], bytes], dataset: Dataset, paths: Mapping[str, Path]
) -> dict[str, bytes]:
    lines = {}
    for part, path in paths.items():
        with open_binary(path) as file:
            lines[part] = file.readlines()
    labels = {part: np.array([label_of(dataset, line) for line in content]) for part, content in lines.items()}
    return {
        part: b"".join(lines[source][row] for row in rows) for part, (source, rows) in _rows(dataset, labels).items()
    }


_WRITERS: dict[str, Callable[[Dataset, Mapping[str, Path]], dict[str, bytes]]] = {
    "idx": _idx,
    "libsvm": partial(_lines, lambda dataset, line: line.split(maxsplit=1)[0]),
    "csv": partial(_lines, lambda dataset, line: line.rstrip().split(b",")[dataset.options["target"]]),
}


def main() -> None:
    """Draw every embedded dataset again and print sizes and checksums for the catalogue."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", help="a URL or a folder with the full files, tried before their public addresses")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as downloads:
        for name, dataset in catalogue().items():
            if dataset.state != "embedded":
                continue
            raw = fetch(dataset.subset_of, downloads, arguments.mirror).parent
            for path in rebuild(name, raw, arguments.out / name):
                print(f"{path}: size {path.stat().st_size}, sha256 {digest(path)}")


if __name__ == "__main__":
    main()
