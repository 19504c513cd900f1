"""The page: self-contained, verdicts first, and right in a real browser."""

import base64
import dataclasses
import hashlib
import html
import html.parser
import io
import itertools
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

import report_example
from shallows_papers.experiments.comparing.table_rows import read_rows, write_rows
from shallows_papers.report import page, sheet
from shallows_papers.report.target import Target, read

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Elements(html.parser.HTMLParser):
    """Every element of a page with its attributes, in order."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def all(self, *tags):
        return [attrs for tag, attrs in self.found if tag in tags]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return report_example.page(tmp_path_factory.mktemp("report"))


def test_the_page_asks_for_nothing_outside_itself(report):
    text = report.read_text()
    elements = Elements(text)
    assert not elements.all("iframe", "object", "embed") and not any(elements.all("script")[0].values())
    assert all(attrs["src"].startswith("data:") for attrs in elements.all("img"))
    assert all(attrs["href"] == "data:," for attrs in elements.all("link"))
    assert not re.search(r"@import|url\((?!%23)", text)  # a figure names parts of its own
    assert not any(re.match(r"\w+:|//", attrs["href"]) for attrs in elements.all("a"))
    policy = next(attrs for attrs in elements.all("meta") if attrs.get("http-equiv"))
    assert policy["content"].startswith("default-src 'none'")
    [script] = re.findall(r"<script>(.*?)</script>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy["content"]  # no other script is run
    assert not re.search(r"fetch|XMLHttpRequest|import\(|innerHTML|eval", script)


def test_the_page_begins_with_the_papers_in_short_and_the_verdicts(report):
    elements = Elements(report.read_text())
    assert [attrs["class"] for attrs in elements.all("table")[:2]] == ["ledger", "kinds"]
    text = report.read_text()
    of_numbers, of_orders = re.findall(r"<tr>(<th scope=.row.><b>.*?)</tr>", text)
    assert of_numbers.startswith('<th scope="row"><b>number</b>') and re.findall(r">([^<]+)</a></td>", of_numbers) == [
        "13 (7)", "2", "16", "16",
    ]  # fmt: skip
    assert of_orders.startswith('<th scope="row"><b>order</b>') and ">2</a></td>" in of_orders
    headings = ("ledger", "papers", "verdicts", "targets", "invented_errors", "invented_spectrum")
    places = [text.index(f' id="{name}"') for name in headings]
    assert places == sorted(places)
    for chip in ("13 reproduced", "2 reproduced", "2 deviates", "16 not comparable", "16 not run"):
        assert f">{chip}<" in text


def test_no_verdict_mark_filter_or_count_of_the_page_follows_from_a_reason(report, tmp_path):
    folder, summary = report.parent.parent / "tables", report.parents[3] / "summary.yaml"
    reasons, targets, pages = {}, [], []
    for path in sorted(folder.glob("*.csv")):
        rows = read_rows(path)
        reasons |= {row.reason: f"at least this: {number}" for number, row in enumerate(rows, start=1) if row.reason}
        nonsense = [dataclasses.replace(row, reason=reasons.get(row.reason, "")) for row in rows]
        for place, shown in (("told", rows), ("nonsense", nonsense)):
            write_rows(tmp_path / place / path.name, shown)
            shutil.copy(path.with_suffix(".json"), tmp_path / place)
        targets.append(path.name)
    for place in ("told", "nonsense"):
        out = tmp_path / place / "index.html"
        page.write([(out.with_name(name), None) for name in targets], out, summaries=[summary])
        pages.append(out.read_text())
    for reason, other in sorted(reasons.items(), key=lambda pair: -len(pair[1])):
        pages[1] = pages[1].replace(other, html.escape(reason, quote=True).replace("&#x27;", "&#39;"))
    assert len(reasons) == 5 and pages[0] == pages[1]


def test_a_figure_on_the_page_is_its_file_whose_words_are_text(report):
    svg = (report.parent.parent / "figures" / "invented_spectrum.svg").read_text()
    on_page = {attrs["src"] for attrs in Elements(report.read_text()).all("img") if "svg" in attrs["src"][:20]}
    shown, kept = (
        [(part.tag, part.attrib, part.text) for part in ElementTree.fromstring(text).iter()]
        for text in (base64.b64decode(on_page.pop().partition(",")[2]).decode(), svg)
    )
    assert not on_page and shown == kept
    assert '<a href="../tables/invented_spectrum.csv">The numbers in this figure (CSV)</a>' in report.read_text()
    assert any("Scale: demo" in (text or "") for tag, _, text in kept if tag.endswith("text"))


def test_every_link_leads_somewhere(report):
    elements = Elements(report.read_text())
    ids = [attrs["id"] for _, attrs in elements.found if "id" in attrs]
    assert not [name for name, count in Counter(ids).items() if count > 1]
    missing = []
    for attrs in elements.all("a"):
        href = attrs["href"]
        if href.startswith("#"):
            assert href[1:] in ids
        elif not (report.parent / href).exists():
            missing.append(href)
    assert all(href.endswith("record.json") for href in missing)  # the fixture wrote one record of eight
    assert "../runs/digits-unit/eigenpro/gaussian-0/record.json" not in missing


def test_a_run_tells_its_seed_time_and_memory(report):
    text = report.read_text()
    assert ", at most 2.00 GB" in text
    assert re.search(r"seed 7</a>( \(<a href=[^>]*>curve</a>\))? 12\.3 s, resumed once", text)


def test_a_warning_of_the_runs_is_told_once_beside_the_label(report):
    assert report.read_text().count("1 of 4 runs: an invented warning") == 1


def test_the_page_can_be_read_by_a_machine_for_those_who_do_not_see_it(report):
    elements = Elements(report.read_text())
    assert elements.all("html")[0]["lang"] == "en"
    levels = [int(tag[1]) for tag, _ in elements.found if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels))
    assert all(attrs.get("scope") for attrs in elements.all("th"))
    assert all(len(attrs["alt"]) > 40 for attrs in elements.all("img") if "loading" not in attrs)
    assert all(not attrs["alt"] for attrs in elements.all("img") if "loading" in attrs)  # of a card: its title says it
    assert all(
        attrs.get("aria-label") for _, attrs in elements.found if attrs.get("class", "") and attrs["class"] == "scroll"
    )


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_stands_out_from_its_ground(mode):
    style = Path(page.__file__).with_name("templates").joinpath("style.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", style, re.S)
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", blocks[("light", "dark").index(mode)]))
    pairs = [(name, ground) for name in ("ink", "quiet", "link") for ground in ("paper", "tint")]
    pairs += [(name, f"{name}-tint") for name in ("reproduced", "refuted", "deviates", "not-comparable")]
    pairs += [(name, "paper") for name in ("reproduced", "refuted", "deviates", "not-comparable", "not-run")]
    pairs += [("edge", "paper"), ("edge", "tint")]
    for text, ground in pairs:
        light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
        # WCAG 2.2: contrast (minimum) of a text, non-text contrast of the edge of a field
        assert (light + 0.05) / (dark + 0.05) >= (3 if text == "edge" else 4.5), (text, ground)


def test_a_page_beside_which_nothing_is_printed_has_no_cards_and_no_script(tmp_path):
    csv_path = report_example.error_table(tmp_path)
    meta = json.loads(csv_path.with_suffix(".json").read_text())
    for key in ("paper", "source", "citation"):
        del meta[key]
    csv_path.with_suffix(".json").write_text(json.dumps(meta))
    page.write([(csv_path, None)], tmp_path / "own.html")
    text = (tmp_path / "own.html").read_text()
    elements = Elements(text)
    assert not elements.all("script", "form") and "script-src" not in text and 'class="card"' not in text
    assert 'id="invented_errors"' in text


def test_a_card_with_a_figure_shows_a_small_one_and_another_shows_values(report):
    elements = Elements(report.read_text())
    [thumbnail] = [attrs["src"] for attrs in elements.all("img") if "loading" in attrs]
    with Image.open(io.BytesIO(base64.b64decode(thumbnail.partition(",")[2]))) as image:
        assert image.width <= page.WIDTH and image.height <= page.HEIGHT and len(image.getcolors()) > 4
    small = re.search(r'<table class="small">.*?</table>', report.read_text(), re.S).group()
    assert re.findall(r"<td[^>]*>(.*?)</td>", small)[:2] == ["1.8\u00a0%", "1.91\u00a0%"]


def test_a_small_picture_is_cut_out_between_title_and_label(report):
    with Image.open(report.parent.parent / "figures" / "invented_spectrum.png") as image:
        bottom, height = sheet.axes_place(image.info)
        ends = round(image.height * (1 - bottom - height)), round(image.height * (1 - bottom))
        title = image.convert("L").crop((0, 0, image.width, ends[0]))
        label = image.convert("L").crop((0, ends[1], image.width, image.height))
    assert 0.05 < bottom < 0.3 and 0.5 < height < 0.95
    assert title.getextrema()[0] < 100 and label.getextrema()[0] < 150  # both have writing on them


def test_the_page_written_again_is_the_same(report, tmp_path):
    folder = report.parent.parent / "tables"
    targets = [(path, None) for path in sorted(folder.glob("*.csv"))]
    for name in ("first.html", "second.html"):
        page.write(targets, tmp_path / name)
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()


def test_a_table_does_not_wait_for_the_drawing_library():
    code = "import sys, shallows_papers.report.page; print({'matplotlib', 'pandas'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def browse(address, profile, *options):
    """Open an address in headless Chromium; what it printed on both channels."""
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--enable-logging=stderr", f"--user-data-dir={profile}", *options, address),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def console(done):
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_the_page_opens_from_disk_without_a_complaint(report, tmp_path):
    picture = tmp_path / "page.png"
    done = browse(report.as_uri(), tmp_path / "profile", f"--screenshot={picture}", "--window-size=1400,1600")
    assert console(done) == []
    assert picture.stat().st_size > 50_000  # an empty window of this size takes about 10 kB


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_is_no_wider_than_its_window(report, tmp_path, width):
    # A headless window has a least width, so the page is put into a frame of the width asked for.
    frame = tmp_path / "frame.html"
    frame.write_text(
        f"""<!DOCTYPE html><meta charset="utf-8"><title>frame</title>
        <iframe style="border:0; width:{width}px; height:2000px"
                srcdoc="{html.escape(report.read_text())}"></iframe>
        <script>
        const frame = document.querySelector("iframe");
        frame.onload = () => {{
          const page = frame.contentDocument;
          document.body.dataset.width = page.documentElement.scrollWidth;
          document.body.dataset.scrolls = [...page.querySelectorAll(".scroll")].some(
            box => box.scrollWidth > box.clientWidth);
          document.body.dataset.pictures = [...page.images].every(image => image.naturalWidth > 0);
        }};
        </script>"""
    )
    done = browse(
        frame.as_uri(),
        tmp_path / "profile",
        "--dump-dom",
        "--virtual-time-budget=5000",
        "--window-size=1600,2000",
    )
    assert console(done) == []
    found = dict(re.findall(r'data-(\w+)="(\w+)"', re.search(r"<body[^>]*>", done.stdout).group()))
    assert int(found["width"]) <= width
    assert found["pictures"] == "true"
    if width == 390:
        assert found["scrolls"] == "true"  # the wide table scrolls inside its own box


def test_code_versions_that_differ_by_their_commit_stand_together():
    def made_by(commits, dirty=False, version="1.0"):
        return Target((), {"label": {"code": {"version": version, "commits": commits, "dirty": dirty}}})

    given = [made_by(["a"]), made_by(["c"], True), made_by(["b", "a"]), made_by([], version="")]
    assert page.codes(given) == ["shallows 1.0, commits a, b", "shallows 1.0, commit c, with uncommitted changes"]
    assert page.codes(given[3:]) == ["unknown"]


@pytest.mark.parametrize("verdict, mean, said", [("not run", "", "No results"), ("measured", "0.4", "Measured; the")])
def test_a_card_without_values_says_whether_anything_was_measured(tmp_path, verdict, mean, said):
    csv_path = report_example.error_table(tmp_path)
    lines = csv_path.read_text().splitlines()
    names = lines[0].split(",")
    row = dict.fromkeys(names, "") | {"target": "invented_errors", "dataset": "digits", "method": "EigenPro"}
    row |= {"metric": "test_error", "scale": "demo", "verdict": verdict, "measured_mean": mean}
    csv_path.write_text(f"{lines[0]}\n{','.join(row[name] for name in names)}\n")
    meta = json.loads(csv_path.with_suffix(".json").read_text())
    csv_path.with_suffix(".json").write_text(json.dumps(meta | {"layout": {"rows": ["method"], "columns": ["metric"]}}))
    page.write([(csv_path, None)], tmp_path / "index.html")
    assert f'<p class="silent">{said}' in (tmp_path / "index.html").read_text()


def test_the_words_for_a_figure_that_is_not_seen_are_those_of_the_page(tmp_path):
    target = read(report_example.error_table(tmp_path))
    meta = {**target.meta, "figure": {"kind": "curves", "x": "epochs", "y": ["test_error"]}}
    meta["labels"] = {
        **(target.meta.get("labels") or {}),
        "kernel": "kind of kernel",
        "train_error": "error in training",
    }
    text = page.alternative(dataclasses.replace(target, meta=meta))
    assert "kind of kernel: Gaussian, " in text and "_error" not in text and "error in training" not in text
