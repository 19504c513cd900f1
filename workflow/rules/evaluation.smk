"""The measured values of a target, from the records, curves and outputs of its runs. A new metric trains nothing again."""


rule evaluate:
    input:
        records=lambda wildcards: [
            record_of(run) for run in PLAN.runs_of(wildcards.target, wildcards.scale)
        ],
        curves=lambda wildcards: [
            curve_of(run) for run in PLAN.runs_of(wildcards.target, wildcards.scale)
        ],
        outputs=lambda wildcards: [
            outputs_of(run)
            for run in PLAN.runs_of(wildcards.target, wildcards.scale)
            if target_entry.needs_outputs(PLAN.target(wildcards.target))
        ],
    output:
        below("{scale}", "evaluations/{target}.json"),
    log:
        below("{scale}", "logs/evaluations/{target}.log"),
    conda:
        ENVIRONMENT
    params:
        metrics=lambda wildcards, input: target_entry.metrics_from_outputs(
            PLAN.target(wildcards.target)
        ),
        by_point=lambda wildcards: target_entry.compares_by_point(
            PLAN.target(wildcards.target)
        ),
        compared=lambda wildcards: brief(
            "metrics of outputs",
            target_entry.metrics_from_outputs(PLAN.target(wildcards.target)),
        ),
        runs=lambda wildcards: comparison_of(**wildcards)[1]["runs"],
        along=lambda wildcards: PLAN.target(wildcards.target).get("mark", ""),
        code=code_of_script("evaluate"),
    script:
        "../scripts/evaluate.py"
