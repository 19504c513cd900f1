from shallows.experiments import compare
from shallows.experiments.journal import journal

with journal(snakemake.log[0]):
    compare.write(snakemake.input[0], snakemake.params.comparison, snakemake.output.numbers, snakemake.output.meta)
