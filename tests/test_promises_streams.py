"""What is promised of streams: batches of any sizes come near the fit, and a file in between changes nothing."""

import functools

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import shallows
from flat import flat_if_known
from promises_example import EVERY, outputs, unfitted
from shallows.solvers.linear_svm import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

STREAMING = [name for name in EVERY if hasattr(getattr(shallows.estimators, name), "partial_fit")]
OF_SOLVERS = ("KernelSVMClassifier", "LinearSVMClassifier")  # only with some solvers
CASES = [(name, {}) for name in STREAMING if name not in OF_SOLVERS]
CASES += [("KernelSVMClassifier", {"solver": "lasvm"})]
CASES += [("LinearSVMClassifier", {"solver": solver}) for solver, choice in SOLVERS.items() if choice.is_online]
SIZES = {"1 row": [1], "1 to 60 rows": [1, 60, 7, 2, 40], "500 rows": [500]}

IDS = [" ".join([name, *options.values()]) for name, options in CASES]
each = pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
# Row by row takes longest, and the others of a family gather their rows alike.
ALIKE = ("DoublyStochasticRegressor", "DoublyStochasticNoveltyDetector", "DoublyStochasticKernelSVD")
of_every_size = pytest.mark.parametrize(
    ("name", "options", "sizes"),
    [
        pytest.param(*case, sizes, id=f"{known}-{size}", marks=[pytest.mark.slow] if max(sizes) == 1 else [])
        for number, (case, known) in enumerate(zip(CASES, IDS, strict=True))
        for place, (size, sizes) in enumerate(SIZES.items())
        if place != number % 3 and (max(sizes) > 1 or case[0] not in ALIKE)  # two sizes for each
    ],
)


def set_first_rows(monkeypatch, n):
    monkeypatch.setattr("shallows.fitting.stream_training.FIRST_ROWS", n)
    monkeypatch.setattr("shallows.estimators.doubly_stochastic.random_feature_expansion.FIRST_ROWS", n)
    monkeypatch.setattr("shallows.estimators.streaming.ENOUGH", n)


@pytest.fixture(autouse=True)
def short_beginnings(monkeypatch):
    """Lower the numbers of rows and features with which a model begins."""
    set_first_rows(monkeypatch, 80)
    monkeypatch.setattr("shallows.fitting.kernel_components.START_WIDTH", 256)
    monkeypatch.setattr("shallows.estimators.streaming.OTHER_CLASSES", 10)


def points(n, seed):
    """Two bent bands, whose second column follows from the first."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    return np.column_stack([x, np.sin(2 * x), rng.normal(size=n)]) + 0.2 * rng.normal(size=(n, 3)), x


def parts(name, n, seed=0):
    """Arguments of an estimator's methods without weights: points, and targets or a second view if it has one."""
    X, x = points(n, seed)
    X[:, 0] += 1.5 * (X[:, 2] > 0)
    if name.endswith("Classifier"):
        return X, np.array(["no", "yes"])[(X[:, 2] > 0).astype(int)]
    if name.endswith(("KernelCCA", "KernelSVD")):
        return X, np.column_stack([np.cos(x), x])
    return (X, x) if unfitted(name).__sklearn_tags__().target_tags.required else (X,)


def batches(name, given, sizes):
    """Keywords of the calls of ``partial_fit``."""
    start, known = 0, {"classes": ["no", "yes"]} if name.endswith("Classifier") else {}
    while start < len(given[0]):
        for size in sizes:
            if start < len(given[0]):
                yield tuple(part[start : start + size] for part in given), known
            start += size


@of_every_size
def test_a_stream_goes_on_from_a_file_as_if_it_had_not_been_saved(name, options, sizes, tmp_path, monkeypatch):
    # Ten rows are enough for a step.
    kept, saved = (unfitted(name, batch_size=10, **options) for _ in range(2))
    n, every = {1: (75, 13), 60: (130, 1), 500: (700, 1)}[max(sizes)]
    if n == 75:  # One by one, fewer are enough to begin with.
        set_first_rows(monkeypatch, 40)
    given = parts(name, n)
    for number, (batch, known) in enumerate(batches(name, given, sizes)):
        kept.partial_fit(*batch, **known)
        saved.partial_fit(*batch, **known)
        if number % every == 0 and hasattr(saved, "report_"):
            shallows.save(saved, tmp_path / "model.skops")
            saved = shallows.load(tmp_path / "model.skops")
    new = parts(name, 50, seed=1)[0]
    for expected, found in zip(outputs(kept, new), outputs(saved, new), strict=True):
        assert np.array_equal(expected, found)


def quality(model, name, new):
    """The quality of a model on new points; 1 is the best possible value."""
    if name.endswith(("Classifier", "Regressor")):
        return model.score(*new)
    if name.endswith("NoveltyDetector"):
        far = new[0] + 20.0
        return np.mean(model.predict(new[0]) == 1) - np.mean(model.predict(far) == 1)
    if name.endswith("Regression"):
        # All components together: singular values near each other leave the first one free to turn.
        return LinearRegression().fit(model.transform(new[0]), new[1]).score(model.transform(new[0]), new[1])
    if len(new) == 2:
        u, v = model.transform(*new)
        return abs(np.corrcoef(u[:, 0], v[:, 0])[0, 1])
    return np.linalg.norm(model.transform(new[0]).var(axis=0))


def quick(name, options):
    small = {"block_size": 32, "max_features": 256} if "Kernel" in name else {}
    return flat_if_known(getattr(shallows.estimators, name), **{"random_state": 0, "n_iter": 40, **small, **options})


@functools.cache
def of_fit(name, solver, n):
    options = {} if solver is None else {"solver": solver}
    return quality(quick(name, options).fit(*parts(name, n)), name, parts(name, 300, seed=1))


@of_every_size
def test_batches_of_every_size_come_near_the_fit(name, options, sizes):
    model, n = quick(name, options), 200 if max(sizes) == 1 else 400
    for batch, known in batches(name, parts(name, n), sizes):
        model.partial_fit(*batch, **known)
    expected = of_fit(name, options.get("solver"), n)
    found = quality(model, name, parts(name, 300, seed=1))
    assert abs(found - expected) < 0.1


@each
def test_a_stream_keeps_rows_of_its_own(name, options):
    given, buffers = parts(name, 220), [part[:30].copy() for part in parts(name, 220)]
    fresh, refilled = unfitted(name, **options), unfitted(name, **options)
    for batch, known in batches(name, given, [1, 29, 30, 20]):
        fresh.partial_fit(*batch, **known)
        for buffer, part in zip(buffers, batch, strict=True):
            buffer[: len(part)] = part
        refilled.partial_fit(*(buffer[: len(batch[0])] for buffer in buffers), **known)
    for expected, found in zip(outputs(fresh, given[0]), outputs(refilled, given[0]), strict=True):
        assert np.array_equal(expected, found)
