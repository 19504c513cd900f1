"""The modules and catalogue entries that prepared arrays depend on.

A preparation finds steps, generators and readers through tables of names, so imports do not show which ones it uses.
These functions return them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from shallows_papers.datasets import formats, synthetic
from shallows_papers.datasets.catalogue import Dataset, entry, get
from shallows_papers.datasets.preparation import steps as preparation_steps

#: The module that every preparation uses.
CORE = "shallows_papers.datasets.preparation.pipeline"


def modules_of(dataset: Dataset, steps: Iterable[Mapping[str, Any]] = ()) -> tuple[str, ...]:
    """Return, sorted, the modules that determine the arrays of a preparation, directly or by their imports."""
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
    """Return the catalogue entries of a dataset and of the dataset that it is made from, by name."""
    names = [dataset.name, *filter(None, [dataset.generator.get("made_from")])]
    return {name: entry(name) for name in names}
