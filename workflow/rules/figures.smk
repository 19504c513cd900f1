"""Pictures, drawn from the tables alone. A process that has drawn its own goes on with others whose tables are there."""

DRAWN = set()


rule draw:
    input:
        numbers=below("{scale}", "tables/{target}.csv"),
        meta=below("{scale}", "tables/{target}.json"),
        # Names no file, and notes that this picture is wanted, as in the rule `train`.
        wanted=lambda wildcards: DRAWN.add((wildcards.scale, wildcards.target)) or [],
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
    # After what is ready besides, so that the tables of many are there when one is drawn.
    priority: -1
    conda:
        ENVIRONMENT
    params:
        code=DRAWN_BY,
        # What depends on `input` is no reason to draw it again.
        kept=lambda wildcards, input: below(wildcards.scale, "checkpoints/figures"),
        others=lambda wildcards, input: undrawn_beside(wildcards),
        script=lambda wildcards, input: (
            "deliver.sh" if drawn_before(wildcards, input) else "draw.py"
        ),
        finished=lambda wildcards, input: drawn_before(wildcards, input),
    script:
        "../scripts/{params.script}"
