from pathlib import Path

from shallows.experiments.running.journal import journal
from shallows.experiments.user_data import comparison

with journal(snakemake.log[0]):
    out = Path(snakemake.output.record).parent
    memory, seed = snakemake.config["memory"], int(snakemake.wildcards.seed)
    comparison.prepare(snakemake.input[0], out, snakemake.params.division, memory, seed)
