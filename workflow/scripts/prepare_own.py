from pathlib import Path

from shallows.experiments import own
from shallows.experiments.journal import journal

with journal(snakemake.log[0]):
    out = Path(snakemake.output.record).parent
    own.prepare(snakemake.input[0], out, snakemake.params.division, snakemake.config["memory"])
