"""Every table and figure of the papers, from the data to the report.

snakemake                                                                 everything, at the demo scale, on all cores
snakemake --cores 2                                                       the same on two cores; --cores all names all of them
snakemake --cores 2 --config scale=laptop                                 at another scale: demo, laptop, paper
snakemake --cores 1 results/laptop/tables/<target>.csv                    one file, at the scale that its path names
snakemake <paper> --cores 2   or   snakemake <target> --cores 2           one paper, one target
snakemake --cores 2 compare --config dataset=my.csv                       the methods compared on a file of your own

The workflow itself is workflow/Snakefile, which another workflow can use as a module (config/README.md).
"""

from pathlib import Path


include: "workflow/rules/library.smk"


from shallows_papers.experiments import command_line

# Where this is run in a folder of one's own (snakemake --directory ...), its settings come before those of the project.
if Path("config/config.yaml").exists():

    configfile: "config/config.yaml"


# Only here, on a command line of this project's own: an error ends with its sentence rather than with a place in a file,
# and a wrong word is answered with the nearest right one, where Snakemake says that no rule makes it.
with command_line.one_sentence():

    include: "workflow/Snakefile"

    command_line.check_command_line(
        PLAN,
        COMPARISON,
        [one.name for one in workflow.rules],
        workflow.resource_settings,
    )


# Snakemake looks in this file alone for what is made where nothing is named.
rule default:
    default_target: True
    input:
        rules.all.input,
