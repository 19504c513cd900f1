"""The workflow used from another one, and with another configuration."""

import pytest
import yaml

from workflow_runs import PROJECT, copy_project, snakemake

pytestmark = pytest.mark.workflow

#: Another workflow, which counts the lines of one of our tables.
ANOTHER = """
module shallows:
    snakefile:
        "{project}/workflow/Snakefile"
    config:
        {{"scale": "demo", "configuration": "{project}/.test/config", "results": "out"}}


use rule * from shallows as shallows_*


rule mine:
    default_target: True
    input:
        "out/demo/tables/small_table.csv",
    output:
        "mine.txt",
    shell:
        "wc -l < {{input}} > {{output}}"
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("project"))


def in_folder(project, folder, *arguments):
    """Run from a folder, with the code of the copy."""
    return snakemake(project, "--directory", str(folder), *arguments)


def test_another_workflow_uses_this_one_as_a_module_with_its_own_configuration(project, tmp_path):
    (tmp_path / "Snakefile").write_text(ANOTHER.format(project=project))
    done = in_folder(project, tmp_path, "--snakefile", str(tmp_path / "Snakefile"), "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert "rule shallows_train:" in done.stdout and "rule shallows_tabulate:" in done.stdout
    assert int((tmp_path / "mine.txt").read_text()) == 4  # a heading, and one line an evaluation point
    assert not (project / "results").exists()


def test_another_workflow_with_a_wrong_setting_is_told_which(project, tmp_path):
    (tmp_path / "Snakefile").write_text(ANOTHER.format(project=project).replace('"scale"', '"sclae"'))
    done = in_folder(project, tmp_path, "--snakefile", str(tmp_path / "Snakefile"), "-n", "--cores", "1")
    assert done.returncode != 0 and "Did you mean 'scale'?" in done.stdout


def test_the_catalogue_of_workflows_finds_what_it_looks_for():
    usage = yaml.safe_load((PROJECT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"software-stack-deployment", "report"}
    for name in ("workflow/Snakefile", "config/README.md", "config/config.yaml", ".test/config/config.yaml", "LICENSE"):
        assert (PROJECT / name).is_file(), name
