"""The comparison on a user's own data, where the configuration names some: described, prepared, compared, reported."""

if COMPARISON is not None:

    # It takes seconds.
    localrules:
        report_comparison,

    # A batch system makes the description and all preparations in one job, one after the other.
    rule describe_data:
        input:
            COMPARISON.request.files,
        output:
            COMPARISON.stamp,
        log:
            COMPARISON.below("logs/description.log"),
        group:
            "own_data"
        conda:
            ENVIRONMENT
        resources:
            in_turn=1,
        params:
            request=lambda wildcards, input: COMPARISON.request.as_data(),
            compared=brief("settings of the comparison", COMPARISON.request.as_data()),
            code=code_of_script("describe_data"),
        script:
            "../scripts/describe_data.py"

    # All divisions of the data in one job, since to start a process takes longer than to divide a small table.
    rule prepare_data:
        input:
            COMPARISON.stamp,
        output:
            [directory(folder) for folder in COMPARISON.preparations],
        log:
            COMPARISON.below("logs/preparation.log"),
        group:
            "own_data"
        conda:
            ENVIRONMENT
        resources:
            in_turn=1,
        params:
            division=lambda wildcards, input: PLAN.configuration.compare,
            compared=brief("division of the rows", PLAN.configuration.compare),
            code=code_of_script("prepare_data"),
        script:
            "../scripts/prepare_data.py"

    # A method with all divisions of the data in one job, for the same reason.
    rule compare_method:
        input:
            choose=COMPARISON.prepared_with_all_seeds("choose"),
            test=COMPARISON.prepared_with_all_seeds("test"),
        output:
            [COMPARISON.outcome("{method}", seed) for seed in COMPARISON.seeds],
        log:
            COMPARISON.below("logs/{method}.log"),
        wildcard_constraints:
            method="|".join(COMPARISON.methods),
        conda:
            environment("gpu" if GPUS else None)
        threads: lambda wildcards: 2 if COMPARISON.is_ours(wildcards.method) else 1
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
                "code", code.digest_of_comparison(METHODS[wildcards.method])
            ),
        script:
            "../scripts/compare_methods.py"

    # The method to take is known when the others were measured, so the job asks for what the most demanding needs.
    rule save_model:
        input:
            outcomes=COMPARISON.outcomes,
            stamp=COMPARISON.stamp,
            prepared=COMPARISON.prepared("test", COMPARISON.seeds[0]),
        output:
            COMPARISON.model,
        log:
            COMPARISON.below("logs/model.log"),
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

    rule report_comparison:
        input:
            outcomes=COMPARISON.outcomes,
            stamp=COMPARISON.stamp,
        output:
            **COMPARISON.report_files,
        log:
            COMPARISON.below("logs/report.log"),
        conda:
            ENVIRONMENT
        params:
            code=code_of_script("report_comparison"),
        script:
            "../scripts/report_comparison.py"

    rule compare:
        input:
            COMPARISON.report,
            COMPARISON.model,
