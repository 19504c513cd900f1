"""The log of a job: a copy of its output; an expected error ends the job with one sentence and no traceback."""

import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from shallows.errors import ShallowsError, TrainingInterrupted

from . import batch_system, snakemake_process


class _Tee:
    """Writes whole lines to two streams; everything else, such as ``isatty``, is answered by the first."""

    def __init__(self, seen: TextIO, kept: TextIO):
        self.seen, self.kept, self.begun = seen, kept, ""

    def write(self, text: str) -> int:
        # `print` writes a text and its end of line separately, so that the lines of parallel jobs would mix.
        self.begun += text
        if self.begun.endswith("\n") or "\r" in text:
            self._pass_on()
        return len(text)

    def _pass_on(self) -> None:
        text, self.begun = self.begun, ""
        # A progress bar rewrites its line; only complete lines are kept.
        if "\r" not in text:
            self.kept.write(text)
            self.kept.flush()
        self.seen.write(text)

    def flush(self) -> None:
        if self.begun:
            self._pass_on()
        self.seen.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.seen, name)


@contextmanager
def journal(path: str | Path, resources: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Copy the output of a job into its log, and end the job with one clear sentence after an expected error.

    If `watching` shows the output of Snakemake, only warnings and errors, the standard error, are copied.
    A Slurm job that was asked to stop is queued again after its state was saved. An error other than a `ShallowsError`
    is a fault: it is raised, with its traceback in the log.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    batch_system.declare_memory(resources or {})
    with open(path, "w", buffering=1, encoding="utf-8") as kept:
        streams = sys.stdout, sys.stderr
        is_watched = snakemake_process.WATCHER in os.environ
        sys.stdout, sys.stderr = kept if is_watched else _Tee(sys.stdout, kept), _Tee(sys.stderr, kept)
        try:
            yield
        except ShallowsError as error:
            if not (isinstance(error, TrainingInterrupted) and batch_system.queue_again()):
                print(f"Error: {error}", file=sys.stderr, flush=True)
            raise SystemExit(1) from None
        except Exception:
            kept.write(traceback.format_exc())
            raise
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            sys.stdout, sys.stderr = streams
