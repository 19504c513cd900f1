from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.experiments.running.journal import journal
from shallows_papers.experiments.user_data import leaderboard
from shallows_papers.report import tables

with journal(snakemake.log[0]):
    given, asked = snakemake.input, snakemake.wildcards
    folder = Path(snakemake.output.csv[0]).parent
    leaderboard.write_for_dataset(given.outcomes, asked.dataset, asked.scale, given.prepared, folder)
    for numbers in snakemake.output.csv:
        tables.render(numbers)
