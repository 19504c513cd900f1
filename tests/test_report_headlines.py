"""Headline counts: numbers by paper, the runs behind them, and the data that most of them come from."""

from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.report import headlines
from shallows_papers.report.target import Target


def number(verdict, *runs, dataset="digits", evidence="number", **more):
    about = {"target": "t", "method": "m", "metric": "e", "scale": "laptop", "published": "1"}
    return Row(**about, dataset=dataset, verdict=Verdict(verdict), records=runs, evidence=evidence, **more)


AFTER = {"fixed": "after a look"}
FIRST = (
    number("reproduced", "a", "b", **AFTER),
    number("deviates", "b"),
    number("reproduced, one seed", "c", "b", dataset="photos"),
    number("reproduced", "d", evidence="calibrated", **AFTER),
    number("deviates", "d", evidence="calibrated"),
    number("not run"),
    number("reproduced", "e", derived="a quotient"),
    number("reproduced", "e", evidence="order"),
)
TARGETS = [
    Target(FIRST, {"id": "t", "paper": "A long title", "labels": {"digits": "Digits"}}),
    Target((number("undecided", "f", dataset="photos"),), {"id": "u", "paper": "Another"}),
    Target((number("reproduced", "g", evidence="fact"),), {"id": "v", "paper": "Of facts"}),
]


def test_numbers_and_their_runs_are_counted_by_paper_and_calibrated_ones_separately():
    first, second = headlines.by_paper(TARGETS, {"A long title": "Short"})
    assert first.paper == "Short" and second.paper == "Another"
    assert first.verdicts == {Verdict.REPRODUCED: 1, Verdict.DEVIATES: 1, Verdict.ONE_SEED: 1}
    assert (first.n_runs, first.n_good_runs) == (3, 2)  # b has a number that deviates
    assert (second.n_runs, second.n_good_runs) == (1, 0)
    assert (first.calibrated, second.calibrated) == ((1, 2), (0, 0))


def test_the_data_with_most_numbers_and_the_criteria_that_were_set_later_are_told():
    origin, later = headlines.sentences(TARGETS)
    assert origin == "4 of the 6 judged numbers, calibrated ones included, come from 3 runs on Digits."
    assert later.startswith("2 of the 3 reproduced numbers have a criterion that was set or moved after")
    assert headlines.sentences(TARGETS[1:]) == []


def test_the_last_count_of_the_log_says_what_the_first_criteria_would_pass():
    line = {"what": "verdict", "new": "reproduced", "date": "2026-01-01"}
    lines = [{**line, "what": "count", "new": "2 of 6"}, {**line, "what": "count", "new": "4 of 6"}, line]
    (*_, said) = headlines.sentences(TARGETS, lines)
    assert said.startswith("With the criteria of the first commits 4 of 6 means would be within their margins (counted")
    assert len(headlines.sentences(TARGETS, [line])) == 2
