"""Measures what the cases say, prints a table and keeps it in results/ (latest.md and .json; quick.* with --quick).

Nothing but the standard library, since what is measured runs in processes and environments of its own.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import environments
import tables
from bench import Bench, MeasurementFailedError
from cases import CASES, WITHOUT_DATA

RESULTS = environments.HERE / "results"
RECORD = environments.HERE / "RESULTS.md"
N_CORES = 2
BUSY = 0.5


def main() -> int:
    """Run the cases that were asked for; 1 if one of them could not be measured."""
    options = _options()
    cores = use_cores(N_CORES)
    chosen = options.case or list(CASES)
    results: dict[str, Any] = {
        "started": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "quick": options.quick,
        "code": _code(),
        "machine": _machine(cores),
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
        # After each case, so that one that is stopped leaves those before it.
        page = _write(results)

    print(page)
    failed = any(found["failure"] for found in results["cases"].values())
    if options.record and not failed:
        RECORD.write_text(page, encoding="utf-8")
    return int(failed)


def use_cores(n: int) -> int:
    """Keep this process, and all that it starts, on so many cores; returns how many there are."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    allowed = sorted(os.sched_getaffinity(0))[:n]
    os.sched_setaffinity(0, allowed)
    return len(allowed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.sh", description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=CASES, metavar="NAME", help=f"one of {', '.join(CASES)}")
    parser.add_argument("--runs", type=int, metavar="N", help="rounds (3; 5 for start-up, 1 for steps)")
    parser.add_argument("--quick", action="store_true", help="tiny data, one round: whether it works, not how fast")
    parser.add_argument("--record", action="store_true", help=f"also write {RECORD.name}, the committed copy")
    options = parser.parse_args()
    if options.runs is not None and options.runs < 1:
        parser.error("--runs must be at least 1")
    if options.record and (options.quick or options.case):
        parser.error("--record takes the whole benchmark: leave out --quick and --case")
    return options


def _write(results: dict[str, Any]) -> str:
    page = tables.markdown(results)
    RESULTS.mkdir(exist_ok=True)
    # A check must not take the place of what took half an hour.
    name = "quick" if results["quick"] else "latest"
    (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")
    (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    return page


def _code() -> str:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(environments.ROOT), "--no-optional-locks", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + (" with changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown (no git here)"


def _machine(cores: int) -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        cpu = f"{found['model name']} (family {found['cpu family']}, model {found['model']})"
    except (OSError, KeyError):
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {"cpu": cpu, "cores": cores, "memory_gb": memory, "system": f"{platform.system()} {platform.release()}"}


if __name__ == "__main__":
    sys.exit(main())
