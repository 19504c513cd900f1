"""The book: its examples run, its generated pages are whole, and Sphinx builds it without a warning."""

import ast
import importlib
import os
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys

import numpy as np
import pytest
import yaml
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml

import shallows
from own_plan import own_plan
from shallows.arrays.devices import gpu_is_available
from shallows.errors import ShallowsError
from workflow_runs import PROJECT, copy_project, snakemake

DOCS = PROJECT / "docs"
TUTORIALS = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("tutorial", "first_figure"))


def blocks(language):
    """The code of each block of a language in the tutorials."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TUTORIALS, re.MULTILINE | re.DOTALL)


def commands():
    """Every command of the tutorials, as words."""
    return [
        shlex.split(line.removeprefix("$ "))
        for code in blocks("console")
        for line in code.splitlines()
        if line.startswith("$ ")
    ]


def test_every_block_of_the_tutorials_is_read_here():
    assert TUTORIALS.count("```") == 2 * sum(len(blocks(language)) for language in ("python", "console"))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_python_of_the_pitfalls_gives_what_its_comments_say():
    text, known = (DOCS / "common_pitfalls.md").read_text(encoding="utf-8"), {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        for part in ast.parse(code).body:
            line = ast.get_source_segment(code, part)
            said = re.search(re.escape(line) + r"  # ([^,\n]+(?:, \d\))?)", code)
            if not isinstance(part, ast.Expr):
                exec(line, known)
                continue
            value, expected = eval(line, known), ast.literal_eval(said[1])
            assert value == (pytest.approx(expected, abs=5e-3) if isinstance(expected, float) else expected), line
    assert text.index("## Columns in different units") == text.index("## ")
    assert "\ncommon_pitfalls\n" in (DOCS / "index.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_of_the_tutorial_prints_what_its_comments_say(tmp_path):
    # In its own process, as a reader has it: a budget of memory counts what the process holds.
    script = "".join(blocks("python"))
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", script, re.MULTILINE)
    assert (tmp_path / "digits.skops").exists()


def test_the_commands_of_the_tutorials_name_what_there_is():
    targets = own_plan().targets
    programs = set()
    for program, *words in commands():
        programs.add(program)
        for word in words:
            if found := re.fullmatch(r"(?:results/\w+/figures/)?([a-z]+_\w+)(?:\.svg)?", word):
                assert found[1] in targets
    assert programs == {".", "make", "pip", "snakemake", "shallows"}


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_commands_that_are_quick_run(capsys, monkeypatch):
    explained = re.findall(r"^\$ make explain TARGET=(\w+)$", TUTORIALS, re.MULTILINE)
    assert explained
    monkeypatch.chdir(PROJECT)
    for target in explained:
        monkeypatch.setattr(sys, "argv", ["explain", target])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("shallows_papers.experiments.planning.explain", run_name="__main__")
        assert ended.value.code == 0 and target in capsys.readouterr().out


@pytest.mark.workflow
@pytest.mark.slow
def test_snakemake_plans_the_jobs_of_the_commands(tmp_path):
    root = copy_project(tmp_path)
    for program, *words in commands():
        if program == "snakemake":
            done = snakemake(root, *words, "--dry-run")
            assert done.returncode == 0, done.stdout


def words_in(texts):
    """Lower-case words of three letters and more."""
    return {word for text in texts for word in re.findall(r"[a-zà-ÿ]{3,}", text.lower())}


def forms(word):
    """A word, and what it may be a plural or a participle of."""
    endings = (("ies", "y"), ("ices", "ex"), ("es", ""), ("s", ""), ("d", ""), ("ed", ""))
    return {word} | {word.removesuffix(ending) + other for ending, other in endings if word.endswith(ending)}


def report_words():
    """Words of the headings of columns, lines and axes of the report."""
    plan = own_plan()
    headings = [method["label"] for method in plan.configuration.methods.values()]
    for spec in plan.targets.values():
        measured = {**spec["metrics"], **spec.get("claims", {})}.values()
        headings += [*(one["label"] for one in measured), *spec["settings"], *spec["methods"]]
    return words_in(headings)


GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")


def test_an_entry_of_the_glossary_has_at_most_two_sentences():
    for entry in re.findall(r"^- (.+(?:\n  .+)*)$", GLOSSARY, re.MULTILINE):
        assert len(re.findall(r"\.(?= |$)", entry.replace("\n", " "))) <= 2, entry


def test_the_glossary_has_every_term_of_the_report_once():
    entries = re.findall(r"^- (\*\*.+?\*\*): (.+(?:\n  .+)*)$", GLOSSARY, re.MULTILINE)
    terms = [term for entry in entries for text in entry for term in re.findall(r"\*\*(.+?)\*\*", text)]
    assert len(terms) > 100 and not {term for term in terms if terms.count(term) > 1}
    known_words = {*(PROJECT / "tests" / "known_words.txt").read_text(encoding="utf-8").split()}
    assert not known_words & {*terms}, "explained, so not known"
    known = known_words | {form for word in words_in(terms) for form in forms(word)}
    words = report_words()
    assert {"bandwidth", "epochs"} <= words
    unknown = {word for word in words if not forms(word) & known}
    assert not unknown, (
        "explain these in docs/glossary.md, or add words that readers of a paper know to tests/known_words.txt"
    )


def test_the_method_guide_names_the_file_of_every_solver():
    guide = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "methods").glob("*.md"))
    solvers = [
        path.relative_to(PROJECT).as_posix()
        for path in (PROJECT / "src/shallows/solvers").rglob("*.py")
        if re.search(r"^    def step\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(solvers) >= 15
    assert [path for path in solvers if f"`{path}`" not in guide] == []
    for path in re.findall(r"`(src/[^`]+)`", guide):
        assert (PROJECT / path).exists(), path


sys.path.append(str(DOCS))
class_pages = importlib.import_module("class_pages")
pages = importlib.import_module("generated_pages")


def test_every_target_of_the_configuration_has_its_place_among_the_claims():
    text = "\n".join(pages.claim_pages(PROJECT).values())
    for target in own_plan().targets:
        assert text.count(f".. _target-{target}:") == 1


def test_every_family_and_module_has_a_place_in_the_reference():
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8").split()
    families = [f"../_pages/reference_{name}" for name in class_pages.ESTIMATORS]
    assert set(families) <= set(index)


def test_every_estimator_has_a_page_with_its_methods():
    made = class_pages.reference_pages()
    for name in class_pages.shallows_estimators():
        assert re.search(rf"shallows(\.\w+)?\.{name}\.fit", made[f"reference_{name}.rst"])


def test_every_class_is_in_the_table_of_all_classes():
    assert set(class_pages.by_hand(PROJECT)) == set(class_pages.shallows_estimators())
    page = class_pages.classes_page(PROJECT)
    assert all(page.count(f"<reference_{name}>") == 1 for name in class_pages.shallows_estimators())
    every = [getattr(shallows.estimators, name)() for name in class_pages.shallows_estimators()]
    assert all(one.__sklearn_tags__().input_tags.sparse for one in every), "the page says so"


@pytest.mark.skipif(gpu_is_available(), reason="asks for a GPU that is not there")
@pytest.mark.parametrize("name", class_pages.shallows_estimators())
def test_the_table_says_whether_a_class_can_use_a_gpu(name):
    estimator = getattr(shallows.estimators, name)(options=shallows.Options(device="gpu"))
    X = np.random.default_rng(0).normal(size=(40, 3))
    two_views = name in ("DoublyStochasticKernelSVD", "DoublyStochasticKernelCCA")
    try:
        estimator.fit(X, X if two_views else (X[:, 0] > 0).astype(int))
    except ImportError:  # what a GPU needs is missing, so that the fit would have used it
        needs_gpu = True
    except ShallowsError as error:
        needs_gpu = "CPU only" not in str(error)
    else:
        needs_gpu = False
    assert class_pages.can_use_gpu(PROJECT, name) == needs_gpu


def test_errata_are_numbered_once_and_name_targets_that_stand():
    targets, seen = own_plan().targets, []
    for document in pages.DOCUMENTS:
        for one in pages.read_errata(PROJECT, document):
            always = ("Where", "Printed", "Correct")
            assert one.parts in {always + rest for rest in ((), ("Why",), ("Shown by",), ("Why", "Shown by"))}, one.id
            assert bool(one.shown_by) == ("Shown by" in one.parts) and set(one.shown_by) <= set(targets), one.id
            seen.append(one.id)
    assert len(seen) == len(set(seen))
    assert {number[0] for number in seen} == set("EDCKLX")


def test_every_promise_is_held_by_tests_and_every_test_of_promises_stands_on_the_page():
    rows = [row for rows in pages.read_promises(PROJECT).values() for row in rows]
    files, named = pages.tests_by_name(PROJECT), {name for row in rows for name in row["tests"]}
    assert all(set(row) == {"who", "given", "then", "tests"} and row["tests"] for row in rows)
    assert named - set(files) == set()
    assert {name for name, file in files.items() if file.startswith("test_promises_")} - named == set()
    page = pages.promises_page(PROJECT)
    assert all(f"reference_{name}>" in page for name in class_pages.shallows_estimators())
    assert len(pages.symptoms(PROJECT)) == (PROJECT / "tests" / "test_public_reports.py").read_text().count(
        "\n@report("
    )


def formulas():
    """Every formula of the book, as (file, LaTeX)."""
    for path in [*DOCS.rglob("*.md"), *PROJECT.glob("config/papers/*/*.md")]:
        text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        displayed = re.findall(r"^ *\$\$\n(.*?)^ *\$\$$", text, re.MULTILINE | re.DOTALL)
        inline = re.findall(r"(?<![$\w])\$([^$\n]+)\$(?!\w)", text)
        yield from ((path.name, one) for one in (*inline, *displayed))


def test_every_method_that_the_papers_name_is_here_or_has_its_reason():
    kinds = yaml.safe_load((DOCS / "methods_of_the_papers.yaml").read_text(encoding="utf-8"))
    every = [one for rows in kinds.values() for one in rows]
    assert len({one["name"] for one in every}) == len(every) > 120
    for one in every:
        assert one.keys() <= {"name", "named_by", "here", "reported", "why_not"} and one["named_by"]
        assert one.get("here") or one.get("why_not"), one["name"]
        here_after_all = () if one.get("here") else {*re.findall(r"\w+", one["name"])} & {*shallows.solvers.SOLVERS}
        assert not here_after_all, f"methods_of_the_papers.yaml says why {here_after_all} is not here, but it is."
        for name in one.get("here", ()):
            assert callable(pkgutil.resolve_name(name)), name
        assert one.get("reported", "eigenpro_table5") in own_plan().targets


def test_every_formula_can_be_converted():
    assert len(list(formulas())) > 500
    for name, latex in formulas():
        try:
            assert "<math" in tex2mathml(latex)
        except MathError as error:
            pytest.fail(f"{name}: {latex!r}: {error}")


def test_every_erratum_that_the_configuration_names_is_explained():
    known = {one.id for document in pages.DOCUMENTS for one in pages.read_errata(PROJECT, document)}
    named = set()
    for path in [*(PROJECT / "config").rglob("*.yaml"), *(PROJECT / "config").rglob("*.md")]:
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"(?:erratum |errata |\()([EDCKLX]\d+)\b", text))
    assert named and named <= known


@pytest.mark.slow
def test_the_book_is_built_without_a_warning(tmp_path):
    pytest.importorskip("sphinx")
    for needed in ("numpydoc", "myst_parser", "furo"):
        pytest.importorskip(needed)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", str(DOCS), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(PROJECT / "src")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    made = {
        name: (tmp_path / "_pages" / name).read_text(encoding="utf-8")
        for name in ("reference_KernelRidgeClassifier.html", "errata_eigenpro.html", "findings_eigenpro.html")
    }
    assert "n_components" in made["reference_KernelRidgeClassifier.html"]
    assert "<math" in made["errata_eigenpro.html"]
    assert 'href="claims_eigenpro.html#target-eigenpro-table6"' in made["findings_eigenpro.html"]
    assert 'href="errata_eigenpro.html#erratum-e26"' in made["findings_eigenpro.html"]
