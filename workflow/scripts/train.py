from itertools import chain
from pathlib import Path

from shallows.experiments.running import cards
from shallows.experiments.running.job import Conditions, Job
from shallows.experiments.running.journal import journal
from shallows.experiments.running.shared_process import RunTask, on_prepared_data, work

with journal(snakemake.log[0], snakemake.resources), cards.one_of_them(snakemake.resources.get("gpu", 0)):
    params, conditions = snakemake.params, Conditions.of(snakemake.config, snakemake.resources, snakemake.params.device)
    spec = {**params.spec, "target_ids": list(params.targets), "code": params.code}
    places = {
        "prepared": Path(snakemake.input.prepared).parent,
        "checkpoints": Path(params.checkpoints),
        "preconditioner": Path(snakemake.input.preconditioner) if snakemake.input.preconditioner else None,
    }
    work(
        RunTask(Job(spec=spec, out=Path(snakemake.output.record).parent, **places), conditions),
        chain(
            (RunTask(Job(spec=other, out=None, **places), conditions) for other in params.others),
            on_prepared_data(params.beside, places["checkpoints"], conditions),
        ),
        snakemake.config["batch_seconds"],
    )
