"""Numbers of the findings: each comes from a named result, and a number that no result has is refused."""

import pytest

from own_plan import own_plan
from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.reference import findings
from shallows_papers.report.target import Target
from workflow_runs import PROJECT

ABOUT = {"target": "toy", "dataset": "digits (Toy)", "printed_data": ("Toy",), "metric": "error", "scale": "laptop"}
NUMBER = {**ABOUT, "evidence": "number", "unit": "%", "margin": 0.2}
ROWS = (
    Row(
        **NUMBER,
        method="fast",
        setting="epochs=1",
        published="1.2",
        measured_mean=1.25,
        values=(1.0, 1.5),
        verdict=Verdict.REPRODUCED,
    ),
    Row(**NUMBER, method="fast", setting="epochs=5", published="0.3", measured_mean=-0.05, verdict=Verdict.DEVIATES),
    Row(
        **NUMBER,
        method="fast",
        setting="epochs=9",
        published="3.0",
        measured_mean=3.1,
        verdict=Verdict.UNDECIDED,
        low=2.0,
        high=4.25,
    ),
    Row(
        **ABOUT,
        method="fast, ours",
        setting="epochs=1",
        measured_mean=0.00125,
        verdict=Verdict.NOT_COMPARABLE,
        series="ours",
    ),
)


def filled(text):
    return findings.fill(text, {"toy": Target(ROWS, {"id": "toy"})}.__getitem__)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("method=fast; epochs=1", "1.2"),  # with the digits of the printed numbers
        ("dataset=digits; method=fast;\n  epochs=1; metric=error | printed", "1.2"),
        ("method=fast; epochs=5", "−0.1"),
        ("method=fast; epochs=1 | min .2", "1.00"),
        ("method=fast; epochs=9 | high .2", "4.25"),
        ("method=fast; epochs=9 | times .2", "1.03"),
        ("method=fast, ours; epochs=1 | x1e4 .1", "12.5"),
        ("series=paper | judged", "3"),
        ("series=paper; epochs=1 or 9 | agreeing", "1"),
        ("series=paper | undecided", "1"),
        ("series=paper | within", "2"),
        ("series=paper | outside", "1"),
    ],
)
def test_a_place_becomes_the_number_of_its_row_or_counts_rows(place, text):
    assert filled(f"It is {{toy: {place}}} here, e_{{q+1}} too.") == f"It is {text} here, e_{{q+1}} too."


def test_a_number_of_the_demo_is_read_from_the_demo():
    table = findings.tables(own_plan(), PROJECT / "results" / "reference")
    place = "dataset=mnist_endless_demo; method=SGD-RF; metric=test_error | .1"
    assert findings.fill(f"{{eigenpro_table4@demo: {place}}} %", table) == "6.7 %"
    with pytest.raises(ShallowsError, match="in the findings fits 0 results"):
        findings.fill(f"{{eigenpro_table4: {place}}} %", table)


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        (
            "method=fast; epochs=2",
            "{toy: method=fast; epochs=2} in the findings fits 0 results; it must fit one",
        ),
        ("method=fast", "{toy: method=fast} in the findings fits 3 results; it must fit one"),
        (
            "method=fast; epochs=1 | sd",
            "The result of {toy: method=fast; epochs=1 | sd} in the findings has no number of this kind",
        ),
        ("method=slow | judged", "No result has the numbers {toy: method=slow | judged} of the findings"),
    ],
)
def test_a_number_that_no_result_has_is_refused(place, problem):
    with pytest.raises(ShallowsError) as told:
        filled(f"{{toy: {place}}}")
    assert problem in str(told.value)


def test_findings_that_are_not_what_their_template_gives_are_told_and_written(tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / findings.TEMPLATE).write_text("It errs by {toy: method=fast; epochs=1} %.\n")
    path = tmp_path / "toy" / findings.FINDINGS
    path.write_text("It errs by 9.9 %.\n")
    table = {"toy": Target(ROWS, {"id": "toy"})}.__getitem__
    assert [*findings.stale(tmp_path, table)] == [(path, "It errs by 1.2 %.\n")]
    assert [*findings.write(tmp_path, table)] == [f"Written: {path}"]
    assert path.read_text() == "It errs by 1.2 %.\n" and [*findings.stale(tmp_path, table)] == []
