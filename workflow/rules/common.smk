"""What the rules share: the plan, the paths and what jobs ask of the machine."""

import sys
from pathlib import Path

from shallows.experiments import command_line
from shallows.experiments.dataset_leaderboard.board import Leaderboards
from shallows.experiments.identity import code
from shallows.experiments.planning import (
    batches,
    placement,
    requests,
    scheduling,
    slurm,
)
from shallows.experiments.planning.plan import SCALES, Plan
from shallows.experiments.planning.runs import Run
from shallows.experiments.running import finished
from shallows.experiments.running.job import Job
from shallows.experiments.user_data import comparison as user_data
from shallows.report import figures

# The folder of the project, also where another workflow uses this one as a module from its own folder.
ROOT = Path(str(workflow.current_basedir)).parents[1]

PLAN = Plan.load(ROOT, config)
COMPARISON = user_data.Comparison.of(PLAN.configuration)
BOARDS = Leaderboards(PLAN.configuration, PLAN.catalogue)

# The rest of the settings, which neither a command line nor another workflow gave.
config.update(PLAN.configuration.settings)

SCALE = config["scale"]
RESULTS = config["results"]
DATA = config["data"]
ENVIRONMENT = str(ROOT / "environment.yml")
METHODS = PLAN.configuration.methods

# Asked of a batch system, or of a machine with a limit on `gpu`, only where a GPU is insisted on.
GPUS = int(config["device"] == "gpu")

# What jobs ask for. Where Slurm takes them, no more than a node of it has.
REQUESTS = slurm.inside_job(requests.Requests.of(config))
NODES = slurm.nodes() if slurm.is_used() else None
if NODES is not None:
    REQUESTS = slurm.fitted(REQUESTS, NODES)

# Where a GPU is asked for, what is short stays on the CPU.
PLACEMENT = placement.Placement(PLAN)

# Short jobs share processes; see the rule `train`. On a batch system they are sent together, a batch of minutes at a time.
SHARING = scheduling.Sharing(PLAN, PLACEMENT.device_of)
BATCHES = batches.Batches(REQUESTS, config["job_seconds"])

# What starts the processes of a training that several share.
LAUNCHER = config["launcher"] or slurm.launcher()

# The Bash of macOS is too old for Snakemake's scripts in Bash; there, Python brings what another process has finished.
COPIES_BY_BASH = sys.platform == "linux"

# Runs and preconditioners that are wanted, by their output.
WANTED = {}


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
    """The record of prepared data; its arrays lie beside it."""
    return f"{DATA}/prepared/{dataset}/{variant}/prepared.json"


def preparation_begins_from(wildcards):
    """The stamp of the published files, or the record of the variant that this one stands after."""
    after = PLAN.configuration.variants[wildcards.variant].get("after")
    if after is None:
        BATCHES.want(*preparation_of(wildcards))
        return f"{DATA}/raw/{wildcards.dataset}/verified.json"
    return prepared_of(wildcards.dataset, after)


def below(scale, path):
    """A path below the folder of a scale."""
    return f"{RESULTS}/{scale}/{path}"


def kind_of(member):
    """Jobs of one kind, which read the same data, can be sent to a batch system together."""
    stage = "train" if isinstance(member, Run) else "precondition"
    return (stage, member.dataset, member.variant, PLACEMENT.device_of(member))


def ranks_of(run):
    """How many processes train together, by MPI: as many as the configuration says, where several can and it takes long."""
    if config["ranks"] == 1 or PLACEMENT.gpus(run) or not run.can_be_shared(METHODS):
        return 1
    return 1 if run.cost.seconds < config["batch_seconds"] else config["ranks"]


def threads_of(run):
    """Threads of a job, which its processes share; Slurm is asked for those of each process."""
    threads, ranks = REQUESTS.threads(run.cost), ranks_of(run)
    return max(1, threads // ranks) if slurm.launches() else max(threads, ranks)


def want(scale, member):
    """Note that a run or a preconditioner is wanted; the list of files, which is empty, lets this be an input."""
    if not isinstance(member, Run) or ranks_of(member) == 1:
        BATCHES.want((scale, *kind_of(member)), member.id, member.cost)
    output = record_of(member) if isinstance(member, Run) else below(scale, member.path)
    WANTED[output] = member.cost
    return SHARING.want(scale, member)


def batch_of(scale, member):
    """The batch of a run or a preconditioner, on a batch system; what several processes share is sent alone."""
    if isinstance(member, Run) and ranks_of(member) > 1:
        return None
    return BATCHES.batch_of((scale, *kind_of(member)), member.id, member.cost)


def minutes_of(scale, member, attempt):
    """Time to ask for, for a run or a preconditioner."""
    company = BATCHES.has_company((scale, *kind_of(member)), member.id, member.cost)
    return REQUESTS.minutes(member.cost, attempt, together=company)


def preparation_of(wildcards):
    """A preparation, as batches are told of it."""
    cost = PLAN.cost_of_preparation(wildcards.dataset, wildcards.variant)
    return ("prepare",), f"{wildcards.dataset} {wildcards.variant}", cost


def stands_alone(wildcards):
    """Whether a preparation stands after another, for which a batch could not wait."""
    return "after" in PLAN.configuration.variants[wildcards.variant]


def batch_of_preparation(wildcards):
    """The batch of a preparation."""
    if stands_alone(wildcards):
        return None
    return BATCHES.batch_of(*preparation_of(wildcards))


def minutes_of_preparation(wildcards, attempt):
    """Time to ask for, for a preparation."""
    kind, name, cost = preparation_of(wildcards)
    company = not stands_alone(wildcards) and BATCHES.has_company(kind, name, cost)
    return REQUESTS.minutes(cost, attempt, together=company)


def check_nodes():
    """End with one sentence where Slurm has no node for a job that is to be run."""
    # Who sets the memory of a stage knows better.
    if NODES is None or any("mem_mb" in word for word in sys.argv):
        return
    todo = [(name, cost) for name, cost in WANTED.items() if not Path(name).exists()]
    with command_line.one_sentence():
        slurm.check(todo, REQUESTS, NODES, GPUS)


def tell_of_idle_gpu():
    """Say that a GPU that is asked for has nothing to do, since all runs are short."""
    if PLACEMENT.none_is_used(SCALE) and WANTED:
        print(
            f"device=gpu: all runs of the scale {SCALE} are estimated at less than {config['gpu_seconds']:g} s each and "
            "stay on the CPU, where they are done sooner. --config gpu_seconds=0 puts them on the GPU.",
            file=sys.stderr,
        )


def run_of(wildcards):
    """The run that a path names."""
    return PLAN.run_named(wildcards.scale, wildcards.run)


def preconditioner_of(wildcards):
    """The preconditioner that a path names."""
    return PLAN.preconditioner_named(wildcards.scale, wildcards.preconditioner)


def finished_of(wildcards, prepared):
    """The folder of a record and a curve that another process left of a run, as text; empty where there is none."""
    run = run_of(wildcards)
    checkpoints = Path(below(run.scale, "checkpoints"))
    job = Job(PLAN.job(run), Path(prepared).parent, None, checkpoints)
    return str(finished.to_copy(job) or "") if COPIES_BY_BASH else ""


def others_of(wildcards, prepared):
    """What the process of a run may do besides; nothing where the run itself is only copied."""
    if finished_of(wildcards, prepared):
        return []
    return SHARING.others(wildcards.scale, run_of(wildcards))


def beside_of(wildcards, prepared):
    """What the process of a run may do after those, on other data: runs, each with the folder of its data."""
    if finished_of(wildcards, prepared):
        return []
    return [
        (spec, str(Path(prepared_of(dataset, variant)).parent))
        for spec, dataset, variant in SHARING.beside(
            wildcards.scale, run_of(wildcards), is_open
        )
    ]


def is_open(run):
    """Whether the data of a run are prepared, and the run is neither finished nor left finished by another process."""
    prepared = Path(prepared_of(run.dataset, run.variant))
    if not prepared.exists() or Path(record_of(run)).exists():
        return False
    checkpoints = Path(below(run.scale, "checkpoints"))
    return not finished.to_copy(Job(PLAN.job(run), prepared.parent, None, checkpoints))


def record_of(run):
    """The record that a run leaves."""
    return below(run.scale, f"{run.folder}/record.json")


def records_of(wildcards):
    """Records of all runs of a target at a scale."""
    return [record_of(run) for run in PLAN.runs_of(wildcards.target, wildcards.scale)]


def products_of(target, scale):
    """What a target leaves for people."""
    kinds = [("tables", ("csv", "md", "html"))]
    if target in PLAN.figures:
        kinds.append(("figures", ("svg", "png")))
    return [
        f"{RESULTS}/{scale}/{folder}/{target}.{ending}"
        for folder, endings in kinds
        for ending in endings
    ]


def report_of(scale):
    """The page of a scale."""
    return f"{RESULTS}/{scale}/report/index.html"


def code_of_script(name):
    """Digest of what a script imports: where it changes, what the script made is out of date."""
    return code.digest_of_script(ROOT / "workflow" / "scripts" / f"{name}.py")


def drawn_before(wildcards, given):
    """The folder of a figure that another process has drawn, as text; empty where there is none."""
    kept = below(wildcards.scale, "checkpoints/figures")
    try:
        folder = figures.folder_of(given.numbers, given.meta, kept, DRAWN_BY)
    except FileNotFoundError:
        return ""
    return str(folder) if COPIES_BY_BASH and figures.is_drawn(folder) else ""


def undrawn_beside(wildcards):
    """Tables of other figures that are wanted and not there yet, as pairs of CSV and JSON."""
    pairs = []
    for scale, target in sorted(DRAWN - {(wildcards.scale, wildcards.target)}):
        table, figure = (
            below(scale, f"{kind}/{target}") for kind in ("tables", "figures")
        )
        is_there = Path(f"{table}.csv").exists() and Path(f"{table}.json").exists()
        if scale == wildcards.scale and is_there and not Path(f"{figure}.png").exists():
            pairs.append((f"{table}.csv", f"{table}.json"))
    return pairs


# Digest of the code of figures.
DRAWN_BY = code_of_script("draw")
