from shallows.experiments.running import fork_server

fork_server.hand_over()

from shallows.experiments.comparing import evaluations, target_table
from shallows.experiments.running.journal import journal
from shallows.report import tables

with journal(snakemake.log[0]):
    out = snakemake.output
    evaluations.gather(snakemake.input.records, out.evaluation)
    target_table.write(out.evaluation, snakemake.params.comparison, out.numbers, out.meta)
    tables.render(out.numbers, out.meta, out.md, out.html)
