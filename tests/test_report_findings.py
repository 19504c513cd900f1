import re

import pytest

from own_plan import own_plan
from shallows.errors import ShallowsError
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.report import page
from workflow_runs import PROJECT

TEXTS = sorted((PROJECT / "config" / "papers").glob("*/findings.md"))


@pytest.fixture
def text(tmp_path):
    def write(content):
        path = tmp_path / "findings.md"
        path.write_text(content, encoding="utf-8")
        return path

    return write


def test_the_name_of_a_target_becomes_a_link_with_its_verdicts(text):
    path = text("See `some_table` and `another_name`.\n")
    kinds = {"number": {Verdict.REPRODUCED: (2, 0), Verdict.NOT_RUN: (1, 0)}, "order": {Verdict.REPRODUCED: (1, 1)}}
    made = page.render(path, {"some_table": {"kinds": kinds, "page": "paper.html"}})
    assert '<a href="paper.html#some_table"><code>some_table</code></a>' in made
    assert "(3 reproduced, 1 not run)" in made
    assert "<code>another_name</code>" in made and "#another_name" not in made


def test_markup_that_is_wrong_is_told_with_its_place(text):
    with pytest.raises(ShallowsError, match=r"findings\.md.*Markdown"):
        page.render(text("A *word that never ends\n"), {})


def test_headings_formulas_and_links_are_those_of_markdown(text):
    made = page.render(text("# Title\n\n## Part\n\n- It has $\\sqrt{a_1}$ and a [page](a.html).\n"), {})
    assert "<h3>Title</h3>" in made and "<h4>Part" in made
    assert "<msqrt>" in made and '<a class="reference external" href="a.html">page</a>' in made


def test_a_text_can_bring_in_no_html_and_no_file(text):
    with pytest.raises(ShallowsError):
        page.render(text(".. raw:: html\n\n   <script>1</script>\n"), {})
    with pytest.raises(ShallowsError):
        page.render(text(".. include:: /etc/hostname\n"), {})


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.parent.name)
def test_the_findings_name_targets_that_stand(path):
    known = own_plan().targets
    named = set(re.findall(r"`([a-z0-9_]+)`", path.read_text(encoding="utf-8")))
    assert named and named <= set(known)
    made = page.render(path, {name: {"kinds": {}, "page": ""} for name in known})
    assert all(f'href="#{name}"' in made for name in named)
