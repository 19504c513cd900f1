"""The logger plugin "shallows" of Snakemake: what `make` shows. Snakemake finds plugins by the names of packages."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

#: Characters of a line that lists files.
LONGEST = 300
#: Share of the jobs before which no remaining time is shown: the first jobs wait for imports and preparation.
LEAST_SHARE = 0.05


class LogHandler(LogHandlerBase):
    """Prints a line for each finished target and each tenth of the jobs, with the remaining time; and errors, warnings.

    Everything else is in Snakemake's own log.
    """

    writes_to_stream = True
    writes_to_file = has_formatter = needs_rulegraph = False
    has_filter = True  # of its own

    def __post_init__(self) -> None:
        self.begun = time.monotonic()
        self.targets: dict[int, str] = {}  # by the numbers of the jobs that make their tables
        self.n_targets = self.n_finished = self.tenth = 0
        self.left = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the lines for an event."""
        for line in self.lines(record):
            print(line, flush=True)

    def lines(self, record: logging.LogRecord) -> Iterator[str]:
        """Yield the lines to print for an event."""
        match getattr(record, "event", None):
            case LogEvent.RUN_INFO:
                self.n_targets = record.stats.get("tabulate", 0)
            case LogEvent.JOB_INFO if record.rule_name == "tabulate":
                self.targets[record.jobid] = record.wildcards["target"]
            case LogEvent.JOB_FINISHED if record.job_id in self.targets:
                self.n_finished += 1
                yield f"{self.n_finished:4} of {self.n_targets} targets: {self.targets[record.job_id]}{self.left}"
            case LogEvent.PROGRESS:
                yield from self._progress(record.done, record.total)
            case LogEvent.JOB_ERROR:
                logs = [path.removesuffix(" (check log file(s) for error details)") for path in record.log]
                yield f"Failed: {record.rule_name}{'; its log: ' * bool(logs)}{', '.join(logs)}"
                yield from (f"    {name}: {value}" for name, value in record.aux.items())
            case LogEvent.ERROR if str(record.getMessage()).startswith("RuleException"):
                pass  # The job has shown its error itself.
            case _ if record.levelno >= logging.WARNING:
                # Lists of files are cut; messages are shown whole.
                for line in self.format(record).splitlines():
                    yield f"{line[:LONGEST]} ..." if line.startswith("    ") and len(line) > LONGEST else line

    def _progress(self, done: int, total: int) -> Iterator[str]:
        # Not before: Snakemake imports its plugins first, and the workflow may use another copy of the package.
        from shallows.utils.progress import duration

        share, passed = done / total, time.monotonic() - self.begun
        says = LEAST_SHARE <= share < 1 and passed > 20
        self.left = f" (about {duration(passed * (1 - share) / share)} left)" if says else ""
        if int(10 * share) > self.tenth and share < 1:
            self.tenth = int(10 * share)
            yield f"{100 * share:3.0f} % of {total} jobs in {duration(passed)}{self.left}"
