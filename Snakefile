"""Every table and figure of the papers, from the data to the report.

snakemake --cores 2                                                       everything, at the demo scale
snakemake --cores 2 --config scale=laptop                                 at another scale: demo, laptop, paper
snakemake --cores 1 results/laptop/tables/<target>.csv                    one file, at the scale that its path names
snakemake <paper> --cores 2   or   snakemake <target> --cores 2           one paper, one target
snakemake --cores 2 compare --config dataset=my.csv                       the methods compared on a file of your own
"""

from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/scheduling.smk"


# Downloads need a network, which computing nodes may lack; the others take seconds.
localrules:
    fetch,
    table,
    figure,
    contact_sheet,
    page,


# Named one by one, since Snakemake does not miss a file that lies between those it was asked for and their sources.
rule all:
    default_target: True
    input:
        report_of(SCALE),
        [path for target in PLAN.targets for path in products_of(target, SCALE)],
        [below(SCALE, f"{run.folder}/record.json") for run in PLAN.runs(SCALE).values()],


rule report:
    input:
        report_of(SCALE),


include: "workflow/rules/data.smk"
include: "workflow/rules/preparation.smk"
include: "workflow/rules/preconditioners.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/contact_sheet.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/own.smk"


for paper, targets in PLAN.papers.items():

    rule:
        name:
            paper
        input:
            [path for target in targets for path in products_of(target, SCALE)],


for target in PLAN.targets:

    rule:
        name:
            target
        input:
            products_of(target, SCALE),


check_requests()
