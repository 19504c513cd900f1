"""Pictures, drawn from the tables alone."""


rule draw:
    input:
        numbers=below("{scale}", "tables/{target}.csv"),
        meta=below("{scale}", "tables/{target}.json"),
    output:
        svg=report(
            below("{scale}", "figures/{target}.svg"),
            caption="../report/figure.rst",
            category="{scale}",
            subcategory="figures",
            labels={"target": "{target}"},
        ),
        png=below("{scale}", "figures/{target}.png"),
    log:
        below("{scale}", "logs/figures/{target}.log"),
    wildcard_constraints:
        target="|".join(PLAN.figures),
    conda:
        ENVIRONMENT
    params:
        code=code_of_script("draw"),
    script:
        "../scripts/draw.py"
