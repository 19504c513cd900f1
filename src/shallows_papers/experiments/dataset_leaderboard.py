"""One leaderboard for each dataset of the catalogue: every method that suits it, by error, times and size.

Here it is said which datasets have one, where its files are, and how many rows it takes. The workflow reads this module
whenever it is parsed, so it imports nothing heavy and opens no data. ``python -m
shallows_papers.experiments.dataset_leaderboard adult --scale laptop`` prints the path of a page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.datasets.catalogue import Dataset, get

from .planning.configuration import SCALES, Configuration
from .planning.plan import Plan
from .user_data import comparison

FOLDER = "leaderboard"  # of the leaderboards below that of a scale
SEED = 0  # of the methods, and of the one division of the training rows into those to fit and those to choose by
SPARSE_FORMATS = ("libsvm", "rcv1")  # whose features are left as they are
_LEAST_ROWS = 50  # fewer training rows cannot be divided into parts that mean anything


@dataclass(frozen=True)
class Leaderboards:
    """Leaderboards of the datasets of a catalogue: which have one, where its files are, and what its jobs do."""

    configuration: Configuration
    catalogue: Mapping[str, Dataset]

    @property
    def methods(self) -> dict[str, Any]:
        """The methods that take part where they suit the data: those of the comparison on a user's own data."""
        return {name: method for name, method in self.configuration.methods.items() if "compare" in method}

    def page(self, scale: str, dataset: str) -> str:
        """Path of a page; ``{scale}`` and ``{dataset}`` may stand for themselves, here and in the other paths."""
        return f"{self.configuration.settings['results']}/{scale}/{FOLDER}/{dataset}.html"

    def below(self, scale: str, dataset: str, path: str) -> str:
        """A path below the folder of a leaderboard."""
        return f"{self.configuration.settings['results']}/{scale}/{FOLDER}/{dataset}/{path}"

    def prepared(self, scale: str, dataset: str, purpose: str) -> str:
        """Folder of data prepared for choosing parameters or for the test."""
        return f"{self.configuration.settings['data']}/prepared/{dataset}/{FOLDER}_{scale}/{purpose}"

    def outcome(self, scale: str, dataset: str, method: str) -> str:
        """Path of the outcome of a method."""
        return self.below(scale, dataset, f"runs/{method}/outcome.json")

    def report_files(self, scale: str, dataset: str) -> dict[str, Any]:
        """Paths of a page, its tables and its pictures."""
        return comparison.report_files(self.page(scale, dataset), self.below(scale, dataset, ""))

    def steps(self, scale: str, dataset: str, purpose: str) -> list[dict[str, Any]]:
        """The steps of the preparation for a purpose, "choose" or "test".

        For choosing, the test part is made of training rows, and the dataset's own test rows are left out.
        """
        entry, settings = self.catalogue[dataset], self.configuration.leaderboard
        most, n, n_test = settings["sizes"][scale], entry.n_train, entry.n_test
        todo: list[dict[str, Any]] = []
        if not n_test:
            n_test = comparison.n_held_out(settings["test"] * n, entry.n_classes, most["n_test"])
            todo.append({"split": {"n": n_test, "seed": SEED}})
            n -= n_test
        cut = {}
        if most["n_train"] and most["n_train"] < n:
            n = cut["n_train"] = most["n_train"]
        if purpose == "test" and most["n_test"] and most["n_test"] < n_test:
            cut["n_test"] = most["n_test"]
        if cut:
            todo.append({"subset": {**cut, "seed": SEED}})
        if purpose == "choose":
            todo += comparison.validation_steps(n, entry.n_classes, settings, SEED + 1)
        if entry.value_range:
            todo.append({"unit": {}})
        elif entry.format not in SPARSE_FORMATS:
            todo.append({"zscore": {"numeric_only": True}})
        if entry.categorical:
            todo.append({"one_hot": {}})
        if entry.task == "regression":
            todo.append({"center_target": {"scale": True}})
        return todo

    def spec(self, scale: str, dataset: str, method: str) -> dict[str, Any]:
        """Parameters of the job that chooses, fits and tests one method."""
        return {
            "dataset": dataset,
            "method": method,
            "seed": SEED,
            "definition": self.methods[method],
            "scale": scale,
            "target": f"{FOLDER}_{dataset}",
            "defaults": False,
            "processor_seconds": True,
        }

    def made(self, scale: str) -> dict[str, str]:
        """The pages of a scale that have been made: title of the dataset -> path."""
        pages = {one.title: self.page(scale, name) for name, one in self.catalogue.items()}
        return {title: page for title, page in pages.items() if Path(page).is_file()}

    def find(self, scale: str, name: str) -> Dataset:
        """The dataset of a name, of the catalogue or of a paper, if it can have a leaderboard at a scale.

        At the demo scale it is the part of the dataset that the repository carries.
        """
        dataset = get(name)
        if scale == SCALES[0]:
            dataset = next((one for one in self.catalogue.values() if one.subset_of == dataset.name), dataset)
        self.check(scale, dataset.name)
        return dataset

    def check(self, scale: str, name: str) -> None:
        """Refuse a dataset that cannot have a leaderboard: unknown, without a target, too small, or not supplied."""
        from shallows_papers.datasets.download import supplied_files

        dataset, settings = get(name), self.configuration.settings
        if not self.configuration.leaderboard:
            raise ShallowsError("No leaderboard can be made: methods.yaml has no part 'leaderboard'.")
        if dataset.name != name:
            dataset = self.find(scale, name)
            raise ShallowsError(f"{name!r} is called {dataset.name} here: ask for {self.page(scale, dataset.name)}.")
        if reason := _without(dataset):
            raise ShallowsError(f"There is no leaderboard of '{name}': {reason}.")
        place = Path(settings["data"]) / "raw" / name
        if dataset.state == "supplied" and not supplied_files.is_there(dataset, place, settings["mirror"]):
            raise ShallowsError(
                f"There is no leaderboard of '{name}' yet, since its licence lets nobody pass it on: "
                f"{supplied_files.not_run(dataset, place)}."
            )


def _without(dataset: Dataset) -> str:
    """Why a dataset cannot have a leaderboard; empty where it can."""
    if dataset.task not in ("classification", "regression"):
        return "it has no target, and methods are compared in classification and regression"
    if dataset.format == "smiles":
        return "its rows are texts and no features"
    if dataset.n_train is None:
        return "nobody says how many rows it has"
    if dataset.n_train < _LEAST_ROWS:
        return f"it has {dataset.n_train:,} training rows, and at least {_LEAST_ROWS} are needed"
    return ""


def main() -> None:
    """Print the path of a leaderboard's page, for a dataset by any of its names, or say why it has none."""
    parser = argparse.ArgumentParser(prog="make leaderboard", description="Print the path of a leaderboard's page.")
    parser.add_argument("dataset", nargs="?", help="a dataset of data/README.md, by its name there or in a paper")
    parser.add_argument("--scale", choices=SCALES, default=SCALES[0])
    given = parser.parse_args()
    if given.dataset is None:
        parser.error("say which dataset: make leaderboard DATASET=mnist SCALE=laptop (data/README.md lists them)")
    try:
        plan = Plan.load()
        boards = Leaderboards(plan.configuration, plan.catalogue)
        print(boards.page(given.scale, boards.find(given.scale, given.dataset).name))
    except ShallowsError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
