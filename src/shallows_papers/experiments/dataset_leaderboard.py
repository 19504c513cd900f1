"""A leaderboard for each dataset of the catalogue: the comparison of a user's data, with the dataset's own test part.

This module decides which datasets have a leaderboard, and how many rows it takes. The workflow imports it whenever it
is parsed, so it imports nothing heavy and opens no data.
"""

from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.datasets.catalogue import Dataset, catalogue, get
from shallows_papers.datasets.user_data.request import SETTINGS

from .planning.configuration import SCALES, Configuration
from .user_data.comparison import PURPOSES, Comparison, compared_methods, steps

FOLDER = "leaderboard"  # of the leaderboards, in the folder of a scale
SEED = 0  # of the methods, and of the single split of the training rows into a fitting and a validation part
SPARSE_FORMATS = ("libsvm", "rcv1")  # whose features are left as they are
_LEAST_ROWS = 50  # fewer training rows are too few to split


def requested(configuration: Configuration) -> Comparison | None:
    """Return the comparison that a configuration requests: on a file, on a dataset of the catalogue, or None."""
    wanted = str(configuration.settings.get("dataset") or "")
    is_file = Path(wanted).exists() or (configuration.root / "config" / "datasets" / f"{wanted}.yaml").is_file()
    if wanted and not is_file:
        try:
            get(wanted)
        except UnknownNameError:
            return Comparison.of(configuration)
        return leaderboard(configuration, wanted)
    return Comparison.of(configuration)


def leaderboard(configuration: Configuration, name: str) -> Comparison:
    """Return the comparison on a dataset, by its name in the catalogue or in a paper; an error says why it has none.

    The demo scale uses the part of the dataset that is in the repository.
    """
    settings, division, dataset = configuration.settings, configuration.leaderboard, get(name)
    scale = settings["scale"]
    if scale == SCALES[0]:
        dataset = next((one for one in catalogue().values() if one.subset_of == dataset.name), dataset)
    for key in SETTINGS:
        if settings.get(key) is not None:
            raise ShallowsError(f"{key} is for a file of your own, and {name} is a dataset of the catalogue.")
    _refuse(configuration, dataset)
    folder = f"{settings['results']}/{scale}/{FOLDER}/{dataset.name}"
    return Comparison(
        dataset=dataset.name,
        methods=compared_methods(configuration),
        division=division,
        seeds=(SEED,),
        folder=folder,
        page=f"{folder}.html",
        data=settings["data"],
        scale=scale,
        title=f"Leaderboard: {dataset.title}",
        steps={
            purpose: steps(described(dataset), purpose, division, SEED, division["sizes"][scale])
            for purpose in PURPOSES
        },
    )


def described(dataset: Dataset) -> dict[str, Any]:
    """Return what the steps of a preparation need to know of a dataset, in the form of a user's own data."""
    scaling = "unit" if dataset.value_range else "none" if dataset.format in SPARSE_FORMATS else "columns"
    return {"missing": 0, "scaling": scaling, "range": None, "entry": {**vars(dataset), "n_test": dataset.n_test or 0}}


def pages(configuration: Configuration, scale: str) -> dict[str, str]:
    """Return the existing pages of a scale: title of the dataset -> path."""
    folder = f"{configuration.settings['results']}/{scale}/{FOLDER}"
    paths = {one.title: f"{folder}/{name}.html" for name, one in catalogue().items()}
    return {title: page for title, page in paths.items() if Path(page).is_file()}


def _refuse(configuration: Configuration, dataset: Dataset) -> None:
    """Raise an error for a dataset that cannot have a leaderboard: without a target, too small, or not supplied."""
    from shallows_papers.datasets.download import supplied_files

    name, settings = dataset.name, configuration.settings
    if not configuration.leaderboard:
        raise ShallowsError("No leaderboard can be made: methods.yaml has no part 'leaderboard'.")
    if reason := _without(dataset):
        raise ShallowsError(f"There is no leaderboard of '{name}': {reason}.")
    place = Path(settings["data"]) / "raw" / name
    if dataset.state == "supplied" and not supplied_files.is_there(dataset, place, settings["mirror"]):
        raise ShallowsError(
            f"There is no leaderboard of '{name}' yet, since its licence does not allow to pass it on: "
            f"{supplied_files.not_run(dataset, place)}."
        )


def _without(dataset: Dataset) -> str:
    """Say why a dataset cannot have a leaderboard; empty if it can."""
    if dataset.task not in ("classification", "regression"):
        return "it has no target, and methods are compared in classification and regression"
    if dataset.format == "smiles":
        return "its rows are texts instead of features"
    if dataset.n_train is None:
        return "the catalogue does not give its number of rows"
    if dataset.n_train < _LEAST_ROWS:
        return f"it has {dataset.n_train:,} training rows, and at least {_LEAST_ROWS} are needed"
    return ""
