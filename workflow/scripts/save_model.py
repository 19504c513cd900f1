from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from shallows_papers.experiments.running.job import Conditions
from shallows_papers.experiments.running.journal import journal
from shallows_papers.experiments.user_data import final_model

with journal(snakemake.log[0]):
    given, conditions = snakemake.input, Conditions.of(snakemake.config)
    final_model.write(
        given.outcomes, given.stamp, given.prepared, snakemake.output[0], snakemake.params.methods, conditions
    )
