from shallows.experiments.running.journal import journal
from shallows.report import figures

with journal(snakemake.log[0]):
    figures.draw(snakemake.input.numbers, snakemake.input.meta, snakemake.output.svg, snakemake.output.png)
