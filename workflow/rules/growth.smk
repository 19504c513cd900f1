"""How time and memory of the defaults grow: snakemake --cores 2 growth. It has the machine for itself, since it times."""


rule growth:
    input:
        program=from_here(ROOT / "benchmarks/growth.py"),
    output:
        below(SCALE, "tables/growth.md"),
    log:
        below(SCALE, "logs/growth.log"),
    conda:
        ENVIRONMENT
    threads: os.cpu_count()
    params:
        share=0.02 if SCALE == "demo" else 1.0,
        seeds=2 if SCALE == "demo" else 3,
    script:
        "../scripts/measure_growth.py"
