"""The picture of all judged numbers: the right dots at the right places, and nothing else."""

import base64
import dataclasses
import re

from matplotlib.colors import to_hex

import report_example
from shallows_papers.experiments.comparing.table_rows import Row, write_rows
from shallows_papers.report import distances, page
from shallows_papers.report.target import read

TITLE = "An invented paper: some < all & more"


def number(published, mean, margin, verdict, **more):
    about = {"target": "invented_errors", "dataset": "d", "method": "m", "metric": "e", "scale": "demo"}
    given = {"published": published, "measured_mean": mean, "margin": margin, "verdict": verdict, "evidence": "number"}
    return Row(**{**about, **given, **more})


ROWS = (
    number("10", 12.0, 1.0, "deviates", cause="other data"),
    number("10", 9.75, 0.5, "reproduced"),
    number("10", -40.0, 1.0, "deviates"),
    number("10", 11.0, 1.0, "not comparable"),
    number("10", 10.0, 1.0, "reproduced", derived="another"),
    number("10", 10.0, 1.0, "reproduced", evidence="fact"),
    number("10", 10.0, None, "reproduced"),
    number("10", 10.5, 1.0, "reproduced, one seed"),
    number("10", 11.25, 1.0, "undecided"),
    number("10", float("nan"), 1.0, "deviates"),
    number("10", None, 1.0, "deviates", cause="other data", low=40.0, high=float("inf"), repetitions=1, passed=0),
)


def test_each_judged_number_is_a_dot_at_its_distance_in_margins_with_the_colour_of_its_cause(tmp_path):
    target = dataclasses.replace(read(report_example.error_table(tmp_path)), rows=ROWS)
    numbers = distances.table([target], {"Another paper": "Not drawn", TITLE: "Invented"})
    [ax] = distances.draw(numbers).axes
    ax.figure.draw_without_rendering()  # the dots find their places
    dots, *triangles = ax.collections
    colours = {
        round(float(x), 9): to_hex(colour)
        for (x, _), colour in zip(dots.get_offsets(), dots.get_facecolors(), strict=True)
    }
    causes = {2.0: "other data", -0.5: "reproduced", -50.0: "unexplained"}
    causes |= {0.5: "reproduced, one seed", 1.25: "undecided"}
    assert colours == {x: distances.COLOURS[cause].lower() for x, cause in causes.items()}
    assert [text.get_text() for text in ax.get_yticklabels()] == ["Invented"]
    assert ax.get_xlim()[0] < -50
    # What is not finite lies at the edge; what was never reached at the least that is known of it.
    edge, least = sorted((float(one.get_offsets()[0, 0]) for one in triangles), reverse=True)
    assert least == 30.0 and 50.0 < edge < ax.get_xlim()[1]
    outcomes = {"reproduced": 1, "reproduced, one seed": 1, "undecided": 1, "deviates": 4}
    assert distances.counts(numbers) == outcomes and len(numbers) == 7


def test_the_page_shows_the_picture_and_counts_its_dots(tmp_path):
    csv_path = report_example.error_table(tmp_path)
    texts = []
    for rows in (ROWS, ROWS[3:7]):
        named = [dataclasses.replace(row, setting=f"kernel={n}; epochs=1") for n, row in enumerate(rows)]
        write_rows(csv_path, named)
        page.write([(csv_path, None)], tmp_path / "index.html")
        texts.append((tmp_path / "index.html").read_text())
    told = "Of 7 numbers: 1 reproduced; 1 reproduced, one seed; 1 undecided; 4 deviate."
    assert told in texts[0] and "gray band" not in texts[1]
    [uri] = re.findall(r'src="(data:image/svg[^"]*)"', texts[0])
    counts = "".join(f"<td>{count}</td>" for count in (8, 2, 1, 1, 4))
    assert f'<th scope="row">An invented paper: some &lt; all &amp; more</th>{counts}' in texts[0]
    assert "reproduced, one seed (1)" in base64.b64decode(uri.partition(",")[2]).decode()


def test_the_page_links_to_a_copy_of_the_verdict_log(tmp_path):
    csv_path = report_example.error_table(tmp_path)
    write_rows(csv_path, [dataclasses.replace(ROWS[1], setting="kernel=g; epochs=1")])
    log = tmp_path / "config" / "verdict_log.csv"
    log.parent.mkdir()
    log.write_text("date,what,target,name,old,new,reason\n2026-01-01,count,,all,,4 of 6,counted\n")
    page.write([(csv_path, None)], tmp_path / "report" / "index.html", log=log)
    text = (tmp_path / "report" / "index.html").read_text()
    assert '<a href="verdict_log.csv">Every change of a verdict' in text
    assert (tmp_path / "report" / "verdict_log.csv").read_text() == log.read_text()
    assert "4 of 6" not in text  # the log is about the laptop scale, and this page about the demo
