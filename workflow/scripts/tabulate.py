from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from shallows_papers.experiments.comparing import target_table
from shallows_papers.experiments.running.journal import journal
from shallows_papers.report import tables

with journal(snakemake.log[0]):
    table = snakemake.output.numbers
    target_table.write(snakemake.input.measured, snakemake.params.comparison, table)
    tables.render(table)
