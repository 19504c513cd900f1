from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.experiments.running.journal import journal
from shallows_papers.report import figures, own_data

with journal(snakemake.log[0]):
    tables = {Path(path).stem: path for path in snakemake.input}
    for svg in map(Path, snakemake.output.svg):
        figures.draw(tables[svg.stem], svg, own_data.KINDS)
