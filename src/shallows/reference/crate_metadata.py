"""The metadata of a crate as plain dictionaries, one an entity, from what the crate holds."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from shallows.experiments.comparing import target_table

from .collection import facts

#: What a crate conforms to; each is an extension of the one before it or stands beside it.
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
MAIN, MANIFEST = "Snakefile", "manifest-sha256.txt"

#: What belongs to the workflow, besides its main file; a folder ends in a slash.
PARTS = {
    "workflow/": "Rules, scripts, schemas and environments of the workflow",
    "config/": "Configuration: scales, preparations, methods, targets, and what the papers print",
    "profiles/": "Profiles of Snakemake for one machine, a GPU and batch systems",
    "src/": "The library that the workflow calls",
    "data/embedded/": "Data that the project carries, with their licences",
    "Makefile": "Commands of the project",
    "README.md": "Description of the project",
    "LICENSE": "Licence of the workflow and the results; the data have their own",
    "CITATION.cff": "How to cite the workflow, and the papers that it reproduces",
    "pyproject.toml": "Description of the Python package",
    "requirements.txt": "Every package of the environment, with version and checksums",
    "environment.yml": "The environment for conda",
}
_LANGUAGE = {
    "@id": "https://w3id.org/workflowhub/workflow-ro-crate#snakemake",
    "@type": "ComputerLanguage",
    "name": "Snakemake",
    "identifier": {"@id": "https://doi.org/10.1093/bioinformatics/bts480"},
    "url": {"@id": "https://snakemake.readthedocs.io"},
}


@dataclass(frozen=True)
class Contents:
    """What a crate holds: its files with SHA-256 and bytes, and what is said of them."""

    scale: str
    sums: Mapping[str, str]
    sizes: Mapping[str, int]
    targets: Mapping[str, tuple[str, list[str]]]  # name for people, and files below the folder of the scale
    records: list[Mapping[str, Any]]
    inputs: list[dict[str, Any]]  # as entities
    citation: str  # of the workflow, as CITATION.cff has it

    def file(self, path: str, name: str, **more: Any) -> dict[str, Any]:
        """The entity of a file."""
        return {
            "@id": path,
            "@type": "File",
            "name": name,
            "encodingFormat": format_of(path),
            "contentSize": str(self.sizes[path]),
            "sha256": self.sums[path],
            **more,
        }


def format_of(path: str) -> str:
    """The media type of a file, by its name; of a packed one that of the package."""
    kind, packed = mimetypes.guess_type(path)
    return f"application/{packed}" if packed else kind or "text/plain"


def entities(contents: Contents, agent: str | None = None) -> list[dict[str, Any]]:
    """Describe a crate; the first entity is the crate itself.

    Parameters
    ----------
    contents : Contents
    agent : str, optional
        Who ran the workflow.
    """
    scale, records, told = contents.scale, contents.records, facts(contents.records)
    about = yaml.safe_load(contents.citation)
    licence = _entity(f"https://spdx.org/licenses/{about['license']}", "CreativeWork", about["license"])
    authors = [_author(one) for one in about["authors"]]
    packages = dict.fromkeys(pair for one in records for pair in one["packages"].items() if pair[1])
    software = [_package(name, version) for name, version in packages]
    parameter = _entity("#parameter", "FormalParameter", "scale", additionalType="Text", workExample=_to("#scale"))
    given = _entity("#scale", "PropertyValue", "scale", value=scale, exampleOfWork=_to(parameter["@id"]))
    usage = list(_usage(records, told))
    agents = [_entity("#agent", "Person", agent)] if agent else []
    inputs = list({one["@id"]: one for one in contents.inputs}.values())

    parts = [
        _entity(part, "Dataset", name) if part.endswith("/") else contents.file(part, name)
        for part, name in (PARTS | {MANIFEST: "SHA-256 of every other file but the metadata"}).items()
        if part in contents.sums or any(path.startswith(part) for path in contents.sums if part.endswith("/"))
    ]
    parts = [one | ({"about": _to("./")} if one["@id"] == "README.md" else {}) for one in parts]
    below = f"results/{scale}"
    results = [
        contents.file(f"{below}/report/index.html", "Published and measured numbers with verdicts, on one page"),
        *(contents.file(f"{below}/{path}", name) for name, paths in contents.targets.values() for path in paths),
        _entity(f"{below}/runs/", "Dataset", f"Records and curves of {len(records)} runs"),
    ]
    workflow = contents.file(MAIN, about["title"]) | {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "conformsTo": _to("https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"),
        "description": " ".join(about["abstract"].split()),
        "programmingLanguage": _to(_LANGUAGE["@id"]),
        "version": str(about["version"]),
        "license": _to(licence["@id"]),
        "creator": _all(authors),
        "input": _to(parameter["@id"]),
        "softwareRequirements": _all(software),
    }
    action = _entity(
        "#run",
        "CreateAction",
        f"All {len(contents.targets)} targets at the scale {scale}",
        description=f"{len(records)} runs by commit {', '.join(one or 'unknown' for one in told['commits'])}"
        f"{', with changes that are in no commit' if told['with_changes_beside'] else ''}. Begin and end are those of "
        "the first run and of the last; tables, figures and the page were made after them.",
        instrument=_to(MAIN),
        object=_all([given, *(one for one in parts if one["@id"] == "config/"), *inputs]),
        result=_all(results),
        startTime=min(one["started"] for one in records),
        endTime=told["finished"],
        actionStatus="http://schema.org/CompletedActionStatus",
        resourceUsage=_all(usage),
        **({"agent": _to("#agent")} if agents else {}),
    )
    data = [workflow, *parts, *results, *(one for one in inputs if one["@type"] == "File")]
    root = _entity(
        "./",
        "Dataset",
        f"{about['title']}: results at the scale {scale}",
        description=f"The workflow with its configuration, and tables, figures and records of {len(contents.targets)} "
        f"targets at the scale {scale}.",
        license=_to(licence["@id"]),
        author=_all(authors),
        keywords=", ".join(about["keywords"]),
        conformsTo=[_to(one) for one in PROFILES],
        mainEntity=_to(MAIN),
        mentions=_to(action["@id"]),
        hasPart=_all(data),
    )
    profiles = [_entity(one, "CreativeWork", name, version=one.rpartition("/")[2]) for one, name in PROFILES.items()]
    supplied = [one for one in inputs if one["@type"] != "File"]
    context = [*profiles, licence, *authors, *agents, _LANGUAGE, *software, parameter, given, *usage, *supplied]
    return [root, *data, action, *context]


def _entity(name: str, kind: str, text: str, **more: Any) -> dict[str, Any]:
    return {"@id": name, "@type": kind, "name": text, **more}


def _to(name: str) -> dict[str, str]:
    return {"@id": name}


def _all(described: Iterable[Mapping[str, Any]]) -> list[dict[str, str]] | dict[str, str]:
    """References to entities; to a single one without a list, as the specification recommends."""
    found = [_to(one["@id"]) for one in described]
    return found[0] if len(found) == 1 else found


def _author(one: Mapping[str, str]) -> dict[str, Any]:
    name = one.get("name") or f"{one['given-names']} {one['family-names']}"
    kind = "Organization" if "name" in one else "Person"
    return _entity(one.get("orcid") or f"#{name.replace(' ', '-')}", kind, name)


def _package(name: str, version: str) -> dict[str, Any]:
    # A package URL, which names a package of a registry and no address of it.
    purl = f"pkg:{'generic' if name == 'python' else 'pypi'}/{name}@{version}"
    return _entity(purl, "SoftwareApplication", name, url=purl, softwareVersion=version)


def _usage(records: list[Mapping[str, Any]], told: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The machines, and what the runs took of them."""
    for number, machine in enumerate(told["machines"], 1):
        yield _entity(f"#machine-{number}", "PropertyValue", "machine", value=target_table.machine_text(machine))
    for number, blas in enumerate(sorted({f"{one['blas']['library']} {one['blas']['version']}" for one in records}), 1):
        yield _entity(f"#blas-{number}", "PropertyValue", "library of linear algebra", value=blas)
    yield _entity("#seconds", "PropertyValue", "time of all runs together", value=told["seconds"], unitText="s")
    peak = max(one["peak_memory_bytes"] or 0 for one in records)
    yield _entity("#memory", "PropertyValue", "largest memory of a run", value=peak, unitText="byte")
