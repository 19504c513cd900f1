"""The tables of a leaderboard."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shallows.datasets.catalogue import Dataset, get

from ..user_data import leaderboard
from ..user_data.results import read
from .board import TABLES


def write(outcomes: Iterable[str | Path], dataset: str, scale: str, prepared: str | Path, folder: str | Path) -> None:
    """Write every table of a leaderboard into a folder, from the ``outcome.json`` of every method."""
    info = json.loads((Path(prepared) / "prepared.json").read_text(encoding="utf-8"))
    leaderboard.write_tables(read(outcomes, describe(get(dataset), info, scale)), folder, TABLES)


def describe(dataset: Dataset, info: Mapping[str, Any], scale: str) -> dict[str, Any]:
    """Describe a dataset of the catalogue in the form of the description of a user's own data."""
    has_test = bool(dataset.n_test)
    of_all = (dataset.n_train, dataset.n_test) if has_test else (None, None)
    where = "of its own test part" if has_test else "drawn from all rows, since it has no test part"
    rows = f"{_of(info['n_train'], of_all[0])} training rows and {_of(info['n_test'], of_all[1])} test rows {where}"
    told = (
        f"{dataset.title}: {rows}, {info['n_features']:,} features{_scaled(info)}. Times are seconds of the processor "
        "on one thread, so that a busy machine does not count; on a GPU they are those of the clock. Licence: "
        f"{dataset.licence}."
    )
    return {
        "dataset": dataset.name,
        "scale": scale,
        "told": told,
        "entry": {
            "title": dataset.title,
            "task": dataset.task,
            "n_train": dataset.n_train,
            "n_test": dataset.n_test or 0,
            "n_classes": dataset.n_classes,
            "n_targets": dataset.n_targets,
            "citation": dataset.citation,
            "options": {},
        },
    }


def _of(used: int, available: int | None) -> str:
    return f"{used:,}" if available in (None, used) else f"{used:,} of the {available:,}"


def _scaled(info: Mapping[str, Any]) -> str:
    used = {name for step in info["steps"] for name in step}
    if "unit" in used:
        return " scaled to [0, 1]"
    return " with mean 0 and variance 1" if "zscore" in used else " as they come"
