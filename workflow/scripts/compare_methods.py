from pathlib import Path

from shallows.experiments.running.job import Conditions
from shallows.experiments.running.journal import journal
from shallows.experiments.user_data import model_selection

with journal(snakemake.log[0]):
    choose, test = (Path(path).parent for path in (snakemake.input.choose, snakemake.input.test))
    out = Path(snakemake.output[0]).parent
    model_selection.compare(snakemake.params.spec, choose, test, out, Conditions.of(snakemake.config))
