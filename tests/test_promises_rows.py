"""What we promise about rows and values: rows are what they hold, one or many, and a single class is refused."""

import numpy as np
import pytest

from promises_example import EVERY, outputs, targets, unfitted
from shallows.errors import ShallowsError

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLASSIFIERS = [name for name in EVERY if name.endswith("Classifier")]
# Multiples of 1/64, which half precision holds.
X = np.round(64 * np.random.default_rng(0).normal(size=(60, 4))) / 64


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class_is_refused_by_every_classifier(name):
    with pytest.raises(ValueError, match="class"):
        unfitted(name).fit(X, np.zeros(60, dtype=int))


@pytest.mark.parametrize("name", EVERY)
def test_every_type_of_numbers_is_read_as_what_it_holds(name):
    y = targets(name, X)
    expected = outputs(unfitted(name).fit(X.astype(np.float32), y), X.astype(np.float32))
    for one, other in zip(
        outputs(unfitted(name).fit(X.astype(np.float16), y), X.astype(np.float16)), expected, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3 * np.abs(other).max())
    whole = np.round(X).astype(np.int8)
    of_whole = outputs(unfitted(name).fit(whole.astype(float), y), whole.astype(float))
    for one, other in zip(outputs(unfitted(name).fit(whole, y), whole), of_whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3 * np.abs(other).max())


@pytest.mark.parametrize("name", EVERY)
def test_a_new_row_is_predicted_alone_as_together(name):
    model = unfitted(name, dtype="float64").fit(X, targets(name, X))
    for one, together in zip(outputs(model, X[7:8]), outputs(model, X), strict=True):
        np.testing.assert_allclose(one, together[7:8], rtol=1e-6, atol=1e-6 * np.abs(together).max())


@pytest.mark.parametrize(("name", "n"), [(name, 1 + number % 3) for number, name in enumerate(EVERY)])
def test_few_rows_are_fitted_or_refused_in_words(name, n):
    few = X[np.argsort(X[:, 0])[[-1, 0, 5][:n]]]
    try:
        model = unfitted(name).fit(few, targets(name, few))
    except (ShallowsError, ValueError) as error:
        assert any(word in str(error) for word in ("sample", "row", "point", "example", "class", "components")), error
    else:
        assert all(np.isfinite(one).all() for one in outputs(model, X))
