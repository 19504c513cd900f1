"""The page of a scale: verdicts first, then what was found, then every target."""

FINDINGS = sorted(map(str, PLAN.configuration.folder.glob("findings/*.rst")))


rule write_page:
    input:
        [path for target in PLAN.targets for path in products_of(target, "{scale}")],
        meta=[below("{scale}", f"tables/{target}.json") for target in PLAN.targets],
        findings=FINDINGS,
    output:
        report_of("{scale}"),
    log:
        below("{scale}", "logs/report.log"),
    conda:
        ENVIRONMENT
    params:
        code=code_of_script("write_page"),
    script:
        "../scripts/write_page.py"
