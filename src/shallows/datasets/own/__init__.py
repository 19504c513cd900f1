"""A user's own file: what is asked of it, what is found in it, and its rows.

`request` is light and serves the plan; `describe` reads the file once and says what it guessed; `open_source` gives
its rows to the preparation, as the description says.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shallows.datasets.catalogue import Dataset
    from shallows.datasets.sources import Source

__all__ = ["open_source"]


def open_source(dataset: Dataset, paths: Mapping[str, Path]) -> Source:
    """Open the files of a dataset that `shallows.datasets.own.describe` described.

    Parameters
    ----------
    dataset : Dataset
        As `shallows.datasets.own.describe.dataset_of` gives it.
    paths : mapping of str to Path
        The file of "train", and that of "test" where there is one.

    Returns
    -------
    Source
    """
    from shallows.datasets.own.forms import FORMS
    from shallows.datasets.sources import Source

    open_part = FORMS[dataset.options["form"]].part
    train = open_part(paths["train"], dataset.options)
    if "test" in paths:
        return Source(train, open_part(paths["test"], dataset.options))
    if "x_test" in dataset.options["layout"]:
        return Source(train, open_part(paths["train"], dataset.options, "test"))
    return Source(train)
