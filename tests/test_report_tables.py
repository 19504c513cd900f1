"""Tables: one pivot, in Markdown and in HTML."""

import csv
import dataclasses
import json
from pathlib import Path

import pytest

import report_example
from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.experiments.comparing.table_rows import read_rows, write_rows
from shallows_papers.experiments.comparing.verdicts import AFTER, Verdict
from shallows_papers.experiments.setting_text import parse_setting
from shallows_papers.report import criteria, pivot, tables
from shallows_papers.report.target import read

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def errors(tmp_path):
    return report_example.error_table(tmp_path)


def changed(path, change):
    """Change the rows of the CSV: ``change`` gets each row and its number."""
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for number, row in enumerate(rows):
        row.update(change(row, number) or {})
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def first_row(**values):
    return lambda row, number: values if number == 0 else None


def described(path, **changes):
    """Change the description of the table."""
    meta = path.with_suffix(".json")
    meta.write_text(json.dumps(json.loads(meta.read_text()) | changes))


def test_a_setting_is_read_into_keys():
    assert parse_setting("kernel=gaussian; epochs=5") == {"kernel": "gaussian", "epochs": "5"}
    assert parse_setting("") == {}
    with pytest.raises(ShallowsError, match="'epochs'"):
        parse_setting("kernel=gaussian; epochs")


@pytest.mark.parametrize("ending", ["md", "html"])
def test_a_table_with_every_kind_of_value_is_the_one_that_was_looked_at(tmp_path, ending):
    path, kept = report_example.rich_table(tmp_path), GOLDEN / f"report_table.{ending}"
    tables.render(path)
    made = tmp_path / kept.name
    text = path.with_suffix(f".{ending}").read_text()
    made.write_text(text.partition("</style>")[2] or text)
    assert made.read_text() == kept.read_text(), f"if the new table is right: cp {made} {kept}"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("test error ±(0.1 + 2 standard errors)", ("test error", "±(0.1 + 2 standard errors)", "")),
        ("slope (late) at most 1 (a reason (of two))", ("slope (late)", "at most 1", "a reason (of two)")),
        ("0.3 points", ("", "0.3 points", "")),
    ],
)
def test_a_criterion_is_split_into_its_parts(text, parts):
    assert criteria.parts(text) == parts


def test_equal_criteria_and_equal_causes_are_one(errors):
    silent = {"verdict": Verdict.NOT_COMPARABLE, "cause": "", "reason": "", "fixed": AFTER}
    rows = [dataclasses.replace(row, tolerance=f"{row.metric} at most 1 (why)", **silent) for row in read_rows(errors)]
    for place, derived in enumerate(("", "a table")):
        reason = f"counted elsewhere: {derived}; too far" if derived else "too far"
        changes = {"verdict": Verdict.DEVIATES, "cause": "other data", "reason": reason, "derived": derived}
        rows[place] = dataclasses.replace(rows[place], **changes)
    write_rows(errors, rows)
    target = read(errors)
    (one,) = criteria.criteria(target)
    assert set(one.judged) == {row.metric for row in rows} and one.fixed == "after a look at results"
    (remark,) = pivot.remarks(target)
    assert (remark.count, remark.cause, remark.reason) == (2, "other data", "too far")


def test_a_derived_whole_number_has_no_decimals(errors):
    rows = read_rows(errors)
    metric = rows[0].metric
    rows = [
        dataclasses.replace(row, published="6", derived="a table", measured_mean=6.0, measured_sd=0.0)
        for row in rows
        if row.metric == metric
    ]
    write_rows(errors, rows)
    assert {cell.measured for cell in pivot.pivot(read(errors)).cells.values()} == {"6 ± 0"}


def test_a_table_without_deviations_and_with_few_notes_is_simpler(errors):
    described(errors, notes=["First.", "Second.", "Third."], label={"scale": "demo"})
    write_rows(errors, [dataclasses.replace(row, measured_sd=None) for row in read_rows(errors)])
    target = read(errors)
    assert "mean ± standard deviation" not in tables.markdown(target) and "more notes" not in tables.html(target)
    assert "Hardware: unknown" in tables.markdown(target)


@pytest.mark.parametrize(
    ("column", "value", "error", "message"),
    [
        ("verdict", "reproducd", UnknownNameError, "Did you mean 'reproduced'"),
        ("measured_mean", "1,9", ShallowsError, "line 2"),
        ("is_bound", "no", ShallowsError, "line 2: 'no' is neither 'yes'"),
        ("target", "another", ShallowsError, "belongs to the target 'another'"),
    ],
)
def test_a_wrong_table_is_told_at_the_door(errors, column, value, error, message):
    changed(errors, first_row(**{column: value}))
    with pytest.raises(error, match=message):
        read(errors)


def test_what_a_figure_draws_is_left_to_the_figure(tmp_path):
    table = tables.pivot(read(report_example.spectrum(tmp_path)))
    assert table.columns == (("ratio_201",),)
    assert (len(table.rows), table.n_drawn) == (4, 1100)


def test_a_long_table_is_thinned_and_says_so(tmp_path):
    path = report_example.spectrum(tmp_path)
    described(path, figure=None, layout={"rows": ["index"], "columns": ["panel", "dataset", "subsample", "metric"]})
    target = read(path)
    table = tables.pivot(target)
    assert 8 <= len(table.rows) <= pivot.SHOWN + 1 < table.n_rows
    assert table.rows[0] == ("1",)
    assert "the CSV has all of them" in tables.markdown(target)


LONG = " ".join(["word"] * 45)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("One sentence. Another.", "One sentence. Another."),
        (f"First; a part: {LONG}, and more. Then this.", f"First; a part: {LONG}, and more."),
        (f"By Dai et al. (2014), e.g. σ = 5. {LONG}.", "By Dai et al. (2014), e.g. σ = 5."),
        (f"Is it so? α grows. 200 points: {LONG}.", "Is it so? α grows."),
        (f"No end at all, {LONG}", f"No end at all, {LONG}"),
    ],
)
def test_a_long_caption_shows_whole_sentences_of_at_most_forty_words_and_folds_the_rest(text, shown):
    assert tables.split_caption(text) == (shown, text[len(shown) :].strip())
