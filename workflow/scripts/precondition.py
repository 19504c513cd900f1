from pathlib import Path

from shallows.experiments.running.job import Conditions
from shallows.experiments.running.journal import journal
from shallows.experiments.running.shared_process import PreconditionerTask, work

with journal(snakemake.log[0], snakemake.resources):
    params = snakemake.params
    places = Path(snakemake.input.prepared).parent, Path(params.checkpoints), Conditions.of(snakemake.config)
    work(
        PreconditionerTask({**params.spec, "code": params.code}, Path(snakemake.output[0]), *places),
        (PreconditionerTask(other, None, *places) for other in params.others),
        snakemake.config["batch_seconds"],
    )
