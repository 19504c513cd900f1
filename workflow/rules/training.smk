"""Runs: a long one has a job for itself, several short ones of one dataset share a process.

Checkpoints and finished runs of a batch that is not finished lie in an undeclared folder, since Snakemake deletes the
declared outputs of a job that fails.
"""

for scale in SCALES:
    for batch in PLAN.batches(scale):

        rule:
            name:
                batch.name
            input:
                prepared=prepared_of(batch.dataset, batch.variant),
                preconditioners=[
                    below(scale, run.preconditioner.path)
                    for run in batch.members
                    if run.preconditioner
                ],
            output:
                records=[
                    below(scale, f"{run.folder}/record.json") for run in batch.members
                ],
                curves=[
                    below(scale, f"{run.folder}/curve.csv") for run in batch.members
                ],
            log:
                below(scale, f"logs/{batch.name}.log"),
            conda:
                ENVIRONMENT
            threads: MOST_THREADS if batch.long else 1
            resources:
                mem_mb=megabytes(batch.memory_bytes),
                runtime=minutes(batch.seconds),
                gpu=GPUS,
            params:
                runs=[run.asked(METHODS) for run in batch.members],
                preconditioners={
                    run.id: below(scale, run.preconditioner.path)
                    for run in batch.members
                    if run.preconditioner
                },
                checkpoints=below(scale, "checkpoints"),
                code=code.version_of_runs(
                    call
                    for run in batch.members
                    for call in METHODS[run.method]["call"].values()
                ),
            script:
                "../scripts/train.py"
