"""The modules and catalogue entries that prepared arrays depend on.

The core of a preparation finds steps, generators and readers through tables of names, so its own imports do not reach
them; these functions name those that one preparation uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shallows_papers.datasets import formats, synthetic
from shallows_papers.datasets.catalogue import Dataset, entry, get
from shallows_papers.datasets.preparation import steps as preparation_steps

#: The module that every preparation runs through.
CORE = "shallows_papers.datasets.preparation.pipeline"


def modules_of(dataset: Dataset, steps: Iterable[Mapping[str, Any]] = ()) -> tuple[str, ...]:
    """Return the modules whose import closures make the arrays of a preparation, sorted."""
    of_steps = {preparation_steps.STEPS.module_of(name) for step in steps for name in step}
    return tuple(sorted({CORE} | of_steps | _readers(dataset)))


def _readers(dataset: Dataset) -> set[str]:
    if dataset.state == "user":
        return {"shallows_papers.datasets.user_data.file_forms"}
    if dataset.state != "generated":
        readers = {formats.READERS.module_of(form.format) for form in dataset.all_forms}
        return readers | {"shallows_papers.datasets.formats.source"}
    base = dataset.generator.get("made_from")
    generator = synthetic.GENERATORS.module_of(dataset.generator["name"])
    return {"shallows_papers.datasets.synthetic.source", generator} | (_readers(get(base)) if base else set())


def entries_of(dataset: Dataset) -> dict[str, Any]:
    """Return the catalogue's entries of a dataset and of the one that it is made from, by name."""
    names = [dataset.name, *filter(None, [dataset.generator.get("made_from")])]
    return {name: entry(name) for name in names}
