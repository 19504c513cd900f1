"""Short runs through Snakemake beside the same runs in one process.

    python benchmarks/orchestration.py [--runs 200] [--train 2000]

Nearest neighbours are asked for digits with so many seeds; the number of training points sets how long a run takes.
Processor seconds of all processes are compared, which other work on the machine hardly
touches, and the time by the clock beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = """paper: orchestration
title: Short runs
citation: this project
targets:
  short_runs:
    kind: table
    title: Error on handwritten digits
    source: none
    caption: The error of nearest neighbours.
    published_data: {{MNIST: {{dataset: mnist_demo, n_train: 500}}}}
    metrics: {{test_error: {{label: test error, unit: "%"}}}}
    settings: {{}}
    methods:
      neighbours: {{method: nearest_neighbours, parameters: {{n_neighbors: 3, algorithm: ball_tree}}}}
    scales:
      demo: &scale
        seeds: {seeds}
        data: {{MNIST: {{dataset: mnist_demo, variant: unit}}}}
        runs: [{{}}]
      laptop: *scale
      paper: *scale
    layout: {{rows: [method], columns: [metric]}}
"""
IN_ONE_PROCESS = """
import sys
from pathlib import Path
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.running.job import Conditions, Job
from shallows_papers.experiments.running.run import execute
plan = Plan.load(sys.argv[1], {"configuration": "config", "results": "alone"})
for run in plan.runs("demo").values():
    places = Path("data/prepared/mnist_demo/unit"), Path("alone") / run.folder, Path("alone/checkpoints")
    execute(Job(plan.job(run), *places), Conditions(device="cpu"))
"""


def spent(command: list[str], folder: Path) -> tuple[float, float]:
    """Processor seconds and seconds by the clock of a command with all that it starts."""
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.monotonic() - clock


def main() -> None:
    """Entry of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--train", type=int, default=2000, help="training points of a run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        config = folder / "config"
        paper = config / "papers" / "orchestration"
        paper.mkdir(parents=True)
        for name in ("config.yaml", "datasets.yaml", "methods.yaml"):
            text = (ROOT / ".test" / "config" / name).read_text(encoding="utf-8")
            text = text.replace("n_train: 500, n_test: 200", f"n_train: {options.train}, n_test: 1000")
            (config / name).write_text(text, encoding="utf-8")
        target = TARGET.format(seeds=list(range(options.runs)))
        (paper / "targets.yaml").write_text(target, encoding="utf-8")
        snakemake = [str(Path(sys.executable).with_name("snakemake")), "-s", str(ROOT / "Snakefile"), "--cores", "1"]
        spent([*snakemake, "data/prepared/mnist_demo/unit"], folder)
        alone, alone_clock = spent([sys.executable, "-c", IN_ONE_PROCESS, str(ROOT)], folder)
        through, through_clock = spent([*snakemake, "results/demo/tables/short_runs.csv"], folder)
        records = [json.loads(path.read_text()) for path in folder.glob("results/demo/runs/*/*/*/record.json")]
        assert len(records) == options.runs
        inside = sum(record["times"]["total"] for record in records)
    print(f"{options.runs} runs, {inside / options.runs:.2f} s each by their records")
    print(f"in one process: {alone:.1f} processor seconds, {alone_clock:.0f} s by the clock")
    print(f"through Snakemake: {through:.1f} processor seconds, {through_clock:.0f} s by the clock")
    extra = through - alone
    print(f"orchestration: {extra / options.runs:.3f} processor seconds a run, {extra / alone:.0%} of one process")


if __name__ == "__main__":
    main()
