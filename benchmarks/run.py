"""Measure what the cases ask for, print the tables and write them to results/latest.json (quick.json with --quick).

It needs the standard library alone, because what is measured runs in separate processes and environments. ``--record``
writes the record that the repository keeps, which `pages.py` draws.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import environments
import tables
from bench import Bench, MeasurementFailedError
from cases import CASES, WITHOUT_DATA
from record import MEASURED, Record, markdown

RESULTS = environments.HERE / "results"
N_CORES = 2
BUSY = 0.5


def main() -> int:
    """Run the cases that were asked for; 1 if one of them could not be measured."""
    options = _options()
    use_cores(N_CORES)
    chosen = options.case or list(CASES)
    # A quick check must not replace what took half an hour.
    record = Record("run", RESULTS / ("quick.json" if options.quick else "latest.json"))
    results: dict[str, Any] = {
        "removed": environments.removed_variables(),
        "environments": {},
        "data": "",
        "cases": {},
    }
    folder = None
    if not WITHOUT_DATA.issuperset(chosen):
        try:
            prepared = Bench(None).work("shallows", "prepare", "MNIST", folder=str(environments.ROOT / "data"))
        except MeasurementFailedError as error:
            print(f"MNIST could not be prepared: {error}", file=sys.stderr)
            return 1
        folder, results["data"] = Path(prepared["folder"]), prepared["sha256"]

    for name in chosen:
        load = os.getloadavg()[0]
        if load > BUSY:
            print(f"The machine is not idle (load {load:.1f}): times will be too long.", file=sys.stderr, flush=True)
        bench = Bench(folder, quick=options.quick, runs=options.runs, case=name)
        rows, failure = [], ""
        try:
            rows = [row.as_data() for row in CASES[name](bench)]
        except (MeasurementFailedError, environments.EnvironmentFailedError) as error:
            failure = str(error)
            print(f"{name} failed: {error}", file=sys.stderr, flush=True)
        for used in sorted({one["environment"] for one in bench.measurements} - set(results["environments"])):
            results["environments"][used] = Bench(None).work(used, "describe", f"environment {used}")
        results["cases"][name] = {"load": load, "rows": rows, "measurements": bench.measurements, "failure": failure}
        # After each case, so that an interruption loses one case at most.
        _write(record, results, options.quick)

    for table in record.content["tables"]:
        print(markdown(table["columns"], table["rows"]), table["note"], sep="\n\n")
    failed = any(found["failure"] for found in results["cases"].values())
    if options.record and not failed:
        record.path = MEASURED / "run.json"
        record.save()
    return int(failed)


def use_cores(n: int) -> int:
    """Keep this process, and all that it starts, on this number of cores; returns how many there are."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    allowed = sorted(os.sched_getaffinity(0))[:n]
    os.sched_setaffinity(0, allowed)
    return len(allowed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=CASES, metavar="NAME", help=f"one of {', '.join(CASES)}")
    parser.add_argument("--runs", type=int, metavar="N", help="rounds (3; 5 for start-up)")
    parser.add_argument("--quick", action="store_true", help="tiny data, one round: whether it works, not how fast")
    parser.add_argument("--record", action="store_true", help="also write the record that the repository keeps")
    options = parser.parse_args()
    if options.runs is not None and options.runs < 1:
        parser.error("--runs must be at least 1")
    if options.record and (options.quick or options.case):
        parser.error("--record takes the whole benchmark: leave out --quick and --case")
    return options


def _write(record: Record, results: dict[str, Any], quick: bool) -> None:
    rows = tables.targets(results["cases"], quick)
    note = "A quick check on tiny data says nothing of the targets." if quick else ""
    record.add("Medians and their targets", tables.TARGETS, rows, note)
    columns = ("case", "program", "rounds", *tables.COLUMNS.values())
    conditions = "\n".join(f"- {line}" for line in tables.conditions(results))
    note = f"Every program in a fresh process; medians over the rounds, min–max in brackets.\n\n{conditions}"
    record.add("All measurements", columns, tables.measurements(results["cases"]), note)


if __name__ == "__main__":
    sys.exit(main())
