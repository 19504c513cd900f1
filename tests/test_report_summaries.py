"""The papers in short: the sentences come from the repository, the numbers from the tables."""

import dataclasses
import re

import pytest
import yaml

import report_example
from own_plan import own_plan
from shallows.errors import UnknownNameError
from shallows_papers.experiments.comparing.row_maker import dataset_name
from shallows_papers.experiments.comparing.table_rows import Row
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.experiments.planning import configuration
from shallows_papers.experiments.planning.configuration import ConfigurationError
from shallows_papers.experiments.planning.plan import SCALES
from shallows_papers.report import summaries
from shallows_papers.report.target import read
from workflow_runs import PROJECT

PLAN = own_plan()


@pytest.fixture
def targets(tmp_path):
    made = (report_example.error_table(tmp_path), report_example.spectrum(tmp_path))
    return {csv_path.stem: read(csv_path) for csv_path in made}


def written(tmp_path, **changes):
    path = tmp_path / "summary.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(report_example.SUMMARY), **changes}))
    return [path]


def test_the_numbers_of_a_sentence_are_those_of_the_table(tmp_path, targets):
    [summary] = summaries.read(written(tmp_path), targets)
    number, speech = summary.numbers
    row = next(
        row for row in targets["invented_errors"].rows
        if (row.keys["method"], row.keys["kernel"], row.keys["epochs"], row.keys["metric"])
        == ("EigenPro", "gaussian", "20", "test_error")
    )  # fmt: skip
    assert number.measured == f"{row.measured_mean:.2f}\u00a0%" and number.printed == f"{row.published}\u00a0%"
    assert number.verdict == row.verdict == "deviates" and number.reason == row.reason
    [sentence] = summary.found  # that of what was not run is left out
    assert [text for text, measured in sentence if measured] == [number.measured]
    assert {number.printed, "digits"} <= {text for text, measured in sentence if not measured}
    assert (speech.measured, speech.verdict) == ("", "not run") and speech.reason.startswith("the data are lic")


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ("reproduced not_comparable not_run", "holds"),
        ("agrees undecided", "holds, as far as the runs decide"),
        ("refuted not_run", "does not hold"),
        ("reproduced deviates undecided", "holds in part, as far as the runs decide"),
        ("undecided not_comparable", "the runs do not decide"),
        ("not_comparable not_run", "cannot be judged on the data of this scale"),
        ("not_run", "not run at this scale"),
    ],
)
def test_the_verdict_on_a_claim_follows_from_those_on_its_rows(tmp_path, targets, verdicts, words):
    verdicts = [Verdict[name.upper()] for name in verdicts.split()]
    about = {"target": "t", "dataset": "", "metric": "m", "scale": "demo", "published": "1"}
    rows = tuple(Row(method=f"{place}", verdict=one, **about) for place, one in enumerate(verdicts))
    other = dataclasses.replace(rows[0], metric="other", verdict=Verdict.REPRODUCED)
    target = dataclasses.replace(targets["invented_errors"], rows=(*rows, other))
    ledger = {"claim": "A claim.", "rows": [{"target": "t", "where": {"metric": "m"}}]}
    [summary] = summaries.read(written(tmp_path, ledger=ledger), {**targets, "t": target})
    assert summary.claim.verdict == words and summary.claim.counts == dict.fromkeys(sorted(verdicts), 1)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_demo_judges_a_claim_by_limits_of_measured_values(tmp_path, targets, place):
    where = {"method": "EigenPro", "kernel": "gaussian", "metric": "test_error"}
    values = sorted(row.measured_mean for row in summaries.find(targets["invented_errors"].rows, where))[:2]
    assert values[0] < values[1]
    limit = [values[0] - 1, sum(values) / 2, 1e3][place]
    ledger = yaml.safe_load(report_example.SUMMARY)["ledger"] | {
        "demo": {"claim": "Small.", "rows": [{"target": "invented_errors", "where": where}], "at_most": limit}
    }
    claim = summaries.read(written(tmp_path, ledger=ledger), targets)[0].claim
    words = ["does not hold on the demo's data", "holds on part of the demo's data", "holds on the demo's data"]
    assert (claim.text, claim.verdict) == ("Small.", words[place])
    assert claim.measured.endswith(f"needed at most {limit:g}".replace("-", "−"))
    laptop = {name: dataclasses.replace(one, meta=one.meta | {"scale": "laptop"}) for name, one in targets.items()}
    assert summaries.read(written(tmp_path, ledger=ledger), laptop)[0].claim.text == "EigenPro errs least."


def test_a_number_that_no_run_came_to_is_told(tmp_path, targets):
    errors = targets["invented_errors"]
    rows = tuple(dataclasses.replace(row, measured_mean=None, passed=0) for row in errors.rows)
    missed = {**targets, "invented_errors": dataclasses.replace(errors, rows=rows)}
    number = summaries.read(written(tmp_path), missed)[0].numbers[0]
    assert (number.measured, number.reached) == ("", False)
    assert summaries.read(written(tmp_path), targets)[0].numbers[0].reached


def printed_rows(target, scale):
    """Rows of the published file as the table has them, but for what is measured."""
    comparison = PLAN.comparison(target, scale)
    for row in comparison["published"]:
        yield Row(
            target=target,
            dataset=dataset_name(comparison["sizes"], row["dataset"]),
            **{name: row[name] for name in ("method", "setting", "metric", "published")},
            printed_data=(row["dataset"],),
            verdict="not run",
            scale=scale,
        )


def test_each_number_of_a_summary_has_one_row():
    given = [configuration.read_yaml(path) for path in configuration.summary_paths(PLAN.configuration)]
    assert len(given) >= 5
    for one in given:
        for number in one["numbers"].values():
            for scale in SCALES:
                found = summaries.find(list(printed_rows(number["target"], scale)), number["where"])
                assert len(found) == 1, (number["label"], scale)
        for rows in one["ledger"]["rows"]:
            for scale in SCALES:
                assert summaries.find(list(printed_rows(rows["target"], scale)), rows["where"]), (rows, scale)


def test_the_sentences_hold_no_measured_number():
    """A digit in them is a power, a size or a name; what was measured comes from the tables, with a decimal point."""
    for path in configuration.summary_paths(PLAN.configuration):
        sentences = " ".join(configuration.read_yaml(path)["found"])
        assert not re.search(r"\d\.\d|\d\s*%", sentences), path


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"pictur": "eigenpro_table6"}, UnknownNameError, "pictur"),
        ({"picture": "eigenpro_table66"}, UnknownNameError, "eigenpro_table6"),
        ({"picture": "eigenpro_table3"}, ConfigurationError, "no figure"),
        ({"paper": "eigenpo"}, UnknownNameError, "eigenpro"),
        ({"paper": "dsg"}, ConfigurationError, "move it to the folder papers/dsg"),
        ({"place": "first"}, ConfigurationError, "place"),
    ],
)
def test_a_wrong_summary_is_told_before_anything_runs(tmp_path, change, error, message):
    given = configuration.read_yaml(PROJECT / "config" / "papers" / "eigenpro" / "summary.yaml")
    folder = tmp_path / "papers" / "eigenpro"
    folder.mkdir(parents=True)
    (folder / "summary.yaml").write_text(yaml.safe_dump({**given, **change}))
    loaded = dataclasses.replace(PLAN.configuration, settings={**PLAN.configuration.settings})
    object.__setattr__(loaded, "settings", {**loaded.settings, "configuration": str(tmp_path)})
    with pytest.raises(error, match=message):
        configuration.summary_paths(loaded)
