"""Arrays as the methods read them, of the published files or of the arrays of another variant.

The record is written last and stands for the arrays.
"""


rule prepare:
    input:
        preparation_begins_from,
    output:
        record=f"{DATA}/prepared/{{dataset}}/{{variant}}/prepared.json",
        arrays=multiext(
            f"{DATA}/prepared/{{dataset}}/{{variant}}/",
            "x_train.npy",
            "y_train.npy",
            "x_test.npy",
            "y_test.npy",
        ),
    log:
        f"{DATA}/logs/prepare/{{dataset}}/{{variant}}.log",
    # First of all, so that whatever process has time left finds the data of other runs.
    priority: 1
    group:
        batch_of_preparation
    conda:
        ENVIRONMENT
    resources:
        mem_mb=lambda wildcards, attempt: REQUESTS.megabytes(
            PLAN.cost_of_preparation(wildcards.dataset, wildcards.variant), attempt
        ),
        runtime=minutes_of_preparation,
        in_turn=1,
    params:
        steps=lambda wildcards: PLAN.configuration.variants[wildcards.variant]["steps"],
        code=lambda wildcards: PLAN.code_of_preparation(
            wildcards.dataset, wildcards.variant
        ),
    script:
        "../scripts/prepare.py"
