"""docs/extending.md followed to the letter: its files and lines go into a copy of the project, where they must work."""

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from shallows_papers.experiments.planning import target_entry
from workflow_runs import PROJECT, copy_project, environment, snakemake

TEXT = (PROJECT / "docs" / "extending.md").read_text(encoding="utf-8")
#: (language, file, content) of every code block that names its file in the first line.
BLOCKS = re.findall(r"^```(\w+)\n# (\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
#: (example, place) of every row of the table that says where a worked example goes.
PLACES = re.findall(r"^\| .*?`(tests/example_new_\S+)` \| `(\S+)` \|$", TEXT, re.MULTILINE)


def patched(name, text, diff):
    """A text with the lines of a diff added and taken away; the places are found by the lines that stay, in order."""
    lines, at = text.splitlines(), 0
    for line in diff.splitlines():
        kind, content = line[:1], line[1:]
        if kind == "+":
            lines.insert(at, content)
        else:
            assert content in lines[at:], f"{name} has no line {content!r} there"
            at = lines.index(content, at)
        if kind == "-":
            del lines[at]
        else:
            at += 1
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with everything in it that the page adds."""
    root = copy_project(tmp_path_factory.mktemp("project"))
    for folder in ("docs", "tests"):
        shutil.copytree(PROJECT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for example, place in PLACES:
        assert not (root / place).exists(), f"{place} is there already"
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT / example, root / place)
    for language, name, content in BLOCKS:
        path = root / name
        if language == "diff":
            path.write_text(patched(name, path.read_text(encoding="utf-8"), content), encoding="utf-8")
        else:
            assert not path.exists(), f"{name} is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    return root


def run(root, code):
    """What Python prints in a copy of the project."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environment(root), capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr + done.stdout[-4000:]
    return done.stdout


def rows(project, target):
    with open(project / f"results/demo/tables/{target}.csv", newline="", encoding="utf-8") as stream:
        return {(row["metric"], row["setting"]): row for row in csv.DictReader(stream)}


def test_the_page_has_every_example_there_is():
    examples = {f"tests/{path.name}" for path in (PROJECT / "tests").glob("example_new_*")}
    assert {example for example, _ in PLACES} == examples
    assert {language for language, _, _ in BLOCKS} == {"csv", "diff", "python", "yaml"}


def test_a_target_of_a_known_kind_needs_no_python():
    section = TEXT.partition("## A target of a known kind")[2].partition("\n## ")[0]
    assert re.findall(r"^```(\w+)$", section, re.MULTILINE) == ["csv"]
    claim = yaml.safe_load(re.search(r"`(\{metric: test_error, of:.*?\})`", section)[1])
    claim |= {"label": "ahead", "evidence": "order", "fixed": "first commit"}
    runs = {"data": {}, "runs": [{"marks": [1, 5]}]}
    spec = {
        "metrics": {},
        "claims": {"ahead": claim},
        "methods": {"A": {}, "B": {}},
        "settings": {},
        "scales": {"demo": runs},
    }
    target_entry.check("toy", spec)
    assert all(place.startswith("config/papers/") for example, place in PLACES if example.endswith("target.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("what", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_what_the_page_adds_keeps_the_rules_of_the_project(project, what):
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed")
    changed = {name for _, name, *_ in [*BLOCKS, *((None, place) for _, place in PLACES)] if name.endswith(".py")}
    done = subprocess.run([ruff, *what, *changed], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


KERNEL_AND_MAP = """
import numpy as np
from shallows import FeatureRidgeClassifier, KernelRidgeClassifier, kernels
from shallows.kernel_approximation import RectifiedUnitFeatures
x = np.random.default_rng(0).normal(size=(60, 3))
K = kernels.make("rational_quadratic", 1.5, order=2)(x, x)
assert np.abs(K - (1 + ((x[:, None] - x[None]) ** 2).sum(axis=2) / (4 * 1.5**2)) ** -2).max() < 1e-13
assert np.linalg.eigvalsh(K).min() > 0
z = RectifiedUnitFeatures(n_features=100_000, bandwidth=2.0, random_state=0).fit_transform(x)
inputs = np.hstack([(x - x.mean(axis=0)) / 2.0, np.ones((60, 1))])
error = np.abs(z @ z.T - kernels.ArcCosine(order=1)(inputs, inputs))
assert (error / np.outer(*2 * [np.linalg.norm(inputs, axis=1)])).max() < 0.05
y = x[:, 0] > 0
model = KernelRidgeClassifier(kernel=kernels.RationalQuadratic(bandwidth=1.0, order=2), solver="eigenpro")
of_map = [FeatureRidgeClassifier("rectified_units", solver=one) for one in ("auto", "feature_eigenpro")]
print(*(one.fit(x, y).score(x, y) for one in (model, *of_map)))
"""


@pytest.mark.slow
def test_the_kernel_and_the_feature_map_are_known_by_their_names(project):
    assert min(map(float, run(project, KERNEL_AND_MAP).split())) > 0.9


#: Tests of the project that read its tables of names, pages and configuration, and that the additions must not break.
OF_TABLES = (
    "tests/test_datasets_synthetic.py",
    "tests/test_docs.py::test_every_class_is_in_the_table_of_all_classes",
    "tests/test_docs.py::test_the_method_guide_names_the_file_of_every_solver",
    "tests/test_experiments_measures.py::test_a_run_depends_on_its_own_measure_and_on_no_other",
    "tests/test_experiments_measures.py::test_the_schema_knows_the_measures_of_the_registry_and_the_configuration_uses_no_others",
    "tests/test_feature_specifications.py::test_every_map_has_a_transformer_of_the_same_name",
    "tests/test_golden.py::test_every_case_is_recorded_and_no_other",
    "tests/test_golden.py::test_small_fits_give_the_numbers_that_were_recorded[RectifiedUnitFeatures]",
    "tests/test_name_tables.py",
    "tests/test_random_features.py::test_impossible_parameters_are_refused",
    "tests/test_rooms.py",
    "tests/test_types.py::test_type_checkers_see_every_public_name",
)


RECORD_NEW = """
import runpy, sys
sys.argv = ["tests/golden/recording.py", "record", "--new"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
def test_the_tests_of_the_page_and_of_the_tables_pass(project):
    assert "RectifiedUnitFeatures" in run(project, RECORD_NEW)
    places = {*(name for _, name, _ in BLOCKS), *(place for _, place in PLACES)}
    tests = sorted({name for name in places if name.startswith("tests/test_")} - {*OF_TABLES})
    options = ["-q", "-p", "no:cacheprovider", *tests, *OF_TABLES]
    assert "passed" in run(project, f"import pytest; raise SystemExit(pytest.main({options}))")


@pytest.mark.workflow
def test_the_targets_of_the_page_are_made(project):
    """The one of a known kind and the one of a new kind, from generated and from embedded data to table and picture."""
    done = snakemake(project, "--cores", "2", "example_features", "moons_alignment")
    assert done.returncode == 0, done.stdout
    assert rows(project, "example_features")["test_error", "features=256; iterations=400"]["verdict"] == "undecided"
    found = rows(project, "moons_alignment")
    assert found["best", ""]["verdict"].startswith("reproduced") and ("alignment", "bandwidth=0.5") in found
    for target in ("example_features", "moons_alignment"):
        assert (project / f"results/demo/figures/{target}.svg").stat().st_size > 1000


@pytest.mark.workflow
def test_the_new_method_is_planned_where_a_target_names_it(project):
    paper = yaml.safe_load((project / "config/papers/example/targets.yaml").read_text(encoding="utf-8"))
    target = paper["targets"].pop("example_features")
    target["methods"] = {"r-Pegasos": {"method": "averaged_sgd", "parameters": {"solver__batch_size": 64}}}
    del target["metrics"]["iterations_needed"]
    again = {**paper, "paper": "again", "targets": {"example_again": target}}
    place = project / "config/papers/again/targets.yaml"
    place.parent.mkdir()
    place.write_text(yaml.safe_dump(again), encoding="utf-8")
    try:
        done = snakemake(project, "-n", "--cores", "1", "example_again")
    finally:
        place.unlink()
    assert done.returncode == 0, done.stdout
    assert "/averaged_sgd/" in done.stdout and "_pegasos/" not in done.stdout
