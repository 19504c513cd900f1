"""Docstrings of the estimators: complete, true of the signatures, and alike where parameters are alike."""

import ast
import doctest
import inspect
import itertools
import re

import pytest

import shallows
from shallows import estimators
from shallows.estimators import components, doubly_stochastic, least_squares, regularized

ALL = [getattr(estimators, name) for name in estimators.__all__]
FAMILIES = (least_squares, regularized, doubly_stochastic, components)
PAIRS = [
    (getattr(estimators, name), getattr(estimators, name.replace("Classifier", "Regressor")))
    for name in estimators.__all__
    if name.endswith("Classifier") and name.replace("Classifier", "Regressor") in estimators.__all__
]


SHARED = {"bandwidth", "early_stopping", "kernel", "random_state"}
"""Parameters that all estimators of a family describe alike."""


def entries(thing, section):
    """The entries of a section by name: the text after the colon, and the description.

    The docstring of a constructor describes the parameters that several classes share.
    """
    described = read_section(thing, section)
    if inspect.isclass(thing):
        shared = read_section(thing.__init__, section)
        assert not shared.keys() & described.keys(), f"{thing.__name__} describes a parameter twice"
        described |= shared
    return described


def read_section(thing, section):
    """The entries of a section in one docstring."""
    text = inspect.getdoc(thing) or ""
    found = re.search(rf"^{section}\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    held, names = {}, []
    for line in found[1].splitlines() if found else ():
        if line and not line.startswith(" "):
            head, _, kind = line.partition(" : ")
            names = head.split(", ")
            for name in names:
                assert name not in held, f"{thing.__name__} describes {name} twice"
                held[name] = [kind]
        else:
            for name in names:
                held[name].append(line.strip())
    return {name: (kind, " ".join(words).strip()) for name, (kind, *words) in held.items()}


@pytest.mark.parametrize("Estimator", ALL)
def test_every_parameter_of_the_constructor_is_described_once_and_no_other(Estimator):
    assert sorted(entries(Estimator, "Parameters")) == sorted(Estimator().get_params(deep=False))


@pytest.mark.parametrize("Estimator", ALL)
def test_every_parameter_of_a_fit_is_described_and_no_other(Estimator):
    for function in (Estimator.fit, getattr(Estimator, "partial_fit", Estimator.fit)):
        taken = set(inspect.signature(function).parameters) - {"self"}
        assert set(entries(function, "Parameters")) == taken, function.__qualname__


@pytest.mark.parametrize("Estimator", ALL)
def test_the_docstring_is_the_one_in_the_source(Estimator):
    # Filled in at import it could not be read in an editor.
    tree = ast.parse(inspect.getsource(inspect.getmodule(Estimator)))
    written = {node.name: ast.get_docstring(node) for node in tree.body if isinstance(node, ast.ClassDef)}
    assert inspect.getdoc(Estimator) == written[Estimator.__name__]


@pytest.mark.parametrize("Estimator", ALL)
def test_the_described_defaults_are_the_defaults_of_the_constructor(Estimator):
    signature = inspect.signature(Estimator)
    for name, (kind, _) in entries(Estimator, "Parameters").items():
        default = signature.parameters[name].default
        stated = re.search(r"default=(.+)$", kind)
        if stated:
            assert ast.literal_eval(stated[1]) == default, name
        else:
            assert default is None or "optional" in kind, f"{name} has the default {default!r}, which is not described"


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__.removesuffix("Classifier"))
@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
def test_a_classifier_and_its_regressor_describe_what_they_share_alike(pair, section):
    first, second = (entries(one, section) for one in pair)
    for name in first.keys() & second.keys() - {"loss", "solver", "solver_params"}:
        of_classes, of_values = (
            tuple(re.sub("Classifier|Regressor|, default=.*", "…", part) for part in one[name])
            for one in (first, second)
        )
        assert of_classes == of_values, name


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_parameters_of_one_name_are_described_alike_in_a_family(family):
    members = [one for one in ALL if one.__module__.startswith(f"{family.__name__}.") and "Feature" not in one.__name__]
    assert len(members) > 1
    for one, other in itertools.combinations(members, 2):
        first, second = (entries(each, "Parameters") for each in (one, other))
        # Novelty has no targets, and so no bandwidth by their errors.
        names = {"early_stopping"} if "Novelty" in one.__name__ + other.__name__ else SHARED
        for name in names & first.keys() & second.keys():
            of_one, of_other = ((re.sub(", default=.*", "", kind), text) for kind, text in (first[name], second[name]))
            assert of_one == of_other, f"{name} in {one.__name__} and {other.__name__}"


@pytest.mark.parametrize("Estimator", ALL)
def test_every_prediction_says_what_it_takes_besides_points_and_what_it_returns(Estimator):
    for name in ("predict", "predict_proba", "decision_function", "score_samples", "transform"):
        method = inspect.getattr_static(Estimator, name, None)
        method = getattr(method, "fn", method)  # of `available_if`
        if method is not None:
            text, described = inspect.getdoc(method), entries(method, "Parameters")
            others = set(inspect.signature(method).parameters) - {"self", "X"}
            assert all(other in described or f"``{other}``" in text for other in others), name
            assert re.search(r"shape \(n_samples|Shape \(n_samples|CSR matrix", text), name


PUBLIC = sorted({*estimators.__all__, *(name for name in shallows.__all__ if not name.startswith("_"))})


def examples(name):
    """The doctests of a public name and of its methods."""
    thing = getattr(estimators, name, None) or getattr(shallows, name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [found for found in finder.find(thing, name, module=inspect.getmodule(thing)) if found.examples]


LONG = [
    "CoreVectorMachineClassifier",
    "DoublyStochasticKernelCCA",
    "DoublyStochasticKernelPCA",
    "DoublyStochasticKernelSVD",
]
LONG += ["KernelSlicedInverseRegression", "RandomKitchenSinksClassifier", "SparseRandomFeatures"]
"""Classes whose examples take three seconds or more."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in PUBLIC]
)
def test_the_examples_of_a_docstring_are_true(name):
    for found in examples(name):
        said = []
        doctest.DocTestRunner(verbose=False).run(found, out=said.append)
        assert not said, "".join(said)


def test_examples_of_docstrings_are_found():
    assert len([name for name in PUBLIC if examples(name)]) > 20
