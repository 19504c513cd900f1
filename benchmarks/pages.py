"""Draw every page of measurements from its record: ``python benchmarks/pages.py [--out FOLDER]``.

``benchmarks/RESULTS.md`` has the tables of all records in ``benchmarks/measured/``. `which_estimator` and `road` draw
``docs/which_estimator.md`` with its picture and ``docs/to_a_billion_points.md``. Nothing is measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import record
import road
import which_estimator

#: Script -> heading and what its tables show.
SECTIONS = {
    "run": ("Fits, memory and start-up", "`make bench`: MNIST on two cores, compared with other packages."),
    "speed": (
        "Speed of the defaults",
        "`python benchmarks/run.py --case speed --case busy`: digits compared with scikit-learn-intelex's SVC(C=5, "
        "gamma=1/50) in processor seconds. A cold fit is the first of its process, a warm one the second.",
    ),
    "defaults": (
        "Defaults on 44 datasets",
        "`python benchmarks/defaults.py --half all --seeds 0 1`: estimators at their defaults and the best of "
        "scikit-learn's support vector machines and kernel ridge regression. EP is EigenPro, EPC EigenPro with fewer "
        "centers, FEP EigenPro on random features, EKR exact kernel ridge regression, DSG doubly stochastic gradients. "
        "Scores are accuracies and R² on test rows.",
    ),
    "inputs": (
        "Choices of kernel and metric",
        "`python benchmarks/defaults.py --inputs`, first with `--half tuned`, then once with `--half aside`: kernel "
        'ridge regression at its defaults (none), with `kernel="auto"`, with `metric="auto"`, and with both. Beside it '
        "are scikit-learn's histogram boosting and random forest and xRFM at their defaults, and SVC, SVR with C=10. "
        "Scores are accuracies and R² on test rows.",
    ),
    "growth": ("Growth of time and memory", "`python benchmarks/growth.py --seeds 3`: powers with intervals of 95 %."),
    "gpu": ("On a GPU", "`python benchmarks/gpu.py --all`."),
    "kills": ("Killed trainings", "`python benchmarks/kills.py --kills 20`."),
    "preparation": ("Preparing a large file", "`python benchmarks/preparation.py`."),
}


def results() -> str:
    """The page of all records."""
    parts = [
        "# Measurements",
        "`python benchmarks/pages.py` draws this page from `benchmarks/measured/*.json`: change it there. "
        "[HISTORY.md](HISTORY.md) has findings of programs that are no longer kept.",
    ]
    for script, (title, about) in SECTIONS.items():
        path = record.MEASURED / f"{script}.json"
        if path.exists():
            parts += [f"## {title}", about, *section(json.loads(path.read_text(encoding="utf-8")))]
    return "\n\n".join(parts) + "\n"


def section(content: dict[str, Any]) -> Iterator[str]:
    """The tables of a record, and where they were measured."""
    for table in content["tables"]:
        yield f"### {table['title']}"
        yield record.markdown(table["columns"], table["rows"])
        if table["note"]:
            yield table["note"]
    yield source(content)


def source(content: dict[str, Any]) -> str:
    """One paragraph on machine, versions, commit, time and memory of a record."""
    parts = [f"Measured {content['date']}, commit {content['commit']}"]
    machine = content.get("machine")
    if machine:
        memory = f", {machine['memory_gb']} GB" if machine.get("memory_gb") else ""
        parts.append(f"{machine['processor']}, {machine['cores']} cores{memory}, {machine['system']}")
    if content.get("versions"):
        parts.append(", ".join(f"{name} {version}" for name, version in content["versions"].items()))
    if content.get("seconds"):
        wall, processor = content["seconds"]["wall"], content["seconds"]["processor"]
        parts.append(f"{wall} s, of the processor {processor} s, at most {content['peak_memory_gb']} GB")
    return "; ".join([*parts, *filter(None, [content.get("transcribed", "")])]) + "."


def write_all(folder: Path) -> None:
    """Write all pages below a folder."""
    pages = {
        "benchmarks/RESULTS.md": results(),
        "docs/to_a_billion_points.md": road.page(),
        "docs/which_estimator.md": which_estimator.page(which_estimator.read()),
    }
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    found = which_estimator.read()
    which_estimator.draw(found, folder / "docs" / "which_estimator.svg")
    which_estimator.draw(found, folder / "docs" / "pictures" / "error_against_time.svg", which_estimator.IN_SHORT)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=record.ROOT, help="folder (default: the repository)")
    write_all(parser.parse_args().out)


if __name__ == "__main__":
    main()
