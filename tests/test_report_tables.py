"""Tables: one pivot, in Markdown and in HTML."""

import csv
import dataclasses
import html.parser
import json
import re
from collections import Counter

import pytest

import report_example
from own_plan import own_plan
from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.experiments.comparing.table_rows import read_rows, write_rows
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.experiments.setting_text import parse_setting
from shallows_papers.report import pivot, tables
from shallows_papers.report.target import read
from shallows_papers.report.wording import label


class Cells(html.parser.HTMLParser):
    """The rows of a table's body, with the spans that headings have."""

    def __init__(self, text):
        super().__init__()
        self.rows, self._open = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            attrs = dict(attrs)
            self.rows[-1].append({"tag": tag, "text": "", **attrs})
            self._open = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data):
        if self._open:
            self.rows[-1][-1]["text"] += data


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


def cell(path, epochs="1", metric="train_error", kernel="gaussian", method="EigenPro"):
    return tables.pivot(read(path)).cells[(epochs, metric), (kernel, method)]


def test_a_setting_is_read_into_keys():
    assert parse_setting("kernel=gaussian; epochs=5") == {"kernel": "gaussian", "epochs": "5"}
    assert parse_setting("") == {}
    with pytest.raises(ShallowsError, match="'epochs'"):
        parse_setting("kernel=gaussian; epochs")


def test_the_layout_says_what_goes_down_and_what_goes_across(errors):
    table = tables.pivot(read(errors))
    assert table.row_keys == ("epochs", "metric")
    assert [row[0] for row in table.rows[::2]] == ["1", "5", "10", "20"]  # by number, not text
    assert table.columns[:2] == (("gaussian", "EigenPro"), ("gaussian", "Pegasos"))
    assert len(table.cells) == 48
    found = cell(errors)
    assert (found.published, found.measured, found.verdict) == ("1.8", "1.91 ± 0.04", "reproduced")


def test_a_deviation_is_explained_where_one_is_shown(errors):
    explained = "mean ± standard deviation over the repetitions"
    assert explained in tables.markdown(read(errors))
    rows = [dataclasses.replace(row, measured_sd=None) for row in read(errors).rows]
    write_rows(errors, rows)
    assert explained not in tables.markdown(read(errors))


def test_a_bound_from_below_says_so(errors):
    changed(errors, first_row(is_bound="yes", measured_sd=""))
    bounds = [one.measured for one in tables.pivot(read(errors)).cells.values() if one.measured.startswith("≥")]
    assert bounds == ["≥ 1.91"]


def test_a_value_that_was_not_run_says_so_and_its_reason_is_listed(errors):
    target = read(errors)
    assert tables.pivot(target).cells[("1", "train_error"), ("laplace", "Pegasos")].measured == "not run"
    assert tables.html(target).count('<td class="not-run">not run</td>') == 16
    text = tables.markdown(target)
    assert "not run (16 values, kernel Laplace): the kernel has no entry at this scale" in text


def test_a_value_that_was_not_printed_is_an_en_dash(errors):
    table = tables.pivot(read(errors))
    assert table.cells[("20", "train_error"), ("gaussian", "Pegasos")].published == ""
    assert "| – | 0.58 ± 0.04 ✓ |" in tables.markdown(read(errors))


def test_numbers_are_aligned_without_zeros_that_were_not_printed():
    padded = tables.aligned(["15", "15.3", "0.25", ""])
    assert [text.rstrip("\u2007\u2008") for text in padded] == ["15", "15.3", "0.25", ""]
    after = [text[-3:].replace("\u2008", ".").replace("\u2007", "0") for text in padded[:3]]
    assert after == [".00", ".30", ".25"]  # a space for the point, a space for each digit


def test_measured_values_carry_the_digits_of_the_printed_ones(errors):
    changed(errors, lambda row, _: {"derived": "77/7 of another table"} if row["published"] else None)
    assert cell(errors).measured == "1.9 ± 0.04"  # one decimal where the printed number is derived
    changed(errors, first_row(measured_mean="-0.0004"))
    assert cell(errors).measured == "0.0 ± 0.04"  # no sign of what rounds to zero
    changed(errors, first_row(measured_mean="1.91"))
    changed(errors, lambda row, _: {"derived": "", "published": "1.8e-2"} if row["published"] else None)
    assert cell(errors).measured == "1.9e0 ± 4.3e-2"


def test_markdown_and_html_show_the_same_cells(errors):
    target = read(errors)
    lines = [line.strip("| ").split(" | ") for line in tables.markdown(target).splitlines() if line.startswith("|")]
    body = [row for row in Cells(tables.html(target)).rows if any(one["tag"] == "td" for one in row)]
    shown = [one["text"].strip("\u2007\u2008 \n") for row in body for one in row if one["tag"] == "td"]
    written = [re.sub(" ([✓○▲✗])", r"\1", text) for line in lines[2:] for text in line[2:]]
    assert Counter(filter(None, shown)) == Counter(filter(None, written))


def test_html_headings_span_what_they_head(errors):
    rows = Cells(tables.html(read(errors))).rows
    across = {sum(int(one.get("colspan", 1)) for one in row if not one["class"].startswith("key")) for row in rows[:3]}
    assert across == {8}  # two kernels, two methods, published and measured; the third kernel is folded away
    scopes = {one["scope"] for row in rows for one in row if one["tag"] == "th"}
    assert scopes == {"col", "colgroup", "row", "rowgroup"}


def test_what_was_not_run_is_folded_away_and_no_value_is_lost(errors):
    target = read(errors)
    first, absent = tables.parts_of(target)
    assert not first.is_folded and all(column[0] != "laplace" for column in first.table.columns)
    assert absent.is_folded and absent.title == "16 values printed and not run here"
    assert {cell.measured for cell in absent.table.cells.values()} == {"not run"}
    assert {column[0] for column in absent.table.columns} == {"laplace"}
    whole = tables.pivot(target)
    shown = Counter(cell for part in (first, absent) for cell in part.table.cells.values())
    assert shown == Counter(whole.cells.values()) and len(whole.cells) == 48


def test_what_nobody_printed_is_folded_beneath_what_is_compared(errors):
    changed(errors, lambda row, _: {"published": ""} if "epochs=5" in row["setting"] else None)
    first, besides, absent = tables.parts_of(read(errors))
    assert all(row[0] != "5" for row in first.table.rows)
    assert besides.is_folded and not besides.table.printed_columns
    assert besides.title == "8 values measured besides, of which the source prints none"
    assert [len(part.table.cells) for part in (first, besides, absent)] == [24, 8, 12]


def test_a_column_without_a_printed_number_has_no_place_for_one(errors):
    own = {"published": ""}
    changed(errors, lambda row, _: own if row["method"] == "Pegasos" and "gaussian" in row["setting"] else None)
    table = tables.pivot(read(errors))
    assert table.parts(("gaussian", "EigenPro")) == ("published", "measured")
    assert table.parts(("gaussian", "Pegasos")) == ("measured",)
    headings = next(line for line in tables.markdown(read(errors)).splitlines() if line.startswith("| "))
    assert "Gaussian · EigenPro · published" in headings and "Gaussian · Pegasos · measured" in headings
    assert "Gaussian · Pegasos · published" not in headings


def test_the_label_is_on_the_face_of_both_forms(errors):
    target = read(errors)
    parts = ("demo", "n = 2,000 training, 500 test, d = 784", "0, 1, 2", "Invented CPU", "0123456789")
    for text in (tables.markdown(target), tables.html(target)):
        assert all(part in text for part in (*parts, "with uncommitted changes"))
    described(errors, label={"scale": "demo"})
    assert "Hardware: unknown" in tables.markdown(read(errors))


def test_data_of_one_size_that_were_prepared_several_times_are_told_once():
    part, whole = {"title": "A", "n_train": 40, "n_test": 10}, {"title": "A", "n_train": 50}
    told = dict(label({"label": {"data": [part, whole, part]}}))
    assert told["Data"] == "A: n = 40 training, 10 test (2 preparations); A: n = 50 training"


def test_text_from_a_table_cannot_become_markup(errors):
    changed(errors, lambda _, number: {"reason": "<script>alert(1)</script> a|b"} if number == 4 else None)
    assert "<script>" not in tables.html(read(errors))


def test_a_key_that_the_layout_forgets_becomes_a_row_heading(errors):
    described(errors, layout={"rows": ["epochs"], "columns": ["method"]})
    table = tables.pivot(read(errors))
    assert set(table.row_keys) == {"metric", "kernel", "epochs"}
    assert len(table.cells) == 48
    described(errors, layout={"rows": ["epoch"], "columns": ["method"]})
    with pytest.raises(ShallowsError, match="names epoch"):
        tables.pivot(read(errors))


def test_two_rows_with_the_same_keys_are_refused(errors):
    changed(errors, first_row(setting="kernel=gaussian; epochs=5"))
    with pytest.raises(ShallowsError, match="Two rows"):
        tables.pivot(read(errors))


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


def test_a_missing_column_is_named(errors):
    errors.write_text("target,dataset\ninvented_errors,digits\n")
    with pytest.raises(ShallowsError, match="lacks the columns n_train"):
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


def test_both_forms_are_written_or_nothing(tmp_path, errors, monkeypatch):
    def refuse(*_):
        raise OSError("no space left")

    before = {*tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", refuse)
        with pytest.raises(OSError, match="no space"):
            tables.render(errors)
    assert {*tmp_path.iterdir()} == before
    tables.render(errors)
    assert {*tmp_path.iterdir()} - before == {errors.with_suffix(ending) for ending in (".html", ".md")}
    assert errors.with_suffix(".html").read_text().startswith("<!DOCTYPE html>")


def test_a_table_says_how_its_values_are_judged_and_counted(errors):
    described(errors, kinds={"test_error": "number"})
    target = read(errors)
    for text in (tables.markdown(target), tables.html(target)):
        assert "test error (%) [number]" in text and "train error (%) [" not in text
    text = tables.markdown(target)
    assert "Criteria, unchanged since the first commit of this target: 0.3 points." in text
    assert "Criteria, set or moved after results had been looked at: 0.3 points." in text
    assert "counted there alone" not in text
    changed(errors, first_row(derived="143/4 of Table 3"))
    assert "are counted there alone" in tables.markdown(read(errors))


@pytest.mark.parametrize(
    ("mean", "reason", "shown"),
    [
        ("nan", "", "no number"),
        ("inf", "", "∞"),
        ("-inf", "", "−∞"),
        ("", "", "–"),
        ("nan", "diverged in 1 of 2 runs", "diverged"),
    ],
)
def test_a_value_that_is_not_finite_is_seen_in_the_table(errors, mean, reason, shown):
    changed(errors, first_row(measured_mean=mean, measured_sd=mean and "nan", verdict="deviates", reason=reason))
    assert cell(errors).measured == shown


@pytest.mark.parametrize(("count", "folded"), [(3, False), (5, True)])
def test_many_notes_are_folded_after_the_third(errors, count, folded):
    notes = [f"The note of number {n}." for n in range(count)]
    described(errors, notes=notes)
    text = tables.html(read(errors))
    assert all(note in text for note in notes)
    assert ("<summary>2 more notes</summary>" in text) == folded


def test_a_caption_of_the_page_ends_at_the_end_of_a_sentence():
    for target, spec in own_plan().targets.items():
        shown, folded = tables.split_caption(spec["caption"])
        assert shown.endswith(".") and f"{shown} {folded}".strip() == spec["caption"].strip(), target
        assert len(shown.split()) <= 40 or ". " not in shown, target


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


def test_ours_stands_in_the_table_beside_the_authors_with_its_ratio_and_is_not_folded(errors):
    rows = read_rows(errors)
    first = next(row for row in rows if row.setting == "kernel=gaussian; epochs=1" and row.method == "EigenPro")
    ours = {"published": "", "evidence": "", "series": "ours", "verdict": Verdict.MEASURED, "ratio": 0.5}
    write_rows(errors, [*rows, dataclasses.replace(first, method="EigenPro (ours)", **ours)])
    eigenpro = {"rank": "printed: Appendix B", "tol": "printed: Table 2"}
    pegasos = {"tol": "printed: Table 2", "batch_size": "code: run_expr.m"}
    described(errors, sources={"EigenPro": eigenpro, "Pegasos": pegasos})
    target = read(errors)
    assert target.sources == [
        ("rank (EigenPro)", "printed: Appendix B"),
        ("tol", "printed: Table 2"),
        ("batch_size (Pegasos)", "code: run_expr.m"),
    ]
    shown = tables.parts_of(target)[0]
    column = next(one for one in shown.table.columns if "EigenPro (ours)" in one)
    assert any(column == place[1] and "(0.5 ×)" in one.measured for place, one in shown.table.cells.items())
    assert not shown.is_folded and "are shown for comparison and not judged" in tables.markdown(target)
    assert "printed: Appendix B" in tables.markdown(target)
    folded = r"<details>\s*<summary>Where the settings come from</summary>.*printed: Appendix B.*</details>"
    assert re.search(folded, tables.html(target), re.S)
