"""What `make lint` checks by programs of the project: each planted fault ends in one sentence that names its place."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / ".ci"))

import links  # noqa: E402
import plain_words  # noqa: E402
import stale_pages  # noqa: E402

SENTENCE = "A solver takes steps until the error on the validation rows no longer falls.\n"


@pytest.fixture
def project(tmp_path):
    """A repository of one page, and a function that runs a check of it: its exit code and its lines."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    def checked(check, page, name="docs/page.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(page, encoding="utf-8")
        subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
        where = ["--root", tmp_path] if check == "plain_words" else [tmp_path]
        command = [sys.executable, ROOT / ".ci" / f"{check}.py", *where]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stderr.splitlines()

    return checked


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (200 * SENTENCE, None),
        (200 * SENTENCE + "`regularisation`, `K.centre` and n_centres=2 are names that stay.\n", None),
        (
            200 * SENTENCE + "The centers are centred by hand.\n",
            "docs/page.md:201: British 'centred': write 'centered'.",
        ),
        (200 * SENTENCE + "So it normalises the\n", "docs/page.md:201: British 'normalises': write 'normalizes'."),
        (200 * SENTENCE + 2 * "This tells us nothing.\n", None),
        (
            200 * SENTENCE + 3 * "This tells us nothing.\n",
            "The documentation has 1.15 idioms in a thousand words, the limit is 0.8: "
            "python .ci/plain_words.py --show docs/",
        ),
    ],
    ids=["plain", "names", "British", "verb", "few idioms", "idioms"],
)
def test_british_words_and_many_idioms_are_refused(project, page, sentence):
    code, lines = project("plain_words", page)
    assert (code, lines) == ((1, [sentence]) if sentence else (0, []))


def test_words_are_read_in_comments_strings_and_names_of_functions():
    text = '"""Read whatever there is."""\nx = f"beside {x}"  # stands\n\n\ndef _told():\n    whatever = 1\n'
    lines = list(plain_words.prose("a.py", text))
    assert [word for _, word, _ in plain_words.idioms(lines)] == ["whatever", "beside", "stands"]
    assert [(number, name) for number, name, _ in plain_words.bad_names(text)] == [(5, "def _told")]


@pytest.mark.parametrize(
    ("word", "american"),
    [
        *(("colours", "colors"), ("neighbouring", "neighboring"), ("Regularisation", "Regularization")),
        *(("uncentred", "uncentered"), ("labelled", "labeled"), ("analysed", "analyzed"), ("greyscale", "grayscale")),
        *(
            (word, word)
            for word in ("raised", "promise", "likewise", "precise", "noises", "hours", "sources", "analyses")
        ),
    ],
)
def test_american_words_are_left_alone(word, american):
    assert plain_words.to_american(word) == american


@pytest.mark.parametrize(
    ("name", "page", "wrong"),
    [
        ("docs/page.md", "# A page\n[here](#a-page) [it](page.md) [web](https://example.org) `[no](x.md)`\n", None),
        ("docs/page.md", "[gone](other.md)\n", "the link 'other.md' leads to no file."),
        ("docs/page.md", "# A page\n[gone](#b-page)\n", "the link '#b-page' leads to no heading of docs/page.md."),
        ("docs/page.md", "```{toctree}\n:hidden:\n\npage\nother\n```\n", "the link 'other' leads to no file."),
        ("docs/page.rst", ":doc:`page`\n\n.. toctree::\n   :hidden:\n\n   page\n   _pages/x\n", None),
        ("docs/page.rst", ".. toctree::\n   :hidden:\n\n   page\n   other\n", "the link 'other' leads to no file."),
        ("docs/page.rst", "See :doc:`the other <other>`.\n", "the link 'other' leads to no file."),
        ("docs/page.rst", ".. image:: other.png\n", "the link 'other.png' leads to no file."),
    ],
)
def test_links_that_lead_nowhere_are_refused(project, name, page, wrong):
    code, lines = project("links", page, name)
    assert (code, lines) == ((1, [f"{name}: {wrong}"]) if wrong else (0, []))


def test_a_stale_page_is_named_with_its_command(tmp_path):
    command = "-c open(__import__('sys').argv[1],'w').write('1\\n') {}/page.md"
    (tmp_path / "page.md").write_text("1\n")
    assert list(stale_pages.stale(tmp_path, [command])) == []
    (tmp_path / "page.md").write_text("2\n")
    (sentence,) = stale_pages.stale(tmp_path, [command])
    assert sentence.startswith("page.md is stale. Write it again: .venv/bin/python -c ")
    assert sentence.endswith(" ./page.md")


def test_the_project_passes_its_own_checks_of_links():
    assert links.main(ROOT) is None


def test_the_time_limits_of_continuous_integration_are_at_most_80_minutes():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (minutes,) = re.findall(r"limit=\$\(\((\d+) \* 60 - SECONDS - \$1\)\)", script)
    assert int(minutes) <= 78  # A step has a minute at least, also where none is left.
    # Each step leaves time for later steps, and for the release check, which has its own limit.
    kept = [int(seconds) for seconds in re.findall(r"^ *step (\d+) ", script, re.MULTILINE)]
    (of_release,) = re.findall(r"timeout --kill-after=30 (\d+) \S+ \S+release_check", script)
    assert kept == sorted({*kept}, reverse=True) and kept[-1] == 0
    assert int(of_release) < kept[2] - kept[3]


FAILING = """
import pytest
from shallows import kernels
from shallows.streams import integers

@pytest.mark.parametrize("kernel", [kernels.Gaussian])
def test_fails(kernel):
    integers, print
    assert kernel is None
"""


def test_a_failing_test_names_the_source_files(tmp_path):
    (tmp_path / "test_failing.py").write_text(FAILING, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", tmp_path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "tests", env=environment)
    part = done.stdout.partition(" Source files to look at ")[2]
    assert re.findall(r"^src/\S+$", part, re.MULTILINE) == ["src/shallows/kernels/radial.py", "src/shallows/streams.py"]
