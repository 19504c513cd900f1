"""Golden numbers: what every estimator and solver returns in every mode, as it was recorded before."""

import json

import pytest
from threadpoolctl import threadpool_limits

from golden import cases, large_cases, recording
from pretended_gpu import pretended_gpu

STORED = json.loads(recording.NUMBERS.read_text())
STORED_LARGE = json.loads(recording.LARGE_NUMBERS.read_text())
SMALL, LARGE = dict(cases.cases()), dict(large_cases.cases())
ESTIMATORS = sorted({name.partition(",")[0] for name in SMALL})


OF_A_MODE = ("sparse rows", "float32", "balanced", "two classes", "several outputs", "precomputed", "resumed", "clone")
TWINS = ("Regressor", "KernelCCA", "KernelSVD", "KernelSlicedInverseRegression")
"""Ends of estimators that share their fit with another one: they have one mode less each, the other has all."""

SEVERAL_FITS = (", stream", ", resumed", ", clone")
"""Modes that other tests compare with a whole fit; they take a third of the time of all."""


def is_told_by_another(name):
    """Whether a case is a mode of an estimator whose twin has the same mode."""
    estimator, _, mode = name.partition(", ")
    return mode in OF_A_MODE and estimator.endswith(TWINS)


RECORD = "PYTHONPATH=src OMP_NUM_THREADS=1 .venv/bin/python tests/golden/recording.py record --new"
HOW_TO_RECORD = f"{RECORD} records the numbers of cases that are new (see CONTRIBUTING.md), such as a new estimator's."


def agree(which, stored):
    """Run cases with one thread and compare each, and the purposes of its random numbers, with what is stored.

    The text of a purpose decides the numbers, so no purpose may be reworded.
    """
    assert which.keys() <= stored["cases"].keys(), HOW_TO_RECORD
    with threadpool_limits(1):
        made, drawn = recording.purposes_drawn(lambda: {name: cases.run(case) for name, case in which.items()})
    found = {
        name: recording.differences(name, stored["cases"][name], recording.summaries(outputs))
        for name, outputs in made.items()
    }
    assert not {name: how for name, how in found.items() if how}
    assert set(drawn) <= set(STORED["purposes"]), "The purpose of a random number has a new text, so numbers change."


def cases_of(estimator, *, long):
    """The small cases of an estimator in the modes of several fits, or in the others."""
    mine = (name for name in SMALL if name.partition(",")[0] == estimator and not is_told_by_another(name))
    return {name: SMALL[name] for name in mine if name.endswith(SEVERAL_FITS) == long}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_small_fits_give_the_numbers_that_were_recorded(estimator):
    agree(cases_of(estimator, long=False), STORED)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [name for name in ESTIMATORS if cases_of(name, long=True)])
def test_small_fits_in_several_parts_give_the_numbers_that_were_recorded(estimator):
    agree(cases_of(estimator, long=True), STORED)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LARGE if "Regressor, 12,000 rows" not in name])
def test_larger_fits_give_the_numbers_that_were_recorded(name):
    agree({name: LARGE[name]}, STORED_LARGE)


def test_every_case_is_recorded_and_no_other():
    assert SMALL.keys() == STORED["cases"].keys(), HOW_TO_RECORD
    assert LARGE.keys() == STORED_LARGE["cases"].keys(), f"{HOW_TO_RECORD} With --large the slow ones."


def test_a_gpu_gives_the_numbers_of_the_cpu(monkeypatch):
    """Arrays that convert to NumPy's only on request, as CuPy's do, find a fit that mixes the two."""
    which = {
        name: case
        for name, case in SMALL.items()
        if name.startswith(("EigenPro", "KernelRidge", "KernelSGD")) and name.endswith(("er", "or", "precomputed"))
    }
    monkeypatch.setattr(cases, "DEVICE", ["gpu"])
    with pretended_gpu(monkeypatch):
        agree(which, STORED)


def test_a_changed_number_is_noticed():
    X, *_ = cases.data()
    stored = recording.summaries({"predict": X[0]})
    assert not recording.differences("EigenProClassifier", stored, recording.summaries({"predict": X[0] * (1 + 1e-9)}))
    assert recording.differences("EigenProClassifier", stored, recording.summaries({"predict": X[0] * (1 + 1e-2)}))
    assert recording.differences("EigenProClassifier", stored, recording.summaries({"decision_function": X[0]}))
    assert recording.differences("EigenProClassifier", stored, "refused")


def test_recording_new_cases_keeps_the_numbers_of_the_others(tmp_path, capsys):
    X, *_ = cases.data()
    path, which = tmp_path / "numbers.json", {"a": lambda: {"transform": X}, "b": lambda: {"transform": X}}
    recording.record(path, which)
    recording.record(path, {"b": lambda: {"transform": X + 1}, "c": which["a"]}, only_new=True)
    stored, expected = json.loads(path.read_text())["cases"], recording.summaries({"transform": X})
    assert stored == {"b": expected, "c": expected}
    assert capsys.readouterr().out.endswith("1 cases recorded\n    c\n")
