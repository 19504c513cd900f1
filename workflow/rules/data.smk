"""Data as it is published: downloaded, or lying in the repository, and verified. The stamp stands for the files.

They stay where Snakemake runs, also where all else is kept in a storage: a person may have supplied them.
"""


rule fetch:
    output:
        local(f"{DATA}/raw/{{dataset}}/verified.json"),
    log:
        f"{DATA}/logs/fetch/{{dataset}}.log",
    retries: 2
    conda:
        ENVIRONMENT
    params:
        files=lambda wildcards: brief(
            "files in the catalogue", repr(PLAN.catalogue[wildcards.dataset].files)
        ),
    script:
        "../scripts/fetch.py"
