"""The table of all datasets, with the time and memory that preparing them takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shallows.errors import MissingExtraError
from shallows_papers.datasets.catalogue import Dataset, catalogue
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.listing.description import count, read_contents, size_of

MEASURED_NAME = "measured.json"
_TEMPLATE = Path(__file__).with_name("overview.md")
_STATES = {
    "public": "downloaded",
    "embedded": "bundled",
    "supplied": "supplied by the user",
    "generated": "generated",
}


def table(measured: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of all datasets as Markdown; `measured` has what `measure` returns, by dataset."""
    MissingExtraError.check("workflow", "The table of all datasets", "jinja2")

    import jinja2

    datasets = catalogue()
    others = [one for name, one in datasets.items() if name not in measured]
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    environment.filters["row"] = lambda cells: " | ".join(str(cell).replace("|", "\\|") for cell in cells)
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        rows=map(_row, datasets.values()),
        names=[
            (other, f"`{one.name}`", how or "the same")
            for one in datasets.values()
            for other, how in one.also_called.items()
        ],
        measured=[_measured_row(name, one) for name, one in measured.items()],
        unseen=[f"`{one.name}`" for one in others if one.state == "public"],
        absent=[f"`{one.name}`" for one in others if one.state == "supplied"],
    )


def _row(dataset: Dataset) -> list[str]:
    files = dataset.files if dataset.state in ("public", "embedded") else ()
    return [
        f"`{dataset.name}`",
        f"[{dataset.title}]({dataset.homepage})",
        _STATES[dataset.state],
        ", ".join(dataset.used_by) or "—",
        f"{count(dataset.n_train, dataset.exact)} + {count(dataset.n_test, dataset.exact)}",
        count(dataset.n_features),
        _classes_or_targets(dataset),
        dataset.format,
        size_of(dataset.size) if files else "—",
        "—" if not files else "yes" if all(file.has_checksum for file in files) else "no",
        dataset.licence,
    ]


def _classes_or_targets(dataset: Dataset) -> str:
    if dataset.n_classes:
        return str(dataset.n_classes)
    return f"{dataset.n_targets} targets" if dataset.n_targets > 1 else "—"


def _measured_row(name: str, one: Mapping[str, Any]) -> list[str]:
    seconds, peak = one.get("seconds"), one.get("peak_memory_bytes")
    return [
        f"`{name}`",
        one["what"],
        one["rows"],
        f"{one['columns']:,}",
        "not prepared" if seconds is None else f"{seconds:.1f} s",
        size_of(peak) if peak else "",
    ]


def measure(dataset: Dataset, root: Path, mirror: str | None) -> dict[str, Any]:
    """Fetch, read and prepare a dataset in a process of its own; return its sizes, seconds and peak memory."""
    code = (
        "import json, sys, warnings; warnings.simplefilter('ignore'); "
        "from shallows_papers.datasets.listing import overview; "
        "print(json.dumps(overview.measure_here(sys.argv[1], sys.argv[2], sys.argv[3] or None)))"
    )
    command = [sys.executable, "-c", code, dataset.name, str(root), mirror or ""]
    finished = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"TQDM_DISABLE": "1"})
    if finished.returncode:
        raise DatasetError(f"'{dataset.name}' was not measured: {finished.stderr.strip().splitlines()[-1]}")
    return json.loads(finished.stdout.splitlines()[-1])


def measure_here(name: str, root: str, mirror: str | None) -> dict[str, Any]:
    """Do the work of `measure`."""
    from shallows_papers import datasets

    dataset = datasets.get(name)
    stamp = datasets.fetch(name, root, mirror, progress=False)
    copies = [file["note"] for file in json.loads(stamp.read_text(encoding="utf-8"))["files"] if "note" in file]
    what = {"public": "the real file", "embedded": "the real file", "generated": "generated rows"}.get(
        dataset.state, "the supplied file"
    )
    if copies:
        what = f"{'generated rows, of ' if dataset.state == 'generated' else ''}a copy: {copies[0]}"
    if dataset.format == "smiles":
        seen = read_contents(dataset, stamp)
        return {"what": what, "rows": " + ".join(f"{n:,}" for n in seen.n.values()), "columns": seen.n_features}
    steps: list[dict[str, Any]] = [] if dataset.n_test else [{"split": {"n": 0.1}}]
    if (dataset.n_features or 0) <= 5_000:  # wider rows are sparse, and statistics of each column would fill them
        steps.append({"unit": {}} if dataset.value_range else {"zscore": {}})
    with tempfile.TemporaryDirectory(dir=root) as out:
        info = datasets.prepare(name, stamp, Path(out) / "prepared", steps)
    rows = [info["n_train"], info["n_test"]] if dataset.n_test else [info["n_train"] + info["n_test"]]
    return {
        "what": what,
        "rows": " + ".join(f"{n:,}" for n in rows),
        "columns": info["n_features"],
        "seconds": round(info["seconds"]["total"], 1),
        "peak_memory_bytes": info["peak_memory_bytes"],
    }
