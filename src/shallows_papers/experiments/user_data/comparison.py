"""The comparison on a user's own data: what is run, the paths of its files, and how the data are split.

This module is imported whenever the workflow is parsed, so it imports nothing heavy and opens no data. The jobs decide
what depends on the data (the task, the number of rows).
"""

import errno
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from shallows_papers.datasets.user_data.request import FileRequest, resolve

from ..parameters import by_last_name
from ..planning import costs
from ..planning.configuration import Configuration, refuse_braces

#: Replaces the scale in paths, since a user's data have only one size.
SCALE = "own"
#: The two preparations: "choose" is for choosing parameters and never sees a test row, "test" is for testing.
PURPOSES = ("choose", "test")
#: Name of the main table of a comparison.
TARGET = "comparison"
#: All tables, each with a picture, in the order of the page.
TABLES = (TARGET, "predictions", "bandwidths")
#: Files up to this multiple of the size that allows all seeds get three seeds; larger files get one.
_FEWER = 10


@dataclass(frozen=True)
class Comparison:
    """A comparison of methods on one dataset: what its jobs do, and where its files are.

    ``request`` is the user's own file, or None. A dataset of the catalogue has ``steps`` and a ``page`` instead.
    """

    dataset: str  # its name, in paths of data and in records
    methods: dict[str, Any]  # those that take part, as the configuration defines them
    division: dict[str, Any]  # the shares and the most rows of each part of the data
    seeds: tuple[int, ...]  # one for each split of the data into training and test rows
    folder: str  # of its results
    page: str
    data: str  # the configuration's folder of data
    scale: str = SCALE
    title: str = ""
    request: FileRequest | None = None
    steps: Mapping[str, Sequence[Mapping[str, Any]]] | None = None  # of the preparation for each purpose

    @classmethod
    def of(cls, configuration: Configuration) -> Self | None:
        """Return the comparison on a user's file that a configuration asks for; None if it names no data."""
        settings = configuration.settings
        request = resolve(settings, configuration.root)
        if request is None:
            return None
        for path in request.files:
            refuse_braces(path)
        folder = f"{settings['results']}/{SCALE}/{request.name}"
        return cls(
            dataset=request.dataset,
            methods=compared_methods(configuration),
            division=configuration.compare,
            seeds=tuple(settings["seeds"] or affordable(configuration.compare, request)),
            folder=folder,
            page=f"{folder}/report/index.html",
            data=settings["data"],
            request=request,
        )

    @property
    def stamp(self) -> str:
        """Path of the checksums of the data's files, and of the description of a user's own data."""
        return f"{self.data}/raw/{self.dataset}/verified.json"

    def prepared(self, purpose: str, seed: int | str) -> str:
        """Folder of data prepared for a purpose and split by a seed."""
        scale = "" if self.request else f"leaderboard_{self.scale}/"
        return f"{self.data}/prepared/{self.dataset}/{scale}seed{seed}/{purpose}"

    def prepared_with_all_seeds(self, purpose: str) -> list[str]:
        """Folders of data prepared for a purpose, one for each seed."""
        return [self.prepared(purpose, seed) for seed in self.seeds]

    @property
    def preparations(self) -> list[str]:
        """Folders of all preparations."""
        return [path for purpose in PURPOSES for path in self.prepared_with_all_seeds(purpose)]

    def outcome(self, method: str, seed: int | str) -> str:
        """Path of the outcome of a method with a seed; if the method was run, its record is in the same folder."""
        return f"{self.folder}/runs/{method}/seed{seed}/outcome.json"

    @property
    def outcomes(self) -> list[str]:
        """Paths of the outcomes of all methods with all seeds."""
        return [self.outcome(method, seed) for method in self.methods for seed in self.seeds]

    @property
    def tables(self) -> list[str]:
        """Paths of the tables in all their forms."""
        return [f"{self.folder}/tables/{name}.{end}" for name in TABLES for end in ("csv", "json", "md", "html")]

    @property
    def pictures(self) -> list[str]:
        """Paths of the pictures in both forms."""
        return [f"{self.folder}/figures/{name}.{end}" for name in TABLES for end in ("svg", "png")]

    @property
    def model(self) -> list[str]:
        """Path of the ``model.json`` of the saved model, if one is saved; its other files are in the same folder."""
        return [f"{self.folder}/model/model.json"] if self.request else []

    @property
    def products(self) -> set[str]:
        """Every file that a user can request."""
        made = {self.page, self.stamp, *self.model, *self.outcomes, *self.preparations}
        return made.union(self.tables, self.pictures)

    def is_ours(self, method: str) -> bool:
        """Whether a method is an estimator of this package, with parameters for the device and the memory."""
        return self.methods[method]["runs"] == "estimator"

    def threads(self, method: str) -> int:
        """Threads of a method; one where times are compared, so that they do not depend on parallelism."""
        return 2 if self.request and self.is_ours(method) else 1

    def cost(self, method: str, choose: str | Path | Sequence[str], test: str | Path | Sequence[str]) -> costs.Cost:
        """Estimate the cost of a method with all seeds in sequence, from the folders of the two preparations.

        See `cost`. The size of a user's data is known only after the preparation. All splits have the same size.
        """
        folders = (paths if isinstance(paths, (str, Path)) else paths[0] for paths in (choose, test))
        of_one = cost(self.methods[method], *folders)
        return replace(of_one, seconds=len(self.seeds) * of_one.seconds)

    def largest_cost(self, prepared: str | Path) -> costs.Cost:
        """Return the largest cost of one fit of any method, for the job that saves the model of an unknown method."""
        each = [cost(method, prepared, prepared) for method in self.methods.values()]
        return costs.Cost(max(one.seconds for one in each), max(one.memory_bytes for one in each))

    def specs(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters to choose, fit and test one method, for each seed."""
        known = {"dataset": self.dataset, "method": method, "definition": self.methods[method], "scale": self.scale}
        if self.request is None:
            known |= {"target": f"leaderboard_{self.dataset}", "defaults": False, "processor_seconds": True}
        return [{**known, "seed": seed} for seed in self.seeds]


def compared_methods(configuration: Configuration) -> dict[str, Any]:
    """Return the methods that are compared on data that suit them."""
    return {name: method for name, method in configuration.methods.items() if "compare" in method}


def affordable(division: Mapping[str, Any], request: FileRequest) -> list[int]:
    """Return the seeds for the size of a user's files: all, three, or one; one if the test rows are given.

    The bytes decide, since the number of rows is unknown when the workflow is planned.
    """
    if request.test_file:
        return division["seeds"][:1]
    megabytes = sum(Path(path).stat().st_size for path in request.files) / 1e6
    if megabytes <= division["megabytes"]:
        return division["seeds"]
    return division["seeds"][: 3 if megabytes <= _FEWER * division["megabytes"] else 1]


def steps(
    description: Mapping[str, Any],
    purpose: str,
    division: Mapping[str, Any],
    seed: int = 0,
    most: Mapping[str, int | None] | None = None,
) -> list[dict[str, Any]]:
    """Return the steps of the preparation for a purpose, "choose" or "test".

    For "choose", the test rows are removed first, and then a validation part is split off. The division has the
    shares of rows, ``test`` and ``validation``, and ``rows``, the largest number of rows for each of the two parts.
    ``most`` limits ``n_train`` and ``n_test``.
    """
    entry, most_train, most_test = description["entry"], *((most or {}).get(key) for key in ("n_train", "n_test"))
    n, n_test, todo = entry["n_train"], entry["n_test"], []
    if not has_test_rows(description):
        n_test = n_held_out(division["test"] * n, entry["n_classes"], most_test)
        todo.append({"split": {"n": n_test, "seed": 2 * seed}})
        n -= n_test
    cut = {"n_train": most_train} if most_train and most_train < n else {}
    n = cut.get("n_train", n)
    if purpose == "test" and most_test and most_test < n_test:
        cut["n_test"] = most_test
    if cut:
        todo.append({"subset": {**cut, "seed": seed}})
    if purpose == "choose":
        n_validation = n_held_out(division["validation"] * n, entry["n_classes"], division["rows"])
        todo.append({"split": {"n": n_validation, "seed": 2 * seed + 1}})
        if n - n_validation > division["rows"]:
            most_train = max(division["rows"], entry["n_classes"])
            todo.append({"subset": {"n_train": most_train, "seed": 2 * seed + 1}})
    return todo + feature_steps(description)


def n_held_out(wanted: float, n_classes: int, most: int | None = None) -> int:
    """Return how many rows to hold out: about as many as wanted, at most ``most``, and at least one of each class."""
    return max(1, n_classes, min(round(wanted), most or round(wanted)))


def has_test_rows(description: Mapping[str, Any]) -> bool:
    """Whether a user's files include test rows."""
    entry = description["entry"]
    return bool(entry["n_test"]) or "x_test" in entry["options"].get("layout", {})


def feature_steps(description: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps that turn the columns into scaled numbers, learned from the training rows."""
    entry = description["entry"]
    todo: list[dict[str, Any]] = []
    if description["missing"]:
        todo.append({"impute": {"strategy": description["request"]["missing"]}})
    if description["scaling"] == "zscore":
        todo.append({"zscore": {"numeric_only": True}})
    elif description["scaling"] == "columns":
        todo.append({"scale_columns": {}})
    elif description["scaling"] == "unit":
        todo.append({"unit": {"range": description["range"]} if description["range"] else {}})
    if entry["categorical"]:
        todo.append({"one_hot": {}})
    if entry["task"] == "regression":
        todo.append({"center_target": {"scale": True}})
    return todo


def prepare(
    stamp: str | Path,
    out: str | Path,
    division: Mapping[str, Any],
    memory: int | str | None,
    seed: int = 0,
    todo: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> None:
    """Prepare data, split by a seed, for the purpose that is the name of the folder `out`.

    A user's own data get the steps from their description, other data the steps in `todo`.
    """
    from shallows_papers import datasets
    from shallows_papers.datasets.user_data.describe import dataset_of

    out = Path(out)
    described = json.loads(Path(stamp).read_text(encoding="utf-8"))
    if todo is None:
        datasets.prepare(dataset_of(described), stamp, out, steps(described, out.name, division, seed), memory)
    else:
        datasets.prepare(described["dataset"], stamp, out, todo[out.name], memory)


def cost(definition: Mapping[str, Any], choose: str | Path, test: str | Path) -> costs.Cost:
    """Estimate what a method needs with all its trials, from the folders of the two preparations."""
    sizes = [_size(path) for path in (choose, test)]
    compare = definition["compare"]
    # The cost of a pass of doubly stochastic gradients is counted by its steps, about seven.
    per_epoch = 7 if definition.get("marks") == "iteration" else 1
    marks = tuple(per_epoch * epochs for epochs in compare.get("epochs", ()))
    n_trials = math.prod(map(len, compare.get("choose", {}).values()))
    n_trials *= len(compare.get("bandwidth", {}).get("values", [None]))
    if most := compare.get("most_rows"):
        sizes = [replace(size, n_train=min(size.n_train, most)) for size in sizes]
    parameters = by_last_name(definition.get("parameters", {}))
    found = [
        costs.estimate(definition.get("cost"), size, parameters, marks, definition.get("marks", "epoch"))
        for size in sizes
    ]
    seconds = n_trials * found[0].seconds + found[1].seconds
    return costs.Cost(seconds, max(one.memory_bytes for one in found))


def _size(path: str | Path) -> costs.ProblemSize:
    if not Path(path).is_dir():  # Snakemake estimates the job again later, and then an error names the input
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    info = json.loads((Path(path) / "prepared.json").read_text(encoding="utf-8"))
    n_outputs = len(info.get("classes") or []) or math.prod(info["arrays"]["y_train"]["shape"][1:])
    return costs.ProblemSize(info["n_train"], info["n_test"], info["n_features"], n_outputs)
