"""The comparison on a user's own data, where the configuration names some: described, prepared, compared, reported."""

if OWN is not None:
    DIVISION = PLAN.configuration.compare

    rule own_description:
        input:
            OWN.request.files,
        output:
            OWN.stamp,
        log:
            OWN.below("logs/description.log"),
        conda:
            ENVIRONMENT
        params:
            request=OWN.request.as_data(),
            code=code.version_of("own"),
        script:
            "../scripts/describe_own.py"

    for purpose in own.PURPOSES:

        rule:
            name:
                f"own_preparation_{purpose}"
            input:
                OWN.stamp,
            output:
                record=OWN.prepared(purpose),
                arrays=[
                    OWN.prepared(purpose).replace("prepared.json", f"{array}.npy")
                    for array in ("x_train", "y_train", "x_test", "y_test")
                ],
            log:
                OWN.below(f"logs/preparation_{purpose}.log"),
            conda:
                ENVIRONMENT
            params:
                division=DIVISION,
                code=code.version_of("preparation"),
            script:
                "../scripts/prepare_own.py"

    for method, seed in [
        (method, seed) for method in OWN.methods for seed in OWN.seeds
    ]:

        rule:
            name:
                f"own_{method}_{seed}"
            input:
                choose=OWN.prepared("choose"),
                test=OWN.prepared("test"),
            output:
                OWN.outcome(method, seed),
            log:
                OWN.below(f"logs/{method}_seed{seed}.log"),
            conda:
                ENVIRONMENT
            threads: 2 if OWN.methods[method]["runs"] == "estimator" else 1
            resources:
                mem_mb=own_megabytes(OWN.methods[method]),
                runtime=own_minutes(OWN.methods[method]),
                gpu=GPUS if OWN.methods[method]["runs"] == "estimator" else 0,
            params:
                asked=OWN.asked(method, seed),
                code=code.version_of("comparison"),
            script:
                "../scripts/compare_own.py"

    rule own_table:
        input:
            outcomes=OWN.outcomes,
            stamp=OWN.stamp,
        output:
            numbers=OWN.table("csv"),
            meta=OWN.table("json"),
        log:
            OWN.below("logs/table.log"),
        conda:
            ENVIRONMENT
        params:
            code=code.version_of("tables"),
        script:
            "../scripts/tabulate_own.py"

    rule own_rendering:
        input:
            numbers=OWN.table("csv"),
            meta=OWN.table("json"),
        output:
            md=OWN.table("md"),
            html=OWN.table("html"),
        log:
            OWN.below("logs/rendering.log"),
        conda:
            ENVIRONMENT
        params:
            code=code.version_of("report"),
        script:
            "../scripts/render.py"

    rule own_page:
        input:
            multiext(OWN.table(""), "csv", "md", "html"),
            meta=[OWN.table("json")],
        output:
            OWN.report,
        log:
            OWN.below("logs/report.log"),
        conda:
            ENVIRONMENT
        params:
            code=code.version_of("report"),
        script:
            "../scripts/write_page.py"

    rule compare:
        input:
            OWN.report,
