"""Runs: one job a run. A process that is done with a short run goes on with others that want the same inputs, and then
with some on other data that are prepared by then.

The results of those others are kept beside the checkpoints, in a folder that is no declared output, since Snakemake
deletes the outputs of a job before it starts and when it fails. Their own jobs find them there and only copy them, by
a script that starts no Python.
"""


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
        # Names no file. Snakemake asks for the inputs of all jobs before it starts the first, so this notes every run that
        # is wanted, and a process can go on with those that share its inputs.
        wanted=lambda wildcards: want(wildcards.scale, run_of(wildcards)),
    output:
        record=below("{scale}", "runs/{data}/{method}/{run}/record.json"),
        curve=below("{scale}", "runs/{data}/{method}/{run}/curve.csv"),
    log:
        below("{scale}", "logs/runs/{data}/{method}/{run}.log"),
    group:
        lambda wildcards: batch_of(wildcards.scale, run_of(wildcards))
    conda:
        ENVIRONMENT
    threads: lambda wildcards: threads_of(run_of(wildcards))
    resources:
        mem_mb=lambda wildcards, attempt: REQUESTS.megabytes(
            run_of(wildcards).cost, attempt, ranks_of(run_of(wildcards))
        ),
        runtime=lambda wildcards, attempt: minutes_of(
            wildcards.scale, run_of(wildcards), attempt
        ),
        gpu=lambda wildcards: PLACEMENT.gpus(run_of(wildcards)),
        # For a training that several processes share; None asks for nothing.
        tasks=lambda wildcards: (
            ranks_of(run_of(wildcards)) if ranks_of(run_of(wildcards)) > 1 else None
        ),
        mpi=lambda wildcards: LAUNCHER if ranks_of(run_of(wildcards)) > 1 else None,
        in_turn=1,  # where a profile gives a batch one of these, its jobs run one after the other
    params:
        spec=lambda wildcards: run_of(wildcards).spec(METHODS),
        code=lambda wildcards: PLAN.code_of(run_of(wildcards)),
        # What depends on `input` is no reason to run it again: another target that wants the run too, other runs.
        targets=lambda wildcards, input: run_of(wildcards).targets,
        device=lambda wildcards, input: PLACEMENT.device_of(run_of(wildcards)),
        others=lambda wildcards, input: others_of(wildcards, input.prepared),
        beside=lambda wildcards, input: beside_of(wildcards, input.prepared),
        checkpoints=lambda wildcards, input: below(wildcards.scale, "checkpoints"),
        # Before `finished`, since a run may be finished by another process between the two.
        script=lambda wildcards, input: (
            "deliver.sh" if finished_of(wildcards, input.prepared) else "train.py"
        ),
        finished=lambda wildcards, input: finished_of(wildcards, input.prepared),
    script:
        "../scripts/{params.script}"
