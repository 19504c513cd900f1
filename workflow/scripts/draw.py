from pathlib import Path

from shallows.experiments.running.journal import journal
from shallows.experiments.running.shared_process import work
from shallows.report.figures import FigureTask

with journal(snakemake.log[0]):
    given, params = snakemake.input, snakemake.params
    how = Path(params.kept), params.code
    work(
        FigureTask(given.numbers, given.meta, *how, snakemake.output),
        (FigureTask(*other, *how) for other in params.others),
        snakemake.config["batch_seconds"],
    )
