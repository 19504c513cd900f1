"""Figures: readable without the code, and the same to the bit when drawn again."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import matplotlib
import pytest

import report_example
from shallows_papers.experiments.comparing.table_rows import read_rows, write_rows
from shallows_papers.report import figures, sheet
from shallows_papers.report.figures import curves
from shallows_papers.report.target import read


def texts(figure):
    """Everything that is written in a figure."""
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    return {"errors": report_example.error_table(folder), "spectrum": report_example.spectrum(folder)}


@pytest.fixture(scope="module")
def drawn(tables):
    return {name: curves(read(path)) for name, path in tables.items()}


@pytest.mark.slow
def test_a_figure_drawn_again_is_the_same_to_the_bit_and_leaves_the_settings_as_they_were(tmp_path, tables):
    before, pictures = dict(matplotlib.rcParams), []
    for turn in ("first", "second"):
        figures.draw(tables["errors"], tmp_path / f"{turn}.svg")
        pictures.append([(tmp_path / f"{turn}.{ending}").read_bytes() for ending in ("svg", "png")])
    assert pictures[0] == pictures[1] and dict(matplotlib.rcParams) == before
    assert ElementTree.fromstring(pictures[0][0]).tag.endswith("svg")
    assert pictures[0][1].startswith(b"\x89PNG")


def test_the_last_digits_of_a_layout_do_not_change_a_file(tmp_path):
    """They differ between two drawings of one figure in the same process, and an SVG names its clipping after them."""
    pictures = []
    for digit in (0, 1e-15):
        figure = matplotlib.figure.Figure()
        figure.add_axes((0.1 + digit, 0.1, 0.8, 0.8)).plot([0, 1])
        with sheet.styled("any"):
            sheet.save(figure, tmp_path / "figure.svg", "Any")
        pictures.append((tmp_path / "figure.svg").read_bytes())
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("kind", ["errors", "spectrum"])
def test_a_figure_can_be_read_without_the_code(tables, drawn, kind):
    written = texts(drawn[kind])
    label = next(text for text in written if "Scale: demo" in text)
    for part in ("n = 2,000", "d = 784", "Seeds: 0", "Invented CPU", "shallows 0.1.0"):
        assert part in label
    assert read(tables[kind]).title in " ".join(text.replace("\n", " ") for text in written)


def test_errors_have_a_panel_a_kernel_and_a_row_a_metric(drawn):
    figure = drawn["errors"]
    assert len(figure.axes) == 4  # the third kernel was not run
    assert [ax.get_title(loc="left") for ax in figure.axes[:2]] == ["Gaussian kernel", "Cauchy kernel"]
    assert figure.axes[0].get_ylabel() == "train error (%)"
    assert figure.axes[2].get_xlabel() == "epochs"
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["EigenPro", "Pegasos", "published"]


def test_errors_draw_published_dashed_and_measured_solid(drawn):
    measured, published = drawn["errors"].axes[0].lines[:2]
    assert published.get_linestyle() == "--"
    assert published.get_markerfacecolor() == "white"
    assert measured.get_linestyle() == "-"
    assert list(published.get_ydata()) == [1.8, 0.36, 0.18, 0.09]
    assert measured.get_ydata()[0] == pytest.approx(1.91)


def test_an_axis_with_a_zero_is_linear_at_its_lower_end_and_says_so(tmp_path, drawn):
    assert drawn["errors"].axes[0].get_yscale() == "log"
    path = report_example.error_table(tmp_path)
    first, *others = read_rows(path)
    write_rows(path, [replace(first, published="0.0"), *others])
    ax = curves(read(path)).axes[0]
    assert ax.get_yscale() == "symlog"
    assert ax.get_ylim()[0] < 0  # a mark at zero is whole
    assert ax.get_ylabel() == "train error (%)\nlinear below 0.1"


def test_the_spectrum_has_a_line_for_each_dataset_and_size(drawn):
    figure = drawn["spectrum"]
    first, second = figure.axes
    assert [len(ax.lines) for ax in figure.axes] == [2, 3]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    sizes = ("500", "1,000")
    assert names[:2] == ["Digits, subsample 2,000", "Census, subsample 2,000"]
    assert names[2:4] == [f"Digits, subsample {size}" for size in sizes]
    assert {ax.get_xscale() for ax in figure.axes} == {ax.get_yscale() for ax in figure.axes} == {"log"}
    assert first.get_ylim() == second.get_ylim()
