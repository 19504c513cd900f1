"""Runs: one job a run."""


rule train:
    input:
        prepared=lambda wildcards: prepared_of(
            run_of(wildcards).dataset, run_of(wildcards).variant
        ),
        preconditioner=lambda wildcards: (
            below(wildcards.scale, run_of(wildcards).preconditioner.path)
            if run_of(wildcards).preconditioner
            else []
        ),
    output:
        record=below("{scale}", "runs/{data}/{method}/{run}/record.json"),
        curve=below("{scale}", "runs/{data}/{method}/{run}/curve.csv"),
        outputs=below("{scale}", "runs/{data}/{method}/{run}/outputs.npz"),
    log:
        below("{scale}", "logs/runs/{data}/{method}/{run}.log"),
    group:
        lambda wildcards: (
            group_of("runs", run_of(wildcards).cost)
            if ranks_of(run_of(wildcards)) == 1
            else None
        )
    conda:
        lambda wildcards: environment(
            PLAN.extra_of_run(run_of(wildcards))
            or ("gpu" if PLACEMENT.gpus(run_of(wildcards)) else None)
        )
    threads: lambda wildcards: threads_of(run_of(wildcards))
    resources:
        mem_mb=lambda wildcards, attempt: REQUESTS.megabytes(
            run_of(wildcards).cost, attempt, ranks_of(run_of(wildcards))
        ),
        runtime=lambda wildcards, attempt: REQUESTS.minutes(
            run_of(wildcards).cost, attempt
        ),
        gpu=lambda wildcards: PLACEMENT.gpus(run_of(wildcards)),
        # For a training that several processes share; None asks for nothing.
        tasks=lambda wildcards: (
            ranks_of(run_of(wildcards)) if ranks_of(run_of(wildcards)) > 1 else None
        ),
        mpi=lambda wildcards: LAUNCHER if ranks_of(run_of(wildcards)) > 1 else None,
        in_turn=1,  # where a profile gives a group one of these, its jobs run one after the other
    params:
        marks=lambda wildcards: brief("points of evaluation", run_of(wildcards).marks),
        definition=lambda wildcards: brief(
            f"entry of {run_of(wildcards).method} in config/methods.yaml",
            run_of(wildcards).spec(METHODS)["definition"],
        ),
        made_by=lambda wildcards: brief("code", PLAN.code_of(run_of(wildcards))),
        # All else that it depends on is in its identifier.
        job=lambda wildcards, input: job_of(run_of(wildcards)),
    script:
        "../scripts/train.py"
