"""Pictures of curves, of made-up numbers."""

import json

import numpy as np
import pytest
from matplotlib.lines import Line2D

from report_example import LABEL
from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing.table_rows import COLUMNS, Row, write_rows
from shallows_papers.report import figures, tables, ticks
from shallows_papers.report.target import read


def written(folder, rows, figure, marks=("m",), columns=()):
    """A table of these rows, of the method "one" if they name none."""
    meta = {
        "id": "made_up",
        "title": "Made up",
        "source": "nowhere",
        "scale": "demo",
        "label": LABEL,
        "marks": list(marks),
        "labels": {"norm": "the norm", "bound": "the bound"},
        "layout": {"rows": ["metric"], "columns": list(columns)},
        "figure": {"kind": "curves", **figure},
    }
    path = folder / "made_up.csv"
    about = {"target": "made_up", "dataset": "toy", "verdict": "not comparable", "scale": "demo", "method": "one"}
    write_rows(path, [Row.from_text({**dict.fromkeys(COLUMNS, ""), **about, **row}) for row in rows])
    path.with_suffix(".json").write_text(json.dumps(meta))
    return path


def row(metric, value, setting, **more):
    return {"metric": metric, "measured_mean": str(value), "setting": setting, **more}


def batches(**more):
    """A norm with a bound next to it, for two ranks."""
    return [
        row(metric, factor / m**rank, f"k={rank}; m={m}", **more)
        for rank in (1, 2)
        for m in (1, 10, 100)
        for metric, factor in (("norm", 2.0), ("bound", 5.0))
    ]


def draw_curves(folder, rows, figure, **more):
    target = read(written(folder, rows, figure, **more))
    return figures.KINDS["curves"](target)


def points(line):
    return [np.asarray(line.get_xdata(), float).tolist(), np.asarray(line.get_ydata(), float).tolist()]


def test_each_line_has_its_bound_beside_it(tmp_path):
    (ax,) = draw_curves(tmp_path, batches(), {"y": ["norm"], "bounds": ["bound"], "lines": "k"}).axes
    lines = {tuple(points(line)[1]): line for line in ax.lines}
    assert set(lines) == {(2.0, 0.2, 0.02), (5.0, 0.5, 0.05), (2.0, 0.02, 2e-4), (5.0, 0.05, 5e-4)}
    assert points(ax.lines[0])[0] == [1, 10, 100]
    for rank in (1, 2):
        norm, bound = lines[2.0, 2 / 10**rank, 2 / 100**rank], lines[5.0, 5 / 10**rank, 5 / 100**rank]
        assert norm.get_color() == bound.get_color() and norm.get_linewidth() > bound.get_linewidth()
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_seeds_make_a_band_and_printed_numbers_are_hollow(tmp_path):
    rows = [row("norm", 2.0 + m, f"m={m}", measured_sd="0.5", published="3.5" if m == 1 else "") for m in (1, 2, 3)]
    (ax,) = draw_curves(tmp_path, rows, {"y": ["norm"]}).axes
    assert len(ax.collections) == 1
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(2.5) and band[:, 1].max() == pytest.approx(5.5)
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [points(line) for line in hollow] == [[[1.0], [3.5]]]


@pytest.mark.parametrize(("power", "start"), [(-1, (1, 2)), (-0.5, (1, 0.2)), (-2, (10, 2))])
def test_a_power_of_x_ends_where_the_curve_does_and_is_no_higher(tmp_path, power, start):
    rows = [one for one in batches() if one["metric"] == "norm" and one["setting"].startswith("k=1")]
    figure = {"y": ["norm"], "lines": "k", "x_scale": "log", "y_scale": "log"}
    (ax,) = draw_curves(tmp_path, rows, {**figure, "powers": [{"power": power, "label": "a power"}]}).axes
    xs, ys = points(ax.lines[-1])
    assert (xs[0], ys[0]) == pytest.approx(start)
    assert (xs[1], ys[1]) == pytest.approx((100, 0.02))
    assert "a power" in [text.get_text() for text in ax.texts]


def test_a_level_is_a_line_across(tmp_path):
    levels = [{"value": 0.95, "label": "1 − δ"}]
    (ax,) = draw_curves(tmp_path, batches(), {"y": ["norm"], "lines": "k", "levels": levels}).axes
    assert any(points(line)[1] == [0.95, 0.95] for line in ax.lines)
    assert [text.get_text() for text in ax.texts] == ["1 − δ"]


def test_each_row_of_axes_is_named_at_its_left(tmp_path):
    rows = [row("norm", m, f"k={rank}; j={place}; m={m}") for rank in (1, 2) for place in (3, 4) for m in (1, 10)]
    figure = draw_curves(tmp_path, rows, {"y": ["norm"], "rows": "k", "columns": "j"})
    assert [ax.get_ylabel() for ax in figure.axes] == ["k = 1\nthe norm", "", "k = 2\nthe norm", ""]


def test_independent_values_are_points_without_lines(tmp_path):
    rows = [row(metric, m / 7, f"m={m}") for metric in ("norm", "bound") for m in range(20)]
    (ax,) = draw_curves(tmp_path, rows, {"y": ["norm", "bound"], "lines": "metric", "points": True}).axes
    assert [(line.get_linestyle(), line.get_marker()) for line in ax.lines] == [("None", "o")] * 2


def test_a_target_gives_the_decimals_of_a_metric(tmp_path):
    path = written(tmp_path, [row("norm", 1.00172, "k=1"), row("bound", 1.00172, "k=1")], {"y": ["other"]})
    path.with_suffix(".json").write_text(
        json.dumps({**json.loads(path.with_suffix(".json").read_text()), "decimals": {"norm": 4}})
    )
    table = tables.markdown(read(path))
    assert "1.0017 ○" in table and "1 ○" in table


@pytest.mark.parametrize("place", [{"columns": "k"}, {"x": "m", "lines": "k"}])
def test_what_was_not_measured_is_named_below_and_not_in_the_legend(tmp_path, place):
    figure = draw_curves(tmp_path, [*batches(), row("norm", "", "k=3")], {"y": ["norm"], **place})
    assert "Not measured here: k = 3." in figure.texts[1].get_text().splitlines()
    assert [text.get_text() for legend in figure.legends for text in legend.get_texts()] in ([], ["k = 1", "k = 2"])
    assert len(figure.axes) == (2 if "columns" in place else 1)


def test_the_legend_shows_each_bound_as_it_is_drawn(tmp_path):
    figure = draw_curves(tmp_path, batches(), {"y": ["norm"], "bounds": ["bound"], "lines": "k"})
    (legend,) = figure.legends
    drawn = {line.get_color() for line in figure.axes[0].lines if line.get_linewidth() < 1}
    shown = [line.get_color() for line in legend.findobj(Line2D) if line.get_linewidth() < 1]
    assert len(drawn) == 2 and sorted(shown) == sorted(drawn)
    figure = draw_curves(tmp_path, batches(), {"y": ["norm"], "bounds": ["bound", "norm"], "lines": "metric"})
    dashes = [line._unscaled_dash_pattern for line in figure.legends[0].get_lines()]
    assert len(dashes) == 2 and dashes[0] != dashes[1]  # both are black


def test_the_legend_names_no_published_points_of_panels_that_are_absent(tmp_path):
    rows = [*batches(), row("norm", "", "k=3; m=1", published="2")]
    (legend,) = draw_curves(tmp_path, rows, {"y": ["norm"], "bounds": ["bound"], "columns": "k"}).legends
    assert [text.get_text() for text in legend.get_texts()] == ["the norm", "the bound"]


def test_an_axis_of_whole_numbers_has_whole_ticks(tmp_path):
    rows = [row("norm", m, f"m={m}") for m in (1, 2, 3)]
    figure = draw_curves(tmp_path, rows, {"y": ["norm"]})
    figure.draw_without_rendering()
    assert all(place == round(place) for place in figure.axes[0].get_xticks())


def test_a_single_line_with_a_bound_is_in_the_legend(tmp_path):
    rows = [one for one in batches() if one["setting"].startswith("k=1")]
    (legend,) = draw_curves(tmp_path, rows, {"y": ["norm"], "bounds": ["bound"]}).legends
    assert [text.get_text() for text in legend.get_texts()] == ["the norm", "the bound"]


def test_seven_panels_are_drawn_in_two_lines_no_wider_than_a_page(tmp_path):
    rows = [row("norm", k + m, f"k={k}; m={m}") for k in range(1, 8) for m in (1, 2)]
    figure = draw_curves(tmp_path, rows, {"y": ["norm"], "columns": "k", "width": 4})
    assert [ax.get_title(loc="left") for ax in figure.axes] == [*(f"k = {k}" for k in range(1, 8)), ""]
    assert figure.axes[0].get_gridspec().ncols == 4 and figure.get_figwidth() * 200 <= 1600
    assert len({ax.get_ylim() for ax in figure.axes[:7]}) == 1  # both lines have the same limits
    assert [ax.get_xlabel() for ax in figure.axes[:7]] == ["m"] * 7


def test_the_best_so_far_never_rises(tmp_path):
    rows = [row("norm", value, f"m={m}") for m, value in ((1, 5.0), (2, 3.0), (3, 9.0), (4, 2.0))]
    (ax,) = draw_curves(tmp_path, rows, {"y": ["norm"], "best_so_far": True}).axes
    assert points(ax.lines[0])[1] == [5, 3, 3, 2] and ax.get_ylabel() == "the norm, best so far"


def test_two_crossed_keys_have_colors_and_dashes(tmp_path):
    rows = [row("norm", k + j + m, f"j={j}; k={k}; m={m}") for k in (1, 2) for j in (3, 4) for m in (1, 2)]
    (ax,) = draw_curves(tmp_path, rows, {"x": "m", "y": ["norm"], "lines": ["k", "j"]}).axes
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == 4 and len({color for color, _ in looks}) == len({dash for _, dash in looks}) == 2


@pytest.mark.parametrize(
    ("places", "width", "shown"),
    [
        ([64, 256, 512, 4096], 6, ["64", "256", "512", "4,096"]),
        ([64, 256, 512, 4096], 1.2, ["64", "512", "4,096"]),
        ([1e6, 2e7, 1e8], 3, ["10⁶", "2·10⁷", "10⁸"]),
        ([1], 3, ["1"]),
    ],
)
def test_labels_of_ticks_do_not_overlap(places, width, shown):
    assert [ticks.label(place) for place in ticks.apart(places, width)] == shown


def test_an_axis_over_less_than_a_decade_has_several_ticks(tmp_path):
    rows = [row("norm", value, f"m={m}") for m, value in ((1, 1.0), (2, 0.5), (4, 0.3))]
    figure = draw_curves(tmp_path, rows, {"y": ["norm"], "y_scale": "log"})
    figure.draw_without_rendering()
    low, high = figure.axes[0].get_ylim()
    assert sum(low <= place <= high for place in figure.axes[0].get_yticks()) >= 4


def test_a_picture_of_which_nothing_was_measured_is_one_line(tmp_path):
    rows = [{**one, "measured_mean": ""} for one in batches()]
    figure = draw_curves(tmp_path, rows, {"y": ["norm"], "columns": "k"})
    assert [text.get_text() for text in figure.axes[0].texts] == ["nothing measured: toy"]
    assert figure.get_size_inches()[1] < 2


@pytest.mark.parametrize(
    ("figure", "problem"), [({"x": "epochs"}, "runs along 'epochs'"), ({"y": ["nrom"]}, "metrics nrom")]
)
def test_a_picture_of_what_is_not_there_is_refused(tmp_path, figure, problem):
    with pytest.raises(ShallowsError, match=problem):
        draw_curves(tmp_path, batches(), figure)


def test_points_of_the_picture_are_left_out_of_the_table_and_claims_are_not(tmp_path):
    claim = row("share", 1.0, "k=1", published="at least | 1 − δ")
    target = read(written(tmp_path, [*batches(), claim], {"y": ["norm"], "bounds": ["bound"]}))
    table = tables.pivot(target)
    assert table.n_drawn == 12 and len(table.rows) == 1
    assert "at least \\| 1 − δ" in tables.markdown(target)


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [((), [("1", "100"), ("2", "100"), ("1", "10")]), (("m",), [(k, m) for k in "12" for m in ("1", "10", "100")])],
    ids=["the end, and what is printed", "all that the layout names"],
)
def test_the_table_tells_the_end_of_what_goes_along_with_the_curves(tmp_path, columns, wanted):
    seconds = [row("seconds", float(m), f"k={rank}; m={m}") for rank in (1, 2) for m in (1, 10, 100)]
    printed = [] if columns else [row("seconds", 3.0, "k=1; m=10", published="2.5")]
    target = read(written(tmp_path, [*batches(), *seconds, *printed], {"y": ["norm", "bound"]}, columns=columns))
    shown = [one for one in target.rows if not target.is_drawn(one) and not target.is_before_end(one)]
    assert {one.keys["metric"] for one in shown} == {"seconds"}
    assert [(one.keys["k"], one.keys["m"]) for one in shown] == wanted
    assert "values along the curves" in tables.markdown(target)
