"""How long a person waits before anything happens."""

from __future__ import annotations

from pathlib import Path

import environments
from bench import Bench, Row, row

SCALES = ("demo", "laptop", "paper")


def measure(bench: Bench) -> list[Row]:
    """Importing the package, and planning the whole graph (``--forceall``: also finished jobs) at every scale."""
    python = environments.python_of("shallows")
    snakemake = [Path(python).with_name("snakemake"), "-n", "--forceall"]
    commands: dict[str, tuple[list[str | Path], float | None]] = {
        'python -c "import shallows"': ([python, "-c", "import shallows"], 0.5),
        # Names are loaded when they are first used, so this is what a program waits for.
        'python -c "from shallows import KernelRidgeClassifier"': (
            [python, "-c", "from shallows import KernelRidgeClassifier"],
            None,
        ),
    }
    for scale in SCALES:
        commands[f"snakemake -n, {scale}"] = ([*snakemake, "--config", f"scale={scale}"], 3.0)
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    rates = []
    for _ in bench.rounds(5):
        rates.append(bench.work("shallows", "sgemm", "sgemm during start-up")["sgemm_gflops"])
        for name, (command, _target) in commands.items():
            seconds[name].append(bench.time(command, name))
    return [
        row(name, seconds[name], target, rates, unit="s", below=True)
        for name, (_command, target) in commands.items()
        if target is not None
    ]
