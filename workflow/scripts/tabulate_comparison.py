from shallows.experiments.running.journal import journal
from shallows.experiments.user_data import leaderboard
from shallows.report import tables

with journal(snakemake.log[0]):
    out = snakemake.output
    leaderboard.write(snakemake.input.outcomes, snakemake.input.stamp, out.numbers, out.meta)
    tables.render(out.numbers, out.meta, out.md, out.html)
