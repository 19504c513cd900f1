"""What the rules share: the plan, the paths and what jobs ask of the machine."""

from pathlib import Path

from shallows.experiments.identity import code
from shallows.experiments.planning import scheduling
from shallows.experiments.planning.plan import SCALES, Plan
from shallows.experiments.user_data import comparison as user_data

# The folder of the project, also where another workflow uses this one as a module from its own folder.
ROOT = Path(str(workflow.current_basedir)).parents[1]

PLAN = Plan.load(ROOT, config)
COMPARISON = user_data.Comparison.of(PLAN.configuration)

# The rest of the settings, which neither a command line nor another workflow gave.
config.update(PLAN.configuration.settings)

SCALE = config["scale"]
RESULTS = config["results"]
DATA = config["data"]
ENVIRONMENT = str(ROOT / "environment.yml")
METHODS = PLAN.configuration.methods

# Asked of a batch system, or of a machine with a limit on `gpu`, only where a GPU is insisted on.
GPUS = int(config["device"] == "gpu")

# Short jobs share processes; see the rule `train`.
SHARING = scheduling.Sharing(PLAN)


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
        return f"{DATA}/raw/{wildcards.dataset}/verified.json"
    return prepared_of(wildcards.dataset, after)


def below(scale, path):
    """A path below the folder of a scale."""
    return f"{RESULTS}/{scale}/{path}"


def run_of(wildcards):
    """The run that a path names."""
    return PLAN.run_named(wildcards.scale, wildcards.run)


def preconditioner_of(wildcards):
    """The preconditioner that a path names."""
    return PLAN.preconditioner_named(wildcards.scale, wildcards.preconditioner)


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
