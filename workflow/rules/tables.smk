"""Published and measured numbers, with a verdict: the records of a target checked, the numbers as CSV and JSON,
and two forms for people. One job a target, since each step takes less time than a process takes to start.
"""


rule tabulate:
    input:
        records=lambda wildcards: [
            record_of(run) for run in PLAN.runs_of(wildcards.target, wildcards.scale)
        ],
        curves=lambda wildcards: [
            curve_of(run) for run in PLAN.runs_of(wildcards.target, wildcards.scale)
        ],
    output:
        numbers=below("{scale}", "tables/{target}.csv"),
        meta=below("{scale}", "tables/{target}.json"),
        md=below("{scale}", "tables/{target}.md"),
        html=report(
            below("{scale}", "tables/{target}.html"),
            caption="../report/table.rst",
            category="{scale}",
            subcategory="tables",
            labels={"target": "{target}"},
        ),
    log:
        below("{scale}", "logs/tables/{target}.log"),
    conda:
        ENVIRONMENT
    params:
        comparison=lambda wildcards, input: comparison_of(
            wildcards.target, wildcards.scale
        )[0],
        entry=lambda wildcards: comparison_of(**wildcards)[1]["entry"],
        published=lambda wildcards: comparison_of(**wildcards)[1]["published"],
        runs=lambda wildcards: comparison_of(**wildcards)[1]["runs"],
        used=lambda wildcards: comparison_of(**wildcards)[1]["used"],
        code=lambda wildcards: code_of_table(wildcards.target),
    script:
        "../scripts/tabulate.py"
