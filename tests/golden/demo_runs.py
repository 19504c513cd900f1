"""Compare the runs of two finished demos, made by old and new code on one machine, bit for bit.

    python tests/golden/demo_runs.py OLD_CHECKOUT NEW_CHECKOUT [--repeat CHECKOUT]

Two runs belong together if they request the same dataset, variant, method, parameters, seed and marks. The digest of
the fitted model is compared, and every number of a record and a curve that is not a time, a rate or a size in memory.
Some runs read the clock: they have marks in seconds, or a second demo of the old code (``--repeat``) has other
numbers. Their differences are counted, and no error.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

MEASURED = ("seconds", "time", "bytes", "memory", "speed", "slowdown", "clock", "cpu", "throughput", "power")
"""Parts of the names of numbers that are measured on the machine."""


def is_measured(name: str) -> bool:
    """Whether a number of this name differs between two runs of the same code."""
    return any(part in name for part in MEASURED)


def request_of(record: dict[str, Any]) -> str:
    """What a run was asked to do, as text."""
    run = record["run"]
    asked = {
        key: run.get(key) for key in ("scale", "dataset", "variant", "method", "parameters", "seed", "marks", "unit")
    }
    return json.dumps(asked, sort_keys=True)


def outcome_of(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Everything of a run that the same code repeats exactly, by name."""
    final = record["metrics"]["final"]
    outcome = {f"final {name}": value for name, value in final.items() if not is_measured(name)}
    outcome["model"] = record["model"].get("sha256")
    with open(folder / "curve.csv", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            if not is_measured(row.get("metric", "")):
                kept = {name: value for name, value in row.items() if not is_measured(name)}
                outcome[f"curve row {number} {row.get('metric', '')}"] = kept
    return outcome


def names_that_differ(a: dict[str, Any], b: dict[str, Any]) -> set[str]:
    """Names under which two outcomes differ. Texts are compared, since NaN differs from itself."""
    return {name for name in a.keys() | b.keys() if repr(a.get(name)) != repr(b.get(name))}


def runs_of(checkout: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """Outcomes of all runs by request, and for how many targets they are used in all."""
    found, n_uses = {}, 0
    for path in sorted((checkout / "results/demo/runs").glob("**/record.json")):
        record = json.loads(path.read_text())
        n_uses += len(record["run"]["target_ids"])
        found[request_of(record)] = outcome_of(path.parent, record)
    return found, n_uses


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--repeat", type=Path, help="a second demo that the old code made")
    given = parser.parse_args()
    (old, n_old_uses), (new, n_new_uses) = runs_of(given.old), runs_of(given.new)
    repeat = runs_of(given.repeat)[0] if given.repeat else old
    differing, by_clock = {}, set()
    for request in sorted(old.keys() & new.keys()):
        if (
            names_that_differ(old[request], repeat.get(request, old[request]))
            or json.loads(request)["unit"] == "seconds"
        ):
            by_clock.add(request)
        names = sorted(names_that_differ(old[request], new[request]))
        if names:
            differing[request] = names
    errors = differing.keys() - by_clock
    for request in sorted(errors):
        names = differing[request]
        print(request, f"    {len(names)} of {len(old[request])}: " + ", ".join(names[:6]), sep="\n")
    for title, requests in (("only old", old.keys() - new.keys()), ("only new", new.keys() - old.keys())):
        for request in sorted(requests):
            print(f"{title}: {request}")
    both = len(old.keys() & new.keys())
    print(f"{len(old)} old runs ({n_old_uses} uses), {len(new)} new runs ({n_new_uses} uses), {both} in both;")
    print(f"{both - len(differing)} are equal to the bit, {len(differing) - len(errors)} differ and read the clock,")
    print(f"{len(errors)} differ and do not.")
    sys.exit(bool(errors) or old.keys() != new.keys())


if __name__ == "__main__":
    main()
