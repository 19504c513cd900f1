"""The targets of the two papers on doubly stochastic gradients: printed numbers have their rows, rows their targets."""

import pytest

from own_plan import own_plan
from shallows_papers.experiments.planning.configuration import SCALES

PAPERS = ("dsg", "cdsg")

#: A part of what the papers print, as (target, dataset, method, numbers).
PRINTED = [
    ("dsg_fig1_adult", "Adult", "doubly SGD", {15.3}),
    ("dsg_fig1_mnist8m_8v6", "MNIST-8M 8 vs 6", "doubly SGD", {0.26}),
    ("dsg_fig1_mnist8m", "MNIST-8M images", "jointly-trained neural net", {0.6}),
    ("dsg_fig1_imagenet", "ImageNet-2012", "doubly SGD", {44.5}),
    ("dsg_fig1_quantummachine", "QuantumMachine", "neural net", {3.51}),
    ("dsg_table_datasets", "Forest", "data", {500000}),
    ("cdsg_table1_datasets", "Year", "data", {51000}),
    ("cdsg_table2_params", "CIFAR-10", "CDSG", {4096, 256, 1e-5}),
    ("cdsg_table3", "Epsilon", "UDSG", {14.6}),
    ("cdsg_table4_params", "ImageNet", "CDSG", {16384, 128, 5e-4}),
    ("cdsg_table5", "MNIST-8M images", "Joint", {8.5}),
    ("cdsg_table6", "ImageNet", "Fixed", {46.2}),
    ("cdsg_intext_epsilon_times", "Epsilon", "CDSG", {14.7}),
    ("cdsg_fig2_mnist8m", "MNIST-8M", "SVRG on 500 features", {5}),
]


@pytest.mark.parametrize(("target", "dataset", "method", "numbers"), PRINTED)
def test_a_printed_number_has_its_row(target, dataset, method, numbers):
    rows = own_plan().configuration.published[target]
    found = [row["published"] for row in rows if (row["dataset"], row["method"]) == (dataset, method)]
    assert numbers <= {float(text) for text in found if text.replace(".", "").replace("e-", "").isdigit()}


@pytest.mark.parametrize("paper", PAPERS)
def test_what_a_row_says_is_known_to_its_target(paper):
    plan = own_plan()
    for target in plan.papers[paper]:
        spec = plan.target(target)
        for row in plan.configuration.published[target]:
            assert row["metric"] in {*spec["metrics"], *spec.get("claims", {})}, row
            assert row["dataset"] in {*spec["published_data"], ""} and row["method"] in {*spec["methods"], ""}, row


@pytest.mark.parametrize("scale", SCALES)
def test_every_dataset_of_a_target_is_run_or_missing_and_series_differ(scale):
    plan = own_plan()
    for target, spec in plan.targets.items():
        data, series = spec["scales"][scale]["data"], plan.series(target, scale)
        if not plan.comparison(target, scale)["left_out"]:
            assert {*data} <= {*plan.absent(target, scale)} | {one.data for one in series}, target
        told = [(data[one.data]["dataset"], one.method, *sorted(one.setting.items()), one.marks) for one in series]
        assert len({*told}) == len(told) or spec["paper"] not in PAPERS, target


def test_the_demonstration_of_both_papers_is_a_matter_of_minutes():
    plan = own_plan()
    wanted = {run.id: run for paper in PAPERS for target in plan.papers[paper] for run in plan.runs_of(target, "demo")}
    assert sum(run.cost.seconds for run in wanted.values()) < 600
