from shallows.experiments.running import fork_server

fork_server.hand_over()

from shallows.experiments.running.journal import journal
from shallows.report import figures

with journal(snakemake.log[0]):
    figures.draw(snakemake.input.numbers, snakemake.output.svg)
