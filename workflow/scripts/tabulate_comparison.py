from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.experiments.running.journal import journal
from shallows_papers.experiments.user_data import leaderboard
from shallows_papers.report import tables

with journal(snakemake.log[0]):
    leaderboard.write(snakemake.input.outcomes, snakemake.input.stamp, Path(snakemake.output.csv[0]).parent)
    for numbers in snakemake.output.csv:
        tables.render(numbers)
