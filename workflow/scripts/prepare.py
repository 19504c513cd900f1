from pathlib import Path

from shallows import datasets
from shallows.experiments.running.journal import journal

with journal(snakemake.log[0], snakemake.resources):
    out = Path(snakemake.output.record).parent
    memory = snakemake.config["memory"]
    datasets.prepare(snakemake.wildcards.dataset, snakemake.input[0], out, snakemake.params.steps, memory)
