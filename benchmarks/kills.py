"""Kill trainings at random moments, resume them from their checkpoints, and compare the models bit by bit.

    python benchmarks/kills.py --kills 20
    python benchmarks/kills.py --kills 10 --make     kill ``make`` with the whole demo or named targets, then verify

Every training runs in a separate process group that SIGKILL ends as a whole, so nothing can be saved on the way out. It
is started again until it finishes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from record import Record  # noqa: E402

from shallows.solvers import EigenPro  # noqa: E402

BEGUN = "the training begins"

EVERY_SECONDS = 0.05
"""How often a training writes its state here, so that a kill may well fall into the writing."""


def train(folder: Path, n: int, epochs: int) -> None:
    """Train on generated points with a checkpoint, and leave the digest of the coefficients in ``model.json``."""
    import numpy as np

    from shallows import KernelRidgeRegressor, training

    draws = np.random.default_rng(0)
    X = draws.normal(size=(n, 20))
    y = np.sin(X @ draws.normal(size=(20, 5)))
    checkpoint = training.Checkpoint(folder, "a run to be killed", EVERY_SECONDS)
    # Batches small enough that their steps are those of EigenPro, averaged; all that is random comes from the seed.
    model = KernelRidgeRegressor(
        solver=EigenPro(rank=40, n_subsample=200, batch_size=50, max_epochs=epochs, tol=0.0),
        bandwidth=4.0,
        random_state=0,
    )
    print(BEGUN, flush=True)
    model.fit(X, y, checkpoint=checkpoint)
    digest = hashlib.sha256(np.ascontiguousarray(model.dual_coef_).tobytes()).hexdigest()
    found = {
        "digest": digest,
        "resumes": model.n_resumes_,
        "losses": model.losses_,
        "seconds": model.report_["timings"],
    }
    (folder / "model.json").write_text(json.dumps(found))


def run(folder: Path, n: int, epochs: int, kill_after: float | None = None) -> tuple[dict[str, Any] | None, float]:
    """Start a training, and kill its group after some seconds of it if it has not ended by then.

    Returns
    -------
    dict or None
        What it left, None where it was killed.
    float
        Seconds from its beginning to its end.
    """
    command = [sys.executable, __file__, "--train", str(folder), "--n", str(n), "--epochs", str(epochs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    for line in process.stdout:
        if line.strip() == BEGUN:
            break
    began = time.perf_counter()
    try:
        status = process.wait(kill_after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None, time.perf_counter() - began
    if status:
        raise SystemExit(f"A training ended with status {status}; its messages are above.")
    return json.loads((folder / "model.json").read_text()), time.perf_counter() - began


def drill(n_kills: int, n: int, epochs: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Kill trainings at random moments, each once, and let each come to its end.

    Yields
    ------
    dict
        Of the training without a kill first, then of each other: ``same`` model or not, ``resumes``, and the seconds
        after which it was killed.
    """
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        whole, seconds = run(Path(place), n, epochs)
    yield {"same": True, "resumes": whole["resumes"], "seconds": seconds}
    for _ in range(n_kills):
        with tempfile.TemporaryDirectory() as place:
            after = moments.uniform(0.0, 0.9 * seconds)
            found, _ = run(Path(place), n, epochs, kill_after=after)
            killed = found is None
            if killed:
                found, _ = run(Path(place), n, epochs)
            same = (found["digest"], found["losses"]) == (whole["digest"], whole["losses"])
            yield {"same": same, "resumes": found["resumes"], "killed": killed, "seconds": after}


PROJECT = Path(__file__).resolve().parents[1]

DEMO_SECONDS = 400.0
"""What the whole demo takes on two idle cores, for a finished clone."""


def make(folder: Path, targets: list[str], kill_after: float | None = None) -> bool:
    """Make targets of the demo in a clone; return whether that ended before it was killed, after some seconds."""
    command = [sys.executable, "-m", "shallows_papers.experiments.watching", *targets]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        if process.wait(kill_after):
            raise SystemExit(f"make ended with status {process.returncode}; see {folder}")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False
    return True


def drill_make(n_kills: int, targets: list[str], seed: int = 0) -> bool:
    """Kill ``make`` at random moments until it ends; print and return whether its numbers are those of the reference.

    The numbers are compared by the rule of ``make verify``, which leaves times out. The moments between two kills add
    up to the time of ``make`` in the mean.
    """
    from shallows_papers.experiments.planning.plan import Plan
    from shallows_papers.reference.agreement import report, verify
    from shallows_papers.reference.held import Reference

    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        clone = Path(place) / "killed"
        subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(clone)], check=True)
        outcomes: list[list[Any]] = []
        for number in range(n_kills):
            after = moments.uniform(0.0, 2 * DEMO_SECONDS / n_kills)
            end = "ended before" if make(clone, targets, after) else "killed"
            n_records = len([*clone.glob("results/demo/runs/*/*/*/record.json")])
            outcomes.append([number + 1, f"{end} after {after:.0f} s", n_records])
            print(*outcomes[-1], sep=", ", flush=True)
        make(clone, targets)
        held = Reference(Plan.load(clone, deployed=True), "demo", clone / "results/reference/demo")
        verified = verify(held, clone / "results/demo", targets)
    *lines, runs, numbers = report(verified, held)
    print(*(line for line in lines if line.startswith("  ")), runs, numbers, sep="\n")
    Record("kills", resume=True).add("make", ("kill", "ended", "runs finished"), outcomes, f"{runs}; {numbers}.")
    return verified.holds and (bool(targets) or not verified.not_here)


def main() -> None:
    """Read the command line and print what the drill finds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--n", type=int, default=3000, help="points (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=30, help="passes over them (default: %(default)s)")
    parser.add_argument("--make", nargs="*", metavar="TARGET", help="kill make instead (default: whole demo)")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.train is not None:
        train(chosen.train, chosen.n, chosen.epochs)
        return
    if chosen.make is not None:
        raise SystemExit(not drill_make(chosen.kills, chosen.make))
    whole, *killed = drill(chosen.kills, chosen.n, chosen.epochs)
    print(f"a training of {whole['seconds']:.1f} s that is not killed")
    outcomes: list[list[Any]] = []
    for number, one in enumerate(killed, start=1):
        end = f"killed after {one['seconds']:.2f} s, resumed {one['resumes']} times" if one["killed"] else "not reached"
        outcomes.append([number, end, "the same model" if one["same"] else "ANOTHER MODEL"])
        print(*outcomes[-1], sep=", ")
    n_same, n_killed = sum(one["same"] for one in killed), sum(one["killed"] for one in killed)
    resumed = sum(one["resumes"] > 0 for one in killed)
    note = (
        f"{n_same} of {len(killed)} models are identical to the bit; {n_killed} trainings were killed, "
        f"{resumed} of them after their first checkpoint."
    )
    print(note)
    Record("kills", resume=True).add("Trainings", ("training", "killed", "model"), outcomes, note)
    if n_same < len(killed):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
