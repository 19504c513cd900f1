"""The list of all that the papers print is held together with the published files, and those with a second parser."""

import pytest

from own_plan import finished_targets, own_plan
from shallows_papers.experiments.comparing import target_table
from shallows_papers.experiments.planning import configuration
from shallows_papers.experiments.planning.configuration import ConfigurationError
from shallows_papers.report.pivot import pivot
from shallows_papers.report.target import Target
from workflow_runs import PROJECT

PLAN = own_plan()
PUBLISHED = sorted((PROJECT / "config" / "papers").glob("*/published/*.csv"))
#: Targets of which nothing is printed: how parameters were chosen, and how time and memory grow.
OURS = {
    "eigenpro_choice",
    "eigenpro_choice_noise",
    "eigenpro_laplace_draws",
    "dsg_choice",
    "dsg_choice_one_pass",
    "kpca_digits",
    "lecture_choice_features",
    "lecture_choice_tables",
    "scaling_memory",
    "scaling_ranks",
    "scaling_time",
}


def test_every_target_of_the_papers_has_its_items_and_every_item_its_target():
    assert set(PLAN.items) == set(finished_targets()) - OURS


def test_every_published_file_is_that_of_a_target_and_of_its_items():
    files = {path.stem for path in PUBLISHED}
    assert files & set(finished_targets()) == set(PLAN.items) and files <= set(PLAN.targets)


def test_items_and_rows_belong_together_one_to_one():
    configuration.check_items(PLAN.items, {target: PLAN.configuration.published[target] for target in PLAN.items})


ROWS = [
    {"dataset": "Toy", "method": "m", "metric": metric, "item": str(n), "derived": ""} for n, metric in enumerate("aab")
]


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([{"item": "x", "rows": {"metric": "a"}, "count": 2}], "b belongs to no item"),
        ([{"item": "x", "rows": {"metric": ["a", "b"]}, "count": 2}], "says that it has 2 .* its 3 rows have 3"),
        ([{"item": "x", "rows": {"metric": "c"}, "count": 0}], "its 0 rows"),
        (
            [
                {"item": "x", "rows": {"metric": ["a", "b"]}, "count": 3},
                {"item": "y", "rows": {"metric": "b"}, "count": 1},
            ],
            "'x' and 'y'",
        ),
    ],
)
def test_a_list_that_does_not_agree_with_the_rows_is_refused(items, problem):
    with pytest.raises(ConfigurationError, match=problem):
        configuration.check_items({"toy": items}, {"toy": ROWS})


def test_what_is_derived_is_counted_nowhere_else():
    rows = [*ROWS[:2], {**ROWS[2], "derived": "a quotient"}]
    items = [{"item": "x", "rows": {"metric": "a"}, "count": 2}, {"item": "y", "rows": {"metric": "b"}, "count": 0}]
    configuration.check_items({"toy": items}, {"toy": rows})


def test_an_item_has_rows_or_says_why_not(tmp_path):
    folder = tmp_path / "papers" / "toy"
    folder.mkdir(parents=True)
    (folder / configuration.ITEMS).write_text("toy: [{item: x}]\n")
    with pytest.raises(ConfigurationError, match="toy"):
        configuration.read_items(tmp_path, PROJECT / "workflow" / "schemas")


def test_what_has_no_row_is_told_below_the_table():
    note = PLAN.comparison("eigenpro_table_eigratio", "demo")["no_row"]
    assert len(note) == 1 and "338" in note[0]


@pytest.mark.parametrize("scale", ["demo", "laptop"])
def test_a_target_of_which_nothing_runs_at_a_scale_has_a_table(scale):
    idle = [name for name in finished_targets() if not PLAN.runs_of(name, scale)]
    assert idle
    for name in idle:
        comparison = PLAN.comparison(name, scale)
        assert pivot(Target(tuple(target_table.rows_of(comparison, {})), target_table.describe(comparison, {}))).rows
