"""Datasets: the catalogue, and functions that fetch, read and prepare them.

>>> from shallows_papers import datasets
>>> sorted(datasets.catalogue())[:2]
['a9a', 'a9a_demo']

`fetch` downloads the files of a dataset and writes ``verified.json``. `prepare` turns them into arrays and writes
``prepared.json``. `load` maps the arrays into memory. Importing this package reads only the catalogue.

The folders are ``catalogue`` (what each dataset is), ``download`` (its files), ``formats`` (their readers),
``synthetic`` (generated data), ``user_data`` (a user's own files), ``preparation`` (the steps and the arrays) and
``listing`` (what the command line prints).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shallows.utils.lazy_tables import LazyTable
from shallows_papers.datasets.catalogue import Dataset, File, catalogue, get
from shallows_papers.datasets.files import DatasetError, DatasetWarning, SuppliedDataError

if TYPE_CHECKING:
    from shallows_papers.datasets.download.fetching import fetch
    from shallows_papers.datasets.preparation.pipeline import prepare
    from shallows_papers.datasets.preparation.steps import check_steps, shape_after
    from shallows_papers.datasets.prepared import Prepared, load

# Loaded at first use: a plan needs only the catalogue, so it imports neither NumPy nor the network stack.
_LAZY = LazyTable(
    "name",
    __name__,
    {
        "fetch": ".download.fetching",
        "prepare": ".preparation.pipeline",
        "load": ".prepared",
        "Prepared": ".prepared",
        "check_steps": ".preparation.steps",
        "shape_after": ".preparation.steps",
    },
)

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetWarning",
    "File",
    "Prepared",
    "SuppliedDataError",
    "catalogue",
    "check_steps",
    "fetch",
    "get",
    "load",
    "prepare",
    "shape_after",
]


def __getattr__(name: str) -> Any:
    return _LAZY.attribute(name)
