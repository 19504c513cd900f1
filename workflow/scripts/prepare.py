from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from shallows_papers.datasets.preparation.pipeline import prepare
from shallows_papers.experiments.running.journal import journal

with journal(snakemake.log[0], snakemake.resources):
    memory, (out,) = snakemake.config["memory"], snakemake.output
    prepare(snakemake.wildcards.dataset, snakemake.input[0], out, snakemake.params.steps, memory)
