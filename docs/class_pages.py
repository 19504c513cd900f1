"""Pages about the public classes: the reference, what each class takes, what each solver can do."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from page_parts import heading, literal, table

import shallows

#: Modules of the public classes, with the headings of the reference.
ESTIMATORS = {
    "shallows": "Models",
    "shallows.svm": "More support vector machines, novelty detection, kitchen sinks",
    "shallows.gaussian_process": "Gaussian processes on features",
    "shallows.decomposition": "Components: kernel PCA, SVD, CCA, sliced inverse regression",
    "shallows.kernel_approximation": "Feature maps for pipelines",
}

#: Modules below the estimators that users may build upon, with the headings of the reference.
MODULES = {
    "shallows_papers.baselines.image_votes": "Votes of changed images",
    "shallows.statistics": "Two-sample test",
    "shallows.kernels": "Kernels",
    "shallows.losses": "Losses",
    "shallows.features": "Explicit feature maps",
    "shallows.spectrum": "Spectra and preconditioners",
    "shallows.gram": "Products with kernel matrices",
    "shallows.solvers": "Solvers",
    "shallows.training": "Training",
    "shallows_papers.nets": "Neural nets",
    "shallows_papers.datasets": "Datasets",
    "shallows.saving": "Saving and loading",
    "shallows.streams": "Random numbers",
    "shallows.arrays": "Arrays and devices",
    "shallows.errors": "Errors",
}


def reference_pages() -> dict[str, str]:
    """A page for each estimator and for each module that users may build upon, and the lists that lead to them."""
    pages = {}
    for module, title in ESTIMATORS.items():
        names = families()[title]
        pages |= {f"reference_{name}.rst": _class_page(module, name) for name in names}
        pages[f"reference_{module}.rst"] = _list_of(title, names)
    for name, title in MODULES.items():
        module = importlib.import_module(name)
        lines = [*heading(title, "="), f".. automodule:: {name}", "   :no-index:", ""]
        for member in public_names(module):
            lines += _member(name, member, getattr(module, member))
        pages[f"reference_module_{name.partition('.')[2]}.rst"] = "\n".join(lines)
    return pages


def families() -> dict[str, list[str]]:
    """The public estimators of each module, by its heading."""
    known, found = {*shallows_estimators()}, {}
    for name, title in ESTIMATORS.items():
        found[title] = [one for one in importlib.import_module(name).__all__ if one in known]
        known -= {*found[title]}  # A class that is in two modules has its page in the first.
    return found


def shallows_estimators() -> list[str]:
    """Names of the public estimators."""
    return list(importlib.import_module("shallows.estimators").__all__)


@cache
def public_classes() -> dict[str, str]:
    """Where the class of each name is documented: the full name of `EigenPro` is ``shallows.solvers.EigenPro``."""
    found = {name: f"{module}.{name}" for module, title in ESTIMATORS.items() for name in families()[title]}
    for module in MODULES:
        for name in public_names(importlib.import_module(module)):
            if name[0].isupper():
                found.setdefault(name, f"{module}.{name}")
    return found


def _list_of(title: str, names: Sequence[str]) -> str:
    lines = heading(title, "=")
    rows = [
        (f":doc:`{name} <reference_{name}>`", literal(_summary(getattr(shallows.estimators, name)))) for name in names
    ]
    lines += table(["estimator", "what it is"], [35, 65], rows)
    lines += [".. toctree::", "   :hidden:", "", *(f"   reference_{name}" for name in names), ""]
    return "\n".join(lines)


def _summary(value: Callable[..., Any]) -> str:
    paragraph = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("``", "")


def _class_page(module: str, name: str) -> str:
    value = getattr(importlib.import_module(module), name)
    # The docstring of a constructor describes parameters that several classes share.
    lines = [*heading(name, "="), f".. currentmodule:: {module}", "", f".. autoclass:: {module}.{name}"]
    lines += ["   :class-doc-from: both", ""]
    for member in own_members(value):
        kind = "autoproperty" if isinstance(inspect.getattr_static(value, member), property) else "automethod"
        lines += [f"   .. {kind}:: {module}.{name}.{member}", ""]
    return "\n".join(lines)


def own_members(value: type) -> list[str]:
    """Public methods and properties of a class that this package defines; scikit-learn documents the others."""
    found: dict[str, None] = {}
    for base in value.__mro__:
        if base.__module__.startswith("shallows"):
            found |= {
                name: None
                for name, member in vars(base).items()
                if not name.startswith("_")
                and (inspect.isfunction(member) or isinstance(member, property))
                and inspect.getdoc(getattr(value, name))
            }
    return sorted(found)


def public_names(module: Any) -> list[str]:
    """Names that a module offers: its ``__all__``, else classes and functions of the module or its package."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith(module.__name__)
        if inspect.isclass(value) or inspect.isfunction(value)
    ]


def _member(module: str, name: str, value: Any) -> list[str]:
    if inspect.isclass(value) and inspect.getdoc(value):
        members = [one for one in own_members(value) if one in vars(value)]
        return [f".. autoclass:: {module}.{name}", *([f"   :members: {', '.join(members)}"] if members else []), ""]
    if inspect.isfunction(value):
        return [f".. autofunction:: {module}.{name}", ""]
    return []


def solvers_page() -> str:
    """What each solver can do, from its class: one table for each family of estimators."""
    lines = heading("What each solver can do", "=")
    lines += [
        'A solver is a name, such as ``solver="eigenpro"``, or an object of ``shallows.solvers``, such as',
        "``solver=EigenPro(rank=80)``. This table is made from the classes; refusals are made from the same data.",
        "",
    ]
    columns = ["solver", "name", "sparse rows", "sample weights", "several outputs", "partial_fit", "GPU", "processes"]
    families: dict[tuple[str, ...], list[str]] = {}
    for estimator in shallows_estimators():
        table_of_solvers = getattr(shallows.estimators, estimator)._named.get("solver", {})
        if table_of_solvers:
            families.setdefault(tuple(table_of_solvers), []).append(estimator)
    for names, estimators in families.items():
        lines += heading(", ".join(estimators), "-")
        solvers = getattr(shallows.estimators, estimators[0])._named["solver"]
        rows = []
        for name in names:
            solver = solvers[name]
            can = [solver.takes_sparse, solver.takes_weights, solver.takes_outputs, solver.is_online]
            can += ["gpu" in solver.devices, solver.takes_ranks]
            rows.append((f"``{solver.__name__}``", f'``"{name}"``', *("yes" if one else "" for one in can)))
        lines += table(columns, [22, 22, 9, 9, 9, 9, 9, 9], rows)
    return "\n".join(lines)


def what_each_takes() -> list[str]:
    """A table of weights, targets, probabilities and streams by class."""
    lines = [
        "All take dense and sparse rows, data frames and arrays of other libraries, and refuse what is not finite.",
        "A mark in brackets needs another loss or solver than the default.",
        "",
    ]
    rows = []
    for title, names in families().items():
        rows.append((f"**{title}**", "", "", "", "", ""))
        rows += [(f":doc:`{name} <reference_{name}>`", *_takes(getattr(shallows.estimators, name))) for name in names]
    columns = ["estimator", "sample weights", "class weights", "several targets", "probabilities", "partial_fit"]
    return lines + table(columns, [40, 12, 12, 12, 12, 12], rows)


def _takes(estimator: type) -> list[str]:
    made = estimator()
    marks = [
        "yes" if "sample_weight" in inspect.signature(estimator.fit).parameters else "",
        "yes" if "class_weight" in made.get_params() else "",
        "yes" if made.__sklearn_tags__().target_tags.multi_output else "",
    ]
    for method in ("predict_proba", "partial_fit"):
        marks.append("yes" if hasattr(made, method) else "(yes)" if hasattr(estimator, method) else "")
    return marks


def classes_page(project: Path) -> str:
    """A table of all public classes: what for, how training grows, what the model keeps, and what it can do."""
    lines = heading("All classes", "=")
    lines += [
        "In formulas :math:`n` is the number of rows, :math:`d` of inputs, :math:`D` of features, and :math:`m` of",
        "centers, landmarks or support vectors. All classes take dense and sparse rows. Rows that do not fit into",
        "memory are read from a memory map or with ``partial_fit``; a mark in brackets needs another solver than the",
        "default. The tables are made from the classes; only the columns with formulas are written by hand.",
        ":doc:`solvers` has the solvers, :doc:`promises` has weights and several targets.",
        "",
    ]
    for title, names in families().items():
        rows = []
        for name in names:
            one, told = getattr(shallows.estimators, name), by_hand(project)[name]
            streams = "yes" if hasattr(one(), "partial_fit") else "(yes)" if hasattr(one, "partial_fit") else ""
            task, gpu = TASKS[one().__sklearn_tags__().estimator_type], "yes" * can_use_gpu(project, name)
            link = f":doc:`{name} <reference_{name}>`"
            rows.append((link, task, told["training"], told["keeps"], _uncertainty(one), gpu, streams))
        titles = ["class", "for", "training", "the model keeps", "uncertainty", "GPU", "partial_fit"]
        directive, *rest = table(titles, [24, 11, 18, 19, 12, 6, 10], rows)
        lines += [*heading(title, "-"), directive, "   :class: compact", *rest]
    return "\n".join(lines)


#: What the types of estimators of scikit-learn are for.
TASKS = {
    "classifier": "classes",
    "regressor": "numbers",
    "outlier_detector": "novelty",
    None: "features",
}


@cache
def by_hand(project: Path) -> dict[str, dict[str, Any]]:
    """What ``docs/classes.yaml`` says of each class."""
    return yaml.safe_load((project / "docs" / "classes.yaml").read_text(encoding="utf-8"))


def can_use_gpu(project: Path, name: str) -> bool:
    """Whether any fit of a class runs on a GPU: one of its solvers can, or it has none and is not excepted by hand."""
    solvers = getattr(shallows.estimators, name)._named.get("solver", {})
    if solvers:
        return any("gpu" in solver.devices for solver in solvers.values())
    return by_hand(project)[name].get("gpu", True)


def _uncertainty(estimator: type) -> str:
    known = {
        "predict_proba": "probabilities",
        "predict_interval": "intervals",
        "sample_y": "standard deviations, draws",
    }
    return ", ".join(text for method, text in known.items() if hasattr(estimator, method))
