"""The report of a scale: a page of verdicts and findings, and a page of each paper with its targets."""

FINDINGS = sorted(
    map(from_here, PLAN.configuration.folder.glob("papers/*/findings.md"))
)
SUMMARIES = [from_here(path) for path in PLAN.summaries]
PAGES = [f"{Path(path).parent.name}.html" for path in SUMMARIES]
VERDICT_LOG = [*map(from_here, PLAN.configuration.folder.glob("verdict_log.csv"))]


rule write_page:
    input:
        [path for target in PLAN.targets for path in products_of(target, "{scale}")],
        meta=[below("{scale}", f"tables/{target}.json") for target in PLAN.targets],
        findings=FINDINGS,
        summaries=SUMMARIES,
        verdict_log=VERDICT_LOG,
    output:
        report_of("{scale}"),
        [below("{scale}", f"report/{page}") for page in PAGES],
    log:
        below("{scale}", "logs/report.log"),
    conda:
        ENVIRONMENT
    params:
        # They are linked where they have been made; the report asks for none.
        leaderboards=lambda wildcards, input: dataset_leaderboard.pages(
            PLAN.configuration, wildcards.scale
        ),
        boards=lambda wildcards: brief(
            "leaderboards",
            dataset_leaderboard.pages(PLAN.configuration, wildcards.scale),
        ),
        code=code_of_script("write_page"),
    script:
        "../scripts/write_page.py"
