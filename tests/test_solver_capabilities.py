"""What the class of each solver declares it can do, checked by fits: the grid is generated from these declarations."""

from __future__ import annotations

import inspect
import tracemalloc
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import is_classifier

import shallows
from resumed_example import stopped_at_every_batch
from shallows import Options, arrays
from shallows.distributed.fitting import check_estimator
from shallows.errors import ShallowsError
from shallows.kernel_approximation import NystroemFeatures
from shallows.models.centering import MOST_DENSE_COLUMNS
from shallows.training import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")

N, WIDE = 240, MOST_DENSE_COLUMNS + 5_000
FEW = {"max_epochs": 1, "n_iter": 2, "max_features": 64, "block_size": 8, "n_subsample": 100}
"""Small values of the parameters of solvers, where they have them."""
BATCHES = {"max_epochs": 3, "max_passes": 2, "n_iter": 8, "batch_size": 80, "block_size": 8, "max_features": 32}
"""Values of the same with several batches, and features that are used again."""


class Case(NamedTuple):
    """An estimator with one of its solvers."""

    estimator: type
    name: str
    solver: type

    def __str__(self):
        return f"{self.estimator.__name__}-{self.name}"

    def unfitted(self, small=FEW, **parameters):
        settings = {field.name: small[field.name] for field in fields(self.solver) if field.name in small}
        given = {"random_state": 0, "solver": self.solver(**settings), "bandwidth": 1.0}
        known = inspect.signature(self.estimator).parameters
        if "features" in known and (known["features"].default is not None or self.solver.takes == "features"):
            given["features"] = NystroemFeatures(bandwidth=given.pop("bandwidth"), n_features=20)
        if self.name == "pegasos" and not is_classifier(self.estimator()):
            given["loss"] = "epsilon_insensitive"
        return self.estimator(**{name: value for name, value in (given | parameters).items() if name in known})

    def targets(self, X, n_outputs=1):
        """Targets of one or several outputs; for classes, labels that exclude each other or not."""
        columns = dense(X[:, : n_outputs + 1])
        values = columns[:, 1:] + columns[:, :1]
        values = (values > 0.1).astype(int) if is_classifier(self.estimator()) else values
        return values[:, 0] if n_outputs == 1 else values


def cases():
    for name in sorted(shallows.estimators.__all__):
        estimator = getattr(shallows.estimators, name)
        table = estimator._named.get("solver", {})
        for solver in dict.fromkeys(table[key] for key in table):
            yield Case(estimator, next(key for key in reversed([*table]) if table[key] is solver), solver)


CASES = [*cases()]
WITH_CHECKPOINTS = [case for case in CASES if "checkpoint" in inspect.signature(case.estimator.fit).parameters]
OF_TARGETS = {case.solver for case in CASES if case.estimator._takes_targets}
"""Solvers of the estimators that have targets."""
each = pytest.mark.parametrize("case", CASES, ids=str)


def dense(X):
    return X.toarray() if scipy.sparse.issparse(X) else X


def outputs(model, X):
    for method in ("decision_function", "predict", "transform", "score_samples"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    raise AssertionError(f"{model} has no outputs.")


X = np.random.default_rng(0).normal(size=(N, 4))


_rng = np.random.default_rng(1)
_far = (_rng.normal(size=10 * N), (np.repeat(np.arange(N), 10), _rng.integers(4, WIDE, 10 * N)))
WIDE_ROWS = scipy.sparse.hstack([X, scipy.sparse.coo_array(_far, (N, WIDE)).tocsc()[:, 4:]], format="csr")
"""Rows of X with ten more values in distant columns."""


def test_every_table_of_solvers_is_in_the_grid():
    with_solver = {
        name
        for name in shallows.estimators.__all__
        if "solver" in inspect.signature(getattr(shallows.estimators, name)).parameters
    }
    assert {case.estimator.__name__ for case in CASES} == with_solver
    assert len(CASES) > 40


@each
def test_sparse_rows_stay_sparse_or_are_refused(case, monkeypatch):
    def refuse(rows, *args, **kwargs):
        assert rows.shape[1] < WIDE or rows.shape[0] < N // 10, "sparse rows were made dense"
        return toarray(rows, *args, **kwargs)

    toarray = scipy.sparse.csr_array.toarray
    model, y = case.unfitted(), case.targets(WIDE_ROWS)
    if not case.solver.takes_sparse:
        with pytest.raises(ShallowsError, match="columns"):
            model.fit(WIDE_ROWS, y)
        narrow = scipy.sparse.csr_array(X)
        assert np.isfinite(outputs(case.unfitted().fit(narrow, case.targets(X)), narrow)).all()
        return
    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", refuse)
    tracemalloc.start()
    try:
        found = outputs(model.fit(WIDE_ROWS, y), WIDE_ROWS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite(found).all() and np.ptp(found) > 0
    assert peak < 4 * N * WIDE  # of a dense copy in float32


@each
def test_weights_change_the_model_or_are_refused(case):
    y, weights = case.targets(X), np.where(np.arange(N) % 3, 1.0, 9.0)
    if not case.solver.takes_weights:
        with pytest.raises(TypeError, match="sample_weight"):
            case.unfitted().fit(X, y, sample_weight=weights)
        return
    plain, weighted = (outputs(case.unfitted().fit(X, y, sample_weight=given), X) for given in (None, weights))
    assert np.isfinite(plain).all() and np.abs(plain - weighted).max() > 1e-6 * np.abs(plain).max()


@each
def test_several_outputs_are_learned_or_refused(case):
    model, y = case.unfitted(), case.targets(X, 3)
    if not model._takes_targets:
        assert not case.solver.takes_outputs or case.solver in OF_TARGETS
        assert np.array_equal(outputs(model.fit(X, y), X), outputs(case.unfitted().fit(X), X))
    elif case.solver.takes_outputs:
        found = outputs(model.fit(X, y), X)
        n_outputs = model.n_components if hasattr(model, "transform") else 3
        assert np.isfinite(found).all() and found.shape == (N, n_outputs)
    else:
        with pytest.raises(ValueError, match="y"):
            model.fit(X, y)


@each
def test_partial_fit_exists_exactly_for_online_solvers(case):
    model, y = case.unfitted(), case.targets(X)
    assert hasattr(model, "partial_fit") == case.solver.is_online
    if case.solver.is_online:
        first = {"classes": np.unique(y)} if is_classifier(model) else {}
        model.partial_fit(X[:120], y[:120], **first).partial_fit(X[120:], y[120:])
        assert np.isfinite(outputs(model, X)).all()


# Conjugate gradients begin their directions again and end within their tolerance, see `test_pivoted_preconditioner`.
@pytest.mark.parametrize("case", [case for case in WITH_CHECKPOINTS if case.name != "conjugate_gradients"], ids=str)
def test_a_fit_that_is_stopped_at_every_batch_ends_at_the_same_bits(case, tmp_path):
    y = case.targets(X)
    y = y + (X[:, 2] > 0.5) if is_classifier(case.estimator()) else y

    def fit(**stops):
        return case.unfitted(BATCHES | {"n_subsample": 100, "tol": 1e-9}, center=True).fit(X, y, **stops)

    if case.name in ("normal_equations", "feature_block_descent"):
        with pytest.raises(ShallowsError, match=r"checkpoint cannot be used .* Use solver='feature_eigenpro'"):
            fit(checkpoint=Checkpoint(tmp_path, "k"))
        return
    whole = fit()
    resumed, n_runs = stopped_at_every_batch(fit, tmp_path)
    assert n_runs > 2 or case.solver.is_direct or case.name == "nystrom_conjugate_gradients"
    assert np.array_equal(outputs(resumed, X), outputs(whole, X))
    assert getattr(resumed, "losses_", None) == getattr(whole, "losses_", None)


@each
def test_a_gpu_is_refused_by_solvers_of_the_cpu(case):
    model, y = case.unfitted(options=Options(device="gpu")), case.targets(X)
    if case.solver.devices == ("cpu",):
        with pytest.raises(ShallowsError, match=f"solver='{case.name}' runs on the CPU only"):
            model.fit(X, y)
    elif not arrays.devices.gpu_is_available():
        with pytest.raises(ShallowsError, match=r"(?i)gpu") as error:
            model.fit(X, y)
        assert "CPU only" not in str(error.value)
    else:
        assert np.isfinite(outputs(model.fit(X, y), X)).all()


@each
def test_several_processes_are_refused_by_solvers_that_cannot_share_a_fit(case):
    if case.solver.takes_ranks and case.estimator._takes_targets:
        check_estimator(case.unfitted())
    else:
        with pytest.raises(ShallowsError, match=f"{case.estimator.__name__}.* cannot be fitted by several processes"):
            check_estimator(case.unfitted())
