"""Two invented targets for the tests of the report. No number here was printed or measured anywhere."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from shallows_papers.experiments.comparing.table_rows import COLUMNS, Row, read_rows, write_rows
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.report import figures, tables
from shallows_papers.report import page as report

LABEL = {
    "scale": "demo",
    "data": [{"title": "Invented digits, embedded subset", "n_train": 2000, "n_test": 500, "n_features": 784}],
    "seeds": [0, 1, 2],
    "hardware": ["Invented CPU at 2 cores, no GPU"],
    "code": {"version": "0.1.0", "commits": ["0123456789abcdef"], "dirty": True},
    "versions": {"numpy": "2.4.6", "scikit-learn": "1.9.1"},
}


def _row(**given: object) -> dict[str, object]:
    row = dict.fromkeys(COLUMNS, "")
    row.update(dataset="digits", n_train=2000, n_test=500, seeds=3, scale="demo", verdict="not run")
    row.update(given)
    return row


def error_table(folder: Path) -> Path:
    """A table of errors against epochs: every verdict, a kernel not run, a value not printed."""
    rows = []
    for epochs in (1, 5, 10, 20):
        for kernel in ("gaussian", "laplace", "cauchy"):
            for method, pace in (("EigenPro", 0.6), ("Pegasos", 3.1)):
                run = f"results/demo/runs/digits-unit/{method.lower()}/{kernel}-0"
                for metric, floor in (("train_error", 0.0), ("test_error", 1.9)):
                    printed = round(floor + pace * 3 / epochs, 2)
                    row = _row(
                        target="invented_errors",
                        method=method,
                        setting=f"kernel={kernel}; epochs={epochs}",
                        metric=metric,
                        published=f"{printed:g}",
                        unit="%",
                        tolerance="0.3 points",
                        evidence="number",
                        fixed="after a look" if method == "Pegasos" else "first commit",
                        reason="the kernel has no entry at this scale",
                    )
                    if kernel != "laplace":
                        verdict = "not comparable" if kernel == "cauchy" else "reproduced"
                        mean = printed + (1.7 if kernel == "cauchy" else 0.11)
                        row.update(measured_mean=f"{mean:.17g}", measured_sd=0.0432, verdict=verdict, records=run)
                        row["reason"] = "the paper trains on 60,000 points" if kernel == "cauchy" else ""
                    rows.append(row)
    first = [row for row in rows if row["setting"] == "kernel=gaussian; epochs=20"]
    first[0].update(verdict="deviates", cause="other data")
    first[1].update(verdict="deviates", cause="unexplained", reason="an invented reason: the step was held back twice")
    first[2].update(published="")
    meta = {
        "id": "invented_errors",
        "title": "Classification error against epochs for three kernels",
        "source": "Table 0",
        "paper": "An invented paper: some < all & more",
        "citation": "A. Nobody and B. Noone, 2017",
        "kind": "table",
        "caption": "Training and test error on invented digits, in percent.",
        "notes": ["The numbers of this fixture are invented."],
        "scale": "demo",
        "label": LABEL,
        "layout": {"rows": ["epochs", "metric"], "columns": ["kernel", "method"]},
        "figure": {
            **{"kind": "curves", "x": "epochs", "lines": "method", "columns": "kernel", "rows": "metric"},
            **{"y": ["train_error", "test_error"], "zeros": True},
            "titles": {kernel: f"{kernel.title()} kernel" for kernel in ("gaussian", "laplace", "cauchy")},
        },
    }
    return _written(folder, rows, meta)


def spectrum(folder: Path) -> Path:
    """A figure of spectra: two panels, two datasets measured and two not run, three subset sizes."""
    rows = []
    for panel, lines in (
        ("a", [("digits", 2000), ("census", 2000)]),
        ("b", [("digits", n) for n in (500, 1000, 2000)]),
    ):
        for dataset, subsample in lines:
            decay = 1.35 if dataset == "digits" else 1.8
            for index in range(1, subsample // 2 + 1, max(1, subsample // 400)):
                value = index**-decay * math.exp((1 - index) / subsample)
                rows.append(
                    _row(
                        target="invented_spectrum",
                        dataset=dataset,
                        method="eigendecomposition",
                        setting=f"panel={panel}; subsample={subsample}; index={index}",
                        metric="eigenvalue_ratio",
                        measured_mean=f"{value:.17g}",
                        verdict="not comparable",
                        reason="the paper prints no values, only the picture",
                        records=f"results/demo/runs/{dataset}-unit/spectrum/n{subsample}",
                    )
                )
    for dataset in ("digits", "census", "speech", "noise"):
        claim = _row(
            target="invented_spectrum",
            dataset=dataset,
            method="eigendecomposition",
            setting="panel=a",
            metric="ratio_201",
            published="an invented claim: a drop over the first 200 eigenvalues",
            evidence="order",
            reason="the data are licensed; see the catalogue for how to supply them",
        )
        if dataset in ("digits", "census"):
            claim.update(measured_mean=0.00034512, verdict="reproduced", reason="", tolerance="at most 0.01")
        rows.append(claim)
    meta = {
        "id": "invented_spectrum",
        "title": "Normalised eigenvalue spectra of Gaussian kernel matrices",
        "source": "Figure 0",
        "paper": "An invented paper: some < all & more",
        "citation": "A. Nobody and B. Noone, 2017",
        "kind": "figure",
        "caption": "Eigenvalues of subsampled kernel matrices, each divided by the first.",
        "notes": ["The source names no bandwidth.", "Nor does it name the data of panel (b)."],
        "scale": "demo",
        "label": {
            **LABEL,
            "seeds": [0],
            "data": [*LABEL["data"], {"title": "Invented census", "n_train": 2000, "n_features": 123}],
        },
        "marks": ["index"],
        "layout": {"rows": ["panel", "dataset"], "columns": ["metric"]},
        "figure": {
            **{"kind": "curves", "x": "index", "y": ["eigenvalue_ratio"], "columns": "panel"},
            **{"lines": ["dataset", "subsample"], "x_scale": "log", "y_scale": "log"},
            "titles": {"a": "different data", "b": "digits, several sizes of the subsample"},
        },
    }
    return _written(folder, rows, meta)


def rich_table(folder: Path) -> Path:
    """The table of errors with at least one value of every kind that a table shows in its own way."""
    path = error_table(folder)
    rows = read_rows(path)
    changes = [
        {"measured_mean": -0.0004, "cause": "other data"},  # rounds to zero
        {"measured_mean": math.nan, "measured_sd": math.nan, "verdict": Verdict.DEVIATES},
        {"measured_mean": math.inf, "measured_sd": math.nan, "verdict": Verdict.DEVIATES},
        {"measured_mean": -math.inf, "measured_sd": math.nan, "reason": "<b>no</b> markup | and no column"},
        {"verdict": Verdict.QUOTATION, "evidence": "quotation"},
        {"verdict": Verdict.QUOTATION, "evidence": "quotation"},
        {"measured_mean": math.nan, "measured_sd": math.nan, "reason": "diverged in 1 of 2 runs"},
        {"reason": ""},
        {"is_bound": True, "measured_sd": None},
        {"derived": "143/4 of Table 3"},
        {"published": "15"},
        {"published": "words of the paper, which are long", "verdict": Verdict.UNDECIDED},
    ]
    rows[: len(changes)] = [replace(row, **change) for row, change in zip(rows, changes, strict=False)]
    rows = [replace(row, published="") if "epochs=5" in row.setting else row for row in rows]
    eigenpro = [row for row in rows if row.method == "EigenPro" and row.setting == "kernel=gaussian; epochs=20"]
    about = {"method": "EigenPro (ours)", "published": "", "evidence": "", "series": "ours", "ratio": 0.5}
    ours = [replace(row, **about, verdict=Verdict.MEASURED, reason="", cause="") for row in eigenpro]
    write_rows(path, [*rows, *ours])
    described = path.with_suffix(".json")
    sources = {"EigenPro": {"rank": "printed: Appendix B"}, "Pegasos": {"tol": "printed: Table 2"}}
    more = {
        "kinds": {"test_error": "number"},
        "notes": [f"The note of number {n}." for n in range(5)],
        "sources": sources,
    }
    described.write_text(json.dumps({**json.loads(described.read_text()), **more}))
    return path


SUMMARY = """
name: An invented method
paper: invented
place: 1
claimed: It is claimed that an invented method needs few epochs.
scope: All of what was invented.
easy: Inventing it.
difficult: Measuring it.
settled: Nothing.
ledger:
  claim: EigenPro errs least.
  rows:
    - {target: invented_errors, where: {method: EigenPro, kernel: gaussian, epochs: "5"}}
    - {target: invented_spectrum, where: {dataset: speech, metric: ratio_201}}
  demo:
    claim: EigenPro errs in at most a tenth.
    rows: [{target: invented_errors, where: {method: EigenPro, kernel: gaussian, metric: test_error}}]
    at_most: 10
found:
  - After 20 epochs {eigenpro} of the {eigenpro.data} are taken for others; the paper prints {eigenpro.printed}.
  - Speech falls to {speech}.
picture: invented_spectrum
numbers:
  eigenpro:
    label: test error of EigenPro after 20 epochs
    target: invented_errors
    where: {method: EigenPro, kernel: gaussian, epochs: ["20", "40"], metric: test_error}
  speech:
    label: ratio of eigenvalues of speech
    target: invented_spectrum
    where: {dataset: speech, metric: ratio_201}
"""


def page(root: Path) -> Path:
    """The report of both targets, with one summary, below ``root``: ``results/demo/report/index.html``."""
    results = root / "results" / "demo"
    targets = []
    for make, drawn in ((error_table, False), (spectrum, True)):
        table = make(results / "tables")
        tables.render(table)
        svg = results / "figures" / f"{table.stem}.svg"
        if drawn:
            figures.draw(table, svg)
        targets.append((table, svg if drawn else None))
    run = results / "runs/digits-unit/eigenpro/gaussian-0"
    run.mkdir(parents=True)
    record = {"run": {"seed": 7}, "times": {"total": 12.34}, "peak_memory_bytes": 2e9, "resumes": 1}
    record["blas"], record["packages"] = {"warning": "an invented warning"}, {"numpy": "0.1"}
    (run / "record.json").write_text(json.dumps(record))
    (run / "curve.csv").write_text("epoch,iteration,seconds,metric,value\n")
    (root / "summary.yaml").write_text(SUMMARY)
    here = Path.cwd()
    os.chdir(root)  # records are named from the root of the project
    try:
        report.write(targets, results / "report" / "index.html", summaries=["summary.yaml"])
    finally:
        os.chdir(here)
    return results / "report" / "index.html"


def page_of_the_session(folders: pytest.TempPathFactory) -> Path:
    """The report of both targets for all tests of a process, which leave it as it is."""
    root = folders.getbasetemp() / "report"
    made = root / "results" / "demo" / "report" / "index.html"
    return made if made.exists() else page(root)


def _written(folder: Path, rows: list[dict[str, object]], meta: dict[str, object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / f"{meta['id']}.csv"
    write_rows(table, [Row.from_text({name: str(value) for name, value in row.items()}) for row in rows])
    table.with_suffix(".json").write_text(json.dumps(meta))
    return table
