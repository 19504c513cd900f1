from shallows_papers.experiments.running.journal import journal
from shallows_papers.report import contact_sheet

with journal(snakemake.log[0]):
    contact_sheet.of_dataset(snakemake.wildcards.dataset, snakemake.input[0], snakemake.output.svg)
