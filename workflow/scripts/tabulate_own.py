from shallows.experiments import own_table
from shallows.experiments.journal import journal

with journal(snakemake.log[0]):
    numbers, meta = snakemake.output.numbers, snakemake.output.meta
    own_table.write(snakemake.input.outcomes, snakemake.input.stamp, numbers, meta)
