from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.experiments.running.job import Conditions
from shallows_papers.experiments.running.journal import journal
from shallows_papers.experiments.user_data import method_results, model_selection

with journal(snakemake.log[0]):
    given, conditions = snakemake.input, Conditions.of(snakemake.config)
    # With one split, each of these is one path.
    chosen, tested = ([paths] if isinstance(paths, str) else paths for paths in (given.choose, given.test))
    outcomes = [
        model_selection.compare(spec, Path(choose), Path(test), Path(out).parent, conditions)
        for spec, choose, test, out in zip(snakemake.params.specs, chosen, tested, snakemake.output, strict=True)
    ]
    if told := method_results.of_outcomes(outcomes):
        print(method_results.sentence(outcomes[0]["label"], told))
