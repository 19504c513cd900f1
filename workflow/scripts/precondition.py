from pathlib import Path

from shallows.experiments.running import cards
from shallows.experiments.running.job import Conditions
from shallows.experiments.running.journal import journal
from shallows.experiments.running.shared_process import PreconditionerTask, work

with journal(snakemake.log[0], snakemake.resources), cards.one_of_them(snakemake.resources.get("gpu", 0)):
    params = snakemake.params
    conditions = Conditions.of(snakemake.config, device=params.device)
    places = Path(snakemake.input.prepared).parent, Path(params.checkpoints), conditions
    work(
        PreconditionerTask({**params.spec, "code": params.code}, Path(snakemake.output[0]), *places),
        (PreconditionerTask(other, None, *places) for other in params.others),
        snakemake.config["batch_seconds"],
    )
