"""Docstrings of the estimators, which are put together from parts."""

import inspect
import re

import pytest

from shallows import estimators
from shallows.estimators.documentation import filled

ALL = [getattr(estimators, name) for name in estimators.__all__]


def described(function):
    """Names in the section on parameters."""
    section = re.search(r"Parameters\n-+\n(.*?)(\n\n[A-Z]|\Z)", inspect.getdoc(function), re.DOTALL)[1]
    entries = [line.split(" :")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    return [name for entry in entries for name in entry.split(", ")]


@pytest.mark.parametrize("Estimator", ALL)
def test_every_parameter_of_the_constructor_is_described_once_and_no_other(Estimator):
    assert sorted(described(Estimator)) == sorted(Estimator().get_params())


@pytest.mark.parametrize("Estimator", ALL)
def test_every_parameter_of_a_fit_is_described_and_no_other(Estimator):
    for function in (Estimator.fit, getattr(Estimator, "partial_fit", Estimator.fit)):
        taken = set(inspect.signature(function).parameters) - {"self"}
        left = taken - set(described(function))
        assert set(described(function)) <= taken
        assert not left, f"{function.__qualname__} does not describe {left}"


@pytest.mark.parametrize("Estimator", ALL)
def test_no_part_is_left_in_braces(Estimator):
    for thing in (Estimator, Estimator.fit, Estimator.predict):
        assert not re.search(r"\{\w+\}", inspect.getdoc(thing))


def test_a_part_is_indented_as_the_line_that_names_it():
    made = filled("Title.\n\n    a : int\n        {more}", {"more": "\n    One\n    or {two}.", "two": "2"})
    assert made == "Title.\n\na : int\n    One\n    or 2."


def test_a_part_that_there_is_not_is_an_error():
    with pytest.raises(KeyError, match="more"):
        filled("{more}", {})
