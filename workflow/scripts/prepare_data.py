from pathlib import Path

from shallows.experiments.running.journal import journal
from shallows.experiments.user_data import comparison

with journal(snakemake.log[0]):
    for record in map(Path, snakemake.output.records):
        seed = int(record.parents[1].name.removeprefix("seed"))
        comparison.prepare(
            snakemake.input[0], record.parent, snakemake.params.division, snakemake.config["memory"], seed
        )
