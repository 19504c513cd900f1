from pathlib import Path

from shallows import datasets
from shallows.experiments.running.journal import journal

with journal(snakemake.log[0]):
    root = Path(snakemake.output[0]).parents[1]
    datasets.fetch(snakemake.wildcards.dataset, root, mirror=snakemake.config["mirror"])
