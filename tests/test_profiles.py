"""The example profiles: keys that Snakemake has, the same plan as elsewhere, and what Kubernetes is asked for."""

import base64
import os
import re
import subprocess
import sys

import pytest
import yaml
import yte
from snakemake.cli import get_argument_parser

from workflow_runs import PROJECT, copy_project, snakemake

PROFILES = PROJECT / "profiles"
KUBERNETES = PROFILES / "kubernetes"
#: Settings of the plugin that the example profiles name, which does not have to be installed here.
OF_THE_PLUGIN = {"submit-cmd", "status-cmd", "cancel-cmd", "cancel-nargs", "sidecar-cmd"}


def read(name):
    return yte.process_yaml((PROFILES / name / "config.yaml").read_text())


@pytest.mark.parametrize("name", sorted(path.parent.name for path in PROFILES.glob("*/config.yaml")))
def test_every_key_of_a_profile_is_an_option_of_snakemake(name, monkeypatch):
    monkeypatch.setattr("shallows_papers.experiments.planning.executors.require", lambda *_: None)
    options = get_argument_parser()._option_string_actions
    of_slurm = {"slurm-requeue", "slurm-status-command", "slurm-no-account", "slurm-init-seconds-before-status-checks"}
    for key in read(name):
        of_generic = key.removeprefix("cluster-generic-") in OF_THE_PLUGIN
        assert f"--{key}" in options or of_generic or (key in of_slurm and name.startswith("slurm")), key


@pytest.mark.parametrize(
    ("words", "cores"),
    [
        ([], True),
        (["-n", "eigenpro"], True),
        (["--resources", "gpu=1"], True),
        (["--jobs", "2"], False),
        (["-j2"], False),
        (["--executor=slurm"], False),
        (["--profile", "profiles/slurm"], False),
    ],
)
def test_snakemake_alone_uses_all_cores_of_the_machine(words, cores, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["snakemake", *words])
    assert read("default").get("cores") == ("all" if cores else None)
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "profiles/slurm")
    assert "cores" not in read("default")


@pytest.mark.parametrize("name", ["cluster-generic", "kubernetes", "slurm", "slurm-gpu"])
def test_a_profile_without_its_plugin_says_in_one_line_what_to_install(name, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        read(name)
    told = capsys.readouterr().err
    package = '".[cluster]"' if name.startswith("slurm") else "snakemake-executor-plugin-cluster-generic"
    assert told.startswith("Error: this profile needs ") and told.count("\n") == 1
    assert f"pip install {package}" in told.replace("-e ", "")


@pytest.mark.workflow
@pytest.mark.parametrize("name", ["cluster-generic", "kubernetes"])
def test_an_example_profile_plans_the_workflow_in_batches(name, tmp_path):
    """Without the executor, whose plugin does not have to be installed; all else is as the profile says."""
    text = (PROFILES / name / "config.yaml").read_text()
    without = ("executor:", "cluster-generic-", "  - executors.require_generic()")
    kept = [line for line in text.splitlines() if not line.startswith(without)]
    assert len(kept) == len(text.splitlines()) - sum(text.count(f"\n{one}") for one in without)
    root = copy_project(tmp_path / "project")
    (root / "profiles" / name / "config.yaml").write_text("\n".join(kept) + "\n")
    done = snakemake(root, "-n", "--directory", ".test", "--profile", f"profiles/{name}")
    assert done.returncode == 0, done.stdout
    trained = [part.partition("\n\n")[0] for part in done.stdout.split("rule train:")[1:]]
    resources = set(re.findall(r"\{resources\.(\w+)\}", text)) | {"in_turn"}
    assert trained and all(f"{one}=" in job for job in trained for one in resources)


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """A program of this name that keeps its arguments and input, and says what a test wants."""

    def make(says):
        program = tmp_path / "bin" / "kubectl"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat > {tmp_path}/told\n{says}\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        return tmp_path / "told"

    return make


def call(script, *arguments):
    done = subprocess.run(
        [KUBERNETES / script, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=PROJECT
    )
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize("gpus", [0, 2])
def test_kubernetes_is_asked_for_what_a_job_needs(kubectl, tmp_path, gpus, monkeypatch):
    told = kubectl("echo job.batch/shallows-x7k2p")
    monkeypatch.setenv("SHALLOWS_CLAIM", "ours")
    script = tmp_path / "job.sh"
    script.write_text('#!/bin/sh\necho \'it"s\' "$HOME"; printf done\n')
    assert call("submit.sh", "4", "3000", "45", str(gpus), script) == (0, "job.batch/shallows-x7k2p")
    job = yaml.safe_load(told.read_text())["spec"]
    pod = job["template"]["spec"]
    [container], [volume] = pod["containers"], pod["volumes"]
    cards = {"nvidia.com/gpu": gpus} if gpus else {}
    assert container["resources"] == {
        "requests": {"cpu": 4, "memory": "3000M", **cards},
        "limits": {"memory": "3000M", **cards},
    }
    # Snakemake sends a job that failed again, and not Kubernetes, which would not report it.
    assert (job["activeDeadlineSeconds"], job["backoffLimit"], pod["restartPolicy"]) == (45 * 60, 0, "Never")
    assert volume == {"name": "shared", "persistentVolumeClaim": {"claimName": "ours"}}
    assert container["workingDir"] == str(PROJECT)
    [encoded] = re.findall(r"echo (\S+) \| base64 -d \| sh", container["command"][2])
    assert base64.b64decode(encoded) == script.read_bytes()
    ran = subprocess.run(container["command"], capture_output=True, text=True, env={**os.environ, "HOME": "/here"})
    assert ran.stdout == 'it"s /here\ndone'
