"""Preconditioners, made once for all the runs that need the same one; several of one dataset share a process."""

for scale in SCALES:
    for batch in PLAN.preconditioner_batches(scale):

        rule:
            name:
                batch.name
            input:
                prepared_of(batch.dataset, batch.variant),
            output:
                [below(scale, member.path) for member in batch.members],
            log:
                below(scale, f"logs/{batch.name}.log"),
            conda:
                ENVIRONMENT
            threads: MOST_THREADS if batch.long else 1
            resources:
                mem_mb=megabytes(batch.memory_bytes),
                runtime=minutes(batch.seconds),
            params:
                preconditioners=[member.asked() for member in batch.members],
                code=code.version_of("preconditioner"),
            script:
                "../scripts/precondition.py"
