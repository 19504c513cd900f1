from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.experiments.running.journal import journal
from shallows_papers.experiments.user_data import comparison

with journal(snakemake.log[0]):
    for folder in map(Path, snakemake.output):
        seed = int(folder.parent.name.removeprefix("seed"))
        given, memory = snakemake.params, snakemake.config["memory"]
        comparison.prepare(snakemake.input[0], folder, given.division, memory, seed, given.steps)
