"""Small datasets, a local server and the folder of full files, for the tests of shallows.datasets."""

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

from shallows.datasets import Dataset, File
from shallows.datasets.formats.delimited_text import Columns, TextLayout, csv_blocks
from shallows.datasets.formats.libsvm import libsvm_blocks
from shallows.datasets.formats.source import open_source

CONTENT = b"1.0,2.0,0\n" * 40 + b"2.5,1.0,1\n" * 40

_mirror = os.environ.get("SHALLOWS_MIRROR", "")
MIRROR = Path(_mirror) if _mirror and Path(_mirror).is_dir() else None
needs_mirror = pytest.mark.skipif(
    MIRROR is None, reason="needs the full files: SHALLOWS_MIRROR is not a folder that holds them"
)


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


def together(blocks) -> tuple[Any, np.ndarray]:
    """Return the features and the targets of all blocks."""
    x, y = zip(*blocks, strict=True)
    return (scipy.sparse.vstack(x, "csr") if hasattr(x[0], "indptr") else np.concatenate(x)), np.concatenate(y)


def read_csv(path: Path, target: int = -1, separator: str = ",", header: int = 0, dtype: str = "float64"):
    """Read a table of numbers whole."""
    layout = TextLayout(separator=separator, skipped=header)
    return together(csv_blocks(path, layout, Columns(target=target, dtype=dtype), 65_536))


def read_libsvm(path: Path, n_features: int):
    """Read a LIBSVM file whole."""
    return together(libsvm_blocks(path, n_features, 65_536))


def read(entry: Dataset, paths: dict[str, Path]) -> SimpleNamespace:
    """Read a dataset's files whole, which holds them against its entry."""
    source = open_source(entry, paths)
    x_train, y_train = together(source.train.blocks(65_536))
    x_test, y_test = together(source.test.blocks(65_536)) if source.test else (x_train[:0], y_train[:0])
    return SimpleNamespace(x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)


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
