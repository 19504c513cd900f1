from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from shallows_papers.experiments.running.journal import journal
from shallows_papers.report import figures

with journal(snakemake.log[0]):
    figures.draw(snakemake.input.numbers, snakemake.output.svg)
