"""A finished scale as a Workflow Run RO-Crate: a folder that can be deposited as it is.

It has the layout of the project: the workflow, its configuration and library, the data that the repository carries, and
of the results the tables, the figures, the page and every record. Other data are named by address and checksum.
The profile is Workflow Run Crate, with one action for the whole run. Provenance Run Crate wants one for each job; the
records tell when each run began and ended, and nothing is kept of when the other jobs did.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shallows.errors import MissingExtraError, ShallowsError
from shallows.experiments.planning.plan import Plan
from shallows.experiments.running import job

from .compaction import check_that_nothing_is_private
from .crate_metadata import MAIN, MANIFEST, PARTS, Contents, entities, format_of

#: Terms that the context of RO-Crate 1.1 lacks.
_TERMS = {"resourceUsage": "https://w3id.org/ro/terms/workflow-run#resourceUsage", "sha256": "http://schema.org/sha256"}
_CONFORMS_TO = ("https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0")


def write(plan: Plan, scale: str, results: str | Path, out: str | Path, agent: str | None = None) -> Path:
    """Write the crate of a scale into a new folder, and return the folder.

    Parameters
    ----------
    plan : Plan
    scale : str
    results : path
        The folder of the scale, ``results/<scale>``.
    out : path
        The folder to write; it must not be there.
    agent : str, optional
        Who ran the workflow, as the crate is to say it.

    Raises
    ------
    ShallowsError
        The folder is there already, the scale is not finished, or a result would tell a path of this machine.
    MissingExtraError
        The package ``rocrate`` is not installed.
    """
    results, out = Path(results), Path(out)
    if out.exists():
        raise ShallowsError(f"The folder {out} is there already: remove it, or name another by --out.")
    check_finished(plan, scale, results)
    MissingExtraError.check("crate", "A crate", "rocrate")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as place:
        crate = Path(place) / out.name
        contents = fill(plan, scale, results, crate)
        describe(entities(contents, agent), crate)
        crate.rename(out)
    return out


def check_finished(plan: Plan, scale: str, results: Path) -> None:
    """Refuse a scale of which a target lacks something, or has a run of other code or parameters than the present."""
    reasons = {target: reason for target in plan.targets if (reason := _unfinished(plan, target, scale, results))}
    if not reasons and (results / "report" / "index.html").exists():
        return
    named = [f"{target} ({reason})" for target, reason in reasons.items()][:10] or ["the page (report/index.html)"]
    more = f"; and {len(reasons) - 10} more" if len(reasons) > 10 else ""
    raise ShallowsError(
        f"The scale {scale} is not finished. Of {len(plan.targets)} targets {len(reasons)} are missing: "
        f"{'; '.join(named)}{more}. To make what is missing: make SCALE={scale}"
    )


def _unfinished(plan: Plan, target: str, scale: str, results: Path) -> str | None:
    """What a target lacks; None where it is finished."""
    for path in products(plan, target):
        if not (results / path).exists():
            return f"no {path}"
    for run in plan.runs_of(target, scale):
        needed = [*(results / run.folder / name for name in ("record.json", "curve.csv")), _stamp(plan, run.dataset)]
        if absent := [path for path in needed if not path.exists()]:
            return f"no {absent[0]}"
        record = json.loads(needed[0].read_text(encoding="utf-8"))
        spec = {**run.spec(plan.configuration.methods), "code": plan.code_of(run)}
        if job.key_of(spec, record["data"]["sha256"]) != record["run"]["key"]:
            return f"{run.folder} is of other code or parameters than the present ones"
    return None


def products(plan: Plan, target: str) -> list[str]:
    """Tables and figures of a target, below the folder of a scale."""
    figures = [f"figures/{target}.{ending}" for ending in ("svg", "png")] if target in plan.figures else []
    return [*(f"tables/{target}.{ending}" for ending in ("csv", "json", "md", "html")), *figures]


def _stamp(plan: Plan, dataset: str) -> Path:
    return Path(plan.configuration.settings["data"]) / "raw" / dataset / "verified.json"


def files(plan: Plan, scale: str, results: Path) -> dict[str, Path]:
    """Every file of a crate but those that describe it: path in the crate -> place."""
    root, found = plan.configuration.root, {MAIN: plan.configuration.root / MAIN}
    for part in PARTS:
        place = plan.configuration.folder if part == "config/" else root / part
        below = sorted(place.rglob("*")) if part.endswith("/") else [place]
        for path in below:
            if path.is_file() and "__pycache__" not in path.parts:
                found[part + path.relative_to(place).as_posix() if path != place else part] = path
    paths = [path for target in plan.targets for path in products(plan, target)]
    paths += [f"{run.folder}/{name}" for run in plan.runs(scale).values() for name in ("record.json", "curve.csv")]
    boards = sorted(path.relative_to(results).as_posix() for path in results.glob("leaderboard/**/*") if path.is_file())
    return found | {f"results/{scale}/{path}": results / path for path in ["report/index.html", *paths, *boards]}


def fill(plan: Plan, scale: str, results: Path, crate: Path) -> Contents:
    """Copy the files into a crate with a list of their checksums, and return what it holds.

    A result that tells a path or a name of this machine is refused, since who reads a deposit has no use for it.
    """
    sums, sizes = {}, {}
    for path, place in files(plan, scale, results).items():
        content = place.read_bytes()
        if path.startswith("results/") and place.suffix in (".json", ".csv", ".md", ".html"):
            check_that_nothing_is_private(content.decode("utf-8"), str(place), plan.configuration.root)
        sums[path], sizes[path] = hashlib.sha256(content).hexdigest(), len(content)
        (crate / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place, crate / path)
    listing = "".join(f"{digest}  {path}\n" for path, digest in sums.items()).encode()
    (crate / MANIFEST).write_bytes(listing)
    sums[MANIFEST], sizes[MANIFEST] = hashlib.sha256(listing).hexdigest(), len(listing)
    below = crate / "results" / scale
    tables = {target: json.loads((below / f"tables/{target}.json").read_text("utf-8")) for target in plan.targets}
    return Contents(
        scale=scale,
        sums=sums,
        sizes=sizes,
        targets={target: (_name(table), products(plan, target)) for target, table in tables.items()},
        records=[
            json.loads((below / one.folder / "record.json").read_text("utf-8")) for one in plan.runs(scale).values()
        ],
        inputs=list(input_files(plan, scale)),
        citation=(crate / "CITATION.cff").read_text(encoding="utf-8"),
    )


def _name(table: Mapping[str, Any]) -> str:
    return f"{table['title']} ({table['paper']}, {table['source']})"


def input_files(plan: Plan, scale: str) -> Iterator[dict[str, Any]]:
    """Describe the files that the data of a scale were read from; what a program generates has none.

    A file that the project carries is named by its path, any other by its address; one that a user supplied has none.
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


def describe(described: Iterable[Mapping[str, Any]], crate: Path) -> None:
    """Write the metadata and a page for people beside the files of a crate."""
    from rocrate.rocrate import ROCrate

    made = ROCrate(version="1.1", gen_preview=True)  # the version that the profiles extend
    made.metadata.extra_terms.update(_TERMS)
    made.metadata["conformsTo"] = [{"@id": one} for one in _CONFORMS_TO]
    root, *others = map(dict, described)
    for one in others:
        name = one.pop("@id")
        if "File" in one["@type"]:
            source = name if "://" in name else crate / name
            made.add_file(source, dest_path=None if source == name else name, properties=one)
        elif one["@type"] == "Dataset":
            made.add_dataset(dest_path=name, properties=one)
        else:
            made.add_jsonld({"@id": name, **one})
    made.update_jsonld(root)
    made.write(crate)
