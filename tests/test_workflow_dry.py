import importlib
import inspect
import json
import pkgutil
import re
import shutil
import subprocess

import pytest

from own_plan import own_plan
from shallows_papers.experiments.planning.configuration import SCALES
from shallows_papers.experiments.running import calls
from workflow_runs import PROJECT, copy_project, snakemake

pytestmark = pytest.mark.workflow
PLAN = own_plan()


@pytest.mark.parametrize("scale", SCALES)
def test_every_run_gives_its_method_parameters_that_it_has(scale):
    """A run that takes hours elsewhere should not learn at its start that its method has no such parameter."""
    made = set()
    for run in PLAN.runs(scale).values():
        call = PLAN.configuration.methods[run.method]["call"]
        task = PLAN.catalogue[run.dataset].task
        for place in {call.get(task) or call.get("any")} - {None} or set(call.values()):
            request = place, json.dumps(run.parameters, sort_keys=True)
            if request in made:
                continue
            made.add(request)
            called = pkgutil.resolve_name(place)
            if inspect.isclass(called):
                estimator = calls.make_estimator(called, run.parameters)
                getattr(estimator, "_check_parameters", lambda: None)()
            else:
                inspect.signature(called).bind(None, **calls.arguments(called, run.parameters))
    assert made


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """A copy with the targets of two files, which take every rule: enough where their number does not matter."""
    return copy_project(tmp_path_factory.mktemp("few"), "eigenpro/targets", "cdsg/targets_theory")


@pytest.fixture(scope="module")
def laptop(project):
    """A plan of the whole laptop scale where a GPU is asked for."""
    done = snakemake(project, "-n", "--profile", "profiles/gpu", "--config", "scale=laptop")
    assert done.returncode == 0, done.stdout
    return done


#: Enough where it does not matter what is planned, in half the time.
SMALL = ("--directory", ".test")


def jobs(done):
    """Names of rules and how many jobs of each a dry run counts."""
    table = done.stdout.partition("Job stats:")[2].partition("total")[0]
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}


def trained(done, scale):
    """Runs of a scale that a dry run plans, by the folder of their record."""
    return set(re.findall(rf"results/{scale}/(runs/\S+)/record\.json, ", done.stdout))


def test_a_whole_scale_is_planned_with_the_gpu_for_its_long_runs(laptop):
    planned = jobs(laptop)
    assert (planned["tabulate"], planned["draw"], planned["write_page"]) == (len(PLAN.targets), len(PLAN.figures), 1)
    assert (planned["evaluate"], planned["train"]) == (len(PLAN.targets), len(PLAN.runs("laptop")))
    assert planned["precondition"] == len(PLAN.preconditioners("laptop"))
    assert trained(laptop, "laptop") == {run.folder for run in PLAN.runs("laptop").values()}
    assert not trained(laptop, "demo") | trained(laptop, "paper")
    asked = [part.partition("resources:")[2].splitlines()[0] for part in laptop.stdout.split("rule train:")[1:]]
    assert {"gpu=1" in line for line in asked} == {True, False}


def test_a_target_asks_for_its_own_runs_and_no_others(project):
    done = snakemake(project, "-n", "--cores", "1", "results/laptop/tables/eigenpro_table8.csv")
    assert done.returncode == 0, done.stdout
    assert jobs(done)["tabulate"] == 1
    assert trained(done, "laptop") == {run.folder for run in PLAN.runs_of("eigenpro_table8", "laptop")}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["eigenpro_tabel6"], "There is no target 'eigenpro_tabel6'. Did you mean 'eigenpro_table6'?"),
        (["--cores", "0"], "--cores (or --jobs) needs a whole number of at least 1, but got 0."),
        (["--config", "sclae=demo"], "Did you mean 'scale'?"),
        (["--config", "dataset=my.csv", "compare"], "'compare' follows --config"),
        (["compare", "dataset=my.csv"], "'dataset=my.csv' is a setting and follows --config"),
    ],
)
def test_a_wrong_command_line_is_answered_in_a_sentence(few, words, told):
    """Which words are wrong is tested where they are checked; here, that they are and how it is reported."""
    done = snakemake(few, "-n", "--cores", "1", *words)
    assert done.returncode != 0
    assert told in done.stdout
    assert "Traceback" not in done.stdout and "File " not in done.stdout
    assert done.stdout.count("Error") == 1 and done.stdout.count("\n") <= 3


def test_nothing_in_the_workflow_names_a_paper_a_dataset_or_a_method():
    names = [*PLAN.papers, *PLAN.targets, *PLAN.catalogue, *PLAN.configuration.methods]
    for path in [PROJECT / "Snakefile", *(PROJECT / "workflow").rglob("*.*")]:
        text = path.read_text(encoding="utf-8") if path.suffix not in (".pyc",) else ""
        found = [name for name in names if re.search(rf"\b{name}\b", text)]
        assert not found, (path, found)


@pytest.mark.parametrize(
    ("profile", "plugin"),
    [("slurm", "slurm"), ("slurm-gpu", "slurm"), ("cluster-generic", "cluster_generic")],
)
def test_the_profiles_of_batch_systems_plan_batches_where_their_plugin_is(project, profile, plugin):
    pytest.importorskip(f"snakemake_executor_plugin_{plugin}")
    done = snakemake(project, "-n", "eigenpro_table6", "--profile", f"profiles/{profile}", "--config", "gpu_seconds=0")
    assert done.returncode == 0, done.stdout
    batches = [part for part in done.stdout.split("Group job ")[1:] if "rule train" in part]
    assert len(batches) == 1 and batches[0].count("rule train:") == len(PLAN.runs_of("eigenpro_table6", "demo"))
    assert ("gpu=1" in batches[0]) == profile.endswith("gpu")


@pytest.fixture(scope="module")
def on_three_gigabytes(tmp_path_factory):
    root = copy_project(tmp_path_factory.mktemp("three_gigabytes"), "eigenpro/targets")
    with (root / "src/shallows/utils/memory_limits.py").open("a") as file:
        file.write("\n\ndef main_memory():\n    return 3_000_000_000\n")
    return root


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (["--cores", "64"], 3000),
        (["--cores", "64", "--resources", "mem_mb=5000"], 5000),
        (["--cores", "64", "--resources", "mem=5GB"], 5000),
        (["--cores", "64", "--jobs", "64"], None),  # as a batch system is asked
    ],
    ids=["the machine's memory", "megabytes that are given", "a size that is given", "a batch system"],
)
def test_jobs_on_one_machine_declare_no_more_memory_than_it_has(on_three_gigabytes, arguments, most):
    done = snakemake(on_three_gigabytes, "-n", "eigenpro_table6", *arguments, "--config", "scale=paper")
    assert done.returncode == 0, done.stdout
    declared = [int(found) for found in re.findall(r"mem_mb=(\d+)", done.stdout)]
    wanted = max(run.cost.memory_bytes for run in PLAN.runs_of("eigenpro_table6", "paper")) // 10**6
    assert wanted > 5000
    assert max(declared) == most if most else max(declared) > wanted


def test_the_rules_are_the_stages_and_the_names_of_papers_and_targets(project):
    done = snakemake(project, "--list-rules", *SMALL)
    assert done.returncode == 0, done.stdout
    listed = {line for line in done.stdout.splitlines() if re.fullmatch(r"[a-z]\w*", line)}
    assert {"small", "small_table"} <= listed
    stages = listed - {"small", "small_table"}
    assert {"fetch", "prepare", "precondition", "train", "evaluate", "tabulate", "draw", "write_page", "all"} <= stages
    assert len(stages) < 25


def test_the_picture_in_the_readme_is_that_of_the_rules(few):
    """Drawn by: snakemake all --rulegraph --cores 1 | dot -Grankdir=LR -Nheight=0.4 -Tsvg -o workflow/rulegraph.svg"""
    done = snakemake(few, "all", "--rulegraph", "--cores", "1")
    labels = dict(re.findall(r'(\d+)\[label = "(\w+)"', done.stdout))
    edges = {(labels[a], labels[b]) for a, b in re.findall(r"^\s*(\d+) -> (\d+)$", done.stdout, re.MULTILINE)}
    svg = (PROJECT / "workflow" / "rulegraph.svg").read_text()
    drawn = dict(re.findall(r"<title>(\d+)</title>.*?<text[^>]*>(\w+)</text>", svg, re.DOTALL))
    arrows = {(drawn[a], drawn[b]) for a, b in re.findall(r"<title>(\d+)&#45;&gt;(\d+)</title>", svg)}
    assert edges and arrows == edges


def test_resources_and_threads_are_set_by_the_name_of_a_stage(project, tmp_path):
    (tmp_path / "config.yaml").write_text("set-resources: {train: {slurm_partition: gpu}}\n")
    wanted = ("--set-resources", "train:runtime=77", "--set-threads", "train=8")
    for given, expected in ((wanted, ("threads: 8", "runtime=77")), (("--profile", str(tmp_path)), ("partition=gpu",))):
        done = snakemake(project, "-n", "--cores", "8", *SMALL, *given)
        assert done.returncode == 0, done.stdout
        jobs = [part.partition("\n\n")[0] for part in done.stdout.split("rule train:")[1:]]
        assert jobs and all(word in job for job in jobs for word in expected)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            "snakemake.workflow:Workflow",
            ["dag", "deployment_settings", "resource_settings", "is_main_process", "scheduler"],
        ),
        ("snakemake.dag:DAG", ["needrun_jobs"]),
        ("snakemake.jobs:Job", ["is_local", "is_group"]),
        ("snakemake.scheduling.job_scheduler:JobScheduler", ["job_rate_limiter"]),
    ],
)
def test_what_is_used_of_snakemakes_machinery_exists(kind, names):
    importlib.import_module("snakemake.api")  # before its parts, which import each other
    source = inspect.getsource(pkgutil.resolve_name(kind))
    missing = [name for name in names if not re.search(rf"\b(def |self\._?){name}\b", source)]
    assert not missing, f"this version of Snakemake has no {kind} {missing}, which workflow/rules/common.smk uses"


def test_make_takes_the_scale_that_it_is_given():
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for words, scale in ((["SCALE=laptop"], "laptop"), ([], "demo"), (["paper"], "paper")):
        done = subprocess.run(["make", "-n", "-o", ".venv/.ready", *words], cwd=PROJECT, capture_output=True, text=True)
        assert f"shallows_papers.experiments.watching --scale {scale} " in done.stdout, done.stderr
