"""Tables of published and measured values with verdicts: as CSV and JSON, and in two forms for people."""


rule tabulate:
    input:
        measured=below("{scale}", "evaluations/{target}.json"),
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
