"""What the rules share: the plan, the paths and what jobs ask of the machine."""

import atexit
import functools
import sys
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

from shallows_papers.experiments import command_line, dataset_leaderboard
from shallows_papers.experiments.identity import code
from shallows_papers.experiments.planning import (
    costs,
    placement,
    slurm,
    target_entry,
)
from shallows_papers.experiments.planning.plan import SCALES, Plan
from shallows_papers.experiments.planning.runs import digest
from shallows_papers.experiments.running import fork_server, snakemake_process

# A lock that this process leaves behind is then known to be its own.
if workflow.is_main_process:
    snakemake_process.register()

# Whether jobs have their own environments, of workflow/envs/.
DEPLOYED = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method

PLAN = Plan.load(ROOT, config, deployed=DEPLOYED)
if workflow.is_main_process:
    atexit.register(PLAN.keep)
COMPARISON = dataset_leaderboard.requested(PLAN.configuration)

# The rest of the settings, which neither a command line nor another workflow gave.
config.update(PLAN.configuration.settings)

SCALE = config["scale"]
RESULTS = config["results"]
DATA = config["data"]
METHODS = PLAN.configuration.methods

# Asked of a batch system, or of a machine with a limit on `gpu`, only where a GPU is insisted on.
GPUS = int(config["device"] == "gpu")

# What jobs ask for. Where Slurm takes them, no more than a node of it has.
REQUESTS = slurm.inside_job(costs.Requests.of(config))
NODES = slurm.nodes() if slurm.is_used() else None
if NODES is not None:
    REQUESTS = slurm.fitted(REQUESTS, NODES)

# Where a GPU is asked for, what is short stays on the CPU.
PLACEMENT = placement.Placement(PLAN)


def environment(extra=None):
    """The environment of jobs that need an extra in addition to the workflow's own packages."""
    return str(ROOT / "workflow" / "envs" / f"{extra or 'run'}.yaml")


ENVIRONMENT = environment()

# What starts the processes of a training that several share.
LAUNCHER = config["launcher"] or slurm.launcher()


wildcard_constraints:
    scale="|".join(SCALES),
    target="|".join(PLAN.targets),
    dataset="|".join(PLAN.catalogue),
    variant="|".join(PLAN.configuration.variants),
    data="[^/]+",
    method="[^/]+",
    run=r"[^/]+-[0-9a-f]{10}",
    preconditioner=r"[^/]+-[0-9a-f]{10}",


def prepared_of(dataset, variant):
    """The folder of prepared data: arrays, and the record that describes them."""
    return f"{DATA}/prepared/{dataset}/{variant}"


def preparation_begins_from(wildcards):
    """The stamp of the published files, or the folder of the variant that this one continues."""
    after = PLAN.configuration.variants[wildcards.variant].get("after")
    if after is None:
        return local(f"{DATA}/raw/{wildcards.dataset}/verified.json")
    return prepared_of(wildcards.dataset, after)


def from_here(path):
    """A path from the folder in which Snakemake runs where it lies in it, so that results survive a move of the folder."""
    here = Path.cwd()
    return str(Path(path).relative_to(here) if here in Path(path).parents else path)


def below(scale, path):
    """A path below the folder of a scale."""
    return f"{RESULTS}/{scale}/{path}"


def group_of(stage, cost):
    """The group in which a batch system is sent short jobs of a stage; None for a job that is sent alone."""
    return f"short_{stage}" if REQUESTS.is_short(cost) else None


def ranks_of(run):
    """How many processes train together, by MPI: as many as the configuration says, where several can and it takes long."""
    if config["ranks"] == 1 or PLACEMENT.gpus(run) or not run.can_be_shared(METHODS):
        return 1
    return 1 if run.cost.seconds < config["ranks_seconds"] else config["ranks"]


def threads_of(run):
    """Threads of a job, which its processes share; Slurm is asked for the threads of each process."""
    threads, ranks = REQUESTS.threads(run.cost), ranks_of(run)
    return max(1, threads // ranks) if slurm.launches() else max(threads, ranks)


def planned_jobs():
    """The jobs that Snakemake is about to run."""
    return [job for job in workflow.dag.needrun_jobs() if not job.is_group()]


def check_nodes():
    """End with one sentence where Slurm has no node for a job that is to be run."""
    # Who sets the memory of a stage knows better.
    if NODES is None or any("mem_mb" in word for word in sys.argv):
        return
    with command_line.one_sentence():
        slurm.check(
            [
                (str(next(iter(job.output), job)), job.resources.get("mem_mb", 0))
                for job in planned_jobs()
                if not job.is_local
            ],
            NODES,
            GPUS,
        )


def tell_of_idle_gpu():
    """Say that a GPU that is asked for has nothing to do, since all runs are short."""
    if PLACEMENT.none_is_used(SCALE) and any(
        job.rule.name == "train" for job in planned_jobs()
    ):
        print(
            f"device=gpu: all runs of the scale {SCALE} are estimated at less than {config['gpu_seconds']:g} s each and "
            "stay on the CPU, where they are done sooner. --config gpu_seconds=0 puts them on the GPU.",
            file=sys.stderr,
        )


def tell_of_changes():
    """Say where the results of changed parameters go."""
    if config["changes"]:
        print(f"Results with changed parameters: {RESULTS}/{SCALE}", file=sys.stderr)


def start_fork_server():
    """Start the process that spares jobs their imports, where there are more than a few of them in this environment."""
    if len(planned_jobs()) > 8 and not DEPLOYED:
        fork_server.start()


def run_of(wildcards):
    """The run that a path names."""
    return PLAN.run_named(wildcards.scale, wildcards.run)


def job_of(run):
    """What the script of a run needs."""
    return {
        "spec": PLAN.job(run),
        "planned": PLAN.names_of_files(run),
        "device": PLACEMENT.device_of(run),
        "checkpoints": below(run.scale, "checkpoints"),
    }


def preconditioner_of(wildcards):
    """The preconditioner that a path names."""
    return PLAN.preconditioner_named(wildcards.scale, wildcards.preconditioner)


def record_of(run):
    """The record that a run leaves."""
    return below(run.scale, f"{run.folder}/record.json")


def curve_of(run):
    """The curve that a run writes next to its record."""
    return below(run.scale, f"{run.folder}/curve.csv")


def outputs_of(run):
    """The outputs on the test part that a run leaves."""
    return below(run.scale, f"{run.folder}/outputs.npz")


def products_of(target, scale):
    """What a target leaves for people."""
    return [below(scale, path) for path in PLAN.products(target)]


def report_of(scale):
    """The page of a scale."""
    return f"{RESULTS}/{scale}/report/index.html"


# Snakemake compares the parameters of a job with those it ran with, and prints those that differ. So what a script needs
# is a function of `input` too, which Snakemake does not compare, and what is compared says in few words what it is.


def brief(meaning, *parts):
    """A parameter that Snakemake compares: what it stands for, and a digest of it."""
    return f"{meaning} ({digest(parts)})"


def code_of_script(name, called=()):
    """What a script imports or calls by name, in brief: where it changes, what the script made is out of date."""
    script = ROOT / "workflow" / "scripts" / f"{name}.py"
    return brief("code", PLAN.code_of_script(script, called))


@functools.cache
def code_of_table(target):
    """The code of a table, with the functions that its claims name."""
    return code_of_script("tabulate", target_entry.functions_of(PLAN.target(target)))


def code_of_preparations():
    """What the preparations of a comparison depend on, in brief."""
    if COMPARISON.request:
        return code_of_script("prepare_data")
    dataset = PLAN.catalogue[COMPARISON.dataset]
    return brief(
        "code",
        *[
            code.digest_of_preparation(dataset, steps)
            for steps in COMPARISON.steps.values()
        ],
    )


@functools.cache
def comparison_of(target, scale):
    """What the comparison of a target needs, and the same in brief by its parts."""
    whole = PLAN.comparison(target, scale)
    return whole, {
        name: brief(meaning, [whole[key] for key in keys])
        for name, (meaning, keys) in PARTS_OF_COMPARISON.items()
    }


PARTS_OF_COMPARISON = {
    "entry": (
        "entry of the target in config/papers",
        ("target", "scale", "spec", "paper", "method", "sources"),
    ),
    "published": ("printed values", ("published", "printed", "no_row")),
    "runs": ("runs and their parameters", ("series",)),
    "used": (
        "data and what is left out",
        ("sizes", "makes_data", "missing", "left_out"),
    ),
}
