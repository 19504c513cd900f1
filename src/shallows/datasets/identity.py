"""What the arrays of a preparation depend on: the modules of its own steps and reader, and its own catalogue entry.

The core of a preparation finds steps, generators and readers through tables of names, so that what it imports does not
hold all of them; here are those that one preparation uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shallows.datasets import formats, synthetic
from shallows.datasets.catalogue import Dataset, entry, get
from shallows.datasets.preparation import steps as preparation_steps

#: What every preparation runs through.
CORE = "shallows.datasets.preparation.pipeline"
_USER_DATA = "shallows.datasets.user_data.file_forms"


def modules_of(dataset: Dataset, steps: Iterable[Mapping[str, Any]] = ()) -> tuple[str, ...]:
    """Return the modules whose import closures make the arrays of a preparation.

    Parameters
    ----------
    dataset : Dataset
        Its entry in the catalogue, or that of a user's own file.
    steps : iterable of mappings
        The steps, as `shallows.datasets.check_steps` takes them; those of earlier preparations that this one begins
        from too.

    Returns
    -------
    tuple of str
        Sorted names of modules.
    """
    used = {CORE}
    used |= {preparation_steps.STEPS.module_of(name) for step in steps for name in step}
    return tuple(sorted(used | _readers(dataset)))


def _readers(dataset: Dataset) -> set[str]:
    if dataset.state == "user":
        return {_USER_DATA}
    if dataset.state != "generated":
        named = {formats.READERS.module_of(form.format) for form in dataset.all_forms}
        return named | {"shallows.datasets.formats.source"}
    used = {"shallows.datasets.synthetic.source", synthetic.GENERATORS.module_of(dataset.generator["name"])}
    base = dataset.generator.get("made_from")
    return used | (_readers(get(base)) if base else set())


def entries_of(dataset: Dataset) -> dict[str, Any]:
    """Return the catalogue's entries that a dataset of it depends on, as plain data by their names.

    Its own, and that of the dataset that it is made from.
    """
    names = [dataset.name, *filter(None, [dataset.generator.get("made_from")])]
    return {name: entry(name) for name in names}
