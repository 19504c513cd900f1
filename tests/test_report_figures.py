"""Figures: readable without the code, and the same to the bit when drawn again."""

import csv
import json
import xml.etree.ElementTree as ElementTree

import matplotlib
import pytest

import report_example
from shallows.errors import UnknownNameError
from shallows_papers.report import figures
from shallows_papers.report.curves import curves
from shallows_papers.report.target import read

DRAWINGS = {"errors": report_example.error_table, "spectrum": report_example.spectrum}


def texts(figure):
    """Everything that is written in a figure."""
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", DRAWINGS)
def test_a_figure_drawn_again_is_the_same_to_the_bit(tmp_path, kind):
    path = DRAWINGS[kind](tmp_path)
    drawn = []
    for turn in ("first", "second"):
        svg, png = tmp_path / f"{turn}.svg", tmp_path / f"{turn}.png"
        figures.draw(path, svg)
        drawn.append((svg.read_bytes(), png.read_bytes()))
    assert drawn[0] == drawn[1]
    assert ElementTree.fromstring(drawn[0][0]).tag.endswith("svg")
    assert drawn[0][1].startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", DRAWINGS)
def test_a_figure_can_be_read_without_the_code(tmp_path, kind):
    target = read(DRAWINGS[kind](tmp_path))
    written = texts(curves(target))
    label = next(text for text in written if "Scale: demo" in text)
    for part in ("n = 2,000", "d = 784", "Seeds: 0", "Invented CPU", "shallows 0.1.0"):
        assert part in label
    assert target.title in " ".join(text.replace("\n", " ") for text in written)


def test_errors_have_a_panel_a_kernel_and_a_row_a_metric(tmp_path):
    figure = curves(read(report_example.error_table(tmp_path)))
    assert len(figure.axes) == 4  # the third kernel was not run
    assert [ax.get_title(loc="left") for ax in figure.axes[:2]] == ["Gaussian kernel", "Cauchy kernel"]
    assert figure.axes[0].get_ylabel() == "train error (%)"
    assert figure.axes[2].get_xlabel() == "epochs"
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["EigenPro", "Pegasos", "published"]


def test_errors_draw_published_dashed_and_measured_solid(tmp_path):
    ax = curves(read(report_example.error_table(tmp_path))).axes[0]
    measured, published = ax.lines[:2]
    assert published.get_linestyle() == "--"
    assert published.get_markerfacecolor() == "white"
    assert measured.get_linestyle() == "-"
    assert list(published.get_ydata()) == [1.8, 0.36, 0.18, 0.09]
    assert measured.get_ydata()[0] == pytest.approx(1.91)


def test_errors_say_what_was_not_run(tmp_path):
    figure = curves(read(report_example.error_table(tmp_path)))
    assert "Not measured here: Laplace kernel." in figure.texts[1].get_text().splitlines()


def test_a_picture_of_which_nothing_was_measured_is_one_line(tmp_path):
    path = report_example.error_table(tmp_path)
    whole = curves(read(path))
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "measured_mean": "", "measured_sd": "", "verdict": "not run"} for row in rows)
    figure = curves(read(path))
    assert [text.get_text() for text in figure.axes[0].texts] == ["not run: digits"]
    assert figure.get_size_inches()[1] < whole.get_size_inches()[1] / 3


def test_an_axis_with_a_zero_is_linear_at_its_lower_end_and_says_so(tmp_path):
    path = report_example.error_table(tmp_path)
    assert curves(read(path)).axes[0].get_yscale() == "log"
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows[0]["published"] = "0.0"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    ax = curves(read(path)).axes[0]
    assert ax.get_yscale() == "symlog"
    assert ax.get_ylim()[0] < 0  # a mark at zero is whole
    assert ax.get_ylabel() == "train error (%)\nlinear below 0.1"


def test_the_spectrum_has_a_line_for_each_dataset_and_size(tmp_path):
    figure = curves(read(report_example.spectrum(tmp_path)))
    first, second = figure.axes
    assert [len(ax.lines) for ax in figure.axes] == [2, 3]
    names = [text.get_text() for text in second.get_legend().get_texts()]
    assert names[:4] == [
        "Digits, subsample 2,000",
        "Census, subsample 2,000",
        "Digits, subsample 500",
        "Digits, subsample 1,000",
    ]
    assert {ax.get_xscale() for ax in figure.axes} == {ax.get_yscale() for ax in figure.axes} == {"log"}
    assert first.get_ylim() == second.get_ylim()


def test_an_unknown_kind_names_the_nearest(tmp_path):
    path = report_example.spectrum(tmp_path)
    meta = json.loads(path.with_suffix(".json").read_text())
    meta["figure"]["kind"] = "curve"
    path.with_suffix(".json").write_text(json.dumps(meta))
    with pytest.raises(UnknownNameError, match="Did you mean 'curves'"):
        figures.draw(path, tmp_path / "f.svg")
    assert not (tmp_path / "f.svg").exists()


@pytest.mark.slow
def test_drawing_leaves_the_settings_of_matplotlib_as_they_were(tmp_path):
    before = dict(matplotlib.rcParams)
    figures.draw(report_example.spectrum(tmp_path), tmp_path / "f.svg")
    assert dict(matplotlib.rcParams) == before
