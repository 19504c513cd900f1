"""The table of all datasets."""

from __future__ import annotations

from pathlib import Path

from shallows.errors import MissingExtraError
from shallows_papers.datasets.catalogue import Dataset, catalogue
from shallows_papers.datasets.listing.description import size_of, sizes

_TEMPLATE = Path(__file__).with_name("overview.md")
_STATES = {
    "public": "downloaded",
    "embedded": "bundled",
    "supplied": "supplied by the user",
    "generated": "generated",
}


def table() -> str:
    """Return the table of all datasets as Markdown."""
    MissingExtraError.check("workflow", "The table of all datasets", "jinja2")

    import jinja2

    datasets = catalogue().values()
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    environment.filters["row"] = lambda cells: " | ".join(str(cell).replace("|", "\\|") for cell in cells)
    names = [(other, f"`{one.name}`", how or "the same") for one in datasets for other, how in one.also_called.items()]
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(rows=map(_row, datasets), names=names)


def _row(dataset: Dataset) -> list[str]:
    files = dataset.files if dataset.state in ("public", "embedded") else ()
    n, d = sizes(dataset)
    return [
        f"`{dataset.name}`",
        f"[{dataset.title}]({dataset.homepage})",
        _STATES[dataset.state],
        ", ".join(dataset.used_by) or "—",
        n,
        d,
        str(dataset.n_classes or "") or (f"{dataset.n_targets} targets" if dataset.n_targets > 1 else "—"),
        dataset.format,
        size_of(dataset.size) if files else "—",
        "—" if not files else "yes" if all(file.has_checksum for file in files) else "no",
        dataset.licence,
    ]
