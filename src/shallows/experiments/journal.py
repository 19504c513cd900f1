"""The log of a job: what a person sees is kept, and an error is told in its own words."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from shallows.errors import ShallowsError


class _Tee:
    """Writes to two streams. Asked whether it is a terminal, it answers for the first."""

    def __init__(self, seen: TextIO, kept: TextIO):
        self.seen, self.kept = seen, kept

    def write(self, text: str) -> int:
        # A progress bar redraws its line; only whole lines are worth keeping.
        if "\r" not in text:
            self.kept.write(text)
            self.kept.flush()
        return self.seen.write(text)

    def flush(self) -> None:
        self.seen.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.seen, name)


@contextmanager
def journal(path: str | Path) -> Iterator[None]:
    """Keep what a job prints in its log, and end the job with one clear sentence where it fails on purpose.

    Raises
    ------
    SystemExit
        In the place of a `ShallowsError`, whose message is printed. Other errors are faults: they pass, with their
        traceback in the log.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as kept:
        streams = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _Tee(sys.stdout, kept), _Tee(sys.stderr, kept)
        try:
            yield
        except ShallowsError as error:
            print(f"Error: {error}", file=sys.stderr, flush=True)
            raise SystemExit(1) from None
        except Exception:
            kept.write(traceback.format_exc())
            raise
        finally:
            sys.stdout, sys.stderr = streams
