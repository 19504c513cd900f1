"""Kill trainings at random moments, resume them from their checkpoints, and compare the models bit by bit.

    python benchmarks/kills.py --kills 20
    python benchmarks/kills.py --kills 10 --make     the same for ``make`` with the whole demo, or with named targets
                               --calm FOLDER         a clone of the same commit in which ``make`` has finished

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
from collections import Counter
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


def compare_tables(calm: Path, killed: Path) -> tuple[Counter[str], list[str]]:
    """Compare the tables of two demos by the rule of ``make verify``, which leaves times out.

    Returns
    -------
    Counter
        Numbers that are equal to all digits, and numbers in each state of ``make verify``.
    list of str
        Numbers that drifted or are missing, in words.
    """
    from shallows_papers.experiments.comparing.table_rows import read_rows
    from shallows_papers.experiments.planning.plan import Plan
    from shallows_papers.reference.agreement import DRIFTED, MISSING, compare
    from shallows_papers.reference.collection import of_the_machine

    plan, counts, wrong = Plan.load(calm), Counter(), []
    for table in sorted(calm.glob("results/demo/tables/*.csv")):
        timed = {run.folder for run in plan.runs_of(table.stem, "demo") if run.unit == "seconds"}
        again = killed / table.relative_to(calm)
        for found in compare(
            read_rows(table),
            read_rows(again) if again.exists() else [],
            of_the_machine=of_the_machine(plan, table.stem),
            timed_runs=timed,
        ):
            counts[found.state] += 1
            counts["equal"] += found.here is not None and found.here == found.reference
            if found.state in (DRIFTED, MISSING):
                wrong.append(f"{table.stem}: {found}")
    return counts, wrong


def drill_make(n_kills: int, targets: list[str], finished: Path | None, seed: int = 0) -> bool:
    """Kill ``make`` at random moments until it ends; print and return whether it has the numbers of no kill.

    All runs must be there, and the tables must agree by the rule of ``make verify``. Runs that are not equal to the bit
    are counted; only analyses that measure times or memory may be among them. The moments between two kills add up to
    the time of ``make`` in the mean.
    """
    sys.path.insert(0, str(PROJECT / "tests" / "golden"))
    import demo_runs

    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        calm, killed = finished or Path(place) / "calm", Path(place) / "killed"
        for folder in {calm, killed} - {finished}:
            subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(folder)], check=True)
        began = time.perf_counter()
        make(calm, targets)
        seconds = DEMO_SECONDS if finished else time.perf_counter() - began
        outcomes: list[list[Any]] = []
        for number in range(n_kills):
            after = moments.uniform(0.0, 2 * seconds / n_kills)
            end = "ended before" if make(killed, targets, after) else "killed"
            n_records = len([*killed.glob("results/demo/runs/*/*/*/record.json")])
            outcomes.append([number + 1, f"{end} after {after:.0f} s", n_records])
            print(*outcomes[-1], sep=", ", flush=True)
        make(killed, targets)
        (expected, _), (found, _) = demo_runs.runs_of(calm), demo_runs.runs_of(killed)
        numbers, wrong = compare_tables(calm, killed)
    # A training with marks in seconds differs each time.
    expected = {name: one for name, one in expected.items() if json.loads(name)["unit"] != "seconds"}
    differing = [name for name in expected if demo_runs.names_that_differ(expected[name], found.get(name, {}))]
    models = [name for name in differing if expected[name]["model"] != found.get(name, {}).get("model")]
    note = (
        f"{len(expected)} runs, of which {len(expected) - len(differing)} are equal to the bit and {len(models)} have "
        f"another model or none. Tables: {numbers['agrees']} numbers agree by the rule of make verify, "
        f"{numbers['equal']} of them to all digits; {numbers['drifted']} drifted, {numbers['missing']} are missing; "
        f"{numbers['left out']} times were left out."
    )
    print(note, *models, *wrong, sep="\n")
    Record("kills", resume=True).add("make", ("kill", "ended", "runs finished"), outcomes, note)
    return not models and not wrong and numbers["agrees"] > 0 and expected.keys() <= found.keys()


def main() -> None:
    """Read the command line and print what the drill finds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--n", type=int, default=3000, help="points (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=30, help="passes over them (default: %(default)s)")
    parser.add_argument("--make", nargs="*", metavar="TARGET", help="kill make instead (default: whole demo)")
    parser.add_argument("--calm", type=Path, help="a clone in which make has finished, to compare with")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.train is not None:
        train(chosen.train, chosen.n, chosen.epochs)
        return
    if chosen.make is not None:
        raise SystemExit(not drill_make(chosen.kills, chosen.make, chosen.calm))
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
