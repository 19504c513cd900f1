"""A release: one version everywhere, and an archive that serves in an empty environment away from the repository."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import shallows
from shallows_papers import cli

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / ".ci" / "release_check.py"


def test_the_package_the_project_and_the_newest_entry_of_the_changes_name_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    newest = re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert shallows.__version__ == project["version"] == newest[1]


def test_the_author_is_the_same_everywhere_and_nothing_is_left_to_fill_in():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    codemeta = json.loads((ROOT / "codemeta.json").read_text())
    paper = yaml.safe_load((ROOT / "paper" / "paper.md").read_text().split("---")[1])
    (author,) = project["authors"]
    assert [author] == citation["authors"] == [{"name": one["name"]} for one in codemeta["author"]]
    assert {one["name"] for key in ("authors", "affiliations") for one in paper[key]} == {author["name"]}
    assert citation["version"] == codemeta["version"] == project["version"]
    for name in ("CITATION.cff", "codemeta.json", "pyproject.toml", "paper/paper.md", "README.md", "CHANGELOG.md"):
        assert not re.search(r"to be named|\bTODO\b|placeholder|@example", (ROOT / name).read_text(), re.IGNORECASE), (
            name
        )


def test_the_page_on_what_is_stable_is_linked_and_names_rooms_that_exist():
    assert "docs/stability.md" in (ROOT / "README.md").read_text()
    named = re.findall(r"`(?:shallows(?:_papers)?\.)?([a-z]+)`", (ROOT / "docs" / "stability.md").read_text())
    rooms = {path.stem for package in ("shallows", "shallows_papers") for path in (ROOT / "src" / package).iterdir()}
    assert {"solvers", "gram", "training", "papers", "experiments", "report"} <= set(named) & rooms


def test_the_page_on_what_is_stable_names_the_commands_that_there_are():
    (commands,) = re.findall(
        r"\| command line \| `shallows data ([a-z, ]+)`", (ROOT / "docs" / "stability.md").read_text()
    )
    for command in commands.split(", "):
        with pytest.raises(SystemExit) as end:
            cli.main(["data", command, "--help"])
        assert end.value.code == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_release_serves_in_an_empty_environment():
    done = subprocess.run([sys.executable, str(SCRIPT), "--offline"], capture_output=True, text=True, cwd=ROOT)
    if done.returncode == 3:
        pytest.skip("the locked packages are in no local cache: make release-check takes them from the network")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the release is sound" in done.stdout


def test_the_check_of_a_release_notices_a_module_that_cannot_be_imported(tmp_path):
    spec = importlib.util.spec_from_file_location("release_check", SCRIPT)
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    package = tmp_path / "shallows"
    for folder in (package, tmp_path / "shallows_papers"):
        folder.mkdir()
        (folder / "__init__.py").write_text("__all__ = []\n")
    (package / "errors.py").write_text("class MissingExtraError(Exception): pass\n")
    code = check.IMPORTS.replace("sys.prefix", repr(str(tmp_path)))
    assert "1 modules" in check.run([sys.executable, "-c", code], tmp_path)
    (package / "extra.py").write_text("raise ImportError(name='torch')\n")
    assert "1 modules for want of an extra" in check.run([sys.executable, "-c", code], tmp_path)
    (package / "broken.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(SystemExit, match="nothing_of_this_name"):
        check.run([sys.executable, "-c", code], tmp_path)
