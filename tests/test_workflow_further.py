"""A variant that continues another one: prepared from its arrays, and again whenever they are."""

import json
import re
import shutil

import pytest
import yaml

from workflow_runs import copy_project, snakemake

pytestmark = pytest.mark.workflow
SMALL = ("--config", "configuration=.test/config")
FIRST, SECOND = (f"data/prepared/mnist_demo/{name}" for name in ("first", "second"))


def write_steps(root, first):
    path = root / ".test" / "config" / "datasets.yaml"
    content = yaml.safe_load(path.read_text())
    content["variants"]["first"] = {"title": "", "steps": first}
    content["variants"]["second"] = {"title": "", "after": "first", "steps": [{"pca": {"n_components": 5}}]}
    path.write_text(yaml.safe_dump(content))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = copy_project(tmp_path_factory.mktemp("further"))
    write_steps(root, [{"subset": {"n_train": 200}}, {"unit": {}}])
    return root


def planned(root, *arguments):
    """Inputs and outputs of the preparations that a dry run plans."""
    done = snakemake(root, "-n", "--cores", "1", *arguments, *SMALL)
    assert done.returncode == 0, done.stdout
    return sorted(re.findall(r"^ *rule prepare:\n +input: (\S+).*\n +output: (\S+)$", done.stdout, re.MULTILINE))


def test_the_second_is_planned_from_the_arrays_of_the_first_which_does_not_need_it(project):
    first = ("data/raw/mnist_demo/verified.json", FIRST)
    assert planned(project, SECOND) == [(FIRST, SECOND), first]
    assert planned(project, FIRST) == [first]


def test_the_second_is_made_of_the_first_and_anew_when_the_first_changes(project):
    def sizes():
        done = snakemake(project, "--cores", "1", SECOND, *SMALL)
        assert done.returncode == 0, done.stdout
        return [(told["n_train"], told["n_features"]) for told in map(record, (FIRST, SECOND))]

    def record(path):
        return json.loads((project / path / "prepared.json").read_text())

    assert sizes() == [(200, 784), (200, 5)]
    assert record(SECOND)["after"]["sha256"] == record(FIRST)["sha256"]
    assert planned(project, SECOND) == []
    write_steps(project, [{"subset": {"n_train": 150}}, {"unit": {}}])
    assert [output for _, output in planned(project, SECOND)] == [SECOND, FIRST]
    assert sizes() == [(150, 784), (150, 5)]
    assert record(SECOND)["after"]["sha256"] == record(FIRST)["sha256"]


@pytest.mark.skipif(shutil.which("rsync") is None, reason="the storage plugin for file systems needs rsync")
def test_a_target_is_made_where_all_files_are_kept_in_a_storage(tmp_path):
    pytest.importorskip("snakemake_storage_plugin_fs")
    root = copy_project(tmp_path)
    kept = ("--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "kept"))
    table = "results/demo/tables/small_table.csv"
    done = snakemake(root, "--cores", "1", table, *kept, *SMALL)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "kept" / table).stat().st_size > 0
    assert list((tmp_path / "kept").rglob("x_train.npy")) and not (root / table).exists()
