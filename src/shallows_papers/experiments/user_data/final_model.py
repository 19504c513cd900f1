"""The recommended method, fitted to all training rows of a user's file and saved with its preparation."""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.datasets.user_data import describe
from shallows_papers.datasets.user_data.fitted_preparation import fit_preparation

from ..running.calls import path_of
from ..running.job import Conditions
from . import method_results, saved_model
from .comparison import feature_steps
from .method_results import MethodResult, read
from .model_selection import Method, bandwidth_parameter, median_distance
from .recommendation import error, recommend


def write(
    outcomes: Iterable[str | Path],
    stamp: str | Path,
    prepared: str | Path,
    out: str | Path,
    methods: Mapping[str, Any],
    conditions: Conditions,
) -> None:
    """Fit the recommended method to all rows of a file, including the test rows of the comparison, and save it.

    Its parameters have the best mean validation score over the splits; a bandwidth stays the same multiple of the
    median distance. One preparation is read to see whether the arrays are sparse.
    """
    description = describe.read(stamp)
    results = read(outcomes, description)
    recommendation = recommend(results)
    if recommendation is None:
        raise ShallowsError("No method could be run on these data, so there is no model to save.")
    one, folder = recommendation.chosen, Path(out).parent
    sparse = bool(json.loads((Path(prepared) / "prepared.json").read_text(encoding="utf-8"))["sparse"])
    preparation, x, y = fit_preparation(description, feature_steps(description), sparse, folder)
    definition = methods[one.method]
    method = Method(definition, results.task, one.seeds[0], conditions)
    parameters, epochs = parameters_of(one, definition, x)
    estimator = method.make(parameters)
    if epochs:
        estimator.set_params(**{path_of(estimator, "max_epochs"): epochs})
    told: dict[str, int] = {}
    with method_results.collect_warnings(told):
        estimator.fit(x, y)
    if told:
        print(method_results.sentence(one.label, told))
    about = {"label": one.label, "parameters": one.choice, "measured": f"{error(results, one)} on held-out rows"}
    saved_model.SavedModel.of(description, preparation, estimator, x.shape[0], **about).save(folder)
    chosen = f" with {one.choice}" if one.choice else ""
    print(
        f"{one.label}{chosen} was fitted to all {x.shape[0]:,} rows and saved. To predict new rows: shallows predict "
        f"{folder.as_posix()} new.csv",
        file=sys.stderr,
        flush=True,
    )


def parameters_of(one: MethodResult, definition: Mapping[str, Any], x: Any) -> tuple[dict[str, Any], int | None]:
    """Return the best parameters, with the bandwidth for these rows, and the number of epochs."""
    wanted, seed = one.choice, one.seeds[0]
    trial = next(trial for trial in one.records[0]["selection"]["trials"] if trial["words"] == wanted)
    given = dict(trial["parameters"])
    if "factor" in trial:
        given |= bandwidth_parameter(definition, trial["factor"], median_distance(x, seed))
    return given, trial.get("epochs")
