"""The preparation steps by name, and checks of a list of steps that need no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows.utils.lazy_tables import LazyTable
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.parameter_rules import missing_parameters

if TYPE_CHECKING:
    from shallows_papers.datasets.catalogue import Dataset
    from shallows_papers.datasets.preparation.step import PreparationStep

#: Every step by its name.
STEPS = LazyTable(
    "preparation step",
    __name__,
    {
        "subset": ".row_selection:Subset",
        "split": ".row_selection:Split",
        "fold": ".row_selection:Fold",
        "keep_classes": ".row_selection:KeepClasses",
        "impute": ".columns:Impute",
        "grayscale": ".images:Grayscale",
        "unit": ".scaling:Unit",
        "zscore": ".scaling:ZScore",
        "scale_columns": ".column_scaling:ScaleColumns",
        "halves": ".images:Halves",
        "views": ".images:Views",
        "net_features": ".net_features:NetFeatures",
        "pca": ".pca:PCA",
        "one_hot": ".columns:OneHot",
        "signs": ".targets:Signs",
        "center_target": ".targets:CenterTarget",
        "logarithm": ".scaling:Logarithm",
    },
)


def check_steps(steps: Sequence[Mapping[str, Any]]) -> list[PreparationStep]:
    """Check a list of steps as written in a configuration.

    Parameters
    ----------
    steps : sequence of mappings
        Each maps the step's name to its parameters: ``[{"unit": {}}, {"pca": {"n_components": 100}}]``.

    Returns
    -------
    list of PreparationStep

    Raises
    ------
    UnknownNameError
        For an unknown step or parameter. The message suggests the most similar name.
    DatasetError
        For a missing or invalid value, or if rows are held out after a step that has already learned from them.
    """
    checked: list[PreparationStep] = []
    for entry in steps:
        if not isinstance(entry, Mapping) or len(entry) != 1:
            raise DatasetError(f"A preparation step is a name with its parameters, like 'unit: {{}}', not {entry!r}.")
        ((name, parameters),) = entry.items()
        step = _step(name, parameters or {})
        learned = [earlier.name for earlier in checked if earlier.learns]
        if step.holds_out and learned:
            raise DatasetError(
                f"The step {name} must come before {learned[0]}: statistics must use only training rows, "
                f"but {learned[0]} would also use the rows that {name} holds out."
            )
        checked.append(step)
    return checked


def shape_after(dataset: Dataset, steps: Sequence[Mapping[str, Any]]) -> tuple[int, int, int]:
    """Return the size of the data after a preparation, without running it.

    Parameters
    ----------
    dataset : Dataset
        Entry of the catalogue.
    steps : sequence of mappings
        As for `check_steps`.

    Returns
    -------
    n_train, n_test, n_features : int
        Exact, with these exceptions. After ``one_hot`` the number of features depends on the data; the number before is
        returned. After ``keep_classes`` classes of equal size are assumed. If the catalogue does not know the number of
        rows or features, rows count as 0 and features as 1.
    """
    from shallows_papers.datasets.preparation.step import DataSize

    known = dataset.n_train or 0, dataset.n_test or 0, dataset.n_features or 1
    size = DataSize(*known, dataset.n_classes, dict(dataset.picture) or None)
    for step in check_steps(steps):
        size = step.size_after(size)
    return size.n_train, size.n_test, size.n_features


def _step(name: str, parameters: Mapping[str, Any]) -> PreparationStep:
    kind = STEPS[name]
    if not isinstance(parameters, Mapping):
        raise DatasetError(f"The parameters of the step {name} must be names with values, not {parameters!r}.")
    if missing := missing_parameters(kind, parameters, f"parameter of the step {name} called"):
        raise DatasetError(f"The step {name} needs {', '.join(missing)}.")
    step = kind(**parameters)
    if problem := step.check():
        raise DatasetError(f"The step {name}: {problem}.")
    return step
