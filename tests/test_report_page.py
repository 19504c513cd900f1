"""The report: a page with the verdicts first and a page of each paper, which load no other file."""

import base64
import hashlib
import html
import html.parser
import io
import itertools
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest
from PIL import Image

import report_example
from shallows_papers.experiments.comparing.table_rows import Row, read_rows, write_rows
from shallows_papers.report import page


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
    return report_example.page_of_the_session(tmp_path_factory)


@pytest.fixture(scope="module", params=["index.html", "invented.html"])
def each(report, request):
    return report.with_name(request.param)


def test_a_page_loads_no_other_file_and_only_the_first_runs_a_script(each):
    text = each.read_text()
    elements = Elements(text)
    assert not elements.all("iframe", "object", "embed") and not any(map(any, elements.all("script")))
    assert all(attrs["src"].startswith("data:") for attrs in elements.all("img"))
    assert all(attrs["href"] == "data:," for attrs in elements.all("link"))
    assert not re.search(r"@import|url\((?!%23)", text)  # a figure names its own parts
    assert not any(re.match(r"\w+:|//", attrs["href"]) for attrs in elements.all("a"))
    policy = next(attrs for attrs in elements.all("meta") if attrs.get("http-equiv"))
    assert policy["content"].startswith("default-src 'none'")
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(scripts) == (each.name == "index.html") == policy["content"].count("script-src")
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in policy["content"]  # no other script is run
        assert not re.search(r"fetch|XMLHttpRequest|import\(|innerHTML|eval", script)


def test_the_first_page_has_claims_verdicts_and_cards_and_that_of_a_paper_its_summary_and_targets(report):
    elements = Elements(report.read_text())
    assert [attrs["class"] for attrs in elements.all("table")[:2]] == ["ledger", "kinds"]
    text = report.read_text()
    of_numbers, of_orders = re.findall(r"<tr>(<th scope=.row.><b>.*?)</tr>", text)
    assert of_numbers.startswith('<th scope="row"><b>number</b>') and re.findall(r">([^<]+)</a></td>", of_numbers) == [
        "13 (7)", "2", "16", "16",
    ]  # fmt: skip
    assert of_orders.startswith('<th scope="row"><b>order</b>') and ">2</a></td>" in of_orders
    targets = ("invented_errors", "invented_spectrum")
    paper = report.with_name("invented.html").read_text()
    for of_page, headings in ((text, ("ledger", "verdicts", "targets", *targets)), (paper, ("short", *targets))):
        places = [of_page.index(f' id="{name}"') for name in headings]
        assert places == sorted(places)
    assert text.count('<section class="target"') == 0 and paper.count('<section class="target"') == 2
    for chip in ("13 reproduced", "2 reproduced", "2 deviates", "16 not comparable", "16 not run"):
        assert f">{chip}<" in text


def test_a_figure_on_the_page_is_its_file_whose_words_are_text(report):
    svg = (report.parent.parent / "figures" / "invented_spectrum.svg").read_text()
    page = report.with_name("invented.html").read_text()
    on_page = {attrs["src"] for attrs in Elements(page).all("img") if "svg" in attrs["src"][:20]}
    shown, kept = (
        [(part.tag, part.attrib, part.text) for part in ElementTree.fromstring(text).iter()]
        for text in (base64.b64decode(on_page.pop().partition(",")[2]).decode(), svg)
    )
    assert not on_page and shown == kept
    assert '<a href="../tables/invented_spectrum.csv">The numbers in this figure (CSV)</a>' in page
    assert any("Scale: demo" in (text or "") for tag, _, text in kept if tag.endswith("text"))


def test_every_link_leads_somewhere(report):
    pages = {name: Elements(report.with_name(name).read_text()) for name in ("index.html", "invented.html")}
    ids = {name: Counter(attrs["id"] for _, attrs in its.found if "id" in attrs) for name, its in pages.items()}
    assert all(max(its.values()) == 1 for its in ids.values())
    missing, crossed = [], set()
    for name, elements in pages.items():
        for attrs in elements.all("a"):
            path, _, aim = attrs["href"].partition("#")
            if aim:
                assert aim in ids[path or name], attrs["href"]
            if path and not (report.parent / path).exists():
                missing.append(path)
            crossed.add((name, path, aim))
    assert all(path.endswith("record.json") for path in missing)  # the fixture wrote one record of eight
    assert "../runs/digits-unit/eigenpro/gaussian-0/record.json" not in missing
    of_targets = {path for name, path, aim in crossed if name == "index.html" and aim.startswith("invented_")}
    assert of_targets == {"invented.html"} and ("invented.html", "index.html", "") in crossed


def test_the_page_can_be_read_by_a_machine_for_those_who_do_not_see_it(each):
    elements = Elements(each.read_text())
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


def described(csv_path, change):
    """Change the description of the table."""
    meta = csv_path.with_suffix(".json")
    meta.write_text(json.dumps(change(json.loads(meta.read_text()))))


def test_a_page_beside_which_nothing_is_printed_has_no_cards_and_no_script_and_is_the_same_again(tmp_path):
    csv_path = report_example.error_table(tmp_path)
    printed = {"paper", "source", "citation"}
    described(csv_path, lambda meta: {key: meta[key] for key in meta.keys() - printed})
    texts = []
    for name in ("own.html", "again.html"):
        page.write([(csv_path, None)], tmp_path / name)
        texts.append((tmp_path / name).read_text())
    elements = Elements(texts[0])
    assert not elements.all("script", "form") and "script-src" not in texts[0] and 'class="card"' not in texts[0]
    assert 'id="invented_errors"' in texts[0] and texts[0] == texts[1]


def test_a_card_with_a_figure_shows_a_small_one_and_another_shows_values(report):
    elements = Elements(report.read_text())
    [thumbnail] = [attrs["src"] for attrs in elements.all("img") if "loading" in attrs]
    with Image.open(io.BytesIO(base64.b64decode(thumbnail.partition(",")[2]))) as image:
        assert image.width <= page.WIDTH and image.height <= page.HEIGHT and len(image.getcolors()) > 4
    small = re.search(r'<table class="small">.*?</table>', report.read_text(), re.S).group()
    assert re.findall(r"<td[^>]*>(.*?)</td>", small)[:2] == ["1.8\u00a0%", "1.91\u00a0%"]


@pytest.mark.parametrize("verdict, mean, said", [("not run", "", "No results"), ("measured", "0.4", "Measured; the")])
def test_a_card_without_values_says_whether_anything_was_measured(tmp_path, verdict, mean, said):
    csv_path = report_example.error_table(tmp_path)
    row = read_rows(csv_path)[0].as_text() | {"published": "", "measured_sd": "", "setting": ""}
    row |= {"verdict": verdict, "measured_mean": mean, "reason": "", "evidence": ""}
    write_rows(csv_path, [Row.from_text(row)])
    described(csv_path, lambda meta: meta | {"layout": {"rows": ["method"], "columns": ["metric"]}})
    page.write([(csv_path, None)], tmp_path / "index.html")
    assert f'<p class="silent">{said}' in (tmp_path / "index.html").read_text()
