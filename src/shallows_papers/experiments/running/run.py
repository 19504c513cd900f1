"""Do one run, from prepared data to its record and curve; a run that was killed resumes."""

import json
import pkgutil
import shutil
import sys
import time
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shallows.errors import DivergenceError, ShallowsError, TrainingInterrupted
from shallows_papers import datasets
from shallows_papers.datasets import prepared as prepared_data

from ..identity import code
from . import batch_system, record, several_ranks
from .calls import arguments, diverged
from .job import Conditions, Job, key_of, name_of
from .proof import covered_by


def execute(job: Job, conditions: Conditions) -> dict[str, Any]:
    """Do one run, write its outputs, curve and record, and return the record; a diverging training is a valid result.

    Then remove its checkpoints, so that it is computed if it is requested again.
    """
    data = _data_of(job.prepared)
    key = key_of(job.spec, data.info["sha256"])
    folder = job.checkpoints / f"{job.spec['id']}-{key}"
    # Before the clock starts, since it may import modules.
    kind = code.KINDS_OF_RUN[job.spec["definition"]["runs"]]
    do = several_ranks.train if conditions.ranks > 1 else pkgutil.resolve_name(kind)
    record.reset_peak_memory()
    started, clock = datetime.now(UTC), time.perf_counter()
    try:
        with covered_by(job.planned), warnings.catch_warnings():
            # The configuration sets bandwidths on purpose, so the advice about components is not needed.
            warnings.filterwarnings("ignore", message="n_components='auto' takes all")
            try:
                found = do(job, data, conditions, folder, key)
            except DivergenceError as error:
                found = diverged(error)
    except TrainingInterrupted:
        raise
    except ShallowsError as error:
        raise ShallowsError(f"{name_of(job.spec)}: {error}") from error
    rows, outputs = found.pop("rows"), found.pop("outputs", {})
    seconds = time.perf_counter() - clock + found.pop("seconds_before")
    if job.preconditioner is not None:
        from shallows.spectrum.preconditioner_files import seconds_of

        found["times"]["eigensystem"] += seconds_of(job.preconditioner)
        seconds += seconds_of(job.preconditioner)
    found["times"]["total"] = seconds
    run = {name: one for name, one in job.spec.items() if name not in ("definition", "code")} | {"key": key}
    device = str(found["effective"].get("device", conditions.device))
    made = record.made(run, data.info, started, device, **found)
    record.write(job.out, made, rows, outputs)
    shutil.rmtree(folder, ignore_errors=True)
    if "diverged" in made:
        note = f"note: {name_of(job.spec)}: {made['diverged']} The tables mark the cells of this run."
        print(note, file=sys.stderr, flush=True)
        return made
    final = ", ".join(f"{name} {float(value):.4g}" for name, value in made["metrics"]["final"].items())
    resumed = f", resumed {made['resumes']} times" if made["resumes"] else ""
    print(f"{name_of(job.spec)}: {final} ({seconds:.1f} s{resumed})", flush=True)
    return made


def _data_of(prepared: Path) -> datasets.Prepared:
    """Return prepared data; in a batch system, wait for files that another node has just written."""
    record_path, arrays = prepared / prepared_data.RECORD, []
    if record_path.exists():  # of all these files, Snakemake checks only the record
        names = json.loads(record_path.read_text(encoding="utf-8"))["arrays"]
        arrays = [prepared / f"{name}.npy" for name in names]
    batch_system.wait_for_files(arrays or [record_path])
    try:
        return datasets.load(prepared)
    except EOFError:  # NumPy's error for an empty file, as a full disk leaves it
        empty = next((path for path in arrays if path.stat().st_size == 0), prepared)
        raise ShallowsError(f"{empty} is empty. Prepare the dataset again.") from None


def make_preconditioner(spec: Mapping[str, Any], prepared: Path, out: Path, conditions: Conditions) -> None:
    """Compute a preconditioner, with its seconds, for the runs that share it."""
    data, function = _data_of(prepared), pkgutil.resolve_name(spec["call"])
    own = {"random_state": spec["seed"], "device": conditions.device, "memory": conditions.memory}
    with covered_by(spec.get("planned")):
        made = function(data.x_train, **arguments(function, spec["parameters"], **own))
    out.parent.mkdir(parents=True, exist_ok=True)
    made.save(out)
    print(f"preconditioner {out.stem} ({made.seconds:.1f} s)", flush=True)
