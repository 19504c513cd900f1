from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from shallows_papers.experiments.comparing import evaluations
from shallows_papers.experiments.running.journal import journal

with journal(snakemake.log[0]):
    params, (out,) = snakemake.params, snakemake.output
    found = evaluations.evaluate(snakemake.input.records, params.along, params.metrics, params.by_point)
    evaluations.write(out, found)
