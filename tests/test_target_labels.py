"""What a table says of its data: the data of the runs, or what an analysis draws for itself."""

import ast
import inspect
import pkgutil
from pathlib import Path

import pytest

from own_plan import own_plan
from shallows_papers.experiments.comparing.row_maker import RowMaker
from shallows_papers.experiments.comparing.target_table import describe_runs
from shallows_papers.experiments.comparing.verdicts import Verdict

PROJECT = Path(__file__).parents[1]
DATA = {"title": "Adult", "n_train": 4000, "n_test": 2000, "n_features": 123}
RECORD = {
    "run": {"dataset": "a9a_demo", "variant": "plain", "method": "kpca_bytes", "seed": 0},
    "data": DATA,
    "hardware": {"cpu": "one", "cores": 2, "memory_bytes": 2**30, "gpu": None},
    "effective": {},
    "code": {"commit": "a", "version": "1", "dirty": False},
    "packages": {},
}


@pytest.mark.parametrize(
    ("made", "named"), [(None, DATA), ("kpca_bytes", {"title": "normal points"}), ("another", DATA)]
)
def test_the_label_names_what_an_analysis_draws_and_not_what_it_was_handed(made, named):
    assert describe_runs([RECORD], "demo", made and {made: "normal points"})["data"] == [named]


def test_every_analysis_that_does_not_use_its_data_says_what_it_draws():
    silent = []
    for name, entry in own_plan().configuration.methods.items():
        for call in (entry.get("call") or {}).values():
            if entry.get("runs") != "analysis" or not str(call).startswith("shallows_papers.papers"):
                continue
            (written,) = ast.parse(inspect.getsource(pkgutil.resolve_name(call))).body
            data, used = written.args.args[0].arg, {one.id for one in ast.walk(written) if isinstance(one, ast.Name)}
            # The functions of the circle are the closed forms of the very data that they are handed.
            if (data not in used and "circle" not in call) != ("makes_data" in entry):
                silent.append(name)
    assert not silent


def test_a_table_names_the_points_that_were_drawn_and_not_the_data_that_were_handed_over():
    drawn, handed = (own_plan().comparison(name, "demo") for name in ("kpca_memory_claim", "eigenpro_table8"))
    assert drawn["makes_data"] == {"kpca_bytes": "normal points, drawn for it"} and handed["makes_data"] == {}
    (size,) = drawn["sizes"].values()
    assert (size["dataset"], size["n_train"]) == ("normal points, drawn for it", "")
    row = RowMaker(drawn).row(["normal points"], "features t", {}, "bytes", (Verdict.NOT_RUN, ""))
    assert (row.dataset, row.n_train) == ("normal points, drawn for it", None)
    size = next(iter(handed["sizes"].values()))
    assert size["dataset"].startswith("mnist") and size["n_train"] > 0
