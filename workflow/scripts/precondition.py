from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.experiments.running import cards
from shallows_papers.experiments.running.job import Conditions
from shallows_papers.experiments.running.journal import journal
from shallows_papers.experiments.running.run import make_preconditioner

with journal(snakemake.log[0], snakemake.resources), cards.reserve_one_gpu(snakemake.resources.get("gpu", 0)):
    params, (prepared,), (out,) = snakemake.params, snakemake.input, snakemake.output
    conditions = Conditions.of(snakemake.config, device=params.device)
    make_preconditioner(params.spec, Path(prepared), Path(out), conditions)
