"""Published beside measured, with a verdict: the numbers as CSV and JSON, and two forms for people."""


rule table:
    input:
        below("{scale}", "evaluation/{target}.json"),
    output:
        numbers=below("{scale}", "tables/{target}.csv"),
        meta=below("{scale}", "tables/{target}.json"),
    log:
        below("{scale}", "logs/tables/{target}.log"),
    conda:
        ENVIRONMENT
    params:
        comparison=lambda wildcards: PLAN.comparison(wildcards.target, wildcards.scale),
        code=code.version_of("tables"),
    script:
        "../scripts/compare.py"


rule render:
    input:
        numbers=below("{scale}", "tables/{target}.csv"),
        meta=below("{scale}", "tables/{target}.json"),
    output:
        md=below("{scale}", "tables/{target}.md"),
        html=report(
            below("{scale}", "tables/{target}.html"),
            caption="../report/table.rst",
            category="{scale}",
            subcategory="tables",
            labels={"target": "{target}"},
        ),
    log:
        below("{scale}", "logs/render/{target}.log"),
    conda:
        ENVIRONMENT
    params:
        code=code.version_of("report"),
    script:
        "../scripts/render.py"
