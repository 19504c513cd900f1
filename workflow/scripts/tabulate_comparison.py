from shallows.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows.experiments.running.journal import journal
from shallows.experiments.user_data import leaderboard
from shallows.report import tables

with journal(snakemake.log[0]):
    leaderboard.write(snakemake.input.outcomes, snakemake.input.stamp, Path(snakemake.output.csv[0]).parent)
    for numbers in map(Path, snakemake.output.csv):
        forms = (numbers.with_suffix(ending) for ending in (".json", ".md", ".html"))
        tables.render(numbers, *forms)
