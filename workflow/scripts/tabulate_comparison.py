from shallows.experiments.running.journal import journal
from shallows.experiments.user_data import table as own_table

with journal(snakemake.log[0]):
    numbers, meta = snakemake.output.numbers, snakemake.output.meta
    own_table.write(snakemake.input.outcomes, snakemake.input.stamp, numbers, meta)
