"""What the readers of all formats share: the files of a part, and errors that name the file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from shallows_papers.datasets.catalogue import Dataset, Form
from shallows_papers.datasets.files import DatasetError
from shallows_papers.datasets.formats.containers import CONTAINER_ERRORS
from shallows_papers.datasets.sources import Block

#: A reader of a part ("train" or "test"). Its arguments: dataset, form, paths by part, part, and the rows per block.
Reader = Callable[[Dataset, Form, Mapping[str, Path], str, int], Iterator[Block]]


def files_of(paths: Mapping[str, Path], part: str) -> list[Path]:
    """Return the file or the numbered files of a part in order. If it has none, return the files of "all"."""
    numbers = {name: int(end) for name in paths if (end := name.removeprefix(f"{part}_")).isdigit()}
    names = [name for name in paths if name == part] + sorted(numbers, key=numbers.get)
    return [paths[name] for name in names] if names or part == "all" else files_of(paths, "all")


def span_of(dataset: Dataset, paths: Mapping[str, Path], part: str) -> tuple[int, int | None]:
    """Return the first row of a part in its files and the row after its last, or None for the end of the files."""
    if part == "all" or not dataset.n_test or not any(name.startswith("all") for name in paths):
        return 0, None
    return (0, dataset.n_train) if part == "train" else (dataset.n_train, None)


def rows_between(blocks: Iterable[Block], start: int, stop: int | None = None) -> Iterator[Block]:
    """Yield the rows start:stop of all blocks."""
    position = 0
    for x, y in blocks:
        low, high = max(start - position, 0), len(y) if stop is None else min(stop - position, len(y))
        if low < high:
            yield Block(x[low:high], y[low:high])
        position += len(y)
        if stop is not None and position >= stop:
            return


@contextmanager
def naming(path: Path, format: str) -> Iterator[None]:
    """Turn an error of a reader into a `DatasetError` that names the file and the reason."""
    try:
        yield
    except (ValueError, KeyError, *CONTAINER_ERRORS) as error:
        raise DatasetError(
            f"{path} cannot be read ({format} format): {error}. "
            "Remove it and fetch it again, or check the format in the catalogue."
        ) from error


def each_file(read: Callable[[Dataset, Form, Path, int], Iterator[Block]]) -> Reader:
    """Turn a function that reads one file into a reader that reads the files of a part in turn."""

    def chain(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
        for path in files_of(paths, part):
            with naming(path, form.format):
                yield from read(dataset, form, path, rows)

    @functools.wraps(read)
    def reader(dataset: Dataset, form: Form, paths: Mapping[str, Path], part: str, rows: int) -> Iterator[Block]:
        return rows_between(chain(dataset, form, paths, part, rows), *span_of(dataset, paths, part))

    return reader
