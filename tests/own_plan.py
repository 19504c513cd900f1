"""The project's own configuration and plan, read once for all the tests of a process, and plans of a small paper."""

import functools
from dataclasses import replace
from typing import Any

import yaml

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


SMALL_PAPER = """
paper: small
title: A small paper
citation: Nobody
targets:
  first: &target
    kind: table
    title: One
    source: Table 1
    caption: None
    published_data: {Digits: {dataset: mnist, n_train: 60000}}
    mark: epochs
    metrics: {test_error: {label: test error}}
    settings: {kernel: {Gaussian: {kernel: gaussian, bandwidth: 5.0}, Laplace: {kernel: laplace, bandwidth: 10.0}}}
    methods: {EigenPro: {method: eigenpro, parameters: {solver__rank: 10, solver__n_subsample: 100}}}
    scales: &scales
      demo: {seeds: [0, 1], data: {Digits: {dataset: mnist_demo, variant: unit}}, runs: [{marks: [1, 5]}]}
      laptop:
        seeds: [0]
        data: {Digits: {dataset: mnist, variant: unit}}
        runs: [{marks: [1], settings: {kernel: [Gaussian]}}]
      paper: {seeds: [0], data: {Digits: {dataset: mnist, variant: unit}}, runs: []}
    layout: {rows: [kernel], columns: [metric]}
  second:
    <<: *target
    scales:
      <<: *scales
      demo:
        seeds: [0]
        data: {Digits: {dataset: mnist_demo, variant: unit}}
        runs: [{marks: [2, 5], settings: {kernel: [Gaussian]}}]
"""


def small_plan(change=lambda paper: None, base=None, **settings) -> Plan:
    """The plan of the small paper, changed by a function, with other settings and another configuration beside it."""
    base = base or own_configuration()
    paper = yaml.safe_load(SMALL_PAPER)
    change(paper)
    made = replace(
        base,
        settings={**base.settings, **settings},
        papers={"small": paper},
        published={target: [] for target in paper["targets"]},
    )
    return Plan(made, datasets.catalogue())
