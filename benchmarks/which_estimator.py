"""Which estimator? Error against time of every estimator at its defaults, for more and more rows.

``python benchmarks/which_estimator.py --sizes 1000 4000 16000`` fits each of them to MNIST's digits (with deformed
digits beyond 60,000 rows), to Friedman's first function with noise and to Covertype. Every fit runs in a separate
process with one thread for each core, and goes into the record ``measured/which_estimator.json``. Finished fits are
kept unless ``--again`` is given. Wall-clock seconds count, so the machine should be idle: the record has the share of
the machine that other programs used, and a fit is measured again at the next call if this is above a tenth.
``--limit`` is the time that a fit may take: a longer one is stopped, and one that would take longer by its growth is
skipped. `pages.py` draws page and picture.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import inspect
import json
import math
import os
import resource
import signal
import subprocess
import sys
import sysconfig
import textwrap
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import environments
import models
import numpy as np
from record import MEASURED, Record

ROOT = Path(__file__).resolve().parents[1]
PATH = MEASURED / "which_estimator.json"
TITLE = "All fits"
COLUMNS = (
    "problem",
    "estimator",
    "rows",
    "error",
    "fit_seconds",
    "processor_seconds",
    "predict_seconds",
    "megabytes",
    "others",
    "note",
    "processor",
    "code",
    "version",
)
SIZES = (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000)
N_TEST = 10_000
#: The share of the machine that other programs may have during a fit.
MOST_OTHERS = 0.1

#: For each problem the title, what an error is, and its task.
PROBLEMS = {
    "digits": (
        "MNIST, with deformed digits above 60,000 rows; 784 pixels, 10 classes",
        "test error (%)",
        "classification",
    ),
    "friedman": ("Friedman 1; the noise alone gives 0.04; 10 inputs", "1 − R² on test rows", "regression"),
    "covertype": ("Covertype, 54 inputs, 7 classes", "test error (%)", "classification"),
}
#: Rows for the training of the problem that has no more.
MOST_ROWS = {"covertype": 561_012}
#: For each estimator where `make` finds it, and the power of the rows with which its time is taken to grow at most.
ESTIMATORS = {
    "kernel ridge": ("shallows:", 2.0),
    "kernel ridge, kernel and metric learned": ("shallows:", 2.0),
    "ridge on random features": ("shallows:", 1.0),
    "doubly stochastic gradients": ("shallows:", 1.3),
    "support vector machine (scikit-learn)": ("sklearn.svm:SV", 2.3),
    "support vector machine (scikit-learn-intelex)": ("sklearnex.svm:SV", 2.3),
    "xRFM": ("xrfm:xRFM", 1.5),
    "Nyström features, ridge (scikit-learn)": ("pipeline:Nystroem", 1.0),
    "random features, ridge (scikit-learn)": ("pipeline:RBFSampler", 1.0),
    "gradient boosting (scikit-learn)": ("sklearn.ensemble:HistGradientBoosting", 1.0),
    "linear ridge (scikit-learn)": ("sklearn.linear_model:Ridge", 1.0),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: The page before its tables.
INTRODUCTION = """\
# Which estimator?

Take `KernelRidgeClassifier` or `KernelRidgeRegressor`, which choose the solver by the number of rows, columns and
outputs. `kernel="auto", metric="auto"` helps on tables with columns that matter little, and costs time. Ridge on
random features (`FeatureRidgeClassifier`) predicts without the training rows. Doubly stochastic gradients
(`DoublyStochasticClassifier`) are for streams.

![Error against seconds of a fit on three problems, a line for each estimator](which_estimator.svg)

Every estimator was run once with its defaults. Digits and Friedman's function can supply any number of rows, Covertype
has about 580,000. Each line is an estimator; larger marks mean more training rows: {rows}.
Lower is more accurate, further left is faster. A white cross marks the largest size
that fitted into the time limit and memory.

- Seconds are wall-clock on a machine with {cores} cores that nothing else used; ignore small differences.
- scikit-learn's pipelines have {RBFSampler:,} random features, or {Nystroem:,} of the Nyström method, and the bandwidth
  of its support vector machines.
- xRFM trains on four fifths of the rows and tunes itself on the others. No package of Falkon could be installed.
- Digits are MNIST's, tested on its 10,000. Above 60,000 rows deformed copies are added, so the error falls slowly.
- All columns of Covertype are standardized, also its 44 binary ones.
"""
#: What README's picture shows.
IN_SHORT = (
    "kernel ridge",
    "support vector machine (scikit-learn)",
    "support vector machine (scikit-learn-intelex)",
    "gradient boosting (scikit-learn)",
)
#: Features of the pipelines of scikit-learn; the bandwidth is the rule of its support vector machines, gamma="scale".
N_FEATURES = {"Nystroem": 2000, "RBFSampler": 5000}
#: Modules in separate environments, see `environments`, and names of packages that are not scikit-learn's.
OWN_ENVIRONMENTS, PACKAGES = {"sklearnex": "intelex"}, {"sklearnex": "scikit-learn-intelex", "xrfm": "xrfm"}
CORES = os.cpu_count()
LAST_PATH = "WHICH_ESTIMATOR_LAST_PATH"


def main() -> None:
    """Measure what was asked for and is not recorded yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--estimators", nargs="+", choices=list(ESTIMATORS), default=list(ESTIMATORS))
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a fit (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="measure again what is there")
    parser.add_argument("--one", nargs=3, metavar=("PROBLEM", "ESTIMATOR", "ROWS"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        # Behind the environment's own packages: what makes the data may need one that it lacks.
        sys.path += [os.environ[LAST_PATH]] if LAST_PATH in os.environ else []
        print(json.dumps(measure(asked.one[0], asked.one[1], int(asked.one[2]), asked.limit)))
        return
    found, record = read(), Record("which_estimator")
    for rows in sorted(asked.sizes):
        for problem in with_rows(rows, asked.problems):
            for estimator in asked.estimators:
                key = (problem, estimator, rows)
                if key in found and is_settled(found[key]) and not asked.again:
                    continue
                found[key] = one_row(problem, estimator, rows, asked.limit, found)
                outcome = found[key]["note"] or f"error {found[key]['error']}, {found[key]['fit_seconds']} s"
                print(f"{problem}, {rows:,} rows, {estimator}: {outcome}", flush=True)
                record.add(TITLE, COLUMNS, table_rows(found))


def is_settled(one: dict[str, str]) -> bool:
    """Whether a fit was measured while the machine was nearly idle."""
    return not one["note"] and float(one["others"]) <= MOST_OTHERS


def with_rows(rows: int, problems: Iterable[str] = PROBLEMS) -> list[str]:
    """The problems that have this number of rows."""
    return [problem for problem in problems if rows <= MOST_ROWS.get(problem, rows)]


def one_row(problem: str, estimator: str, rows: int, limit: float, found: dict[Any, dict[str, str]]) -> dict[str, str]:
    """Measure in a separate process, or say why it was skipped."""
    blank = {"problem": problem, "estimator": estimator, "rows": str(rows), **dict.fromkeys(COLUMNS[3:], "")}
    expected = estimate(problem, estimator, rows, found)
    if math.isinf(expected):
        return blank | {"note": "skipped: already too slow on fewer rows"}
    if expected > limit:
        return blank | {"note": f"skipped: expected to take about {expected:,.0f} s (limit {limit:,.0f} s)"}
    try:
        python, path = interpreter(estimator)
    except environments.EnvironmentFailedError as error:
        return blank | {"note": f"not run: {str(error).splitlines()[0][:120]}"}
    command = [str(python), __file__, "--limit", str(limit), "--one", problem, estimator, str(rows)]
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    variables = {**os.environ, **path, **dict.fromkeys(threads, str(CORES))}
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    if done.returncode == -signal.SIGALRM:
        return blank | {"note": f"stopped: its fit took more than {limit:,.0f} s"}
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["killed"])[-1]
        return blank | {"note": f"failed: {reason[:120]}"}
    return blank | {key: str(value) for key, value in json.loads(done.stdout.splitlines()[-1]).items()}


def interpreter(estimator: str) -> tuple[Path, dict[str, str]]:
    """The interpreter that an estimator is measured with, and variables with paths of modules that it lacks."""
    own = OWN_ENVIRONMENTS.get(ESTIMATORS[estimator][0].partition(":")[0].partition(".")[0])
    if own is None:
        return Path(sys.executable), {}
    return environments.python_of(own), {"PYTHONPATH": str(ROOT / "src"), LAST_PATH: sysconfig.get_path("purelib")}


def estimate(problem: str, estimator: str, rows: int, found: dict[Any, dict[str, str]]) -> float:
    """Seconds of a fit by the largest one that was measured; 0 where there is none."""
    known = {
        int(one["rows"]): one
        for (p, e, n), one in found.items()
        if p == problem and e == estimator and n < rows and (one["fit_seconds"] or one["note"])
    }
    if not known:
        return 0.0
    most = max(known)
    if not known[most]["fit_seconds"]:
        return math.inf
    return float(known[most]["fit_seconds"]) * (rows / most) ** ESTIMATORS[estimator][1]


# One measurement ------------------------------------------------------------------------------------------------------


def measure(problem: str, estimator: str, rows: int, limit: float) -> dict[str, Any]:
    """Fit one estimator at its defaults; error on test rows, seconds, peak memory, share of the machine of others.

    A fit of more than ``limit`` seconds ends the process by the signal of its timer.
    """
    from shallows_papers.experiments.identity import code
    from shallows_papers.experiments.running.record import hardware

    x, y, x_test, y_test = DATA[problem](rows)
    task = PROBLEMS[problem][2]
    model = make(estimator, task)
    # A fit that needs too much memory ends with a MemoryError, not by the system.
    most = int(0.9 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    # The peak of what made the data is forgotten.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    signal.setitimer(signal.ITIMER_REAL, limit)
    machine, processor, clock = busy_seconds(), time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, y)
    signal.setitimer(signal.ITIMER_REAL, 0)
    fit_seconds, processor, machine = (
        now - before
        for now, before in (
            (time.perf_counter(), clock),
            (time.process_time(), processor),
            (busy_seconds(), machine),
        )
    )
    others = max(0.0, machine - processor) / (fit_seconds * CORES)
    clock = time.perf_counter()
    predicted = model.predict(x_test)
    predict_seconds = time.perf_counter() - clock
    if task == "classification":
        error = 100 * float(np.mean(predicted != y_test))
    else:
        error = float(np.mean((predicted - y_test) ** 2) / np.var(y_test))
    return {
        "error": f"{error:.4g}",
        "fit_seconds": f"{fit_seconds:.4g}",
        "processor_seconds": f"{processor:.4g}",
        "predict_seconds": f"{predict_seconds:.4g}",
        "megabytes": f"{peak_memory() / 1e6:.0f}",
        "others": f"{others:.2f}",
        "processor": hardware()["cpu"],
        "code": (code.commit()["commit"] or "unknown")[:10],
        "version": version(estimator),
    }


def peak_memory() -> float:
    """Bytes that this process held at most since its peak was forgotten; Linux only."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(float(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def busy_seconds() -> float:
    """Seconds that the cores of this machine were in use since it started, by any program."""
    import psutil

    used = psutil.cpu_times()
    return sum(used) - used.idle - used.iowait - used.guest - used.guest_nice


def version(estimator: str) -> str:
    """Name and version of another package than this."""
    package = ESTIMATORS[estimator][0].partition(":")[0].partition(".")[0]
    if package == "shallows":
        return ""
    name = PACKAGES.get(package, "scikit-learn")
    return f"{name} {importlib.metadata.version(name)}"


def make(estimator: str, task: str) -> Any:
    """The estimator with nothing set but the seed; pipelines of scikit-learn have `N_FEATURES`."""
    module, _, stem = ESTIMATORS[estimator][0].partition(":")
    if module == "shallows":
        return models.make(estimator, task)
    if module == "pipeline":
        return FeaturesAndRidge(stem, task)
    if module == "xrfm":
        return WithValidation(task)
    endings = {
        "SV": {"classification": "C", "regression": "R"},
        "Ridge": {"classification": "Classifier", "regression": ""},
    }
    ending = endings.get(stem, {"classification": "Classifier", "regression": "Regressor"})[task]
    kind = getattr(importlib.import_module(module), stem + ending)
    return kind(random_state=0) if "random_state" in inspect.signature(kind).parameters else kind()


class FeaturesAndRidge:
    """Features of scikit-learn's approximations of the Gaussian kernel, and its ridge regression on them."""

    def __init__(self, features: str, task: str):
        self.features, self.task = features, task

    def fit(self, x: np.ndarray, y: np.ndarray) -> None:
        """Fit both with gamma = 1/(d · variance of all inputs)."""
        from sklearn import kernel_approximation
        from sklearn.linear_model import Ridge, RidgeClassifier
        from sklearn.pipeline import make_pipeline

        gamma = 1.0 / (x.shape[1] * float(x.var()))
        features = getattr(kernel_approximation, self.features)(
            gamma=gamma, n_components=min(N_FEATURES[self.features], len(x)), random_state=0
        )
        self.model = make_pipeline(features, RidgeClassifier() if self.task == "classification" else Ridge()).fit(x, y)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Labels or values."""
        return self.model.predict(x)


class WithValidation:
    """xRFM, which tunes itself on rows that it does not train on: a fifth of those that it is given."""

    def __init__(self, task: str):
        self.task = task

    def fit(self, x: np.ndarray, y: np.ndarray) -> None:
        """Fit with a thread for each core."""
        import torch
        from xrfm import xRFM

        torch.set_num_threads(CORES)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric = "accuracy" if self.task == "classification" else "mse"
            self.model = xRFM(tuning_metric=metric, random_state=0, verbose=False)
            order, n = np.random.default_rng(0).permutation(len(x)), len(x) // 5
            y = y if self.task == "classification" else y.astype(np.float32)[:, None]
            self.model.fit(x[order[n:]], y[order[n:]], x[order[:n]], y[order[:n]])

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Labels or values."""
        return np.asarray(self.model.predict(x)).ravel()


def digits(rows: int) -> tuple[np.ndarray, ...]:
    """Digits of MNIST, deformed ones after 60,000, and MNIST's test."""
    from shallows_papers.datasets import synthetic

    x, y, x_test, y_test = prepared("mnist", [{"unit": {}}])
    if rows > len(x):
        made = synthetic.make("endless_mnist", digits=(np.rint(x * 255).astype(np.uint8), y.astype(np.int64)), seed=0)
        x, y = np.empty((rows, made.d), np.float32), np.empty(rows, np.int64)
        start = 0
        for images, labels in made.blocks(0, rows, 8192):
            block = slice(start, start + len(labels))
            x[block], y[block], start = images / 255, labels, block.stop
    return x[:rows], y[:rows], x_test, y_test


def prepared(name: str, steps: list[dict[str, Any]]) -> tuple[np.ndarray, ...]:
    """Training rows, their targets, test rows and their targets of a dataset after preparation steps."""
    from shallows_papers import datasets

    place = ROOT / "data" / "prepared" / name / "which-estimator"
    if not (place / "prepared.json").exists():
        datasets.prepare(name, datasets.fetch(name, ROOT / "data" / "raw"), place, steps)
    held = datasets.load(place)
    return tuple(np.asarray(part) for part in (held.x_train, held.y_train, held.x_test, held.y_test))


def friedman(rows: int) -> tuple[np.ndarray, ...]:
    """Friedman's first function of 5 of 10 inputs with normal noise; inputs and target standardised."""
    from sklearn.datasets import make_friedman1

    x, y = make_friedman1(rows + N_TEST, n_features=10, noise=1.0, random_state=0)
    x, y = ((x - 0.5) * math.sqrt(12)).astype(np.float32), (y - y.mean()) / y.std()
    return x[:rows], y[:rows], x[rows:], y[rows:]


def covertype(rows: int) -> tuple[np.ndarray, ...]:
    """Rows of Covertype in random order, inputs standardised."""
    x, y, x_test, y_test = prepared("covtype", [{"split": {"n": 20_000, "seed": 0}}, {"zscore": {}}])
    x, x_test = x.astype(np.float32), x_test.astype(np.float32)
    order, of_test = (np.random.default_rng(0).permutation(len(part)) for part in (x, x_test))
    order, of_test = order[:rows], of_test[:N_TEST]
    return x[order], y[order], x_test[of_test], y_test[of_test]


DATA = {"digits": digits, "friedman": friedman, "covertype": covertype}


# The page -------------------------------------------------------------------------------------------------------------


def read() -> dict[Any, dict[str, str]]:
    """The measured fits, by problem, estimator and rows."""
    if not PATH.is_file():
        return {}
    (table,) = json.loads(PATH.read_text(encoding="utf-8"))["tables"]
    fits = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    return {(one["problem"], one["estimator"], int(one["rows"])): one for one in fits}


def cores() -> int:
    """Cores of the machine that measured the record."""
    return int(json.loads(PATH.read_text(encoding="utf-8"))["machine"]["cores"])


def table_rows(found: dict[Any, dict[str, str]]) -> list[list[str]]:
    """The fits in the order of problems, rows and estimators."""
    names = list(ESTIMATORS)
    fits = sorted(found.values(), key=lambda one: (one["problem"], int(one["rows"]), names.index(one["estimator"])))
    return [[one[column] for column in COLUMNS] for one in fits]


def draw(found: dict[Any, dict[str, str]], path: Path, only: Sequence[str] = ()) -> None:
    """Error over seconds, a larger mark for more rows: our estimators in color in one row, the others in the next.

    With ``only`` some estimators, all of them in one row.
    """
    import matplotlib
    import seaborn
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from shallows_papers.report.sheet import STYLE

    ours = [name for name, (kind, *_) in ESTIMATORS.items() if kind.startswith("shallows:")]
    rows = {"this package": ours, "other packages": [name for name in ESTIMATORS if name not in ours]}
    rows = {"": [*only]} if only else rows
    with matplotlib.rc_context({**seaborn.axes_style("ticks"), **STYLE, "svg.hashsalt": "which_estimator"}):
        figure = Figure(figsize=(11.0, 3.6 * len(rows)), layout="constrained")
        axes = figure.subplots(len(rows), len(PROBLEMS), sharex="col", sharey="col", squeeze=False)
        for row, (whose, shown) in enumerate(rows.items()):
            line = axes[row]
            for ax, (problem, (title, unit, _)) in zip(line, PROBLEMS.items(), strict=True):
                for estimator in [*(name for name in ESTIMATORS if name not in shown and not only), *shown]:
                    _draw_fits(
                        ax, problem, estimator, found, COLOURS[shown.index(estimator)] if estimator in shown else ""
                    )
                ax.set(xscale="log", yscale="log", ylabel=unit)
                if row == 0:
                    ax.set_title(textwrap.fill(title, 34))
                if row == len(rows) - 1:
                    ax.set_xlabel(f"seconds of a fit, {cores()} cores")
                ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                for axis in (ax.xaxis, ax.yaxis):
                    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                    axis.set_minor_formatter(NullFormatter())
                ax.spines[["top", "right"]].set_visible(False)
            drawn = {name: one for ax in line for one, name in zip(*ax.get_legend_handles_labels(), strict=True)}
            names = [name for name in shown if name in drawn]
            place = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0}
            line[-1].legend([drawn[name] for name in names], names, title=whose, alignment="left", **place)
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _draw_fits(ax: Any, problem: str, estimator: str, found: dict[Any, dict[str, str]], color: str) -> None:
    """Draw the fits of an estimator, thin and gray without a color."""
    sizes = sorted({n for _, _, n in found})
    fits = [one for n in sizes if (one := found.get((problem, estimator, n))) and one["error"]]
    if not fits:
        return
    seconds, errors = ([float(one[key]) for one in fits] for key in ("fit_seconds", "error"))
    if not color:
        ax.plot(seconds, errors, color="#cccccc", linewidth=0.8, zorder=1)
        return
    ax.plot(seconds, errors, label=estimator, linewidth=1.2, color=color)
    marks = [(4 + 2.2 * sizes.index(int(one["rows"]))) ** 2 for one in fits]
    ax.scatter(seconds, errors, s=marks, color=color, zorder=3, linewidths=0)
    if any(found.get((problem, estimator, n), {}).get("note") for n in sizes):
        ax.scatter(seconds[-1:], errors[-1:], s=24, color="white", marker="x", zorder=4, linewidths=1.2)


def page(found: dict[Any, dict[str, str]]) -> str:
    """The page. All its numbers and names follow from the record."""
    measured = [one for one in found.values() if one["error"]]
    sizes = sorted({int(one["rows"]) for one in measured})
    machines = sorted({one["processor"] for one in measured})
    codes = sorted({one["code"] for one in measured})
    versions = sorted({one["version"] for one in measured if one.get("version")})
    never = [f"{size:,}" for size in SIZES if size not in sizes]
    counts = {"rows": ", ".join(f"{size:,}" for size in sizes), "cores": cores()}
    lines = [*INTRODUCTION.format(**counts, **N_FEATURES).splitlines(), ""]
    if never:
        lines += [f"**Not measured yet:** {', '.join(never)} rows.", ""]
    lines += ["## In short", ""]
    for problem, (title, _, _) in PROBLEMS.items():
        lines += [
            f"{title}:",
            "",
            "| rows | estimators | lowest error | faster, with an error near it |",
            "| --: | --: | :-- | :-- |",
        ]
        lines += [advice(problem, size, found) for size in sizes if problem in with_rows(size)] + [""]
    lines += [
        "An error is near the lowest if it is at most a tenth higher. For classes it is also near if the difference is",
        "within the standard error on 10,000 test rows.",
        "[benchmarks/RESULTS.md](../benchmarks/RESULTS.md) compares the defaults on 44 smaller datasets.",
        "`shallows compare my.csv` measures the methods on your own data and recommends one.",
        "",
        "## Errors and times",
        "",
    ]
    for problem, (title, unit, _) in PROBLEMS.items():
        lines += [f"### {title}", "", *table(problem, unit, sizes, found), ""]
    lines += ["## Prediction", "", *predictions(sizes, found), ""]
    notes = [one for one in found.values() if one["note"]]
    blank = {"note": "not run yet"}
    notes += [
        {"problem": problem, "estimator": estimator, "rows": str(size), **blank}
        for size in sizes
        for problem in with_rows(size)
        for estimator in ESTIMATORS
        if (problem, estimator, size) not in found
    ]
    if notes:
        lines += ["## What was not run", ""]
        lines += [
            f"- {one['problem']}, {int(one['rows']):,} rows, {one['estimator']}: {one['note']}" for one in notes
        ] + [""]
    lines += [
        "`python benchmarks/which_estimator.py` measures, `python benchmarks/pages.py` draws this page from",
        "`benchmarks/measured/which_estimator.json`",
        f"({'; '.join(machines)}; {', '.join(versions)}; commit {', '.join(codes)}).",
        "",
    ]
    return "\n".join(lines)


def rate(one: dict[str, str]) -> str:
    """Predicted rows per second, with two digits."""
    if not one.get("predict_seconds"):
        return "–"
    rows = N_TEST / float(one["predict_seconds"])
    return f"{round(rows, 1 - math.floor(math.log10(rows))):,.0f}"


def predictions(sizes: list[int], found: dict[Any, dict[str, str]]) -> list[str]:
    """Predicted rows per second of each estimator, after a fit of each number of rows."""
    lines = [
        f"Rows per second, in one call for {N_TEST:,} rows: digits; Friedman 1; Covertype.",
        "",
        "| estimator, fitted to | " + " | ".join(f"{size:,} rows" for size in sizes) + " |",
        "| :-- |" + " --: |" * len(sizes),
    ]
    for estimator in ESTIMATORS:
        cells = []
        for size in sizes:
            rates = [rate(found.get((problem, estimator, size), {})) for problem in PROBLEMS]
            cells.append("; ".join(rates) if set(rates) != {"–"} else "–")
        lines.append(f"| {estimator} | {' | '.join(cells)} |")
    return lines


def at(problem: str, size: int, found: dict[Any, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The measured fits of a problem with this number of rows, by estimator."""
    return {e: one for (p, e, n), one in found.items() if p == problem and n == size and one["error"]}


def near_best(problem: str, size: int, found: dict[Any, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The fits whose error is within a tenth of the lowest, or within the error of counting, the best first."""
    here = at(problem, size, found)
    errors = {estimator: float(one["error"]) for estimator, one in here.items()}
    if not here:
        return {}
    slack = 0.1 * min(errors.values())
    if PROBLEMS[problem][2] == "classification":
        share = min(errors.values()) / 100
        slack = max(slack, 100 * math.sqrt(2 * share * (1 - share) / N_TEST))
    order = sorted(errors, key=errors.get)
    return {estimator: here[estimator] for estimator in order if errors[estimator] <= errors[order[0]] + slack}


def advice(problem: str, size: int, found: dict[Any, dict[str, str]]) -> str:
    """A row of the table: the most accurate estimator, and the fastest of those near it."""
    measured = len(at(problem, size, found))
    near = near_best(problem, size, found)
    if not near:
        return f"| {size:,} | {measured} | – | – |"
    best = next(iter(near))
    quick = min(near, key=lambda estimator: float(near[estimator]["fit_seconds"]))
    faster = "–" if quick == best else f"{quick} ({_describe(near[quick])})"
    return f"| {size:,} | {measured} | {best} ({_describe(near[best])}) | {faster} |"


def _describe(one: dict[str, str]) -> str:
    return f"{one['error']}{' %' if PROBLEMS[one['problem']][2] == 'classification' else ''} in {one['fit_seconds']} s"


def table(problem: str, unit: str, sizes: list[int], found: dict[Any, dict[str, str]]) -> list[str]:
    """Error, seconds and peak memory of each estimator for each number of rows."""
    lines = [
        f"Each cell: {unit}; seconds of the fit; its processor seconds; peak memory of the process in MB, with data.",
        "",
    ]
    sizes = [size for size in sizes if problem in with_rows(size)]
    lines += ["| estimator | " + " | ".join(f"{size:,} rows" for size in sizes) + " |"]
    lines += ["| :-- |" + " --: |" * len(sizes)]
    for estimator in ESTIMATORS:
        cells = []
        for size in sizes:
            one = found.get((problem, estimator, size))
            if one and one["error"]:
                cells.append("; ".join(one[key] for key in ("error", "fit_seconds", "processor_seconds", "megabytes")))
            else:
                cells.append("stopped" if one and one["note"].startswith("stopped") else "not run")
        lines.append(f"| {estimator} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
