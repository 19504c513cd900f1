"""Files that are written completely or not at all: under a temporary name, then renamed."""

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PARTIAL_SUFFIX = ".part"


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path next to ``target``. It is renamed to ``target`` after the block, or deleted after an error.

    A missing folder of ``target`` is created.
    """
    target = Path(target)
    # Not tempfile, which creates files that only their owner may read.
    partial = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}{PARTIAL_SUFFIX}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        with open(partial, "rb") as file:
            os.fsync(file.fileno())  # some file systems report a full disk only here
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write ``content`` as JSON to ``path``, completely or not at all."""
    with replacing(path) as partial:
        partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
