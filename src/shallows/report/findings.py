"""A page of findings: prose of the repository, in which the names of targets lead to their tables and verdicts."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from pathlib import Path

from shallows.errors import ShallowsError

_LITERAL = re.compile(r'<span class="docutils literal">(?P<name>[a-z][a-z0-9_]*)</span>')


def render(path: str | Path, counts: Mapping[str, Mapping[str, int]]) -> str:
    """A reStructuredText file, which can include no file and no HTML of its own, as a fragment of HTML.

    ``counts`` tells for each target of the page how many of its values have which verdict; the name of a target in the
    text becomes a link, followed by these counts, so that the prose needs no number that a table has.
    """
    from docutils.core import publish_parts
    from docutils.utils import SystemMessage

    settings = {
        "initial_header_level": 3,
        "doctitle_xform": False,
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "report_level": 2,
        "halt_level": 2,
        "warning_stream": False,
    }
    try:
        text = Path(path).read_text(encoding="utf-8")
        body = publish_parts(text, writer="html5", settings_overrides=settings)["body"]
    except SystemMessage as error:
        raise ShallowsError(f"{path} is no valid reStructuredText: {error}") from None

    def linked(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in counts:
            return f"<code>{name}</code>"
        summary = ", ".join(f"{count} {html.escape(verdict)}" for verdict, count in counts[name].items() if count)
        summary = f' <span class="quiet">({summary})</span>' if summary else ""
        return f'<a href="#{name}"><code>{name}</code></a>{summary}'

    return _LITERAL.sub(linked, body)
