"""Pages of the book that are made from the configuration, the tests, the package and data in ``docs``, never typed.

They are written to ``docs/_pages`` before Sphinx reads its sources. The module imports nothing of Sphinx, so that the
tests can check its pages without it.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import shallows
from shallows_papers import cli
from shallows_papers.experiments.comparing.table_rows import number_in
from shallows_papers.experiments.comparing.verdicts import criterion
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.planning.target_entry import CRITERIA

#: Folder of the generated pages, below the sources of the book.
FOLDER = "_pages"

#: Documents whose errata are listed, in the order of the book.
DOCUMENTS = ("eigenpro", "dsg", "cdsg", "kpca", "lecture", "across")

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


def write_all(project: Path, source: Path) -> None:
    """Write every generated page, and take away those that are no longer made.

    Parameters
    ----------
    project : Path
        The repository, with its configuration.
    source : Path
        The sources of the book.
    """
    folder = source / FOLDER
    folder.mkdir(exist_ok=True)
    pages = {**claim_pages(project), **erratum_pages(project), **finding_pages(project), **reference_pages()}
    pages["promises.rst"] = promises_page(project)
    pages["solvers.rst"] = solvers_page()
    pages["command_line.rst"] = command_line_page()
    pages["methods_of_the_papers.rst"] = methods_page(project)
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


@cache
def plan(project: Path) -> Plan:
    """The planned configuration; read once."""
    return Plan.load(project)


@cache
def anchors(project: Path) -> dict[str, tuple[str, str]]:
    """Page and anchor of each target, by its name, and of each erratum, by its number."""
    found = {
        target: (f"{FOLDER}/claims_{spec['paper']}", f"target-{target}".replace("_", "-"))
        for target, spec in plan(project).targets.items()
    }
    for document in DOCUMENTS:
        for one in read_errata(project, document):
            found[one.id] = (f"{FOLDER}/errata_{document}", f"erratum-{one.id.lower()}")
    return found


def heading(text: str, line: str) -> list[str]:
    """A heading of reStructuredText, with an empty line after it."""
    return [text, line * len(text), ""]


def table(titles: Sequence[str], widths: Sequence[int], rows: Iterable[Sequence[str]]) -> list[str]:
    """A list table of reStructuredText; cells may have several lines."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {' '.join(map(str, widths))}", ""]
    for row in (titles, *rows):
        for place, cell in enumerate(row):
            first, *others = cell.splitlines() or [""]
            lines.append(f"   {'* -' if place == 0 else '  -'} {first}".rstrip())
            lines += [f"       {line}".rstrip() for line in others]
    return [*lines, ""]


def literal(text: str) -> str:
    """Text in which nothing is taken as markup."""
    for sign in "\\*`|":
        text = text.replace(sign, "\\" + sign)
    return text.replace("_ ", "\\_ ").removesuffix("_")


# -- what the papers print -------------------------------------------------------------------------------------------


def claim_pages(project: Path) -> dict[str, str]:
    """A page for each paper: what it prints of each target, and the criterion by which a run is judged."""
    planned = plan(project)
    return {f"claims_{name}.rst": _claims_of_paper(planned, name, targets) for name, targets in planned.papers.items()}


def _claims_of_paper(planned: Plan, name: str, targets: list[str]) -> str:
    paper = planned.configuration.papers[name]
    lines = heading(literal(f"What is printed: {paper['title']}"), "=")
    lines += ["\\" + literal(paper["citation"]) + ".", ""]  # an initial at the start would number a list
    lines += [
        "Each row is what the paper prints of a target, what kind of evidence it is, and the criterion that a run is",
        "judged by. An *own* criterion judges what no paper prints, such as a corrected statement. This page is made",
        "from ``config/papers``; measured values and verdicts are in the workflow's report.",
        "",
    ]
    for target in targets:
        lines += _claims_of_target(planned, target)
    return "\n".join(lines)


def _claims_of_target(planned: Plan, target: str) -> list[str]:
    spec, rows = planned.targets[target], planned.configuration.published[target]
    lines = [f".. _target-{target}:", "", *heading(literal(spec["title"]), "-")]
    lines += [f"``{target}``; {literal(spec['source'])}. {literal(spec['caption'])}", ""]
    body = []
    for metric, definition in spec["metrics"].items():
        printed = [row for row in rows if row["metric"] == metric and not row.get("derived")]
        if printed:
            values = _printed(printed)
            body.append((literal(definition["label"]), _kind(definition), values, _criterion(definition)))
    for claim, definition in spec.get("claims", {}).items():
        values = _printed([row for row in rows if row["metric"] == claim])
        body.append((literal(definition["label"]), _kind(definition), values, _criterion(definition)))
    if body:
        lines += table(["measured", "kind", "printed", "criterion"], [30, 12, 28, 30], body)
    missing = [one for one in planned.items.get(target, ()) if "why_not" in one]
    if missing:
        lines += ["Printed, and not judged:", ""]
        lines += [f"- {literal(one['item'])}: {literal(one['why_not'])}" for one in missing] + [""]
    return lines


def _printed(rows: Sequence[Mapping[str, str]]) -> str:
    texts = list(dict.fromkeys(row["published"] for row in rows))
    if not texts:
        return "–"
    if len(texts) <= 3:
        return literal("; ".join(texts))
    numbers = [number for text in texts if (number := number_in(text)) is not None]
    if len(numbers) < len(texts):
        return literal(f"{len(rows)} entries, such as {texts[0]}")
    return f"{len(rows)} numbers from {_in_words(min(numbers))} to {_in_words(max(numbers))}"


def _in_words(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) else f"{number:g}"


def _kind(definition: Mapping[str, Any]) -> str:
    return str(definition.get("evidence", "–"))


def _criterion(definition: Mapping[str, Any]) -> str:
    if definition.get("evidence") == "derivation":
        return "none, since " + literal(definition["why"])
    text = literal(criterion(definition)) if {*CRITERIA} & {*definition} else "the printed value itself"
    if "tolerance" in definition and definition["tolerance"].get("reason"):
        text += "; the reason: " + literal(definition["tolerance"]["reason"])
    if "could_fail" in definition:
        text += "; what would fail it: " + literal(definition["could_fail"])
    if "corrects" in definition:
        text += "; corrects " + literal(definition["corrects"])
    return text + ("; set after a look at results" if definition.get("fixed") == "after a look" else "")


# -- errata ----------------------------------------------------------------------------------------------------------


class Erratum(NamedTuple):
    """One heading of a file of errata with its paragraphs."""

    id: str
    what: str
    parts: tuple[str, ...]  # the bold words that begin its paragraphs: Where, Printed, Correct, Why, Shown by
    shown_by: tuple[str, ...]  # targets that measure the printed statement, its correction or both


def errata_file(project: Path, document: str) -> Path:
    """The file of a document's errata."""
    return project / "config" / "papers" / document / "errata.md"


@cache
def read_errata(project: Path, document: str) -> list[Erratum]:
    """The errata of a document, in the order of its file."""
    found = []
    for section in errata_file(project, document).read_text(encoding="utf-8").split("\n## ")[1:]:
        number, _, what = section.partition("\n")[0].partition(": ")
        shown = re.search(r"^\*\*Shown by\*\*(.*)", section, re.MULTILINE | re.DOTALL)
        parts = re.findall(r"^\*\*([A-Z][a-z ]+)\.?\*\*", section, re.MULTILINE)
        found.append(Erratum(number, what, tuple(parts), tuple(re.findall(r"`(\w+)`", shown[1]) if shown else ())))
    return found


def erratum_pages(project: Path) -> dict[str, str]:
    """The files of errata, with a place for links to each, and the table of all of them."""
    pages = {}
    lines = [
        "# All errata",
        "",
        "Each number is a link to the derivation. A target in the last column measures the printed statement, its",
        "correction or both.",
        "",
        "| number | what it is about | shown by |",
        "|---|---|---|",
    ]
    for document in DOCUMENTS:
        text = errata_file(project, document).read_text(encoding="utf-8")
        place = re.sub(r"^## (\w+):", lambda one: f"(erratum-{one[1].lower()})=\n{one[0]}", text, flags=re.MULTILINE)
        pages[f"errata_{document}.md"] = place
        for one in read_errata(project, document):
            shown = ", ".join(f"`{target}`" for target in one.shown_by)
            lines.append(f"| `{one.id}` | {one.what} | {shown} |")
    pages["errata_table.md"] = "\n".join(lines) + "\n"
    return pages


# -- findings --------------------------------------------------------------------------------------------------------


def finding_pages(project: Path) -> dict[str, str]:
    """The files of findings, as pages of the book."""
    return {
        f"findings_{path.parent.name}.md": f"```{{include}} ../../config/papers/{path.parent.name}/findings.md\n```\n"
        for path in sorted((project / "config" / "papers").glob("*/findings.md"))
    }


# -- promises --------------------------------------------------------------------------------------------------------


@cache
def read_promises(project: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows of what is promised about input, by their heading: ``who``, ``given``, ``then``, and ``tests`` by name."""
    return yaml.safe_load((project / "docs" / "promises.yaml").read_text(encoding="utf-8"))


def tests_by_name(project: Path) -> dict[str, str]:
    """The file of each test."""
    return {
        name: path.name
        for path in sorted((project / "tests").glob("test_*.py"))
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


def symptoms(project: Path) -> list[str]:
    """What ``tests/test_public_reports.py`` tries, in its words."""
    text = (project / "tests" / "test_public_reports.py").read_text(encoding="utf-8")
    return [name.replace("_", " ") for name in re.findall(r"^@report\([^@]*?\)\ndef (\w+)", text, re.MULTILINE)]


def promises_page(project: Path) -> str:
    """What each family of estimators and each reader does with each kind of input, and the tests that hold it."""
    files = tests_by_name(project)
    lines = heading("What we promise about input", "=")
    lines += [
        "What the estimators, the readers of files and the commands do with input of every kind. Tests check each",
        "row: the last column names their files, and a test checks that they are there. *Refused*",
        "means an error that says what was wrong, what was expected and what to do, before anything is changed.",
        "",
    ]
    for title, rows in read_promises(project).items():
        lines += heading(title, "-")
        body = []
        for row in rows:
            held = dict.fromkeys(f"``{files.get(name, name)}``" for name in row["tests"])
            body.append((row["who"], row["given"], row["then"], "\n".join(held)))
        lines += table(["who", "is given", "and then", "held by"], [18, 30, 34, 18], body)
    lines += [*heading("What each estimator takes", "-"), *_what_each_takes()]
    lines += heading("Faults of other programs that were looked for", "-")
    lines += [
        "Each is the symptom of a public bug report on another program, tried here by ``test_public_reports.py``.",
        "The test asserts that here it is *not* so that:",
        "",
        *(f"- {one}" for one in symptoms(project)),
        "",
    ]
    return "\n".join(lines)


def methods_page(project: Path) -> str:
    """Every method that the five documents name: what does it here, or why nothing does."""
    kinds = yaml.safe_load((project / "docs/methods_of_the_papers.yaml").read_text(encoding="utf-8"))
    every = [one for rows in kinds.values() for one in rows]
    whole = sum("why_not" not in one for one in every)
    part = sum("why_not" in one and "here" in one for one in every)
    lines = heading("Every method that the papers name", "=")
    lines += [
        f"The five documents name {len(every)} methods, features, kernels, losses and rules. {whole} are here whole, "
        f"{part} in part, and {len(every) - whole - part} are not; the reason is next to each. A test "
        "imports what is named.",
        "",
    ]
    for kind, rows in kinds.items():
        lines += heading(kind, "-")
        body = []
        for one in rows:
            words = [f"``{name}``" for name in one.get("here", ())]
            words += [f"Not here: {literal(one['why_not'])}."] if "why_not" in one else []
            words += [f"Numbers are quoted in ``{one['reported']}``."] if "reported" in one else []
            body.append((literal(one["name"]), one["named_by"], "\n\n".join(words)))
        lines += table(["method", "named by", "where it is, or why it is not"], [25, 15, 60], body)
    return "\n".join(lines)


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


def _what_each_takes() -> list[str]:
    lines = [
        "All take dense and sparse rows, data frames and arrays of other libraries, and refuse what is not finite.",
        "A mark in brackets needs another loss or solver than the default.",
        "",
    ]
    rows = []
    for title, names in _families().items():
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


def command_line_page() -> str:
    """The help of every command, as the commands print it in 80 columns."""
    lines = [*heading("The command line", "="), "Every command has these texts: ``shallows COMMAND --help``.", ""]
    for name, parser in [("shallows", cli.parser()), *_commands(cli.parser())]:
        lines += [*heading(name, "-"), ".. code-block:: text", ""]
        lines += [f"   {line}".rstrip() for line in parser.format_help().splitlines()] + [""]
    return "\n".join(lines)


def _commands(parser: argparse.ArgumentParser) -> Iterable[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield one.prog, one
                yield from _commands(one)


# -- reference -------------------------------------------------------------------------------------------------------


def reference_pages() -> dict[str, str]:
    """A page for each estimator and for each module that users may build upon, and the lists that lead to them."""
    pages = {}
    for module, title in ESTIMATORS.items():
        names = _families()[title]
        pages |= {f"reference_{name}.rst": _class_page(module, name) for name in names}
        pages[f"reference_{module}.rst"] = _list_of(title, names)
    for name, title in MODULES.items():
        module = importlib.import_module(name)
        lines = [*heading(title, "="), f".. automodule:: {name}", "   :no-index:", ""]
        for member in public_names(module):
            lines += _member(name, member, getattr(module, member))
        pages[f"reference_module_{name.partition('.')[2]}.rst"] = "\n".join(lines)
    return pages


def _families() -> dict[str, list[str]]:
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
    found = {name: f"{module}.{name}" for module, title in ESTIMATORS.items() for name in _families()[title]}
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
