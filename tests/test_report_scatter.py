"""Pictures of points, of made-up numbers."""

import numpy as np

from shallows_papers.report.figures import scatter
from shallows_papers.report.target import read
from test_report_curves import written

FIGURE = {"kind": "scatter", "x": "across", "metric": "up", "lines": "colour", "columns": "method"}


def rows(*methods):
    """Three points a method: across 0, 1, 2, up their squares, color 7, 8 and 9."""
    return [
        {"metric": metric, "measured_mean": str(value), "setting": f"m={m}", "method": method}
        for method in methods
        for m in range(3)
        for metric, value in (("across", m), ("up", m * m), ("colour", 7 + m))
    ]


def draw_scatter(folder, given):
    return scatter(read(written(folder, given, FIGURE)))


def test_every_point_lies_where_its_two_metrics_say_with_the_colour_of_the_third(tmp_path):
    figure = draw_scatter(tmp_path, rows("left", "right"))
    left, right = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert [left.get_title(loc="left"), right.get_title(loc="left")] == ["left", "right"]
    for ax in (left, right):
        (dots,) = ax.collections
        assert np.asarray(dots.get_offsets()).tolist() == [[0, 0], [1, 1], [2, 4]]
    assert len({tuple(colour) for colour in right.collections[0].get_facecolors()}) == 3


def test_each_of_a_few_classes_is_in_the_legend_with_its_colour(tmp_path):
    legend = draw_scatter(tmp_path, rows("left", "right")).axes[1].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["7", "8", "9"]
    assert len({handle.get_markerfacecolor() for handle in legend.legend_handles}) == 3


def test_where_nothing_was_measured_the_picture_says_so(tmp_path):
    figure = draw_scatter(tmp_path, [{"metric": "across", "measured_mean": "", "setting": "", "method": "left"}])
    assert [text.get_text() for text in figure.axes[0].texts] == ["nothing measured: toy"]
    assert figure.get_size_inches()[1] < 2
