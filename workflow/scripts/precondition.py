from pathlib import Path

from shallows.experiments.running.journal import journal
from shallows.experiments.running.run import Conditions, make_preconditioner

with journal(snakemake.log[0]):
    prepared = Path(snakemake.input[0]).parent
    for asked, out in zip(snakemake.params.preconditioners, snakemake.output, strict=True):
        make_preconditioner(asked, prepared, Path(out), Conditions.of(snakemake.config))
