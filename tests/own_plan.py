"""The project's own configuration and plan, read once for all the tests of a process, which leave them as they are."""

import functools
from typing import Any

from shallows_papers import datasets
from shallows_papers.experiments.planning import configuration
from shallows_papers.experiments.planning.configuration import Configuration
from shallows_papers.experiments.planning.plan import Plan
from workflow_runs import PROJECT


@functools.cache
def own_configuration() -> Configuration:
    """What `configuration.load` makes of the repository; it takes most of a second."""
    return configuration.load(PROJECT)


@functools.cache
def own_plan(*, deployed: bool = False) -> Plan:
    """What `Plan.load` makes of the repository, with every scale planned."""
    plan = Plan(own_configuration(), datasets.catalogue(), deployed)
    plan.runs("demo")
    return plan


def finished_targets() -> dict[str, Any]:
    """The targets of papers that have a summary; of others no test asks for printed items, terms or reference runs."""
    loaded = own_configuration()
    papers = (
        paper for name, paper in loaded.papers.items() if (loaded.folder / "papers" / name / "summary.yaml").exists()
    )
    return {target: spec for paper in papers for target, spec in paper["targets"].items()}
