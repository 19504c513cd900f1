"""Small datasets, a local server and the folder of full files, for the tests of shallows_papers.datasets."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from shallows_papers import datasets
from shallows_papers.datasets import Dataset, File, get
from shallows_papers.datasets.download import addresses, fetching
from shallows_papers.datasets.formats.delimited_text import TableForm, csv_blocks
from shallows_papers.datasets.preparation import pipeline
from shallows_papers.datasets.sources import ArrayPart, Source, open_source

CSV = b"1,-2,7\n3,4,8\n"
CONTENT = b"1.0,2.0,0\n" * 40 + b"2.5,1.0,1\n" * 40

_mirror = os.environ.get("SHALLOWS_MIRROR", "")
MIRROR = Path(_mirror) if _mirror and Path(_mirror).is_dir() else None


def mirrored_files(name: str) -> dict[str, Path]:
    """Return the complete files of a dataset by part. Skip the test if SHALLOWS_MIRROR is no folder that has them."""
    made, found = get(name), {}
    for file in made.files:
        places = addresses.addresses(made, file, MIRROR) if MIRROR else ()
        found[file.part] = next((at.place for at in places if isinstance(at.place, Path) and not at.absence), None)
    if None in found.values():
        pytest.skip(f"needs the complete files of {name}: SHALLOWS_MIRROR is not a folder that has them")
    return found


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def dataset(*urls: str, content: bytes = CONTENT, name: str = "toy", **changes) -> Dataset:
    """Return a dataset of one CSV file."""
    file = File("toy.csv", "all", tuple(urls), size=len(content), sha256=sha256(content))
    entry = {
        "title": "Toy",
        "state": "public",
        "task": "classification",
        "n_train": 80,
        "n_test": 0,
        "n_features": 2,
        "n_classes": 2,
        "licence": "CC0",
        "citation": "nobody",
        "homepage": "https://example.org/toy",
        "files": (file,),
        "format": "csv",
    }
    return Dataset(name=name, **(entry | changes))


def write_table(folder: Path, x: np.ndarray, y: np.ndarray, x_test: np.ndarray, y_test: np.ndarray, **changes):
    """Write CSV files as an embedded dataset in `folder`; return its entry."""
    task = changes.pop("task", "classification")
    name = changes.pop("name", "table")
    files = []
    for part, features, targets in (("train", x, y), ("test", x_test, y_test)):
        rows = [",".join([*map(repr, map(float, row)), str(t)]) for row, t in zip(features, targets, strict=True)]
        content = ("\n".join(rows) + "\n").encode()
        path = folder / name / f"{part}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        files.append(File(path.name, part, size=len(content), sha256=sha256(content)))
    return dataset(
        name=name,
        state="embedded",
        subset_of="nothing",
        task=task,
        n_train=len(x),
        n_test=len(x_test),
        n_features=x.shape[1],
        n_classes=len(np.unique(y)) if task == "classification" else 0,
        files=tuple(files),
        **changes,
    )


def three_classes():
    """Train and test features and labels: three classes, one constant and one categorical column."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 5)) * [1.0, 3.0, 0.1, 1.0, 10.0] + [0.0, 5.0, 1.0, 0.0, 1e4]
    x[:, 1] = np.round(x[:, 1])
    x[:, 3] = 4.0
    y = np.repeat([1, 2, 3], [45, 30, 15])
    order = rng.permutation(90)
    return x[order][:60], y[order][:60], x[order][60:], y[order][60:]


def prepared(tmp_path, numbers, steps, name="out", **changes):
    """Write, fetch and prepare a table of these numbers, and load what came out."""
    entry = write_table(tmp_path / "files", *numbers, **changes)
    stamp = datasets.fetch(entry, tmp_path / "raw", embedded_root=tmp_path / "files")
    datasets.prepare(entry, stamp, tmp_path / name, steps)
    return datasets.load(tmp_path / name)


def prepared_rows(folder, x, y, n_test, steps=(), memory=None, n_classes=2):
    """Prepare rows, of which the last are the test part, and load what came out; also return their entry."""
    n = len(y) - n_test
    sizes = {"n_train": n, "n_test": n_test, "n_features": x.shape[1], "n_classes": n_classes}
    made = dataset(name="rows", state="generated", files=(), **sizes)
    parts = Source(ArrayPart(x[:n], y[:n]), ArrayPart(x[n:], y[n:]))
    pipeline.prepare_source(made, parts, [], folder, datasets.check_steps(steps), memory)
    return made, datasets.load(folder)


def prepared_in_two_ways(folder, x, y, n_test, first, second, **changes):
    """Prepare rows by all steps at once, and by the second steps after the first."""
    made, _ = prepared_rows(folder / "first", x, y, n_test, first, **changes)
    _, whole = prepared_rows(folder / "whole", x, y, n_test, [*first, *second], **changes)
    datasets.prepare(made, folder / "first" / "prepared.json", folder / "second", second)
    return whole, datasets.load(folder / "second")


def together(blocks) -> tuple[Any, np.ndarray]:
    """Return the features and the targets of all blocks."""
    x, y = zip(*blocks, strict=True)
    return (scipy.sparse.vstack(x, "csr") if hasattr(x[0], "indptr") else np.concatenate(x)), np.concatenate(y)


def read_csv(path: Path, target: int = -1, separator: str = ",", header: int = 0, dtype: str = "float64"):
    """Read a table of numbers whole."""
    form = TableForm(separator, header, target=target, dtype=dtype)
    return together(csv_blocks(path, form, 65_536))


def read(entry: Dataset, paths: dict[str, Path]) -> SimpleNamespace:
    """Read a dataset's files whole, which holds them against its entry."""
    source = open_source(entry, paths)
    x_train, y_train = together(source.train.blocks(65_536))
    x_test, y_test = together(source.test.blocks(65_536)) if source.test else (x_train[:0], y_train[:0])
    return SimpleNamespace(x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)


def rows_of(part, rows: int = 3):
    """Return all rows of a part, read in blocks of at most `rows`."""
    blocks = list(part.blocks(rows))
    assert all(0 < len(block.y) <= rows for block in blocks)
    x = [block.x.toarray() if hasattr(block.x, "indptr") else block.x for block in blocks]
    return np.concatenate(x), np.concatenate([block.y for block in blocks])


def entry(n_train: int, n_test: int, d: int, format: str, **changes) -> Dataset:
    """Return an entry with the parts of the files that a test gives."""
    files = tuple(File(part, part) for part in changes.pop("parts"))
    classes = 2 if changes.get("task", "classification") == "classification" else 0
    sizes = {"n_train": n_train, "n_test": n_test, "n_features": d, "n_classes": classes}
    return dataset(files=files, format=format, **(sizes | changes))


def source(tmp_path, contents: dict[str, tuple[str, bytes]], made: Dataset):
    """Write (name, content) of every part and open them."""
    paths = {}
    for part, (name, content) in contents.items():
        paths[part] = tmp_path / name
        paths[part].write_bytes(content)
    return open_source(made, paths)


class Server:
    """What a local server answers, by path, and what it was asked for."""

    def __init__(self, url: str):
        self.url = url
        self.answers: dict[str, list[Any]] = {}
        self.asked: list[str] = []
        self.ranges: list[str | None] = []

    def says(self, path: str, *answers: Any) -> str:
        """Set the answers to `path`, the last for good.

        An answer is a content, a status, (status, content, stated length), or a function of the handler that does it
        all itself.
        """
        forms = {bytes: lambda a: (200, a, None), int: lambda a: (a, b"no", None)}
        self.answers[path] = [forms.get(type(answer), lambda a: a)(answer) for answer in answers]
        return self.url + path


@contextlib.contextmanager
def serving():
    """Run a server on 127.0.0.1 for as long as the block lasts."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append(self.path)
            server.ranges.append(self.headers.get("Range"))
            answers = server.answers.get(self.path, [(404, b"not here", None)])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if callable(answer):
                answer(self)
                return
            status, content, length = answer
            self.send_response(status)
            self.send_header("Content-Length", str(len(content) if length is None else length))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        server = Server(f"http://127.0.0.1:{listener.server_address[1]}")
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join(timeout=10)


def server_without_pauses(monkeypatch):
    """Yield a server that is asked again without a pause, with neither a proxy nor a mirror from the environment."""
    monkeypatch.setattr(fetching, "RETRIES", fetching.RETRIES.new(backoff_factor=0))
    monkeypatch.setattr(fetching, "BLOCK", 20)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv(addresses.MIRROR_VARIABLE, raising=False)
    with serving() as server:
        yield server


def left_in(folder: Path) -> set[str]:
    """Return the names of all files in a folder but the lock."""
    return {path.name for path in folder.iterdir()} - {".lock"}


def mirror_with(folder: Path, content: bytes, name: str = "toy") -> Path:
    """Make a mirror folder that holds one file of a dataset; return it."""
    (folder / name).mkdir(parents=True)
    (folder / name / "toy.csv").write_bytes(content)
    return folder
