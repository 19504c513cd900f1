"""Data as it is published: downloaded, or lying in the repository, and verified. The stamp stands for the files."""


rule fetch:
    output:
        f"{DATA}/raw/{{dataset}}/verified.json",
    log:
        f"{DATA}/logs/fetch/{{dataset}}.log",
    retries: 2
    conda:
        ENVIRONMENT
    params:
        files=lambda wildcards: repr(PLAN.catalogue[wildcards.dataset].files),
    script:
        "../scripts/fetch.py"
