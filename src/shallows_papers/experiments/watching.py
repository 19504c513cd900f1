"""Run Snakemake and print what the user wants to know: finished targets, remaining time, failures, results.

``python -m shallows_papers.experiments.watching --scale demo --cores all``, which ``make`` calls.
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shallows.errors import MissingExtraError, ShallowsError
from shallows.utils.progress import duration
from shallows_papers import project as own_project
from shallows_papers.experiments.comparing.table_rows import Row, counts_by_kind, read_rows
from shallows_papers.experiments.comparing.verdicts import Verdict

from . import other_versions
from .command_line import one_sentence
from .planning.configuration import SCALES
from .running import snakemake_process

#: The most lines of jobs that are shown.
_MOST_LINES = 100
SMOKE_TEST = """\
This was a smoke test on small data: everything runs. Most printed numbers belong to larger data and are not judged.
The real comparison, in a minute and without training: make report SCALE=laptop"""
#: What Snakemake writes to its standard error in each run, before its logger plugin is asked.
_CHATTER = re.compile(r"Using .*profile|$")


def new_kinds(lines: Iterable[str]) -> Iterator[str]:
    """Yield the warnings and errors of jobs: of lines that differ only in numbers, the first, up to a hundred."""
    seen: set[str] = set()
    for line in lines:
        kind = re.sub(r"[\d.]+", "", line.rstrip())
        if not _CHATTER.match(kind) and kind not in seen and len(seen) < _MOST_LINES:
            seen.add(kind)
            yield line.rstrip() if len(seen) < _MOST_LINES else "(further lines are in the logs of the jobs)"


def outcome(results: Path) -> Iterator[str]:
    """Yield the results, a line for each paper: its printed items by verdict."""
    papers: dict[str, list[Row]] = {}
    for path in sorted((results / "tables").glob("*.csv")):
        paper = json.loads(path.with_suffix(".json").read_text(encoding="utf-8")).get("paper") or "other"
        with suppress(ShallowsError):  # a table of an earlier version that this run did not request
            papers.setdefault(str(paper), []).extend(read_rows(path))
    for paper, rows in papers.items():
        counts: Counter[Verdict] = Counter()
        for kind in counts_by_kind(rows).values():
            counts.update({verdict: n for verdict, (n, _) in kind.items()})
        found = [f"{counts[one]} {one}" for one in Verdict if counts[one]]
        if found:
            yield f"{textwrap.shorten(paper.partition(':')[0], 72, placeholder='...')}: {', '.join(found)}"


def watch(words: Sequence[str]) -> int:
    """Run Snakemake with these words and show what the user wants; return its exit status.

    The package `snakemake_logger_plugin_shallows` shows Snakemake's events. Warnings and errors of jobs are shown here;
    their logs have all of their output. A signal that ends this program ends Snakemake and its jobs too. The status is
    then 128 plus the signal's number, as in a shell.
    """
    begun = time.monotonic()
    command = [sys.executable, "-m", "snakemake", *words]
    if snakemake_process.remove_stale_lock():
        print("An earlier run in this folder was killed. Its lock is removed, and its finished results are used.")
    elif snakemake_process.is_locked():
        print(f"Error: {_who_holds_the_lock(command)}", file=sys.stderr)
        return 1
    stopped: list[int] = []
    with (
        _ending_with_this_program(stopped) as children,
        subprocess.Popen(
            [*command, "--logger", "shallows"],
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, snakemake_process.WATCHER: str(os.getpid())},
        ) as child,
    ):
        children.append(child)
        for line in new_kinds(child.stderr):
            print(line, flush=True)
    if stopped:
        snakemake_process.remove_stale_lock()  # Snakemake was killed, or ended before it could unlock
    logs = sorted(Path(".snakemake", "log").glob("*.log"))
    log = f"; log: {logs[-1]}" if logs else ""
    print(f"{'Done' if child.returncode == 0 else 'Stopped'} after {duration(time.monotonic() - begun)}{log}")
    return 128 + stopped[0] if stopped and child.returncode != 0 else child.returncode


@contextmanager
def _ending_with_this_program(stopped: list[int]) -> Iterator[list[subprocess.Popen[str]]]:
    """Note signals that ask this program to end, and then end the process that the block adds to the list."""
    children: list[subprocess.Popen[str]] = []

    def end(number: int) -> None:
        while not children:  # the signal came before the process was started
            time.sleep(0.1)
        # A terminal sends Ctrl-C to Snakemake and its jobs too; they get some seconds to end by themselves.
        snakemake_process.end(children[0], 3.0 if number == signal.SIGINT else 0.0)

    def note(number: int, _: Any) -> None:
        stopped.append(number)
        if len(stopped) == 1:
            threading.Thread(target=end, args=[number], daemon=True).start()

    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        # nohup ignores SIGHUP, and then nothing ends.
        if number is not None and not (name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN):
            before[number] = signal.signal(number, note)
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _who_holds_the_lock(command: Sequence[str]) -> str:
    """Say what to do about the lock of the present folder, because of which Snakemake did not start."""
    here = Path.cwd()
    if held := snakemake_process.holders():
        numbers = " ".join(str(number) for number, _ in held)
        return f"another run works in {here} (process {numbers}). Wait until it has ended, or end it: kill {numbers}"
    unlock = f"cd {shlex.quote(str(here))} && {shlex.join([*command[:3], '--unlock', *command[3:]])}"
    return (
        f"{here} is locked by a run that is not on this machine or has ended. Make sure that no Snakemake runs in this "
        f"folder, also on other machines. Then remove the lock, and give your command again:\n    {unlock}"
    )


def check_cores(given: str) -> str:
    """Return the value of ``--cores``: "all" or a whole number from 1. With 0, Snakemake would wait forever."""
    try:
        if given == "all" or int(given) >= 1:
            return given
    except ValueError:
        pass
    raise ShallowsError(
        f"--cores needs a whole number of at least 1, or all, but got {given!r}. Write --cores 2 (CORES=2 with make), "
        "or omit it to use all cores."
    )


def project() -> Path:
    """Return the folder of the project: a clone around the present folder, or the files that came with this package."""
    MissingExtraError.check("workflow", "The workflow", "snakemake")
    clones = (
        folder
        for folder in (Path.cwd(), *Path.cwd().parents)
        if (folder / "workflow" / "Snakefile").exists() and (folder / "config" / "papers").is_dir()
    )
    return next(clones, own_project.folder())


def main(words: Sequence[str] | None = None) -> int:
    """Run a scale, and pass unknown words on to Snakemake; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=SCALES, default="demo")
    parser.add_argument("--cores", default="all")
    parser.add_argument("--refresh", action="store_true", help="recompute runs of other versions of packages")
    options, more = parser.parse_known_args(words)
    results = Path("results", options.scale)
    with one_sentence():
        cores = check_cores(options.cores)
        runs = other_versions.find_runs(options.scale) if options.refresh else []
    if options.refresh:
        if not runs:
            print(f"All finished runs of the scale {options.scale} were made with the installed versions.")
            return 0
        forced = [*other_versions.outputs(runs)]
        more = [*more, *forced, *other_versions.products(runs, options.scale), "--forcerun", *forced]
    status = watch(["--cores", cores, *more, "--config", f"scale={options.scale}"])
    if status == 0:
        print(*outcome(results), sep="\n")
        if (claims := results / "report" / "claims.txt").exists():
            print(claims.read_text(encoding="utf-8"), end="")
        if options.scale == "demo":
            print(SMOKE_TEST)
        records = [one.record for one in other_versions.find_runs(options.scale)]
        if note := other_versions.note(records, options.scale):
            print(note)
        if (page := results / "report" / "index.html").exists():
            print(f"The report: {page.resolve()}")
    return status


if __name__ == "__main__":
    sys.exit(main())
