"""Write a finished scale as a Workflow Run RO-Crate, a folder that can be deposited.

It has the layout of the project: the workflow, its configuration and library, the embedded data and, of the results,
the tables, the figures, the page and every record. Other data are given by address and checksum. The profile is
Workflow Run Crate, with one action for the whole run. Provenance Run Crate needs an action for each job, but only runs
record when they began and ended.
"""

import json
import mimetypes
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from shallows.errors import MissingExtraError, ShallowsError
from shallows_papers.datasets.files import digest
from shallows_papers.experiments.comparing import target_table
from shallows_papers.experiments.planning.plan import Plan

from .collection import check_that_nothing_is_private, is_current
from .held import commits_text, facts

#: Terms that are missing in the context of RO-Crate 1.1.
_TERMS = {"resourceUsage": "https://w3id.org/ro/terms/workflow-run#resourceUsage", "sha256": "http://schema.org/sha256"}
#: Profiles of the crate; rocrate adds the workflow profile to the metadata.
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
MAIN, MANIFEST = "Snakefile", "manifest-sha256.txt"

#: Parts of the workflow in addition to its main file; a folder ends in a slash.
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
    "environment-gpu.yml": "The environment for conda, with CuPy",
}


def write(plan: Plan, scale: str, results: str | Path, out: str | Path, agent: str | None = None) -> Path:
    """Write the crate of a scale, from its ``results/<scale>``, into a new folder, and return the folder.

    The crate names ``agent`` as the person who ran the workflow. It raises an error if the folder already exists, if
    the scale is unfinished or out of date, or if a result would reveal a path on this machine.
    """
    results, out = Path(results), Path(out)
    if out.exists():
        raise ShallowsError(f"The folder {out} already exists. Remove it, or choose another folder with --out.")
    check_finished(plan, scale, results)
    check_up_to_date(plan, scale)
    MissingExtraError.check("crate", "A crate", "rocrate")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as place:
        crate = Path(place) / out.name
        describe(plan, scale, crate, fill(plan, scale, results, crate), agent)
        crate.rename(out)
    return out


def check_finished(plan: Plan, scale: str, results: Path) -> None:
    """Refuse a scale if a target is incomplete or has a run with other code or parameters."""
    reasons = {target: reason for target in plan.targets if (reason := _unfinished(plan, target, scale, results))}
    if not reasons and (results / "report" / "index.html").exists():
        return
    named = [f"{target} ({reason})" for target, reason in reasons.items()][:10] or ["the page (report/index.html)"]
    more = f"; and {len(reasons) - 10} more" if len(reasons) > 10 else ""
    raise ShallowsError(
        f"The scale {scale} is not finished. Of {len(plan.targets)} targets {len(reasons)} are missing: "
        f"{'; '.join(named)}{more}. To compute what is missing: make SCALE={scale}"
    )


def check_up_to_date(plan: Plan, scale: str) -> None:
    """Refuse a scale with a table, a figure or a page that differs from the current configuration and code."""
    stale = out_of_date(plan, scale)
    if not stale:
        return
    more = f" and {len(stale) - 10} more" if len(stale) > 10 else ""
    raise ShallowsError(
        f"The results of the scale {scale} are out of date: the present configuration and code would not produce "
        f"{', '.join(stale[:10])}{more}. To make them again: make SCALE={scale}. What has changed: "
        f"snakemake -n --config scale={scale}"
    )


def out_of_date(plan: Plan, scale: str) -> list[str]:
    """Return the targets, and the page, that Snakemake would make again at a scale."""
    given = {name: plan.configuration.settings[name] for name in ("results", "data", "configuration")}
    words = [f"{name}={value}" for name, value in {"scale": scale, **given}.items() if value]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--config", *words],
        cwd=plan.configuration.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        said = done.stdout.strip().splitlines() or ["it said nothing"]
        raise ShallowsError(f"Snakemake could not say whether the results are up to date: {said[-1]}")
    stale = dict.fromkeys(re.findall(r"^ +wildcards: scale=\w+, target=(\w+)$", done.stdout, re.MULTILINE))
    pages = (
        ["the page (report/index.html)"] if re.search(r"^(local)?rule write_page:$", done.stdout, re.MULTILINE) else []
    )
    return [*(target for target in plan.targets if target in stale), *pages]


def _unfinished(plan: Plan, target: str, scale: str, results: Path) -> str | None:
    """Return what a target lacks, or None if it is finished."""
    for path in plan.products(target):
        if not (results / path).exists():
            return f"no {path}"
    for run in plan.runs_of(target, scale):
        needed = [*(results / run.folder / name for name in ("record.json", "curve.csv")), _stamp(plan, run.dataset)]
        if absent := [path for path in needed if not path.exists()]:
            return f"no {absent[0]}"
        record = json.loads(needed[0].read_text(encoding="utf-8"))
        if not is_current(plan, run, record):
            return f"{run.folder} has other code or parameters than the current ones"
    return None


def _stamp(plan: Plan, dataset: str) -> Path:
    return Path(plan.configuration.settings["data"]) / "raw" / dataset / "verified.json"


def files(plan: Plan, scale: str, results: Path) -> dict[str, Path]:
    """Return the files of a crate without its metadata: path in the crate -> path on disk."""
    root, found = plan.configuration.root, {MAIN: plan.configuration.root / MAIN}
    for part in PARTS:
        place = plan.configuration.folder if part == "config/" else root / part
        below = sorted(place.rglob("*")) if part.endswith("/") else [place]
        for path in below:
            if path.is_file() and "__pycache__" not in path.parts:
                found[part + path.relative_to(place).as_posix() if path != place else part] = path
    paths = [path for target in plan.targets for path in plan.products(target)]
    paths += [f"{run.folder}/{name}" for run in plan.runs(scale).values() for name in ("record.json", "curve.csv")]
    boards = sorted(path.relative_to(results).as_posix() for path in results.glob("leaderboard/**/*") if path.is_file())
    pages = sorted(path.relative_to(results).as_posix() for path in results.glob("report/*"))
    return found | {f"results/{scale}/{path}": results / path for path in [*pages, *paths, *boards]}


def fill(plan: Plan, scale: str, results: Path, crate: Path) -> dict[str, str]:
    """Copy the files into a crate with a list of checksums; return the checksums by path.

    A result that reveals a path on this machine or the machine's name is refused.
    """
    sums = {}
    for path, place in files(plan, scale, results).items():
        if path.startswith("results/") and place.suffix in (".json", ".csv", ".md", ".html"):
            check_that_nothing_is_private(place.read_text(encoding="utf-8"), str(place), plan.configuration.root)
        (crate / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place, crate / path)
        sums[path] = digest(crate / path)
    (crate / MANIFEST).write_text("".join(f"{sha256}  {path}\n" for path, sha256 in sums.items()), encoding="utf-8")
    return sums | {MANIFEST: digest(crate / MANIFEST)}


def input_files(plan: Plan, scale: str) -> Iterator[dict[str, Any]]:
    """Describe the files of a scale's data; generated data have no files.

    Embedded files are named by their path, other files by their address. Files supplied by a user have no address.
    """
    embedded = (plan.configuration.root / "data" / "embedded").resolve()
    for name in dict.fromkeys(run.dataset for run in plan.runs(scale).values()):
        dataset = plan.catalogue[name]
        listed = [*dataset.files, *(file for form in dataset.forms for file in form.files)]
        urls = {file.name: file.urls[0] for file in listed if file.urls}
        for file in json.loads(_stamp(plan, name).read_text(encoding="utf-8"))["files"]:
            path = (_stamp(plan, name).parent / file["path"]).resolve()
            carried = f"data/embedded/{path.relative_to(embedded).as_posix()}" if embedded in path.parents else None
            place = carried or urls.get(file["name"])
            yield {
                "@id": place or f"#{name}/{file['name']}",
                "@type": "File" if place else "CreativeWork",
                "name": f"{dataset.title}: {file['part']}" + ("" if place else ", supplied by who ran the workflow"),
                "encodingFormat": format_of(file["name"]),
                "contentSize": str(file["size"]),
                "sha256": file["sha256"],
                "license": dataset.licence,
            }


def format_of(path: str) -> str:
    """Return the media type of a file by its name; for a compressed file, the type of the compression."""
    kind, packed = mimetypes.guess_type(path)
    return f"application/{packed}" if packed else kind or "text/plain"


def describe(plan: Plan, scale: str, crate: Path, sums: Mapping[str, str], agent: str | None = None) -> None:
    """Write the metadata and an HTML page into a crate whose files `fill` has copied."""
    from rocrate.model import ContextEntity
    from rocrate.rocrate import ROCrate

    made = ROCrate(version="1.1", gen_preview=True)  # the version that the profiles extend
    made.metadata.extra_terms.update(_TERMS)
    below = f"results/{scale}"
    runs = [f"{below}/{run.folder}/record.json" for run in plan.runs(scale).values()]
    records = [json.loads((crate / path).read_text(encoding="utf-8")) for path in runs]
    about, summary = yaml.safe_load((crate / "CITATION.cff").read_text(encoding="utf-8")), facts(records)

    def entity(name: str, kind: str, text: str, **more: Any) -> Any:
        return made.add(ContextEntity(made, name, properties={"@type": kind, "name": text, **more}))

    def file(path: str, text: str, add: Callable[..., Any] = made.add_file, **more: Any) -> Any:
        given = {"name": text, "encodingFormat": format_of(path), "sha256": sums[path], **more.pop("properties", {})}
        return add(crate / path, path, properties=given, record_size=True, **more)

    def value(name: str, text: str, **more: Any) -> Any:
        return entity(name, "PropertyValue", text, **more)

    licence = entity(f"https://spdx.org/licenses/{about['license']}", "CreativeWork", about["license"])
    authors = []
    for one in about["authors"]:
        name = one.get("name") or f"{one['given-names']} {one['family-names']}"
        kind = "Organization" if "name" in one else "Person"
        authors.append(entity(one.get("orcid") or f"#{name.replace(' ', '-')}", kind, name))
    authors = authors if len(authors) > 1 else authors[0]
    software = []
    for name, version in dict.fromkeys(pair for one in records for pair in one["packages"].items() if pair[1]):
        # A package URL names a package in a registry; it is not an address.
        purl = f"pkg:{'generic' if name == 'python' else 'pypi'}/{name}@{version}"
        software.append(entity(purl, "SoftwareApplication", name, url=purl, softwareVersion=version))
    parameter = entity("#parameter", "FormalParameter", "scale", additionalType="Text")
    given = value("#scale", "scale", value=scale, exampleOfWork=parameter)
    parameter["workExample"] = given
    usage = [value(f"#usage-{number}", **one) for number, one in enumerate(_usage(records, summary), 1)]
    workflow = file(
        MAIN,
        about["title"],
        made.add_workflow,
        main=True,
        lang="snakemake",
        properties={
            "conformsTo": {"@id": "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"},
            "description": " ".join(about["abstract"].split()),
            "version": str(about["version"]),
        },
    )
    for key, found in (("license", licence), ("creator", authors), ("input", parameter)):
        workflow[key] = found
    workflow["softwareRequirements"] = software
    for part, name in (PARTS | {MANIFEST: "SHA-256 of every other file but the metadata"}).items():
        if part in sums:
            file(part, name)
        elif any(path.startswith(part) for path in sums):
            made.add_dataset(dest_path=part, properties={"name": name})
    made.get("README.md")["about"] = made.root_dataset
    inputs = []
    for one in {one["@id"]: one for one in input_files(plan, scale)}.values():
        name = one.pop("@id")
        if one["@type"] != "File":
            inputs.append(made.add(ContextEntity(made, name, properties=one)))
        elif "://" in name:
            inputs.append(made.add_file(name, properties=one))
        else:
            inputs.append(made.add_file(crate / name, name, properties=one))
    pages = [path for path in sums if path.startswith(f"{below}/report/")]
    results = [file(path, f"Report of published and measured numbers: {Path(path).name}") for path in pages]
    for target in plan.targets:
        table = json.loads((crate / below / f"tables/{target}.json").read_text(encoding="utf-8"))
        name = f"{table['title']} ({table['paper']}, {table['source']})"
        results += [file(f"{below}/{path}", name) for path in plan.products(target)]
    named = {"name": f"Records and curves of {len(records)} runs"}
    results.append(made.add_dataset(dest_path=f"{below}/runs/", properties=named))
    action = made.add_action(
        workflow,
        "#run",
        [given, made.get("config/"), *inputs],
        results,
        {
            "name": f"All {len(plan.targets)} targets at the scale {scale}",
            "description": f"{len(records)} runs by commit {commits_text(summary)}. It begins with the first "
            "run and ends with the last one; tables, figures and the page were made later.",
            "startTime": min(one["started"] for one in records),
            "endTime": summary["finished"],
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )
    action["resourceUsage"] = usage
    if agent:
        action["agent"] = entity("#agent", "Person", agent)
    profiles = [entity(one, "CreativeWork", name, version=one.rpartition("/")[2]) for one, name in PROFILES.items()]
    for key, found in {
        "name": f"{about['title']}: results at the scale {scale}",
        "description": f"The workflow with its configuration, and tables, figures and records of {len(plan.targets)} "
        f"targets at the scale {scale}.",
        "license": licence,
        "author": authors,
        "keywords": ", ".join(about["keywords"]),
        "conformsTo": profiles,
        "mentions": action,
    }.items():
        made.root_dataset[key] = found
    made.write(crate)


def _usage(records: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the machines and the resources that the runs used."""
    for machine in summary["machines"]:
        yield {"text": "machine", "value": target_table.machine_text(machine)}
    for blas in sorted({f"{one['blas']['library']} {one['blas']['version']}" for one in records}):
        yield {"text": "library of linear algebra", "value": blas}
    yield {"text": "time of all runs together", "value": summary["seconds"], "unitText": "s"}
    peak = max(one["peak_memory_bytes"] or 0 for one in records)
    yield {"text": "largest memory of a run", "value": peak, "unitText": "byte"}
