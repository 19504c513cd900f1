from shallows.experiments.comparing import evaluations, target_table
from shallows.experiments.running.journal import journal
from shallows.report import tables

with journal(snakemake.log[0]):
    out = snakemake.output
    evaluations.gather([path for path in snakemake.input if path.endswith("record.json")], out.evaluation)
    target_table.write(out.evaluation, snakemake.params.comparison, out.numbers, out.meta)
    tables.render(out.numbers, out.meta, out.md, out.html)
