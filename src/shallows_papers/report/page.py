"""The report: a page with all verdicts, and a page with the targets of each paper. They load no other file."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import math
import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import shallows
from shallows.errors import ShallowsError
from shallows_papers.experiments import other_versions
from shallows_papers.experiments.comparing import verdict_log
from shallows_papers.experiments.comparing.table_rows import NAMED_KEYS, Row, counts_by_kind
from shallows_papers.experiments.comparing.verdicts import KINDS, Verdict

from . import distances, headlines
from . import summaries as papers_in_short
from .pivot import without_size, writer
from .sheet import axes_place
from .tables import environment, html_context
from .target import Target, ordered, read, write_text
from .wording import code_text, is_number, key_title, name_of, quantity, separated

SCALES = {
    "demo": "Small real data that the repository carries, on any machine, in minutes. "
    "Where the papers used more data, the values are shown next to theirs and not judged against them.",
    "laptop": "The public datasets, whole or subsampled as each entry says, on a workstation.",
    "paper": "The papers' own sizes, on a GPU or a cluster.",
    "own": "All methods compared on your data.",
}
#: Filters the cards. The page's policy has its digest, so that the browser runs no other script.
SCRIPT = Path(__file__).with_name("templates") / "filter.js"
LEADERBOARD = "All methods that suit one dataset, each with parameters chosen on training rows and tested once."
_HEADING = re.compile(r"<h3>(.*?)</h3>")  # the first heading of a text is its title when it is folded
#: Titles of pages by scale; other scales have the default title.
TITLES = {"own": "Comparison on your own data"}


def write(
    targets: Iterable[tuple[str | Path, str | Path | None]],
    out_html: str | Path,
    findings: Iterable[str | Path] = (),
    summaries: Iterable[str | Path] = (),
    title: str = "",
    leaderboards: Mapping[str, str | Path] | None = None,
    origin: str = "",
    log: str | Path | None = None,
) -> None:
    """Write the report with relative links, so that the folder of results can be moved as a whole.

    ``targets`` are in the order of the page, each with its tidy CSV and its figure or None. ``leaderboards`` are pages
    by the titles of their datasets. ``title`` replaces the title of the scale. ``origin`` is a sentence about the
    origin of results that are not the user's own. ``log`` is the log of verdicts, which is copied next to the page. The
    central claims and what the runs say of them go into ``claims.txt``. The targets of a paper with a summary are on
    its own page, ``<paper>.html`` in the same folder.
    """
    folder = Path(out_html).parent
    sections = [_section(*paths, folder) for paths in targets]
    by_id = {section["target"].id: section for section in sections}
    shown = [section["target"] for section in sections]
    kinds = counts_by_kind(row for target in shown for row in target.rows)
    scales = list(dict.fromkeys(target.scale for target in shown))
    scale = scales[0] if len(scales) == 1 else ""
    machines = dict.fromkeys(name for target in shown for name in target.meta["label"]["hardware"])
    in_short = papers_in_short.read(summaries, {target.id: target for target in shown})
    papers: dict[str, list[dict[str, Any]]] = {one.title: [] for one in in_short}  # papers with a summary come first
    pages = {one.title: one.page for one in in_short}
    for section in sections:
        paper = str(section["target"].meta.get("paper") or "")
        section["page"] = pages.get(paper, "")  # empty if the section is on the first page
        papers.setdefault(paper, []).append(section)
    names = {one.title: one.name for one in in_short}
    numbers = distances.table(shown, names)
    texts = [render(path, by_id) for path in findings]
    script = SCRIPT.read_text(encoding="utf-8")
    shared = {
        "by_id": by_id,
        "version": shallows.__version__,
        "finished": max((run["finished"] for section in sections for run in section["runs"]), default=""),
        "scale": ", ".join(scales),
        "origin": origin,
        "compares_with_papers": any(target.paper_is_known for target in shown) or not sections,
        "findings": [((_HEADING.findall(text) or ["What was found"])[0], text) for text in texts],
        "summaries": in_short,
    }
    templates = environment()
    for one in in_short:
        its_page = templates.get_template("paper.html")
        text = its_page.render(shared, summary=one, sections=papers[one.title], index=Path(out_html).name)
        write_text(folder / one.page, text)
    text = templates.get_template("page.html").render(
        shared,
        sections=sections,
        scale_text=LEADERBOARD if title else SCALES.get(scale, ""),
        title=title or TITLES.get(scale, "Reproduction report"),
        leaderboards=[(name, _relative(path, folder)) for name, path in (leaderboards or {}).items()],
        codes=codes(shown),
        machines=[*machines] or ["unknown"],
        kinds=kinds,
        causes=list(dict.fromkeys(one for section in sections for one in section["card"]["causes"])),
        columns=[one for one in Verdict if any(one in counts for counts in kinds.values())],
        kind_meanings=KINDS,
        outcomes=distances.counts(numbers),
        n_numbers=len(numbers),
        headlines=headlines.by_paper(shown, names),
        origins=headlines.sentences(shown, verdict_log.read(log) if log and scale == verdict_log.SCALE else ()),
        log=Path(log).name if log else "",
        judged=headlines.JUDGED,
        distances=_data_uri(distances.svg(numbers)) if len(numbers) else "",
        papers=papers,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
    )
    write_text(out_html, text)
    if in_short:
        lines = [textwrap.fill(one.sentence, 100, subsequent_indent="    ") for one in in_short]
        write_text(folder / "claims.txt", "\n".join(lines) + "\n")
    if log:
        write_text(folder / Path(log).name, Path(log).read_text(encoding="utf-8"))


def codes(targets: Iterable[Target]) -> list[str]:
    """Return the code of all targets: the commits of each version, separately if there were uncommitted changes."""
    commits: dict[tuple[str, bool], dict[str, None]] = {}
    for code in (target.meta["label"]["code"] for target in targets):
        if code["version"]:
            of_version = commits.setdefault((code["version"], bool(code["dirty"])), {})
            of_version.update(dict.fromkeys(code["commits"]))
    return [
        code_text({"version": version, "commits": [*names], "dirty": dirty})
        for (version, dirty), names in commits.items()
    ] or ["unknown"]


def _section(csv_path: str | Path, svg_path: str | Path | None, folder: Path) -> dict[str, Any]:
    target, table, svg = read(csv_path), Path(csv_path), Path(svg_path) if svg_path else None
    drawn = svg is not None and target.has_picture
    root = table.parent.parent  # of this scale's results, for paths of files that are missing
    places = dict.fromkeys(Path(name) for row in target.rows for name in row.records)
    places = [root / place if not place.exists() and (root / place).exists() else place for place in places]
    runs = [_run(place, folder) for place in places]
    files = {
        "numbers (CSV)": table,
        "label and layout (JSON)": table.with_suffix(".json"),
        "table alone": table.with_suffix(".html"),
        **({"figure (SVG)": svg, "figure (PNG)": svg.with_suffix(".png")} if svg else {}),
    }
    return {
        **html_context(target, drawn),
        "card": card(target, svg.with_suffix(".png") if drawn else None),
        "figure": _data_uri(svg.read_text(encoding="utf-8")) if drawn else None,
        "alternative": alternative(target) if drawn else "",
        "files": [(text, _relative(path, folder)) for text, path in files.items() if path.exists()],
        "runs": runs,
        "warnings": Counter(run["warning"] for run in runs if run["warning"]),
        "versions": other_versions.note((run["made"] for run in runs), target.scale) if target.scale != "own" else "",
    }


def alternative(target: Target) -> str:
    """Describe a figure as text, for readers who cannot see it."""
    drawn = target.figure.get("y")
    shown = [row for row in target.rows if row.measured_mean is not None and (not drawn or row.metric in drawn)]
    parts = []
    for key in target.key_names():
        values = list(dict.fromkeys(name_of(target, key, row.keys[key]) for row in shown if row.keys.get(key)))
        if 1 < len(values) <= 8:
            parts.append(f"{key_title(target, key)}: {', '.join(values)}")
    lines = f" Lines by {'; '.join(parts)}." if parts else ""
    return f"{target.title}.{lines} The table that follows has the numbers."


def _data_uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii")


def _relative(path: str | Path, folder: Path) -> str:
    return Path(os.path.relpath(Path(path).resolve(), folder.resolve())).as_posix()


def _run(folder: Path, page_folder: Path) -> dict[str, Any]:
    """Describe a run; its name is its folder without seed and identifier, so that repetitions are together."""
    record_path, curve_path = folder / "record.json", folder / "curve.csv"
    try:
        record = json.loads(record_path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = {}
    return {
        "job": "/".join(folder.parts[-3:-1]),
        "name": re.sub(r"(-seed\d+)?-[0-9a-f]{10}$", "", folder.name),
        "seed": record.get("run", {}).get("seed"),
        "memory": (record.get("peak_memory_bytes") or 0) / 1e9,
        "record": _relative(record_path, page_folder),
        "curve": _relative(curve_path, page_folder) if curve_path.exists() else None,
        "facts": [*_facts(record)],
        "warning": (record.get("blas") or {}).get("warning"),
        "finished": str(record.get("finished", ""))[:10],
        "made": record,
    }


def _facts(record: dict[str, Any]) -> Iterable[str]:
    if (seconds := record.get("times", {}).get("total")) is not None:
        yield f"{seconds:,.1f} s"
    for count, name in ((record.get("resumes"), "resumed"), (record.get("rollbacks"), "rolled back")):
        if count:
            yield f"{name} {count} times" if count > 1 else f"{name} once"


#: Pixels of a small picture, which is shown at half this size.
WIDTH, HEIGHT = 520, 300
#: Number of values on a card that has no picture.
N_VALUES = 3


def card(target: Target, picture: Path | None) -> dict[str, Any]:
    """Return what a card shows and is filtered by; its picture is made from the PNG, if there is one."""
    thumbnail = _thumbnail(picture) if picture and picture.exists() else ""
    return {
        "thumbnail": thumbnail,
        "values": [] if thumbnail else [*_values(target)],
        "items": [f"{kind}:{name}" for kind, counts in counts_by_kind(target.rows).items() for name in counts],
        "causes": ordered(row.cause for row in target.rows if row.cause),
        "words": _words(target),  # the text that a search covers
    }


def _thumbnail(path: Path) -> str:
    """Return the axes of a figure, without its title and label, as a small picture with few colors."""
    from PIL import Image

    with Image.open(path) as whole:
        bottom, height = axes_place(whole.info)
        image = whole.convert("RGB").crop(
            (0, round(whole.height * (1 - bottom - height)), whole.width, round(whole.height * (1 - bottom)))
        )
    image.thumbnail((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    data = io.BytesIO()
    # Maximum coverage keeps the colors of thin lines.
    few = image.quantize(64, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.convert("RGB").save(data, format="WEBP", lossless=True, method=6)
    return "data:image/webp;base64," + base64.b64encode(data.getvalue()).decode("ascii")


def _values(target: Target) -> Iterator[dict[str, str]]:
    compared = [row for row in target.rows if row.published and row.measured_mean is not None]
    varying = [key for key in target.key_names() if len({row.keys.get(key, "") for row in compared}) > 1]
    for row in compared[:N_VALUES]:
        is_finite = math.isfinite(row.measured_mean)
        measured = writer(target, row.metric)(row.measured_mean) if is_finite else without_size(row)
        yield {
            "name": _name(target, row, varying),
            "printed": quantity(separated(row.published), row.unit),
            "measured": quantity(measured, row.unit) if is_finite else measured,
        }


def _name(target: Target, row: Row, varying: list[str]) -> str:
    """Return the keys in which a row differs from the others, or else its metric."""
    named = {key: row.keys[key] for key in varying if row.keys.get(key)}
    parts = [
        f"{key_title(target, key)} " * is_number(value) + name_of(target, key, value) for key, value in named.items()
    ]
    return ", ".join(parts) or name_of(target, "metric", row.metric)


def _words(target: Target) -> str:
    named = [name_of(target, key, value) for key in NAMED_KEYS for value in target.values(key) if value]
    about = [str(target.meta.get(key) or "") for key in ("citation", "caption")]
    return " ".join([target.id, target.title, target.source, *about, *named]).lower()


def _for_docutils(markdown: str) -> str:
    """Return a text with headings, names, formulas and links of Markdown in the markup that docutils reads."""

    def underlined(found: re.Match[str]) -> str:
        return f"{found[2]}\n{'=-~'[len(found[1]) - 1] * len(found[2])}"

    text = re.sub(r"^(#{1,3}) (.+)$", underlined, markdown, flags=re.MULTILINE)
    text = re.sub(r"`([^`]+)`", r"``\1``", text)
    text = re.sub(r"(?<!\w)\$([^$]+)\$(?!\w)", r":math:`\1`", text)
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"`\1 <\2>`__", text)


_LITERAL = re.compile(r'<span class="docutils literal">(?P<name>[a-z][a-z0-9_]*)</span>')


def render(path: str | Path, sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Convert a Markdown file to a fragment of HTML; the file cannot include other files or raw HTML.

    ``sections`` has the ``page`` and the ``kinds`` (see `counts_by_kind`) of each target. The name of a target in the
    text becomes a link, followed by the number of its items with each verdict, so that the text repeats no numbers.
    """
    from docutils.core import publish_parts
    from docutils.utils import SystemMessage

    settings = {
        "initial_header_level": 3,
        "math_output": "MathML",
        "doctitle_xform": False,
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "report_level": 2,
        "halt_level": 2,
        "warning_stream": False,
    }
    try:
        text = _for_docutils(Path(path).read_text(encoding="utf-8"))
        body = publish_parts(text, writer="html5", settings_overrides=settings)["body"]
    except SystemMessage as error:
        raise ShallowsError(f"{path} cannot be read as Markdown: {error}") from None

    def linked(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in sections:
            return f"<code>{name}</code>"
        kinds, page = sections[name]["kinds"].values(), sections[name]["page"]
        counts = {one: sum(its[one][0] for its in kinds if one in its) for one in Verdict}
        summary = ", ".join(f"{count} {html.escape(verdict)}" for verdict, count in counts.items() if count)
        summary = f' <span class="quiet">({summary})</span>' if summary else ""
        return f'<a href="{page}#{name}"><code>{name}</code></a>{summary}'

    return _LITERAL.sub(linked, body)
