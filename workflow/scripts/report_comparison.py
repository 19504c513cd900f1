from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.experiments.running.journal import journal
from shallows_papers.experiments.user_data import leaderboard
from shallows_papers.report import own_data

with journal(snakemake.log[0]):
    given, params = snakemake.input, snakemake.params
    tables = [Path(path) for path in snakemake.output.tables if path.endswith(".csv")]
    leaderboard.write(given.outcomes, given.stamp, given.prepared, params.scale, tables[0].parent)
    own_data.write_page(tables, snakemake.output.page, params.title)
    print(f"The report: {Path(snakemake.output.page).resolve()}", flush=True)
