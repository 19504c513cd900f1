"""The request for a user's file: path and settings, from the command line or an entry under config/datasets/.

Every parsing of the workflow reads it, so it imports only light modules and opens no data.
"""

import difflib
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from shallows.errors import UnknownNameError
from shallows_papers.datasets.catalogue import catalogue
from shallows_papers.datasets.files import DatasetError

TASKS = ("classification", "regression")
SCALINGS = ("columns", "zscore", "unit", "none")
DECIMALS = (".", ",")
IMPUTATIONS = ("mean", "median", "most_frequent")
#: Words for missing values in a text table, by default.
NA_VALUES = ("?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "-nan", "<NA>")

#: Endings of file names (without an ending for compression) and their forms.
ENDINGS = {
    ".csv": "table",
    ".tsv": "table",
    ".txt": "table",
    ".xlsx": "table",
    ".dat": "table",
    ".data": "table",
    ".arff": "arff",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "matlab",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
}
COMPRESSIONS = (".gz", ".bz2", ".xz")
_NOT_READ = (".xls", ".ods", ".h5", ".hdf5", ".pkl", ".pickle", ".feather", ".zip", ".tar", ".json", ".rds")


@dataclass(frozen=True)
class FileRequest:
    """A user's file and the settings for reading it. Settings that are not given are guessed.

    ``separator``, ``decimal``: column separator and decimal sign ("." or ",") of a text table. ``categorical``,
    ``ignore``: columns to read as categories, and columns to leave out. ``title, licence, citation``: shown in the
    report.
    """

    name: str  # Name in paths
    file: str  # Path of the data
    test_file: str | None = None  # Path of the test rows; None: a fifth of the rows of `file` is held out
    form: str | None = None  # One of the values of `ENDINGS`
    # The target: the name or number of a column (from 0, or from the end if negative), several columns, a range such as
    # ``"21:28"``, or the name of a variable in a NumPy or MATLAB file
    target: Any = None
    features: str | None = None  # Name of the variable with the features in a NumPy or MATLAB file
    task: str | None = None  # {"classification", "regression"}
    header: bool | None = None  # Whether the first line of a table has the column names
    separator: str | None = None
    decimal: str | None = None
    # Words for missing values in a text table, in addition to empty cells. None: `NA_VALUES` in a table, "?" in an ARFF
    # file.
    na_values: tuple[str, ...] | None = None
    # How to fill in missing values: "mean", "median", "most_frequent" or a number. None: missing values are an error.
    missing: str | float | None = None
    categorical: tuple[Any, ...] = ()
    ignore: tuple[Any, ...] = ()
    scaling: str | None = None  # {"columns", "zscore", "unit", "none"}
    title: str = ""
    licence: str = "the user's own"
    citation: str = ""

    @property
    def dataset(self) -> str:
        """The name of the dataset, which differs from all names in the catalogue."""
        return f"own-{self.name}"

    @property
    def files(self) -> list[str]:
        """The paths of the files to read."""
        return [self.file] + ([self.test_file] if self.test_file else [])

    def as_data(self) -> dict[str, Any]:
        """Return the request as plain data, the parameters of the job that describes the file."""
        return asdict(self)


_KEYS = tuple(field.name for field in fields(FileRequest) if field.name not in ("name", "file"))
#: Keys of the configuration and the command line in addition to `dataset`.
SETTINGS = ("target", "task", "missing", "na_values", "test_file")


def resolve(settings: Mapping[str, Any], root: str | Path = ".") -> FileRequest | None:
    """Return the request in the configuration, or None.

    `settings` are ``config.yaml`` with the user's overrides; the keys ``dataset`` and `SETTINGS` are read. `root` is
    the folder that contains ``config/datasets/``.
    """
    wanted = settings.get("dataset")
    given = {key: settings.get(key) for key in SETTINGS if settings.get(key) is not None}
    if wanted is None:
        if given:
            raise DatasetError(f"{next(iter(given))} is set, but dataset is not. Set dataset, too.")
        return None
    wanted = str(wanted)
    entry = Path(root) / "config" / "datasets" / f"{wanted}.yaml"
    if re.fullmatch(r"[A-Za-z0-9_-]+", wanted) and entry.is_file():
        content = yaml.safe_load(entry.read_text(encoding="utf-8"))
        return make(_name_of(entry, wanted, settings), content, entry.as_posix(), **given)
    if not Path(wanted).is_file():
        raise DatasetError(_not_there(wanted, Path(root)))
    return make(_name_of(wanted, _stem(wanted), settings), {"file": wanted}, "the command line", **given)


def make(name: str, content: Any, where: str, **given: Any) -> FileRequest:
    """Check an entry and convert it to a request. `given` overrides the entry."""
    if not isinstance(content, Mapping) or "file" not in content:
        raise DatasetError(f"{where} must have names with values, including file: the path of the data.")
    for key in content:
        if key not in (*_KEYS, "file"):
            raise UnknownNameError(f"key of a dataset (in {where})", key, (*_KEYS, "file"))
    values = {key: value for key, value in {**content, **given}.items() if value is not None}
    for key in ("categorical", "ignore"):
        if key in values:
            values[key] = tuple(_split_columns(values[key]))
    if "target" in values and not isinstance(values["target"], str | int):
        values["target"] = _split_columns(values["target"])
    if "na_values" in values:
        values["na_values"] = _words(values["na_values"], where)
    choices = {"task": TASKS, "scaling": SCALINGS, "decimal": DECIMALS, "form": sorted(set(ENDINGS.values()))}
    for key, known in choices.items():
        if key in values and values[key] not in known:
            raise UnknownNameError(key, values[key], known)
    missing = values.get("missing")
    if isinstance(missing, str):
        if missing not in IMPUTATIONS:
            raise UnknownNameError("way to fill in missing values", missing, (*IMPUTATIONS, "a number"))
    elif missing is not None and not (type(missing) in (int, float) and abs(missing) < 1e38):
        raise DatasetError(f"missing must be one of {', '.join(IMPUTATIONS)}, or a number, not {missing!r}.")
    if "header" in values and not isinstance(values["header"], bool):
        raise DatasetError(f"header must be true or false, not {values['header']!r} ({where}).")
    request = FileRequest(
        name=name, **{key: str(v) if key in ("file", "test_file") else v for key, v in values.items()}
    )
    for path in request.files:
        if not Path(path).is_file():
            raise DatasetError(_not_there(path))
        if request.form is None:
            form_of(path)
    return request


def _split_columns(value: Any) -> list[Any]:
    """Return a list of columns. A text is split at its commas, and whole numbers become integers."""
    parts = value if isinstance(value, list | tuple) else str(value).split(",")
    return [int(part) if re.fullmatch(r"-?\d+", str(part).strip()) else str(part).strip() for part in parts]


def _words(value: Any, where: str) -> tuple[str, ...]:
    """Return the words of `na_values`, which is a list or a comma-separated text."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    # YAML reads a single question mark as a mapping.
    parts = ["?" if part in ({None: None}, {"": ""}) else part for part in parts]
    if any(isinstance(part, bool) or not isinstance(part, str | int | float) for part in parts):
        raise DatasetError(
            f"na_values must be a list of words, such as ['?', 'no'] with quotes, or [] for none, not {value!r} "
            f"({where})."
        )
    return tuple(word for part in parts if (word := str(part).strip()))


def form_of(path: str | Path) -> str:
    """Return the form of a file by its ending, "table" if it is unknown; refuse unsupported forms."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    if suffixes and suffixes[-1] in ENDINGS:
        return ENDINGS[suffixes[-1]]
    if suffixes and suffixes[-1] in _NOT_READ:
        raise DatasetError(
            f"Files such as {path} are not supported. Save it as CSV or Parquet. Known endings: {', '.join(ENDINGS)}; "
            f"for text files, also followed by {', '.join(COMPRESSIONS)}."
        )
    return "table"


def _stem(path: str) -> str:
    stem = Path(path).name
    while Path(stem).suffix.lower() in (*ENDINGS, *COMPRESSIONS):
        stem = Path(stem).stem
    return stem.lower()


def _name_of(path: str | Path, word: str, settings: Mapping[str, Any]) -> str:
    """Return a name for paths: the letters of a word, and a digest of the file's path relative to the results.

    So two files never have the same name, and the names stay the same when the project is moved.
    """
    ways = [os.path.relpath(path, settings.get(folder) or folder) for folder in ("results", "data")]
    plain = re.sub(r"[^A-Za-z0-9]+", "_", word).strip("_")[:40] or "data"
    return f"{plain}-{hashlib.sha256(repr(ways).encode()).hexdigest()[:8]}"


def _not_there(path: str, root: Path | None = None) -> str:
    place = Path(path)
    what = "It is a folder" if place.is_dir() else "There is no such file"
    folder = place.parent if place.parent.is_dir() else Path(".")
    entries = [*(one.stem for one in (root / "config" / "datasets").glob("*.yaml")), *catalogue()] if root else []
    names = {one.name: one.as_posix() for one in folder.iterdir() if one.is_file()}
    near = difflib.get_close_matches(place.name, [*names, *entries], n=1, cutoff=0.6)
    hint = f" Did you mean {names.get(near[0], near[0])}?" if near else ""
    return (
        f"The dataset {path} cannot be read. {what}.{hint} Give the path of a data file, or the name of an entry under "
        "config/datasets/."
    )
