from shallows.experiments.running import fork_server

fork_server.hand_over()

from shallows.experiments.running.journal import journal
from shallows.report import figures

with journal(snakemake.log[0]):
    given, out = snakemake.input, snakemake.output
    figures.draw(given.numbers, given.meta, out.svg, out.png)
