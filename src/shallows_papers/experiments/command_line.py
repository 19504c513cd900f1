"""Check the targets and stages on a command line; an error names the nearest one that exists."""

import logging
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from shallows.errors import ShallowsError, UnknownNameError

from .dataset_leaderboard import FOLDER
from .planning.configuration import SCALES, ConfigurationError
from .planning.plan import PRODUCTS, Plan
from .user_data.comparison import Comparison

#: Options of Snakemake that name stages, and what separates the name from the value.
OF_STAGES = {"--set-resources": ":", "--set-threads": "="}

_STAGES = (*PRODUCTS, "report", "runs", "preconditioners", "evaluations", "checkpoints", "logs", FOLDER)


@contextmanager
def one_sentence() -> Iterator[None]:
    """End the program with one sentence, without a traceback, after an expected error."""
    try:
        yield
    except ShallowsError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def check_command_line(plan: Plan, comparison: Comparison | None, stages: Iterable[str], resources: Any = None) -> None:
    """Check this program's own command line.

    ``resources`` are Snakemake's own settings of cores and jobs.
    """
    from snakemake.cli import get_argument_parser  # it decides which words are targets

    check_cores_and_jobs(resources)
    stages = [*stages]
    check_stages(sys.argv[1:], stages)
    check_storage(sys.argv[1:])
    asked = get_argument_parser().parse_known_args(sys.argv[1:])[0]
    _check_targets([*asked.targets, *asked.forcerun, *asked.until, *asked.omit_from], stages, plan, comparison)
    if comparison is not None and "compare" in sys.argv[1:]:
        _print_report_if_nothing_is_to_be_done(comparison)


def print_report(comparison: Comparison | None) -> None:
    """Print the path of a comparison's report after the comparison on this command line has succeeded."""
    if comparison is not None and "compare" in sys.argv[1:]:
        print(f"The comparison's report: {Path(comparison.page).resolve()}", file=sys.stderr)


def _print_report_if_nothing_is_to_be_done(comparison: Comparison) -> None:
    """Print the report's path if Snakemake finds it up to date, since it then calls no hook."""
    from snakemake.logging import logger

    def look(entry: logging.LogRecord) -> bool:
        if entry.getMessage().startswith("Nothing to be done"):
            print_report(comparison)
        return True

    logger.addFilter(look)


def _check_targets(targets: Iterable[str], stages: list[str], plan: Plan, comparison: Comparison | None) -> None:
    """Raise an error for a target that is not a name, not a file and not below one of our folders.

    Snakemake reads its targets after the workflow, and would only say that no rule makes them. A path below one of our
    folders is checked part by part.
    """
    settings, names = plan.configuration.settings, ["all", "report", "compare", *plan.papers, *plan.targets]
    products = comparison.products if comparison is not None else ()
    for one in targets:
        if one == "compare" and comparison is None:
            raise ConfigurationError(
                "The target compare needs data: snakemake --cores 4 compare --config dataset=my.csv, or dataset= and "
                "the name of an entry in config/datasets/ or of a dataset of data/README.md."
            )
        if one in (*names, *stages, "default", *products) or Path(one).exists():
            continue
        for folder, judge in ((settings["results"], _result), (settings["data"], _data)):
            if PurePosixPath(one).is_relative_to(folder):
                judge(PurePosixPath(one).relative_to(folder).parts, plan)
                break
        else:
            raise UnknownNameError("target", one, dict.fromkeys((*names, *stages)))


def check_cores_and_jobs(resources: Any) -> None:
    """Raise an error for numbers of cores or jobs below 1, with which Snakemake waits forever."""
    options = {"cores": "--cores (or --jobs)", "nodes": "--jobs", "local_cores": "--local-cores"}
    for name, option in options.items():
        number = getattr(resources, name, None)
        if number is not None and number < 1:
            raise ShallowsError(f"{option} needs a whole number of at least 1, but got {number}.")


def check_stages(words: Iterable[str], stages: Iterable[str]) -> None:
    """Check the stages for which a command line sets resources or threads; Snakemake silently ignores unknown ones."""
    stages, option = [*stages], ""
    for one in words:
        word = one
        if one.startswith("-"):
            option, _, word = one.partition("=")
        # For jobs in a batch system, Snakemake encodes the stages on the command line; they were checked before.
        if option in OF_STAGES and word and not word.startswith("base64//"):
            stage = word.partition(OF_STAGES[option])[0]
            if stage not in stages:
                raise UnknownNameError("stage", stage, stages)


def check_storage(words: Iterable[str]) -> None:
    """Check that the command of Snakemake's storage ``fs`` is installed; else Snakemake fails at the first copy."""
    given = " ".join(words).replace("=", " ")
    if "--default-storage-provider fs" in given and shutil.which("rsync") is None:
        raise ShallowsError("--default-storage-provider fs needs rsync, which is not on the PATH. Install it.")


def _result(parts: tuple[str, ...], plan: Plan) -> None:
    if not parts or parts[0] not in SCALES:
        raise UnknownNameError("scale", parts[0] if parts else "", SCALES)
    if len(parts) < 2:
        return
    if parts[1] not in _STAGES:
        raise UnknownNameError("kind of result", parts[1], _STAGES)
    if parts[1] == FOLDER and len(parts) >= 3:
        name = parts[2].removesuffix(".html")
        raise ShallowsError(f"A leaderboard is made by: make leaderboard DATASET={name} SCALE={parts[0]}.")
    if parts[1] in PRODUCTS and len(parts) == 3:
        name, _, ending = parts[2].rpartition(".")
        if name not in plan.targets:
            raise UnknownNameError("target", name or ending, plan.targets)
        if ending not in PRODUCTS[parts[1]]:
            raise UnknownNameError(f"file type of {parts[1]}", ending, PRODUCTS[parts[1]])
        if parts[1] == "figures" and name not in plan.figures:
            raise ShallowsError(
                f"The target {name} is a table and has no figure. "
                f"Ask for tables/{name}.html (or .md, .csv) of this scale."
            )


def _data(parts: tuple[str, ...], plan: Plan) -> None:
    if len(parts) >= 2 and parts[0] in ("raw", "prepared") and parts[1] not in plan.catalogue:
        raise UnknownNameError("dataset", parts[1], plan.catalogue)
    if len(parts) >= 3 and parts[0] == "prepared" and parts[2] not in plan.configuration.variants:
        raise UnknownNameError("variant", parts[2], plan.configuration.variants)
