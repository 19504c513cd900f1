from shallows.experiments.running.journal import journal
from shallows.report import tables

with journal(snakemake.log[0]):
    tables.render(snakemake.input.numbers, snakemake.input.meta, snakemake.output.md, snakemake.output.html)
