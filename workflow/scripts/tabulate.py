from shallows.experiments.running import fork_server

fork_server.hand_over()

from shallows.experiments.comparing import target_table
from shallows.experiments.running.journal import journal
from shallows.report import tables

with journal(snakemake.log[0]):
    table = snakemake.output.numbers
    target_table.write(snakemake.input.records, snakemake.params.comparison, table)
    tables.render(table)
