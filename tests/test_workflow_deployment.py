"""The workflow where Snakemake alone is installed: planned, linted, and deployed from a git address."""

import os
import re
import subprocess

import pytest

from workflow_runs import command, copy_project

pytestmark = pytest.mark.workflow

#: Makes a Python look as if neither this package nor what it needs were installed.
SNAKEMAKE_ALONE = """
import os, sys

HIDDEN = set("numpy scipy sklearn pandas numba matplotlib seaborn humanize filelock skops tqdm".split())


class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Hidden)
sys.path[:] = [one for one in sys.path if not os.path.isdir(os.path.join(one, "shallows"))]
"""

#: What `snakedeploy deploy-workflow https://github.com/somebody/shallows` writes.
DEPLOYED = """
configfile: "config/config.yaml"


module shallows:
    snakefile:
        github("somebody/shallows", path="workflow/Snakefile", tag="v1")
    config:
        config


use rule * from shallows
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project that is a git repository with a tag."""
    root = copy_project(tmp_path_factory.mktemp("git") / "somebody" / "shallows", "eigenpro/targets")
    author = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for words in (["init", "--quiet"], ["add", "--all"], [*author, "commit", "--quiet", "-m", "all"], ["tag", "v1"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


def snakemake_alone(project, tmp_path, folder, *arguments):
    """Run it without the package, and with GitHub standing for the folder above the project's."""
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "sitecustomize.py").write_text(SNAKEMAKE_ALONE)
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path / "alone"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{project.parents[1]}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
    }
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("words", [["--lint"], ["-n", "--directory", ".test"]])
def test_snakemake_alone_plans_and_lints(project, tmp_path, words):
    done = snakemake_alone(project, tmp_path, project, *words, "--cores", "1")
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_deployment_from_a_git_address_is_planned(project, tmp_path):
    folder = tmp_path / "deployed"
    (folder / "workflow").mkdir(parents=True)
    (folder / "workflow" / "Snakefile").write_text(DEPLOYED)
    for part in ("config", "profiles"):
        (folder / part).symlink_to(project / part)
    done = snakemake_alone(project, tmp_path, folder, "-n", "--cores", "1", "eigenpro_table6")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "rule tabulate:" in done.stdout
    (unpacked,) = (folder / ".snakemake" / "shallows").iterdir()
    assert (unpacked / "src" / "shallows" / "__init__.py").exists() and (unpacked / "data" / "embedded").is_dir()


#: Says what Snakemake asks of conda, which makes no environment in a dry run.
CONDA = """#!/usr/bin/env python3
import json, sys

about = {"conda_prefix": "/opt/conda", "platform": "linux-64"}
print("conda 25.3.0" if "--version" in sys.argv else json.dumps({**about, "get": {"channel_priority": "strict"}}))
"""


def test_each_job_has_the_environment_of_its_task(project, tmp_path):
    (tmp_path / "conda").write_text(CONDA)
    (tmp_path / "conda").chmod(0o755)
    wanted = {
        "run": "data/raw/mnist_demo/verified.json",
        "gpu": "eigenpro_table6",
        "nets": "data/prepared/mnist_endless_1m/lenet_features_60000",
        "chem": "data/prepared/cep_coulomb/plain",
    }
    words = ["--list-conda-envs", "--sdm", "conda", "--config", "device=gpu", "gpu_seconds=0", "--cores", "1"]
    done = subprocess.run(
        command(*wanted.values(), *words),
        cwd=project,
        env=os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(project / "src")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert set(re.findall(r"^workflow/envs/(\w+)\.yaml", done.stdout, re.MULTILINE)) == set(wanted), done.stderr[-3000:]
