"""The targets of the two papers on doubly stochastic gradients: all are there, and each printed number has its row."""

import pytest

from own_plan import own_plan
from shallows_papers.experiments.planning.configuration import SCALES

DSG = {
    *(f"dsg_fig1_{panel}" for panel in ("adult", "mnist8m_8v6", "forest", "mnist8m", "cifar10", "imagenet")),
    *(f"dsg_fig1_{panel}" for panel in ("quantummachine", "molecularspace")),
    *("dsg_sc2_time_budget", "dsg_synthetic_sc1", "dsg_table_complexity", "dsg_cost_per_iteration", "dsg_thm4_rate"),
    *("dsg_thm5_rate_high_probability", "dsg_thm6_generalisation", "dsg_tradeoff_lowrank_features"),
    "dsg_table_datasets",
}
CDSG = {
    *("cdsg_table1_datasets", "cdsg_table2_params", "cdsg_fig1_medium", "cdsg_table3", "cdsg_intext_epsilon_times"),
    *("cdsg_fig2_mnist8m", "cdsg_intext_memory", "cdsg_table4_params", "cdsg_table5", "cdsg_table6"),
    *("cdsg_thm3_dsg_rate", "udsg_thm4_rate", "udsg_complexity_ratio", "cdsg_thm14_rate", "cdsg_conclusion_claims"),
}

#: What the papers print, as (target, dataset, method, number).
PRINTED = [
    ("dsg_fig1_adult", "Adult", "NORMA", 15),
    ("dsg_fig1_adult", "Adult", "k-SDCA", 15),
    ("dsg_fig1_adult", "Adult", "doubly SGD", 15.3),
    ("dsg_fig1_mnist8m_8v6", "MNIST-8M 8 vs 6", "doubly SGD", 0.26),
    ("dsg_fig1_forest", "Forest", "doubly SGD", 15),
    ("dsg_fig1_mnist8m", "MNIST-8M", "doubly SGD", 0.5),
    ("dsg_fig1_mnist8m", "MNIST-8M", "fixed neural net", 0.6),
    ("dsg_fig1_mnist8m", "MNIST-8M images", "jointly-trained neural net", 0.6),
    ("dsg_fig1_cifar10", "CIFAR-10 images", "jointly-trained neural net", 11),
    ("dsg_fig1_imagenet", "ImageNet-2012", "doubly SGD", 44.5),
    ("dsg_fig1_imagenet", "ImageNet-2012", "jointly-trained neural net", 42),
    ("dsg_fig1_imagenet", "ImageNet-2012", "fixed neural net", 46),
    ("dsg_fig1_quantummachine", "QuantumMachine", "doubly SGD", 2.97),
    ("dsg_fig1_quantummachine", "QuantumMachine", "neural net", 3.51),
    *(
        ("cdsg_table3", dataset, method, value)
        for dataset, values in {"CIFAR-10": (38.6, 40.7, 40.2, 40.2), "Epsilon": (14.3, 14.5, 14.6, 14.5)}.items()
        for method, value in zip(("LIBSVM", "DSG", "UDSG", "CDSG"), values, strict=True)
    ),
    ("cdsg_intext_epsilon_times", "Epsilon", "CDSG", 14.7),
    ("cdsg_intext_epsilon_times", "Epsilon", "", 15.0),
    ("cdsg_fig2_mnist8m", "MNIST-8M", "SVRG on 500 features", 5),
    *(
        (target, f"{dataset} images" if method == "Joint" and dataset != "ImageNet" else dataset, method, value)
        for target, errors in {
            "cdsg_table5": {
                "CIFAR-10": (16.0, 15.9, 15.8, 18.0, 19.1),
                "MNIST-8M": (6.1, 5.9, 5.3, 7.1, 8.5),
                "ImageNet": (45.1, 44.9, 44.7, 48.2, 58.6),
            },
            "cdsg_table6": {
                "CIFAR-10": (15.8, 15.9, 15.8, 15.8, 15.9),
                "MNIST-8M": (5.3, 5.4, 5.3, 7.1, 6.2),
                "ImageNet": (44.9, 44.8, 44.7, 46.2, 42.4),
            },
        }.items()
        for dataset, values in errors.items()
        for method, value in zip(("DSG", "UDSG", "CDSG", "Fixed", "Joint"), values, strict=True)
    ),
    *(
        ("cdsg_table2_params", dataset, "CDSG", value)
        for dataset, values in {"CIFAR-10": (4096, 256), "Epsilon": (10000, 512), "Year": (10000, 512)}.items()
        for value in (*values, 1e-5)
    ),
    *(
        ("cdsg_table4_params", dataset, "CDSG", value)
        for dataset, values in {"CIFAR-10": (32768, 512), "MNIST-8M": (16384, 512), "ImageNet": (16384, 128)}.items()
        for value in (*values, 5e-4)
    ),
    *(("dsg_table_datasets", word, "data", n) for word, n in {"Adult": 32000, "Forest": 500000}.items()),
    *(("cdsg_table1_datasets", word, "data", n) for word, n in {"Epsilon": 400000, "Year": 51000}.items()),
]  # fmt: skip


@pytest.fixture(scope="module")
def plan():
    return own_plan()


def test_every_target_of_both_papers_is_there(plan):
    assert len(DSG) == 17 and len(CDSG) == 15
    assert set(plan.papers["dsg"]) >= DSG
    assert set(plan.papers["cdsg"]) >= CDSG


@pytest.mark.parametrize(("target", "dataset", "method", "value"), PRINTED)
def test_a_printed_number_has_its_row(plan, target, dataset, method, value):
    rows = plan.configuration.published[target]
    numbers = [_number(row["published"]) for row in rows if (row["dataset"], row["method"]) == (dataset, method)]
    assert value in numbers


@pytest.mark.parametrize("target", sorted(DSG | CDSG))
def test_what_a_row_says_is_known_to_its_target(plan, target):
    spec = plan.target(target)
    known = {*spec["metrics"], *spec.get("claims", {})}
    words = {*spec["published_data"], ""}
    for row in plan.configuration.published[target]:
        assert row["metric"] in known, row
        assert row["dataset"] in words, row
        assert row["method"] in {*spec["methods"], ""}, row


@pytest.mark.parametrize("target", sorted(DSG | CDSG))
@pytest.mark.parametrize("scale", SCALES)
def test_every_dataset_of_a_target_is_run_or_said_to_be_missing(plan, target, scale):
    data = plan.target(target)["scales"][scale]["data"]
    absent = plan.absent(target, scale)
    run = {series.data for series in plan.series(target, scale)}
    extra = plan.comparison(target, scale)["left_out"]
    for word in data:
        assert word in absent or word in run or extra, f"{target} at {scale}: {word}"


@pytest.mark.parametrize("target", sorted(DSG | CDSG))
@pytest.mark.parametrize("scale", SCALES)
def test_the_rows_of_a_target_can_be_told_apart(plan, target, scale):
    data = plan.target(target)["scales"][scale]["data"]
    told = [
        (data[one.data]["dataset"], one.method, tuple(sorted(one.setting.items())), one.marks)
        for one in plan.series(target, scale)
    ]
    assert len(set(told)) == len(told)


def test_the_demonstration_of_both_papers_is_a_matter_of_minutes(plan):
    wanted = {run.id: run for target in DSG | CDSG for run in plan.runs_of(target, "demo")}
    assert sum(run.cost.seconds for run in wanted.values()) < 240


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None
