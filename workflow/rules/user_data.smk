"""The comparison of methods on one dataset, a user's own or one of the catalogue, where the configuration names one."""

if COMPARISON is not None:
    STAMP = COMPARISON.stamp if COMPARISON.request else local(COMPARISON.stamp)

    # It takes seconds.
    localrules:
        report_comparison,

    if COMPARISON.request:

        # A batch system makes the description and all preparations in one job, one after the other.
        rule describe_data:
            input:
                COMPARISON.request.files,
            output:
                COMPARISON.stamp,
            log:
                f"{COMPARISON.folder}/logs/description.log",
            group:
                "own_data"
            conda:
                ENVIRONMENT
            resources:
                in_turn=1,
            params:
                request=lambda wildcards, input: COMPARISON.request.as_data(),
                compared=brief("settings", COMPARISON.request.as_data()),
                code=code_of_script("describe_data"),
            script:
                "../scripts/describe_data.py"

    # All splits in one job, since to start a process takes longer than to divide a small table.
    rule prepare_data:
        input:
            STAMP,
        output:
            [directory(folder) for folder in COMPARISON.preparations],
        log:
            f"{COMPARISON.folder}/logs/preparation.log",
        group:
            "own_data"
        conda:
            ENVIRONMENT
        resources:
            in_turn=1,
        params:
            division=lambda wildcards, input: COMPARISON.division,
            steps=lambda wildcards, input: COMPARISON.steps,
            compared=brief(
                "division of the rows", COMPARISON.division, COMPARISON.steps
            ),
            code=code_of_preparations(),
        script:
            "../scripts/prepare_data.py"

    # A method with all splits in one job, for the same reason.
    rule compare_method:
        input:
            choose=COMPARISON.prepared_with_all_seeds("choose"),
            test=COMPARISON.prepared_with_all_seeds("test"),
        output:
            [COMPARISON.outcome("{method}", seed) for seed in COMPARISON.seeds],
        log:
            f"{COMPARISON.folder}/logs/{{method}}.log",
        wildcard_constraints:
            method="|".join(COMPARISON.methods) or "none",
        conda:
            environment("gpu" if GPUS else None)
        threads: lambda wildcards: COMPARISON.threads(wildcards.method)
        resources:
            mem_mb=lambda wildcards, input, attempt: REQUESTS.megabytes(
                COMPARISON.cost(wildcards.method, input.choose, input.test), attempt
            ),
            runtime=lambda wildcards, input, attempt: REQUESTS.minutes(
                COMPARISON.cost(wildcards.method, input.choose, input.test), attempt
            ),
            gpu=lambda wildcards: GPUS if COMPARISON.is_ours(wildcards.method) else 0,
        params:
            specs=lambda wildcards, input: COMPARISON.specs(wildcards.method),
            compared=lambda wildcards: brief(
                "parameters and choices", COMPARISON.specs(wildcards.method)
            ),
            code=lambda wildcards: brief(
                "code", code.files_of_comparison(METHODS[wildcards.method])
            ),
        script:
            "../scripts/compare_methods.py"

    rule report_comparison:
        input:
            outcomes=COMPARISON.outcomes,
            stamp=STAMP,
            prepared=COMPARISON.prepared("test", COMPARISON.seeds[0]),
        output:
            page=COMPARISON.page,
            tables=COMPARISON.tables,
            pictures=COMPARISON.pictures,
        log:
            f"{COMPARISON.folder}/logs/report.log",
        conda:
            ENVIRONMENT
        params:
            scale=COMPARISON.scale,
            title=COMPARISON.title,
            code=code_of_script("report_comparison"),
        script:
            "../scripts/report_comparison.py"

    # The method to take is known when the others were measured, so the job asks for what the most demanding needs.
    if COMPARISON.request:

        rule save_model:
            input:
                outcomes=COMPARISON.outcomes,
                stamp=COMPARISON.stamp,
                prepared=COMPARISON.prepared("test", COMPARISON.seeds[0]),
            output:
                COMPARISON.model,
            log:
                f"{COMPARISON.folder}/logs/model.log",
            conda:
                environment("gpu" if GPUS else None)
            threads: 2
            resources:
                mem_mb=lambda wildcards, input, attempt: REQUESTS.megabytes(
                    COMPARISON.largest_cost(input.prepared), attempt
                ),
                runtime=lambda wildcards, input, attempt: REQUESTS.minutes(
                    COMPARISON.largest_cost(input.prepared), attempt
                ),
                gpu=GPUS,
            params:
                methods=lambda wildcards, input: COMPARISON.methods,
                compared=brief("methods", COMPARISON.methods),
                code=code_of_script("save_model"),
            script:
                "../scripts/save_model.py"

    rule compare:
        input:
            COMPARISON.page,
            COMPARISON.model,
