"""The report under the hands of a reader: typing, clicking, keys alone, no JavaScript, dark, narrow, printed."""

import pytest

import report_example
from headless_browser import CHROMIUM, Browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]

SHOWN = "[...document.querySelectorAll({selector!r})].filter(one => one.checkVisibility()).map(one => {value})"
CARDS = SHOWN.format(selector=".card", value="one.id")
SECTIONS = SHOWN.format(selector="section.target", value="one.querySelector('h2').id")
STATUS = "document.getElementById('shown').textContent"
BOTH = ["invented_errors", "invented_spectrum"]

# The least contrast of a text with its ground, with the text: of all that is visible, each by its own size and weight.
POOR = """(() => {
  const parts = color => [...color.match(/[\\d.]+/g).map(Number), 1].slice(0, 4);
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = color => color.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = one => one === null
    ? parts(getComputedStyle(document.body).backgroundColor)
    : over(parts(getComputedStyle(one).backgroundColor), ground(one.parentElement));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || !one.checkVisibility() || ["SCRIPT", "STYLE"].includes(one.tagName)) continue;
    const style = getComputedStyle(one), size = parseFloat(style.fontSize);
    const below = ground(one), ink = over(parts(style.color), below);
    const [a, b] = [light(ink), light(below)].sort((x, y) => y - x);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    found.push({text, ratio: (a + 0.05) / (b + 0.05), needed: large ? 3 : 4.5});
  }
  return {n: found.length, poor: found.filter(one => one.ratio < one.needed)};
})()"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return report_example.page_of_the_session(tmp_path_factory)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
def page(browser, report):
    """The first page, freshly opened in a wide window; nothing may complain or ask the network."""
    browser.complaints.clear()
    browser.look(width=1400)
    browser.open(report)
    yield browser
    assert browser.complaints == []


@pytest.fixture(params=["index.html", "invented.html"])
def each(page, report, request):
    """The first page, and that of a paper."""
    page.open(report.with_name(request.param))
    return page


def test_what_is_typed_narrows_the_cards_letter_by_letter(page):
    assert page.ask(CARDS) == BOTH
    assert page.ask(STATUS) == "All 2 targets are shown."
    page.click("#filter input")
    page.type("table 0")
    assert page.ask(CARDS) == ["invented_errors"]
    assert page.ask(STATUS) == "1 of 2 targets are shown."
    page.type(" x")
    assert page.ask(CARDS) == [] and page.ask(SHOWN.format(selector=".paper", value="1")) == []


def test_words_are_sought_in_any_order_and_case_and_in_what_a_card_does_not_show(page):
    page.click("#filter input")
    page.type("EIGENPRO invented")  # a method, which only the table names
    assert page.ask(CARDS) == ["invented_errors"]


@pytest.mark.parametrize(
    ("kind", "verdict", "left"),
    [
        ("n", "", ["invented_errors"]),
        ("o", "", ["invented_spectrum"]),
        ("", "r", BOTH),
        ("", "d", ["invented_errors"]),
        ("o", "d", []),  # the one that deviates is a number
    ],
)
def test_kind_and_verdict_are_chosen_by_keys_and_hold_for_one_item_together(page, kind, verdict, left):
    for name, key in (("kind", kind), ("verdict", verdict)):
        if key:
            page.ask(f"document.querySelector('[name={name}]').focus()")
            page.press(key)
    assert page.ask(CARDS) == left


def test_a_count_of_the_verdicts_leads_to_its_targets_and_a_button_back_to_all(page):
    page.click("a[data-kind=order][data-verdict=reproduced]")
    assert page.ask(CARDS) == ["invented_spectrum"] and page.ask("location.hash") == "#targets"
    chosen = page.ask("[...document.querySelectorAll('#filter select')].map(one => one.value)")
    assert chosen == ["", "order", "reproduced", ""]
    page.click("#filter button")
    assert page.ask(CARDS) == BOTH


def test_a_card_leads_to_its_target_by_a_click_anywhere_or_a_key_and_a_folded_table_opens(page, report):
    page.follow(lambda: page.click("#invented_spectrum > img"))
    assert page.ask("location.pathname + location.hash").endswith("/invented.html#invented_spectrum")
    assert abs(page.ask("document.getElementById('invented_spectrum').getBoundingClientRect().top")) < 100
    page.open(report)
    page.ask("document.querySelector('#invented_errors a').focus()")
    page.follow(lambda: page.press("Enter"))
    assert page.ask("location.hash") == "#invented_errors"
    folded = "document.querySelector('details.part table').checkVisibility()"
    assert page.ask(folded) is False
    page.click("details.part > summary")
    assert page.ask(folded) is True


def test_keys_alone_reach_everything_and_show_where_they_are(each):
    page, reached = each, []
    page.ask("scrollTo(0, 0)")
    for _ in range(200):
        page.press("Tab")
        one = page.ask(
            """(() => { const one = document.activeElement; if (one === document.body) return null;
            const card = one.closest(".card"), style = getComputedStyle(card || one);
            return [one.tagName, one.getAttribute("href") || one.name || one.className, style.outlineStyle]; })()"""
        )
        if one is None:
            break
        reached.append(one)
    assert all(outline != "none" for _, _, outline in reached)
    names = [name for _, name, _ in reached]
    if page.ask("location.pathname").endswith("index.html"):
        wanted = ["invented.html", "words", "paper", "kind", "verdict", "invented.html#invented_spectrum"]
    else:
        wanted = ["index.html", "#invented_errors"]
    assert [name for name in wanted if name not in names] == []
    everything = page.ask("document.querySelectorAll('a, input, select, button, summary, .scroll').length")
    closed = "details:not([open])"
    inside = page.ask(f"document.querySelectorAll('{closed} > :not(summary) a, {closed} .scroll').length")
    assert len(reached) >= everything - inside - 3


def test_without_javascript_all_is_there_but_the_filter(browser, report):
    browser.complaints.clear()
    browser.look(width=1400, script=False)
    try:
        browser.open(report)
        browser.call("Emulation.setScriptExecutionDisabled", value=False)  # for the questions alone: nothing was run
        assert browser.ask("document.getElementById('filter').checkVisibility()") is False
        assert browser.ask(CARDS) == BOTH
        browser.look(width=1400, script=False)
        browser.open(report.with_name("invented.html"))
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
        assert browser.ask(SECTIONS) == BOTH
    finally:
        browser.look(width=1400)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_its_ground(each, dark):
    page = each
    page.look(width=1400, dark=dark)
    page.ask("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    ground = "rgb(22, 24, 26)" if dark else "rgb(255, 255, 255)"
    assert page.ask("getComputedStyle(document.body).backgroundColor") == ground
    found = page.ask(POOR)
    assert found["n"] > 100 and found["poor"] == []  # WCAG 2.2 AA, contrast (minimum)
    page.ask("document.querySelector('td').style.color = '#999999'")
    assert len(page.ask(POOR)["poor"]) > 0 or dark  # the measure sees a pale text


@pytest.mark.parametrize("width", [320, 700, 1000, 2200])
def test_the_page_is_no_wider_than_its_window_and_all_pictures_are_there(each, width):
    page = each
    page.look(width=width)
    assert page.ask("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('body *:not(.scroll *)')].filter(one => one.checkVisibility())"
    assert page.ask(f"{wide}.filter(one => one.getBoundingClientRect().right > {width} + 1).length") == 0
    assert page.ask("[...document.images].every(one => one.naturalWidth > 0)") is True


def test_on_paper_the_filter_is_gone_and_what_was_folded_is_open(each, tmp_path):
    page = each
    page.look(width=800, media="print")
    if page.ask("location.pathname").endswith("index.html"):
        assert page.ask("document.getElementById('filter').checkVisibility()") is False
    else:
        assert page.ask("document.querySelector('details.part table').getBoundingClientRect().height") > 50
    assert page.ask("document.documentElement.scrollWidth") <= 800  # no table is cut off at the edge of the paper
    assert page.printed(tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
