"""What the rules share: the plan, the paths and the checks of what a person asks for."""

import sys
from pathlib import Path

from shallows.errors import ShallowsError
from shallows.experiments.running import code
from shallows.experiments.planning import costs
from shallows.experiments.user_data import comparison as own
from shallows.experiments.planning import requests
from shallows.experiments.planning.plan import SCALES, Plan

ROOT = Path(workflow.basedir)


def refuse(error):
    """End with what is wrong in a person's words, rather than with a place in this file."""
    print(f"Error: {error}", file=sys.stderr)
    sys.exit(1)


try:
    PLAN = Plan.load(ROOT, config)
    OWN = own.Comparison.of(PLAN.configuration)
except ShallowsError as error:
    refuse(error)

SCALE = config["scale"]
RESULTS = config["results"]
DATA = config["data"]
ENVIRONMENT = str(ROOT / "environment.yml")
METHODS = PLAN.configuration.methods

# Asked of a batch system, or of a machine with a limit on `gpu`, only where a GPU is insisted on.
GPUS = int(config["device"] == "gpu")

# A long job takes what the machine or the batch system gives, up to this; a short one a single core.
MOST_THREADS = 16

# Jobs beside each other on one machine declare no more memory together than it has, and one that declares more has it
# to itself. With --jobs, which a batch system is given, that system shares out its own.
if (
    workflow.is_main_process
    and workflow.nodes is None
    and "mem_mb" not in workflow.global_resources
):
    workflow.register_resource("mem_mb", costs.main_memory() // 10**6)


wildcard_constraints:
    scale="|".join(SCALES),
    target="|".join(PLAN.targets),
    dataset="|".join(PLAN.catalogue),
    variant="|".join(PLAN.configuration.variants),


def prepared_of(dataset, variant):
    """The record of prepared data; its arrays lie beside it."""
    return f"{DATA}/prepared/{dataset}/{variant}/prepared.json"


def preparation_begins_from(wildcards):
    """The stamp of the published files, or the record of the variant that this one stands after."""
    after = PLAN.configuration.variants[wildcards.variant].get("after")
    if after is None:
        return f"{DATA}/raw/{wildcards.dataset}/verified.json"
    return prepared_of(wildcards.dataset, after)


def below(scale, path):
    """A path below the folder of a scale."""
    return f"{RESULTS}/{scale}/{path}"


def records_of(wildcards):
    """Records of all runs of a target at a scale."""
    runs = PLAN.runs_of(wildcards.target, wildcards.scale)
    return [below(wildcards.scale, f"{run.folder}/record.json") for run in runs]


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


def megabytes(count):
    """Bytes as the whole megabytes that a batch system is asked for, with room to spare."""
    return int(1.25 * count / 1e6) + 1


def minutes(seconds):
    """Seconds as the whole minutes that a batch system is asked for: estimates are rough."""
    return int(3 * seconds / 60) + 10


def own_megabytes(definition):
    """For a user's data, how large they are is known when they are prepared, not before."""
    return lambda wildcards, input: megabytes(
        own.cost(definition, input.choose, input.test).memory_bytes
    )


def own_minutes(definition):
    """See `own_megabytes`."""
    return lambda wildcards, input: minutes(
        own.cost(definition, input.choose, input.test).seconds
    )


def check_requests():
    """Refuse a target that does not exist, naming the nearest that does."""
    names = ["all", "report", "compare", *PLAN.papers, *PLAN.targets]
    try:
        requests.check(sys.argv[1:], PLAN, names, RESULTS, DATA, OWN)
    except ShallowsError as error:
        refuse(error)
    if OWN is not None and "compare" in sys.argv[1:]:
        print(f"The comparison's report: {Path(OWN.report).resolve()}", file=sys.stderr)
