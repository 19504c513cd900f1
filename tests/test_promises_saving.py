"""What is saved comes back: labels of every kind, and models of streams that continue as if they had not been saved."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

import shallows
from promises_example import EVERY, unfitted

CLASSIFIERS = [name for name in EVERY if name.endswith("Classifier")]
X = np.random.default_rng(0).normal(size=(60, 4))
SECOND = (X[:, 0] > 0).astype(int)


def of(*two):
    """The two as labels of the rows, in the type that NumPy gives them."""
    return np.array(two)[SECOND]


def objects(*two):
    made = np.empty(len(X), dtype=object)
    made[:] = [two[place] for place in SECOND]
    return made


LABELS = {
    "words": of("a", "b"),
    "words as objects": objects("a", "b"),
    "words of pandas": pd.Series(of("a", "b")).astype("string"),
    "categories": pd.Series(of("a", "b")).astype("category"),
    "truth values": of(False, True),
    "truth values that may be missing": pd.Series(of(False, True)).astype("boolean"),
    "small integers": of(3, 5).astype(np.int8),
    "integers above 2^53": of(2**53, 2**53 + 1),
    "unsigned integers above 2^63": of(np.uint64(2**63), np.uint64(2**63 + 1)),
    "integers that may be missing, above 2^53": pd.Series(of(2**53, 2**53 + 1)).astype("Int64"),
    "whole floats": of(1.0, 2.0),
    "dates": of(np.datetime64("2020-01-01"), np.datetime64("2021-01-01")),
    "times of pandas": pd.Series(pd.to_datetime(of("2020-01-01", "2021-01-01"))),
    "spans of time": of(np.timedelta64(1, "D"), np.timedelta64(2, "D")),
}
"""Labels that every classifier takes: predictions are of their type, and a saved model makes the same ones."""

REFUSED = {
    "bytes": (of(b"a", b"b"), "Support for labels represented as bytes is not supported"),
    "fractions": (of(0.0, 0.5), "Unknown label type: continuous"),
    "integers as objects": (objects(3, 5), "Unknown label type"),
    "truth values as objects": (objects(False, True), "Unknown label type"),
    "decimals": (objects(decimal.Decimal(1), decimal.Decimal(2)), "Unknown label type"),
    "dates as objects": (objects(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), "Unknown label type"),
    "words and numbers": (objects("a", 1), "Unknown label type"),
    "complex numbers": (of(0j, 1j), "Complex data not supported"),
    "missing integers": (pd.Series([None, *of(1, 2)[1:]]).astype("Int64"), "no class label"),
}
"""Labels that every classifier refuses in the fit, with what it says."""


def some_of(kinds):
    """Three kinds for each classifier; two or three classifiers take each kind."""
    kinds = list(kinds)
    pairs = [(name, kinds[(3 * number + i) % len(kinds)]) for number, name in enumerate(CLASSIFIERS) for i in range(3)]
    return pytest.mark.parametrize(("name", "kind"), pairs)


@some_of(LABELS)
def test_labels_are_predicted_in_their_type_and_come_back_from_a_file(name, kind, tmp_path):
    y = LABELS[kind]
    model = unfitted(name).fit(X, y)
    assert len(model.classes_) == 2
    assert set(model.predict(X).tolist()) <= set(np.asarray(y).tolist())
    shallows.save(model, tmp_path / "model.skops")
    read = shallows.load(tmp_path / "model.skops", device="cpu")
    assert read.classes_.dtype == model.classes_.dtype
    assert np.array_equal(read.predict(X), model.predict(X))


@some_of(REFUSED)
def test_other_labels_are_refused_in_the_fit(name, kind):
    y, said = REFUSED[kind]
    with pytest.raises((ValueError, TypeError), match=said):
        unfitted(name).fit(X, y)
