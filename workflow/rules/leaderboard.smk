"""A leaderboard for each dataset of the catalogue: every method that suits it, beside the others on one page.

No page of a scale asks for one: it is made where a person names it, as results/<scale>/leaderboard/<dataset>.html.
"""

if BOARDS.configuration.leaderboard:

    # It takes seconds.
    localrules:
        report_leaderboard,

    rule prepare_leaderboard:
        input:
            local(f"{DATA}/raw/{{dataset}}/verified.json"),
        output:
            directory(BOARDS.prepared("{scale}", "{dataset}", "{purpose}")),
        log:
            BOARDS.below("{scale}", "{dataset}", "logs/preparation_{purpose}.log"),
        wildcard_constraints:
            purpose="|".join(user_data.PURPOSES),
        conda:
            lambda wildcards: environment(
                PLAN.extra_of_preparation(wildcards.dataset, BOARDS.steps(**wildcards))
            )
        resources:
            in_turn=1,
        params:
            steps=lambda wildcards, input: BOARDS.steps(**wildcards),
            compared=lambda wildcards: brief("steps", BOARDS.steps(**wildcards)),
            code=lambda wildcards: brief(
                "code",
                code.digest_of_preparation(
                    PLAN.catalogue[wildcards.dataset], BOARDS.steps(**wildcards)
                ),
            ),
        script:
            "../scripts/prepare.py"

    # One thread each, so that times are those of the methods and not of how well each of them shares its work.
    rule compare_on_dataset:
        input:
            choose=BOARDS.prepared("{scale}", "{dataset}", "choose"),
            test=BOARDS.prepared("{scale}", "{dataset}", "test"),
        output:
            BOARDS.outcome("{scale}", "{dataset}", "{method}"),
        log:
            BOARDS.below("{scale}", "{dataset}", "logs/{method}.log"),
        wildcard_constraints:
            method="|".join(BOARDS.methods) or "none",
        conda:
            environment("gpu" if GPUS else None)
        threads: 1
        resources:
            mem_mb=lambda wildcards, input, attempt: REQUESTS.megabytes(
                user_data.cost(METHODS[wildcards.method], input.choose, input.test),
                attempt,
            ),
            runtime=lambda wildcards, input, attempt: REQUESTS.minutes(
                user_data.cost(METHODS[wildcards.method], input.choose, input.test),
                attempt,
            ),
            gpu=GPUS,
        params:
            specs=lambda wildcards, input: [BOARDS.spec(**wildcards)],
            compared=lambda wildcards: brief(
                "parameters and choices", BOARDS.spec(**wildcards)
            ),
            code=lambda wildcards: brief(
                "code", code.digest_of_comparison(METHODS[wildcards.method])
            ),
        script:
            "../scripts/compare_methods.py"

    rule report_leaderboard:
        input:
            outcomes=[
                BOARDS.outcome("{scale}", "{dataset}", method)
                for method in BOARDS.methods
            ],
            prepared=BOARDS.prepared("{scale}", "{dataset}", "test"),
        output:
            **BOARDS.report_files("{scale}", "{dataset}"),
        log:
            BOARDS.below("{scale}", "{dataset}", "logs/report.log"),
        conda:
            ENVIRONMENT
        params:
            title=lambda wildcards: f"Leaderboard: {PLAN.catalogue[wildcards.dataset].title}",
            code=code_of_script("report_comparison"),
        script:
            "../scripts/report_comparison.py"
