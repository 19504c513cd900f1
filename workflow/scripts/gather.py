from shallows.experiments import compare
from shallows.experiments.journal import journal

with journal(snakemake.log[0]):
    compare.gather(snakemake.input, snakemake.output[0])
