"""Pages of the book that are made from the configuration, the tests, the package and data in ``docs``, never typed.

They are written to ``docs/_pages`` before Sphinx reads its sources. The module imports nothing of Sphinx, so that the
tests can check its pages without it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import class_pages
import figure_page
import yaml
from page_parts import heading, literal, table

from shallows_papers import cli
from shallows_papers.experiments.comparing.table_rows import number_in
from shallows_papers.experiments.comparing.verdicts import criterion
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.planning.target_entry import CRITERIA

#: Folder of the generated pages, below the sources of the book.
FOLDER = "_pages"

#: Documents whose errata are listed, in the order of the book.
DOCUMENTS = ("eigenpro", "dsg", "cdsg", "kpca", "lecture", "across")


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
    pages = {**claim_pages(project), **erratum_pages(project), **finding_pages(project)}
    pages |= class_pages.reference_pages()
    pages["promises.rst"] = promises_page(project)
    pages["solvers.rst"] = class_pages.solvers_page()
    pages["figures.rst"] = figure_page.figure_page(plan(project), project, folder)
    pages["classes.rst"] = class_pages.classes_page(project)
    pages["command_line.rst"] = command_line_page()
    pages["methods_of_the_papers.rst"] = methods_page(project)
    for path in folder.iterdir():
        if path.is_file() and path.name not in pages:
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
    lines += [*heading("What each estimator takes", "-"), *class_pages.what_each_takes()]
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
