"""Keys and values of earlier versions of the configuration; errors name what replaces them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from shallows.errors import ShallowsError
from shallows_papers.papers.claim_functions import ACROSS, REDUCTIONS


class RetiredKeyError(ShallowsError, ValueError):
    """A configuration of an earlier version."""


@dataclass(frozen=True)
class Retired:
    """A key of an earlier version: its path (``*`` for any key), its replacement, a pattern of the retired values."""

    path: str
    successor: str
    value: str = ".*"


_CLAIM = "targets/*/claims/*"
_FUNCTION = "a function of your own, as module:function"
RETIRED = (
    Retired("batch_seconds", "ranks_seconds for the length from which trainings are shared by processes"),
    Retired("methods/*/measures", "measures: predictions", "whole"),
    Retired("methods/*/call/*", "shallows.gradient_descent_path instead of shallows.reach", "shallows.reach:.*"),
    Retired(
        "methods/*/call/*",
        "the analysis in the folder of its paper, such as shallows_papers.papers.eigenpro.step_sizes:losses_by_step",
        r"shallows_papers\.theory\..*|shallows\.theory\..*",
    ),
    Retired(
        "methods/*/call/*",
        "the same place in shallows_papers, such as shallows_papers.nets:NeuralNetClassifier",
        "|".join(f"shallows.{room}.*" for room in ("nets", "experiments", "datasets")),
    ),
    Retired("methods/*/call/*", "shallows_papers.baselines:ImageVotes", "shallows:ImageVotes"),
    Retired(
        "methods/*/call/*",
        "shallows:FeatureRidgeClassifier or shallows:FeatureRidgeRegressor with features: hidden_units",
        "shallows:ExtremeLearningMachineClassifier|shallows:ExtremeLearningMachineRegressor",
    ),
    Retired("methods/*_timed", "marks: {seconds: [...]} in the runs of a target, with the method's plain name"),
    Retired(
        "targets/*/methods/*/method", "the name without _timed, and marks: {seconds: [...]} in the runs", ".*_timed"
    ),
    Retired("targets/*/kind", "kind: table", "marks"),
    Retired("targets/*/figure/facet", "panels"),
    Retired("targets/*/figure/hue", "lines"),
    Retired("targets/*/figure/free_x", "nothing, as every axis has its own x axis"),
    Retired("targets/*/metrics/*/over", "a claim with over: {metric: ...}", "(?!first$).*"),
    Retired("targets/*/metrics/*/reached", "first_passage, with the same keys below it"),
    Retired(f"{_CLAIM}/axes", f"reduce with {_FUNCTION}, which calls claim_functions.fitted_slope"),
    Retired(f"{_CLAIM}/parameters", f"reduce with {_FUNCTION}"),
    Retired(f"{_CLAIM}/comparable", "nothing, or data of other sizes under published_data"),
    Retired(f"{_CLAIM}/seeds", "every_seed: true, where the criterion is not for the mean"),
    Retired(f"{_CLAIM}/level", f"reduce with {_FUNCTION}"),
    Retired(f"{_CLAIM}/over", "reduce: growth for the last value over the first", "first"),
    Retired(f"{_CLAIM}/reduce", "at alone, with the evaluation point", "at"),
    Retired(f"{_CLAIM}/reduce", f"reduce with {_FUNCTION}", "first|share_under|first_under|last_increment"),
    Retired(f"{_CLAIM}/across", "no 'across', for a row for each series", "each"),
    Retired(f"{_CLAIM}/across", f"across with {_FUNCTION}", "spread|largest_log_gap|median"),
    Retired(f"{_CLAIM}/across", f"across with {_FUNCTION}", "mean"),
)


def check(contents: Any, file: str) -> None:
    """Raise an error for a file of an earlier version that says what to write instead."""
    for one in RETIRED:
        for place, value in _values_at(contents, one.path.split("/")):
            # A function with that name may have been added since.
            again = value in {"reduce": REDUCTIONS, "across": ACROSS}.get(place[-1], ())
            if re.fullmatch(one.value, str(value), re.DOTALL) and not again:
                what = place[-1] if one.value == ".*" else f"{place[-1]}: {value}"
                where = f"{'.'.join(map(str, place))} in {file}"
                raise RetiredKeyError(
                    f"{what!r} belongs to an earlier version of the configuration. Write {one.successor} ({where})."
                )


def _values_at(contents: Any, path: list[str]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield all places of a nested mapping that match a path, each with its value."""
    if not path:
        yield (), contents
    elif isinstance(contents, Mapping):
        for key, value in contents.items():
            if fnmatchcase(str(key), path[0]):
                yield from (((key, *place), inner) for place, inner in _values_at(value, path[1:]))
