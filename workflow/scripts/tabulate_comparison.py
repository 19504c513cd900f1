from shallows.experiments.running.journal import journal
from shallows.experiments.user_data import leaderboard

with journal(snakemake.log[0]):
    numbers, meta = snakemake.output.numbers, snakemake.output.meta
    leaderboard.write(snakemake.input.outcomes, snakemake.input.stamp, numbers, meta)
