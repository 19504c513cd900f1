"""Preconditioners, each made once for all the runs that need it. Short ones share a process as short runs do."""


rule precondition:
    input:
        prepared=lambda wildcards: prepared_of(
            preconditioner_of(wildcards).dataset, preconditioner_of(wildcards).variant
        ),
        # Names no file. Asking for it notes that this preconditioner is wanted, as in the rule `train`.
        wanted=lambda wildcards: want(wildcards.scale, preconditioner_of(wildcards)),
    output:
        below("{scale}", "preconditioners/{data}/{preconditioner}.npz"),
    log:
        below("{scale}", "logs/preconditioners/{data}/{preconditioner}.log"),
    group:
        lambda wildcards: batch_of(wildcards.scale, preconditioner_of(wildcards))
    conda:
        ENVIRONMENT
    threads: lambda wildcards: REQUESTS.threads(preconditioner_of(wildcards).cost)
    resources:
        mem_mb=lambda wildcards, attempt: REQUESTS.megabytes(
            preconditioner_of(wildcards).cost, attempt
        ),
        runtime=lambda wildcards, attempt: minutes_of(
            wildcards.scale, preconditioner_of(wildcards), attempt
        ),
        gpu=lambda wildcards: PLACEMENT.gpus(preconditioner_of(wildcards)),
        in_turn=1,
    params:
        spec=lambda wildcards: preconditioner_of(wildcards).spec(),
        code=lambda wildcards: code.digest_of_preconditioner(
            preconditioner_of(wildcards).parameters
        ),
        # What depends on `input` is no reason to make it again.
        device=lambda wildcards, input: PLACEMENT.device_of(
            preconditioner_of(wildcards)
        ),
        others=lambda wildcards, input: SHARING.others(
            wildcards.scale, preconditioner_of(wildcards)
        ),
        checkpoints=lambda wildcards, input: below(wildcards.scale, "checkpoints"),
    script:
        "../scripts/precondition.py"
