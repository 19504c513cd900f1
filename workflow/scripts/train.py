from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.experiments.running import cards
from shallows_papers.experiments.running.job import Conditions, Job
from shallows_papers.experiments.running.journal import journal
from shallows_papers.experiments.running.run import execute

with journal(snakemake.log[0], snakemake.resources), cards.reserve_one_gpu(snakemake.resources.get("gpu", 0)):
    given, params = snakemake.input, snakemake.params.job
    job = Job(
        spec=params["spec"],
        prepared=Path(given.prepared),
        out=Path(snakemake.output.record).parent,
        checkpoints=Path(params["checkpoints"]),
        preconditioner=Path(given.preconditioner) if given.preconditioner else None,
        planned=params["planned"],
    )
    execute(job, Conditions.of(snakemake.config, snakemake.resources, params["device"]))
