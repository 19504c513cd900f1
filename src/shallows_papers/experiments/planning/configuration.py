"""Read the configuration files, check them against their schemas, and raise errors that name the place."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from shallows.errors import ShallowsError, UnknownNameError

from ..parameters import flat
from ..setting_text import selects
from .runs import digest

#: The scales, from the quick demonstration to the sizes of the papers.
SCALES = ("demo", "laptop", "paper")

#: What a folder of configuration must have.
NEEDED = ("datasets.yaml", "methods.yaml", "papers")


_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ConfigurationError(ShallowsError, ValueError):
    """An error in an entry of a configuration file."""


@dataclass(frozen=True)
class Configuration:
    """The content of all files under ``config/``."""

    root: Path  # the folder with config/
    settings: dict[str, Any]  # config.yaml with the user's settings
    variants: dict[str, Any]
    methods: dict[str, Any]
    papers: dict[str, Any]
    published: dict[str, list[dict[str, str]]]  # what the papers print, by target
    #: how a user's own data are split, from the file of the methods
    compare: dict[str, Any]
    #: rows of a leaderboard at each scale, from the same file; may be empty
    leaderboard: dict[str, Any]

    @property
    def folder(self) -> Path:
        """The folder of the files: ``config/``, unless the settings name another."""
        return Path(self.settings["configuration"] or self.root / "config")

    def steps_of(self, variant: str) -> list[dict[str, Any]]:
        """Return all steps that lead to a variant: the steps of the variants before it, then its own."""
        return [step for name in _chain(self.variants, variant) for step in self.variants[name]["steps"]]


def load(root: str | Path = ".", settings: Mapping[str, Any] | None = None) -> Configuration:
    """Read and check every configuration file below ``root``; ``settings`` replace the settings of ``config.yaml``."""
    root = Path(root)
    schemas = root / "workflow" / "schemas"
    usual = read_yaml(root / "config" / "config.yaml")
    settings = {**usual, **(settings or {})}
    settings["changes"] = with_numbers(settings.get("changes") or {})
    settings["seeds"] = _as_seeds(settings.get("seeds"))
    check(settings, schemas / "config.schema.yaml", "the configuration")
    # Results of changed parameters never replace the results of unchanged targets; users may choose another folder.
    if settings["changes"] and settings["results"] == usual["results"]:
        settings["results"] = folder_of_changes(settings["results"], settings["changes"])
    for path in (root.resolve(), Path.cwd(), settings["results"], settings["data"]):
        refuse_braces(path)
    folder = Path(settings["configuration"] or root / "config")
    for part in NEEDED:
        if not (folder / part).exists():
            raise ConfigurationError(
                f"The folder {folder}, which the setting 'configuration' names, has no {part}. It needs what "
                f"config/ of this project has: {', '.join(NEEDED)}."
            )

    variants = _checked(folder / "datasets.yaml", schemas / "datasets.schema.yaml")["variants"]
    methods = _checked(folder / "methods.yaml", schemas / "methods.schema.yaml")
    for path in sorted(folder.glob("papers/*/methods.yaml")):
        _add_methods(methods, path, schemas / "methods.schema.yaml")
    for name, method in methods["methods"].items():
        with placed(f"method {name}"):
            _flatten_method(method)
    for path in (folder / "papers").glob("*.yaml"):
        raise ConfigurationError(f"A paper is a folder: move {path} to {path.with_suffix('')}/targets.yaml.")
    papers: dict[str, Any] = {}
    for path in sorted((folder / "papers").glob("*/targets*.yaml")):
        _add_paper(papers, _checked(path, schemas / "paper.schema.yaml"), path)
    published = {
        target: read_published(folder / "papers" / name / "published" / f"{target}.csv")
        for name, paper in papers.items()
        for target in paper["targets"]
    }
    compared = methods["compare"], methods.get("leaderboard", {})
    loaded = Configuration(root, settings, variants, methods["methods"], papers, published, *compared)
    _check_chains(loaded, folder / "datasets.yaml")
    return loaded


def folder_of_changes(results: str | Path, changes: Mapping[str, Any]) -> str:
    """Return the folder for results of changed parameters, inside the folder of all results."""
    parts = [f"{target}-{'-'.join(map(str, parameters))}" for target, parameters in changes.items()]
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "", "-".join(parts))[:60]
    return f"{results}/changes/{readable}-{digest(changes)}"


def with_numbers(given: Any) -> Any:
    """Turn texts that are numbers into numbers: all numbers of a command line are texts, and so is 1e-3 in YAML."""
    if isinstance(given, Mapping):
        return {name: with_numbers(value) for name, value in given.items()}
    if isinstance(given, list):
        return [with_numbers(value) for value in given]
    if not isinstance(given, str):
        return given
    for read in (int, float):
        with suppress(ValueError):
            return read(given)
    return {"None": None, "null": None, "True": True, "true": True, "False": False, "false": False}.get(given, given)


def _as_seeds(given: Any) -> Any:
    """Read seeds from a command line: ``seeds=0`` is a number, and ``'seeds=[0, 1]'`` a list of texts."""
    listed = given if isinstance(given, list) or given is None else [given]
    if listed is None or not all(str(seed).isdecimal() for seed in listed):
        return given
    return [int(seed) for seed in listed]


def refuse_braces(path: str | Path) -> None:
    """Raise an error for a path with braces, which Snakemake would take for wildcards."""
    if set(str(path)) & {"{", "}"}:
        raise ConfigurationError(f"The path {path} has braces, which Snakemake takes for wildcards. Rename it.")


def read_yaml(path: str | Path) -> Any:
    """Read a YAML file. A repeated key in a mapping is an error, since YAML would keep only the last."""
    try:
        loader = _Loader(Path(path).read_text(encoding="utf-8"))
        document = loader.get_single_node()
        _refuse_repeated_keys(document, set())
        return None if document is None else loader.construct_document(document)
    except yaml.YAMLError as error:
        mark, lines = getattr(error, "problem_mark", None), Path(path).read_text(encoding="utf-8").splitlines()
        if mark is None or mark.line >= len(lines):
            raise ConfigurationError(f"{path} is not valid YAML: {error}") from None
        # PyYAML names neither the file nor, of an alias without an anchor, the alias.
        problem = f"{error.problem} in line {mark.line + 1}: {lines[mark.line].strip()}"  # type: ignore[attr-defined]
        raise ConfigurationError(f"{path} is not valid YAML: {problem}") from None


def _refuse_repeated_keys(node: yaml.Node | None, seen: set[int]) -> None:
    if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
        return
    seen.add(id(node))
    keys = set()
    for child in node.value:
        key, value = child if isinstance(child, tuple) else (None, child)
        if isinstance(key, yaml.ScalarNode):
            if key.value in keys:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is repeated", key.start_mark
                )
            keys.add(key.value)
        _refuse_repeated_keys(value, seen)


def read_published(path: str | Path) -> list[dict[str, str]]:
    """Read the rows of a table of published values; none if the file does not exist.

    - ``item``: rows about one printed item have the same item. By default it is the number of the line.
    - ``derived``: the items from which a row is derived; they are counted instead of the row.
    - ``spread``: the standard deviation that is printed with a number.
    - ``evidence``: ``quotation`` for a quoted value, for any metric.
    """
    path = Path(path)
    if not path.exists():
        return []
    needed = ("dataset", "method", "setting", "metric", "published")
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        missing = [column for column in needed if column not in (reader.fieldnames or ())]
        if missing:
            raise ConfigurationError(f"{path} lacks the columns {', '.join(missing)}.")
        rows, empty = [], {"derived": "", "spread": "", "evidence": ""}
        for row in reader:
            place = f"{path}, line {reader.line_num}"
            if None in row or None in row.values():
                raise ConfigurationError(f"{place}: expected one field for each column; quote a text that has a comma.")
            if row.get("evidence") not in (None, "", "quotation"):
                raise ConfigurationError(f"{place}: the column evidence must be 'quotation' or empty.")
            rows.append({**empty, **row, "item": row.get("item") or str(reader.line_num)})
        return rows


def summary_paths(loaded: Configuration) -> list[str]:
    """Return the paths of the papers' summaries, ``papers/*/summary.yaml``, after checking each."""
    found = sorted(loaded.folder.glob("papers/*/summary.yaml"))
    for path in found:
        summary = read_yaml(path)
        with placed(path.as_posix()):
            check(summary, loaded.root / "workflow" / "schemas" / "summary.schema.yaml", "a summary")
            targets = look_up("paper", summary["paper"], loaded.papers)["targets"]
            _check_folder(summary["paper"], path)
            ledger = summary["ledger"]
            for number in [*summary["numbers"].values(), *ledger["rows"], *ledger.get("demo", ledger)["rows"]]:
                look_up("target", number["target"], targets)
            if not look_up("target", summary["picture"], targets).get("figure"):
                raise ConfigurationError(f"The picture {summary['picture']} has no figure.")
    return [str(path) for path in found]


def check(instance: Any, schema_path: str | Path, what: str) -> None:
    """Check data against a schema; an error says what is wrong in one sentence."""
    errors = sorted(_validator(Path(schema_path)).iter_errors(instance), key=lambda error: list(map(str, error.path)))
    if not errors:
        return
    error = errors[0]
    where = ".".join(str(part) for part in error.path)
    with placed(f"{where} in {what}" if where else f"in {what}"):
        if error.validator == "additionalProperties":
            known = list(error.schema.get("properties", {}))
            unknown = next(key for key in error.instance if key not in known)
            raise UnknownNameError("configuration key", unknown, known)
        if error.validator == "enum":
            kind = str(error.path[-1]) if error.path else "value"
            raise UnknownNameError(kind, error.instance, map(str, error.validator_value))
        expected = f"; expected {error.schema['description']}" if "description" in error.schema else ""
        raise ConfigurationError(f"{error.message}{expected}")


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Add the place in the configuration to the message of an error."""
    try:
        yield
    except ShallowsError as error:
        error.args = (f"{error} ({place})",)
        raise


def look_up(kind: str, name: Any, known: Iterable[str]) -> Any:
    """Return the entry of a name in a mapping, or the name in another collection; an error gives the nearest name."""
    if name not in known:
        raise UnknownNameError(kind, name, known)
    return known[name] if isinstance(known, Mapping) else name


@cache
def _validator(schema_path: Path) -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(read_yaml(schema_path))


def _chain(variants: Mapping[str, Any], variant: str) -> list[str]:
    """Return the variants from which a variant is prepared, in order, and the variant itself at the end."""
    names = [variant]
    while True:
        before = look_up("variant", names[0], variants).get("after")
        if before is None:
            return names
        if before in names:
            raise ConfigurationError(
                f"The variant {variant!r} never begins: {' after '.join([*reversed(names), before])}. "
                "Leave 'after' out of the one that starts from the published files."
            )
        names.insert(0, before)


def _check_chains(configuration: Configuration, path: Path) -> None:
    """Check the steps of variants that follow others before any preparation, which may take hours."""
    from shallows_papers.datasets.preparation.steps import check_steps

    for name, variant in configuration.variants.items():
        if "after" in variant:
            with placed(f"variant {name!r} in {path.as_posix()}"):
                check_steps(configuration.steps_of(name))


def _add_methods(methods: dict[str, Any], path: Path, schema: Path) -> None:
    """Add the methods that only one paper has to the methods of all papers."""
    own = read_yaml(path) or {}
    check({"compare": methods["compare"], **own}, schema, path.as_posix())
    for name, method in own["methods"].items():
        if name in methods["methods"]:
            raise ConfigurationError(f"{path} defines the method {name!r} a second time.")
        methods["methods"][name] = method


def _check_folder(paper: str, path: Path) -> None:
    if paper != path.parent.name:
        raise ConfigurationError(f"{path} says that its paper is {paper!r}; move it to the folder papers/{paper}.")


def _add_paper(papers: dict[str, Any], paper: dict[str, Any], path: Path) -> None:
    """Add the targets of one file to the targets of the paper's other files."""
    _check_folder(paper["paper"], path)
    known = papers.setdefault(paper["paper"], {**paper, "targets": {}})
    for key in ("title", "citation"):
        if known[key] != paper[key]:
            raise ConfigurationError(f"{path} gives the paper {paper['paper']!r} another {key} than an earlier file.")
    shared = paper.get("sources", {})
    for target, spec in paper["targets"].items():
        if target in known["targets"]:
            raise ConfigurationError(f"{path} defines the target {target!r} a second time.")
        if shared:
            spec["sources"] = {**shared, **spec.get("sources", {})}
        with placed(f"target {target} in {path.as_posix()}"):
            _flatten_target(spec)
        known["targets"][target] = spec


def _flatten_method(method: dict[str, Any]) -> None:
    if "parameters" in method:
        method["parameters"] = flat(method["parameters"])
    for key, own in method.get("parameters_in", {}).items():
        method["parameters_in"] = {**method["parameters_in"], key: flat(own)}


def _flatten_target(spec: dict[str, Any]) -> None:
    scales = spec["scales"].values()
    entries = [*spec["methods"].values(), *(data for at in scales for data in at["data"].values())]
    for entry in [*entries, *(group for at in scales for group in at["runs"])]:
        if "parameters" in entry:
            entry["parameters"] = flat(entry["parameters"])
    for axis, choices in spec["settings"].items():
        if not isinstance(choices, str):
            spec["settings"][axis] = {word: flat(own) for word, own in choices.items()}


def _checked(path: Path, schema_path: Path) -> Any:
    contents = read_yaml(path)
    check(contents, schema_path, path.as_posix())
    return contents


#: The list of all printed items: each has rows, or the reason why there are no rows.
ITEMS = "items.yaml"

Items = Mapping[str, Sequence[Mapping[str, Any]]]


def read_items(folder: Path, schemas: Path) -> Items:
    """Read the items of each target from ``papers/*/items.yaml``."""
    found: dict[str, Any] = {}
    for path in sorted(folder.glob(f"papers/*/{ITEMS}")):
        contents = read_yaml(path)
        check(contents, schemas / "items.schema.yaml", path.as_posix())
        found |= contents
    return found


def check_items(items: Items, published: Mapping[str, Sequence[Mapping[str, str]]]) -> None:
    """Check that each printed item has the stated number of rows, and that each row belongs to one item."""
    for target, rows in ((one, published[one]) for one in items if one in published):
        with placed(f"target {target}, {ITEMS}"):
            owners: list[list[str]] = [[] for _ in rows]
            for item in (one for one in items[target] if "rows" in one):
                places = [place for place, row in enumerate(rows) if selects(item["rows"], row)]
                counted = {rows[place]["item"] for place in places if not rows[place]["derived"]}
                if not places or len(counted) != item["count"]:
                    raise ConfigurationError(
                        f"The item {item['item']!r} says that it has {item['count']} printed values, and "
                        f"its {len(places)} rows have {len(counted)}."
                    )
                for place in places:
                    owners[place].append(item["item"])
            for row, of_row in zip(rows, owners, strict=True):
                if len(of_row) != 1:
                    said = " and ".join(map(repr, of_row)) or "no item"
                    raise ConfigurationError(f"The row {row['dataset']}, {row['metric']} belongs to {said}.")
