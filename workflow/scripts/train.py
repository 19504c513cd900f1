from pathlib import Path

from shallows.errors import ShallowsError
from shallows.experiments.running.journal import journal
from shallows.experiments.running.run import Conditions, Job, execute_all

with journal(snakemake.log[0]):
    preconditioners = snakemake.params.preconditioners
    jobs = [
        Job(
            asked=asked,
            prepared=Path(snakemake.input.prepared).parent,
            out=Path(out).parent,
            checkpoints=Path(snakemake.params.checkpoints),
            preconditioner=Path(preconditioners[asked["id"]]) if asked["id"] in preconditioners else None,
        )
        for asked, out in zip(snakemake.params.runs, snakemake.output.records, strict=True)
    ]
    if failures := execute_all(jobs, Conditions.of(snakemake.config)):
        raise ShallowsError(f"{len(failures)} of {len(jobs)} runs failed.\n" + "\n".join(failures))
