from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.datasets.download.fetching import fetch
from shallows_papers.experiments.running.journal import journal

with journal(snakemake.log[0]):
    root = Path(snakemake.output[0]).parents[1]
    fetch(snakemake.wildcards.dataset, root, mirror=snakemake.config["mirror"])
