"""Files that never look finished before they are: written beside their place, then moved into it."""

from __future__ import annotations

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
    """Give a temporary path beside `target`; move it there when the block ends well, remove it otherwise.

    ``target``: the final name. Its folder is made where it is missing. Returns: where to write.
    """
    target = Path(target)
    # A name of our own and not tempfile's: that one makes files which only their owner may read.
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
    """Write `content` as JSON at `path`, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
