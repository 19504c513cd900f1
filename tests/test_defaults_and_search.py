"""What an estimator's defaults find on generated data is within noise of what a search finds, by the comparison."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_moons

from own_plan import own_configuration
from shallows_papers.datasets.user_data import describe, request
from shallows_papers.experiments.running.job import Conditions
from shallows_papers.experiments.user_data import comparison, method_results, model_selection

pytestmark = pytest.mark.slow
METHODS = own_configuration().methods
DIVISION = {"test": 0.2, "validation": 0.2, "rows": 5000}
SEEDS = range(4)
N = 500


def moons():
    x, y = make_moons(N, noise=0.25, random_state=0)
    return x, y


def friedman():
    return make_friedman1(N, n_features=7, noise=1.0, random_state=0)


def noise():
    """Targets that the inputs say nothing of."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 5)), rng.normal(size=N)


@pytest.fixture
def divided(request, tmp_path_factory):
    """A table of generated data, divided and prepared for each seed."""
    return prepare(tmp_path_factory.mktemp(request.param.__name__), *request.param())


def prepare(root, x, y):
    table = np.column_stack([x, y])
    path = root / "generated.csv"
    names = ",".join([*(f"x{place}" for place in range(x.shape[1])), "target"])
    np.savetxt(path, table, delimiter=",", header=names, comments="", fmt="%.6g")
    describe.write(request.make("generated", {"file": str(path)}, "a test"), root / "verified.json")
    for seed in SEEDS:
        for purpose in comparison.PURPOSES:
            comparison.prepare(root / "verified.json", root / str(seed) / purpose, DIVISION, None, seed)
    return root


def gain(folder, method, rules):
    """What a search gains over the defaults of a method, and the task."""
    outcomes, definition = [], {**METHODS[method], "compare": rules}
    for seed in SEEDS:
        spec = {"dataset": "own-generated", "method": method, "seed": seed, "definition": definition}
        parts = (folder / str(seed) / part for part in ("choose", "test", method))
        model_selection.compare(spec, *parts, Conditions("cpu", None, 60.0))
        outcomes.append(folder / str(seed) / method / "outcome.json")
    found = method_results.read(outcomes, json.loads((folder / "verified.json").read_text()))
    return found.search_gain(found.done[0]), found.task


BANDWIDTHS = [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("divided", "method"),
    [(moons, "eigenpro"), (friedman, "eigenpro_centres"), (noise, "eigenpro")],
    indirect=["divided"],
)
def test_the_search_gains_nothing_that_is_told_from_noise(divided, method):
    """Or less than half a point of errors, or a hundredth of R², which is not worth a search."""
    rules = {"bandwidth": {"parameter": "bandwidth", "values": BANDWIDTHS}, "epochs": [1, 5, 20]}
    found, task = gain(divided, method, rules)
    assert found.low <= 0 or found.mean <= (0.5 if task == "classification" else 0.01), found


def test_poor_defaults_are_told_from_a_search(tmp_path):
    """scikit-learn's kernel ridge regresses on a bandwidth and a regularization that ask to be chosen."""
    rules = {"bandwidth": {"parameter": "gamma", "values": BANDWIDTHS}, "choose": {"alpha": [0.01, 0.1]}}
    found, _ = gain(prepare(tmp_path, *friedman()), "kernel_ridge", rules)
    assert found.low > 0.05
