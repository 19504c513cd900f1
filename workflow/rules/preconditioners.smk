"""Preconditioners, each made once for all the runs that need it."""


rule precondition:
    input:
        lambda wildcards: prepared_of(
            preconditioner_of(wildcards).dataset, preconditioner_of(wildcards).variant
        ),
    output:
        below("{scale}", "preconditioners/{data}/{preconditioner}.npz"),
    log:
        below("{scale}", "logs/preconditioners/{data}/{preconditioner}.log"),
    group:
        lambda wildcards: group_of("preconditioners", preconditioner_of(wildcards).cost)
    conda:
        lambda wildcards: environment(
            "gpu" if PLACEMENT.gpus(preconditioner_of(wildcards)) else None
        )
    threads: lambda wildcards: REQUESTS.threads(preconditioner_of(wildcards).cost)
    resources:
        mem_mb=lambda wildcards, attempt: REQUESTS.megabytes(
            preconditioner_of(wildcards).cost, attempt
        ),
        runtime=lambda wildcards, attempt: REQUESTS.minutes(
            preconditioner_of(wildcards).cost, attempt
        ),
        gpu=lambda wildcards: PLACEMENT.gpus(preconditioner_of(wildcards)),
        in_turn=1,
    params:
        code=lambda wildcards: brief(
            "code",
            preconditioner_of(wildcards).files,
        ),
        # All else that it depends on is in its identifier.
        spec=lambda wildcards, input: preconditioner_of(wildcards).spec(),
        device=lambda wildcards, input: PLACEMENT.device_of(
            preconditioner_of(wildcards)
        ),
    script:
        "../scripts/precondition.py"
