"""Arrays as the methods read them, of the published files or of the arrays of another variant."""


rule prepare:
    input:
        preparation_begins_from,
    output:
        directory(f"{DATA}/prepared/{{dataset}}/{{variant}}"),
    log:
        f"{DATA}/logs/prepare/{{dataset}}/{{variant}}.log",
    group:
        lambda wildcards: group_of(
            "preparations", PLAN.cost_of_preparation(**wildcards)
        )
    conda:
        lambda wildcards: environment(
            PLAN.extra_of_preparation(
                wildcards.dataset,
                PLAN.configuration.variants[wildcards.variant]["steps"],
            )
        )
    resources:
        mem_mb=lambda wildcards, attempt: REQUESTS.megabytes(
            PLAN.cost_of_preparation(**wildcards), attempt
        ),
        runtime=lambda wildcards, attempt: REQUESTS.minutes(
            PLAN.cost_of_preparation(**wildcards), attempt
        ),
        in_turn=1,
    params:
        steps=lambda wildcards, input: PLAN.configuration.variants[wildcards.variant][
            "steps"
        ],
        compared=lambda wildcards: brief(
            "steps", PLAN.configuration.variants[wildcards.variant]["steps"]
        ),
        code=lambda wildcards: brief(
            "code", PLAN.code_of_preparation(wildcards.dataset, wildcards.variant)
        ),
    script:
        "../scripts/prepare.py"
