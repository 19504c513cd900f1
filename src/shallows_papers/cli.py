"""The command line: datasets, models of a user's data, and the workflow.

``data`` fetches datasets, ``fit`` and ``predict`` make and use models, ``targets`` and ``runs`` list targets and runs;
``compare``, ``reproduce`` and ``report`` run the workflow, with results in the present folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows import __version__
from shallows.errors import ShallowsError, UnknownNameError
from shallows_papers.output import reader_may_leave

if TYPE_CHECKING:
    from shallows_papers.datasets.catalogue import Dataset
    from shallows_papers.experiments.planning.plan import Plan

ROOT = Path("data/raw")
EMBEDDED = Path("data/embedded")

EXAMPLES = {
    "data": """
        shallows data list                  every dataset, its size, and whether it is here
        shallows data fetch mnist           downloads into data/raw/mnist/""",
    "": """
        shallows compare my.csv             all methods on your table, in minutes: results/own/
        shallows fit my.csv                 one model of all its rows: my.model/
        shallows reproduce eigenpro_table6  a table of a paper, on small data: results/demo/""",
    "runs": """
        shallows runs                       what is running or unfinished below results/""",
    "targets": """
        shallows targets                    every table, figure and claim
        shallows targets eigenpro table     those with both words""",
    "fit": """
        shallows fit my.csv                 saves my.model/; 60,000 rows take about 15 s
        shallows fit my.csv --target price --missing median --out price.model
        shallows fit my.csv --method EigenPro --set rank=160 max_epochs=5""",
    "predict": """
        shallows predict my.model new.csv   writes new.predictions.csv""",
    "compare": """
        shallows compare my.csv             writes results/own/; 1,000 rows take one to two minutes
        shallows compare my.csv --target price --test-file new.csv --missing median""",
    "reproduce": """
        shallows reproduce eigenpro_table6  writes results/demo/tables, some minutes
        shallows reproduce eigenpro_table6 --scale laptop --cores 2
        shallows reproduce eigenpro_table6 --set bandwidth=8 Pegasos.batch_size=64""",
    "report": """
        shallows report --scale laptop      writes results/laptop/reference/report/, in about a minute
        shallows report cdsg_table6         draws one target only""",
}
"""Examples of the commands, for their help: call, duration, and where the results go."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, with the process's own arguments by default.

    Returns
    -------
    int
        The exit status: 0 for success; 1 for datasets whose files are wrong or not available, and for a workflow of
        which a job failed; 2 for a word, a parameter or a file that cannot be used; 130 after an interruption.
    """
    commands = parser()
    chosen, rest = commands.parse_known_args(arguments)
    if not hasattr(chosen, "run"):
        commands.print_help()
        return 0
    if rest and hasattr(chosen, "settings") and not any(word.startswith("-") for word in rest):
        chosen.settings = [*chosen.settings, *rest]  # argparse does not continue a list of words after an option
    elif rest:
        commands.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"note: {message}", file=sys.stderr)
            with reader_may_leave():
                return chosen.run(chosen)
    except ShallowsError as error:
        print(f"shallows: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"shallows: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("shallows: interrupted; nothing half-written was left", file=sys.stderr)
    return 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""

    def texts(name: str, words: str) -> dict[str, Any]:
        example = textwrap.indent(textwrap.dedent(EXAMPLES.get(name, "")).strip("\n"), "  ")
        return {
            "description": textwrap.fill(words[0].upper() + words[1:] + ".", 79),
            "epilog": example and f"examples:\n{example}",
            "formatter_class": argparse.RawDescriptionHelpFormatter,
        }

    top = argparse.ArgumentParser(
        prog="shallows", **texts("", "kernel machines that scale: models of your own tables, and the papers' results")
    )
    top.add_argument("--version", action="version", version=f"shallows {__version__}")
    rooms = top.add_subparsers(metavar="COMMAND")
    words = "list, fetch, verify, describe and remove datasets"
    data = rooms.add_parser("data", help=words, **texts("data", words))
    actions = data.add_subparsers(required=True, metavar="ACTION")

    def command(among: Any, name: str, run: object, words: str) -> argparse.ArgumentParser:
        one: argparse.ArgumentParser = among.add_parser(name, help=words, **texts(name, words))
        one.set_defaults(run=run)
        return one

    def action(name: str, run: object, words: str) -> argparse.ArgumentParser:
        one = command(actions, name, run, words)
        one.add_argument("--root", type=Path, default=ROOT, help="folder of downloads (default: %(default)s)")
        return one

    def add_names(one: argparse.ArgumentParser, some: str = "+") -> None:
        one.add_argument("names", nargs=some, metavar="NAME", help="a dataset, by its name or as the papers call it")

    def add_embedded(one: argparse.ArgumentParser) -> None:
        one.add_argument("--embedded-root", type=Path, default=EMBEDDED, help=argparse.SUPPRESS)

    def about_file(one: argparse.ArgumentParser) -> None:
        one.add_argument(
            "settings", nargs="*", default=[], metavar="NAME=VALUE", help="such as missing=median, as --missing median"
        )
        one.add_argument("--target", help="column of the target (default: guessed)")
        one.add_argument("--task", choices=("classification", "regression"), help="(default: guessed)")
        one.add_argument("--missing", help="what fills in missing values: mean, median, most_frequent or a number")
        one.add_argument("--na-values", help="words that stand for a missing value, such as '?,-999', or '[]' for none")

    def mirror(one: argparse.ArgumentParser) -> None:
        one.add_argument(
            "--mirror", help="a URL or a folder laid out <dataset>/<file>, tried before the public addresses"
        )

    one = action("list", _list, "list the datasets")
    one.add_argument("--state", choices=("public", "embedded", "supplied", "generated"), help="only this state")
    one = action("fetch", _fetch, "download datasets and verify them")
    add_names(one)
    mirror(one)
    add_embedded(one)
    one = action("verify", _verify, "compare the local files with the catalogue")
    add_names(one, "*")
    add_embedded(one)
    one = action("describe", _describe, "describe datasets, with the contents of local files")
    add_names(one)
    add_embedded(one)
    one.add_argument("--no-read", action="store_true", help="use only the catalogue, without reading the files")
    one = action("remove", _remove, "remove downloaded and prepared files of datasets")
    add_names(one)
    one.add_argument("--yes", action="store_true", help="do not ask")
    one = action("table", _table, "write the table of all datasets")
    one.add_argument("--out", type=Path, default=Path("data/README.md"), help="(default: %(default)s)")

    words = "list the runs that are under way or were left unfinished, from any machine that sees their folder"
    runs = command(rooms, "runs", _runs, words)
    runs.add_argument("folder", type=Path, nargs="?", default=Path("results"), help="(default: %(default)s)")

    targets = command(rooms, "targets", _targets, "list the tables, figures and claims that can be reproduced")
    targets.add_argument("words", nargs="*", metavar="WORD", help="only targets whose line has all of these words")

    words = "fit an estimator to a file and save the model; mpiexec -n 2 shallows fit ... fits it by two processes"
    fit = command(rooms, "fit", _fit, words)
    fit.add_argument("file", type=Path, metavar="FILE", help="the data: a table, LIBSVM, NumPy, MATLAB or Parquet")
    about_file(fit)
    fit.add_argument("--out", type=Path, help="folder of the model (default: NAME.model here)")
    fit.add_argument(
        "--method",
        default="EigenPro",
        help="an estimator or a solver, such as KernelRidge or smo (default: %(default)s)",
    )
    fit.add_argument("--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="its parameters")
    fit.add_argument("--checkpoints", type=Path, help="folder from which an interrupted fit continues")

    words = "predict new rows with a model that `shallows compare` or `shallows fit` saved"
    predict = command(rooms, "predict", _predict, words)
    predict.add_argument("model", type=Path, metavar="MODEL", help="its folder, such as results/own/my-4142d71b/model")
    predict.add_argument("rows", type=Path, metavar="ROWS", help="a file with the columns that the model was fitted to")
    predict.add_argument("--out", type=Path, help="where the predictions go (default: NAME.predictions.csv here)")

    compare = command(rooms, "compare", _compare, "compare the methods on a file of your own")
    compare.add_argument("file", type=Path, metavar="FILE")
    about_file(compare)
    compare.add_argument("--test-file", help="rows to test on (default: a fifth of the rows of FILE)")
    reproduce = command(rooms, "reproduce", _reproduce, "make targets of the papers, such as eigenpro_table6")
    reproduce.add_argument("targets", nargs="+", metavar="TARGET")
    words = "change parameters of the targets, with results in a separate folder: bandwidth=8 Pegasos.batch_size=64"
    reproduce.add_argument("--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help=words)
    report = command(rooms, "report", _report, "draw the page of a scale from the reference results, without training")
    report.add_argument("targets", nargs="*", metavar="TARGET", help="(default: all)")
    for one in (compare, reproduce):
        one.add_argument("--cores", default="all", help="(default: %(default)s)")
    for one in (reproduce, report):
        one.add_argument("--scale", choices=("demo", "laptop", "paper"), default="demo", help="(default: %(default)s)")
    return top


def _list(chosen: argparse.Namespace) -> int:
    from shallows_papers.datasets import catalogue, listing

    rows = [("name", "state", "n", "d", "size", "here", "licence")]
    for dataset in catalogue().values():
        if chosen.state in (None, dataset.state):
            n = f"{listing.count(dataset.n_train)} + {listing.count(dataset.n_test)}"
            here = listing.presence(dataset, chosen.root)
            size = listing.size_of(dataset.size) if dataset.state in ("public", "embedded") else "-"
            licence = dataset.licence if len(dataset.licence) <= 44 else dataset.licence[:41] + "..."
            rows.append((dataset.name, dataset.state, n, listing.count(dataset.n_features), size, here, licence))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:{side}{width}}" for cell, side, width in zip(row, "<<>>><<", widths, strict=True)]
        print("  ".join(cells).rstrip())
    return 0


def _fetch(chosen: argparse.Namespace) -> int:
    from shallows_papers import datasets

    wrong = 0
    for dataset in _datasets(chosen.names):
        try:
            stamp = datasets.fetch(dataset, chosen.root, chosen.mirror, embedded_root=chosen.embedded_root)
        except datasets.DatasetError as error:
            print(f"shallows: {error}", file=sys.stderr)
            wrong = 1
            continue
        n_files = len(json.loads(stamp.read_text(encoding="utf-8"))["files"])
        print(f"{dataset.name}: {n_files} file{'s' * (n_files != 1)} verified in {stamp.parent}")
    return wrong


def _verify(chosen: argparse.Namespace) -> int:
    from shallows_papers.datasets import catalogue, listing

    named = _datasets(chosen.names)
    wrong = 0
    for dataset in named or catalogue().values():
        if not named and listing.presence(dataset, chosen.root) in ("not here", "computed"):
            continue
        if not dataset.files:
            print(f"{dataset.name}: it has no files")
            continue
        checked = list(listing.check_files(dataset, chosen.root, chosen.embedded_root))
        problems = [f"{path}: {problem}" for path, problem in checked if problem]
        wrong |= bool(problems)
        for words in problems or [f"{len(checked)} file{'s' * (len(checked) != 1)} right"]:
            print(f"{dataset.name}: {words}")
    return wrong


def _describe(chosen: argparse.Namespace) -> int:
    from shallows_papers import datasets
    from shallows_papers.datasets import listing

    for dataset in _datasets(chosen.names):
        seen = None
        readable = listing.presence(dataset, chosen.root) in ("here", "in the repository")
        if readable and not chosen.no_read:
            stamp = datasets.fetch(dataset, chosen.root, embedded_root=chosen.embedded_root, progress=False)
            seen = listing.read_contents(dataset, stamp)
        for line in listing.describe(dataset, chosen.root, seen):
            print(line)
        if not readable and dataset.state == "public":
            print(f"  to fetch   shallows data fetch {dataset.name}")
    return 0


def _remove(chosen: argparse.Namespace) -> int:
    from shallows_papers.datasets import listing

    for dataset in _datasets(chosen.names):
        folders = listing.folders_of(dataset, chosen.root)
        if not folders:
            print(f"{dataset.name}: nothing of it is here")
            continue
        named = " and ".join(map(str, folders))
        if dataset.state == "supplied":
            named += " (files that you supplied, which cannot be downloaded again)"
        if not chosen.yes and not _agreed(f"Remove {named}? [y/N] "):
            print(f"{dataset.name}: left as it is")
            continue
        print(f"{dataset.name}: {listing.size_of(listing.remove(folders))} removed")
    return 0


def _agreed(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:  # the input has ended, so there is no answer
        print()
        return False


def _table(chosen: argparse.Namespace) -> int:
    from shallows_papers.datasets import files, listing

    with files.replacing(chosen.out) as partial:
        partial.write_text(listing.table(), encoding="utf-8")
    print(chosen.out)
    return 0


def _runs(chosen: argparse.Namespace) -> int:
    from shallows_papers.experiments.running import status

    rows = status.statuses(chosen.folder)
    for line in status.table(rows) if rows else [f"No run in {chosen.folder} is unfinished."]:
        print(line)
    return 0


def _targets(chosen: argparse.Namespace) -> int:
    paper, width = "", shutil.get_terminal_size().columns
    for name, target in _plan().targets.items():
        line = f"{target['source']}: {target['title']}"
        said = f"{name} {target['paper']} {line}".casefold()
        if not all(word.casefold() in said for word in chosen.words):
            continue
        if target["paper"] != paper:
            print(f"{chr(10) * bool(paper)}{target['paper']}")
            paper = target["paper"]
        print(textwrap.fill(f"{name}: {line}", width, initial_indent="  ", subsequent_indent=" " * 6))
    if not paper:
        raise ShallowsError(f"No target has all of these words: {' '.join(chosen.words)}. All: shallows targets")
    return 0


def _plan() -> Plan:
    from shallows_papers.experiments import watching
    from shallows_papers.experiments.planning.plan import Plan

    return Plan.load(watching.project(), deployed=True)


def _fit(chosen: argparse.Namespace) -> int:
    from shallows_papers.datasets import DatasetError
    from shallows_papers.experiments.user_data import file_fit

    # A list after --set may continue with settings of the file, which no method has as parameters.
    of_file = [word for word in chosen.set if word.partition("=")[0] in file_fit.SETTINGS]
    options = file_fit.options_of(_settings(chosen, of_file))
    parameters = file_fit.parameters_of([word for word in chosen.set if word not in of_file])
    try:
        done = file_fit.fit_file(chosen.file, chosen.out, chosen.method, parameters, options, chosen.checkpoints)
    except DatasetError as error:
        raise ShallowsError(file_fit.with_options(str(error))) from None
    if done is not None:
        print(done)
    return 0


def _settings(chosen: argparse.Namespace, more: Sequence[str] = ()) -> dict[str, str]:
    """Return the settings of a file, which are given as NAME=VALUE or as options."""
    options = ("target", "task", "missing", "na_values", "test_file")
    settings = {name: value for name in options if (value := getattr(chosen, name, None)) is not None}
    for word in (*chosen.settings, *more):
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise ShallowsError(f"A setting is given as NAME=VALUE, such as missing=median, not {word!r}.")
        if name in settings:
            raise ShallowsError(f"The setting {name} is given twice. Give it once.")
        settings[name] = value
    return settings


def _predict(chosen: argparse.Namespace) -> int:
    from shallows_papers.experiments.user_data import saved_model

    model = saved_model.load(chosen.model)
    out = chosen.out or Path(f"{chosen.rows.name.partition('.')[0]}.predictions.csv")
    if out.resolve() == chosen.rows.resolve():
        raise ShallowsError(f"The predictions would replace the rows {chosen.rows}: name another file by --out.")
    replaced = "; the file that was there is replaced" if out.exists() else ""
    n_rows = model.write_predictions(chosen.rows, out)
    about = model.about
    print(f"{out}: {n_rows:,} row{'s' * (n_rows != 1)} predicted by {about['label']} ({about['measured']}){replaced}")
    return 0


def _compare(chosen: argparse.Namespace) -> int:
    from shallows_papers.experiments import watching  # says what to install if a package is missing

    project = watching.project()

    import yaml

    from shallows_papers.datasets.user_data import request

    settings = _settings(chosen)
    if not chosen.file.exists():
        raise ShallowsError(f"There is no file {chosen.file}.")
    # As Snakemake reads them. What is wrong is refused before it starts.
    asked = request.resolve({"dataset": str(chosen.file), **{k: yaml.safe_load(v) for k, v in settings.items()}})
    words = ["--snakefile", str(project / "Snakefile"), "--cores", watching.check_cores(chosen.cores)]
    words += ["compare", "--config", f"dataset={chosen.file}"]
    words += [f"{name}={value}" for name, value in settings.items()]
    status = watching.watch(words)
    unreadable = status == 1 and not (ROOT / asked.dataset / "verified.json").exists()
    return 2 if unreadable else status


def changes_file(results: Path, targets: Sequence[str], words: list[str]) -> tuple[Path, Path]:
    """Write changed parameters of targets to a file of settings; return the folder of their results, and the file."""
    from shallows_papers.datasets.files import write_json
    from shallows_papers.experiments.planning import configuration
    from shallows_papers.experiments.user_data import file_fit

    parameters: dict[str, Any] = {}
    for name, value in file_fit.parameters_of(words).items():
        method, _, own = name.rpartition(".")
        if method:
            parameters.setdefault(method, {})[own] = value
        else:
            parameters[name] = value
    changes = dict.fromkeys(targets, parameters)
    folder = Path(configuration.folder_of_changes(results, changes))
    write_json(folder / "changes.yaml", {"changes": changes})
    return folder, folder / "changes.yaml"


def _reproduce(chosen: argparse.Namespace) -> int:
    from shallows_papers.experiments import watching

    words = ["--snakefile", str(watching.project() / "Snakefile"), "--cores", watching.check_cores(chosen.cores)]
    plan = _plan()
    known = (*plan.targets, *plan.papers, "all")
    for name in chosen.targets:
        if "/" not in name:  # A file of results is a target of Snakemake too.
            UnknownNameError.check("target", name, known)
    words += chosen.targets
    folder = Path("results")
    if chosen.set:
        folder, overlay = changes_file(folder, chosen.targets, chosen.set)
        words += ["--configfile", str(overlay)]
    results = folder / chosen.scale
    status = watching.watch([*words, "--config", f"scale={chosen.scale}"])
    for target in chosen.targets if status == 0 else ():
        if (table := results / "tables" / f"{target}.md").exists():
            print(table.read_text(encoding="utf-8"))
    return status


def _report(chosen: argparse.Namespace) -> int:
    from shallows_papers.experiments import watching
    from shallows_papers.reference import drawing

    reference = watching.project() / "results" / "reference" / chosen.scale
    page = drawing.draw(_plan(), chosen.scale, reference, Path("results", chosen.scale, "reference"), chosen.targets)
    print(f"The report: {page.resolve()}")
    return 0


def _datasets(names: Sequence[str]) -> list[Dataset]:
    """Look up all names, before anything is done with one of the datasets."""
    from shallows_papers.datasets import get

    return [get(name) for name in names]


if __name__ == "__main__":
    sys.exit(main())
