"""Run Snakemake and print what the user wants to know: finished targets, remaining time, failures, results.

``python -m shallows_papers.experiments.watching --scale demo --cores all``, which ``make`` calls. The complete output
of Snakemake is in ``results/<scale>/logs/make.log``.
"""

from __future__ import annotations

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shallows.errors import MissingExtraError, ShallowsError
from shallows.utils.progress import duration
from shallows_papers import project as own_project
from shallows_papers.experiments.comparing.table_rows import Row, counts_by_kind, read_rows
from shallows_papers.experiments.comparing.verdicts import Verdict

from .command_line import one_sentence
from .planning.configuration import SCALES
from .running import snakemake_process

#: Lines that Snakemake writes when there is no problem, and the last line of each run.
_CHATTER = re.compile(
    r"\[\w{3} \w{3} +\d|Select jobs|Execute \d|Using |Assuming |Provided |Rules claiming|Conda env|Building DAG|"
    r"SNAKEMAKE|=====|Config file|Complete log|Elapsed|job +count|-----|\w+ +\d+$|Job stats|Creating|Updating|Touching|"
    r"Removing temporary|Nothing to be done|Finished |Job \d+|Submitted|Group job|.* on .+ \[.*\]: |"
    r"The (?:comparison's )?report: |"  # which is printed at the end, if there was no error
    r".* \(\d[\d.]* (?:s|min|h)\)$"  # the last line of a job
)
_BLOCK = re.compile(r"(?:local)?(?:rule|checkpoint|group job) .*:$|Group job ")
_FAILURE = re.compile(r"Error in |\w*Error\b|\w*Exception\b|Traceback|Exiting|Shutting down|Terminating")
_MOST_LINES = 100
#: Characters of a line in which Snakemake lists files or parameters; messages are shown whole.
_LONGEST = 300


class Screen:
    """The lines on the screen, one call of `lines` for each line that Snakemake writes.

    There is a line for each finished target, with the number of finished targets and the remaining time, estimated from
    the share of finished jobs, and a line for every tenth of the jobs. A failure is shown completely. Other unusual
    lines are warnings and are shown, up to a hundred of them; of lines that differ only in numbers, the first.
    """

    def __init__(self, begun: float):
        self.begun, self.block = begun, ""
        self.seen: set[str] = set()
        self.rule, self.jobs = "", {}
        self.n_targets = self.n_finished = self.tenth = 0
        self.left = ""

    def lines(self, line: str, now: float) -> Iterator[str]:
        """Yield the lines to print for one line of Snakemake."""
        line = line.rstrip()
        if self.block and line.startswith("    "):
            self._remember(line.strip())
            if self.block == "failure":
                yield line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."
            return
        self.block = ""
        if _FAILURE.match(line):
            self.block = "failure"
            yield line
        elif _BLOCK.match(line):
            self.block, self.rule = "job", line.rstrip(":").rpartition(" ")[2]
        elif found := re.match(r"Finished jobid: (\d+) \(Rule: (\w+)\)", line):
            if found[2] == "tabulate" and found[1] in self.jobs:
                self.n_finished += 1
                yield f"{self.n_finished:4} of {self.n_targets} targets: {self.jobs[found[1]]}{self.left}"
        elif found := re.match(r"(\d+) of (\d+) steps", line):
            yield from self._progress(int(found[1]), int(found[2]), now)
        elif found := re.match(r"tabulate +(\d+)$", line):
            self.n_targets = int(found[1])
        elif line.startswith(" ") or not line or _CHATTER.match(line):
            return
        elif (kind := re.sub(r"[\d.]+", "", line)) not in self.seen and len(self.seen) < _MOST_LINES:
            self.seen.add(kind)
            yield line if len(self.seen) < _MOST_LINES else "(further lines are in the log)"

    def _remember(self, text: str) -> None:
        """Note the target whose table a job makes; the number of the job comes before its wildcards."""
        if found := re.match(r"jobid: (\d+)$", text):
            self.job = found[1]
        elif self.rule == "tabulate" and (found := re.search(r"\btarget=(\w+)", text)):
            self.jobs[self.job] = found[1]

    def _progress(self, done: int, total: int, now: float) -> Iterator[str]:
        share, passed = done / total, now - self.begun
        self.left = f" (about {duration(passed * (1 - share) / share)} left)" if 0 < share < 1 and passed > 20 else ""
        if int(10 * share) > self.tenth and share < 1:
            self.tenth = int(10 * share)
            yield f"{100 * share:3.0f} % of {total} jobs in {duration(passed)}{self.left}"


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


def watch(words: Sequence[str], log: Path) -> int:
    """Run Snakemake with these words, show what the user wants and keep all in a log; return its exit status.

    A signal that ends this program ends Snakemake and its jobs too. The status is then 128 plus the signal's number, as
    in a shell.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    report, screen, command = "", Screen(begun), [sys.executable, "-m", "snakemake", *words]
    if snakemake_process.remove_stale_lock():
        print("An earlier run in this folder was killed. Its lock is removed, and its finished results are used.")
    stopped: list[int] = []
    refused = False
    with (
        log.open("w", encoding="utf-8") as file,
        _ending_with_this_program(stopped) as children,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            env={**os.environ, snakemake_process.WATCHER: str(os.getpid())},
        ) as child,
    ):
        children.append(child)
        for line in child.stdout:
            file.write(line)
            report = line.rstrip() if line.startswith("The comparison's report:") else report
            refused = refused or line.startswith("LockException")
            if refused or (stopped and stopped[0] != signal.SIGINT):
                continue  # how Snakemake ends, and its message about the lock, are only in the log
            for shown in screen.lines(line, time.monotonic()):
                print(shown, flush=True)
    if stopped:
        snakemake_process.remove_stale_lock()  # Snakemake was killed, or ended before it could unlock
    if refused:
        print(f"Error: {_who_holds_the_lock(command)}", file=sys.stderr)
    print(f"{'Done' if child.returncode == 0 else 'Stopped'} after {duration(time.monotonic() - begun)}; log: {log}")
    if report and child.returncode == 0:
        print(report)
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
    options, more = parser.parse_known_args(words)
    results = Path("results", options.scale)
    with one_sentence():
        cores = check_cores(options.cores)
    status = watch(["--cores", cores, *more, "--config", f"scale={options.scale}"], results / "logs" / "make.log")
    if status == 0:
        print(*outcome(results), sep="\n")
        if (page := results / "report" / "index.html").exists():
            print(f"The report: {page.resolve()}")
    return status


if __name__ == "__main__":
    sys.exit(main())
