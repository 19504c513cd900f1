"""The fit of ridge regression on the features of any transformer."""

import contextlib
import copy
from typing import Any

import numpy as np
import scipy.sparse

from .. import arrays, training
from ..errors import ShallowsError
from ..models.functions import TransformedFunction
from ..solvers.least_squares import normal_equations
from ..solvers.least_squares.feature_block_descent import BLOCK_SIZE, FeatureBlockDescent, FeatureBlockProblem
from ..solvers.least_squares.normal_equations import NormalEquations
from ..spectrum.kernel_ridge_choice import is_automatic
from ..utils.checks import warn_user
from .choices import choose_inputs
from .feature_blocks import (
    FeatureColumns,
    FittedOnFeatures,
    blocks_of_rows,
    check_finite,
    check_room_of_system,
    number_of_features,
)
from .feature_choice import choose_on_features, with_bandwidth
from .fit_call import FitCall
from .machine import Phases
from .metric import Metric
from .rows import TrainingSet
from .square_targets import learn_square_targets

FEATURES_PER_ROOT, MOST_FEATURES = 20.0, 5000
"""The number of features is the first times √n, at most the second: beyond 62,500 rows a fit takes time like n."""

SMALL_FIT = 2**23
"""Rows times features up to which a fit is as fast on one thread of BLAS, with half of the processor time. Two threads
took twice as long as one with another program on one of two cores."""


def fit_feature_ridge(
    rows: TrainingSet,
    *,
    of_classes: bool,
    transformer: Any,
    searches: bool,
    n_components: int | str | None,
    metric: Metric | None,
    regularization: float | str,
    solver: NormalEquations | FeatureBlockDescent,
    fit_intercept: bool,
    call: FitCall,
) -> FittedOnFeatures:
    """Fit to checked rows; ``transformer`` is unfitted, and ``searches`` says whether its bandwidth is chosen."""
    phases, seed, options = Phases(), call.seed, call.options
    budget = options.budget(arrays.Device("cpu"))
    of_targets = {"of_classes": of_classes, "fit_intercept": fit_intercept, "in_unit": False}
    targets = learn_square_targets(rows.y, rows.weights, **of_targets)
    codes = targets.encode(rows.y)
    kernel = transformer._make_kernel() if "kernel" in transformer.get_params(deep=False) else None
    of_rows = rows, codes, seed, budget
    components = choose_inputs(kernel, metric, n_components, *of_rows, searches_bandwidth=searches)
    X = rows.X if components is None else components(rows.X)[:]
    grown = copy.copy(transformer)
    if transformer._grows and transformer._size is None:
        least = transformer._n_columns
        grown.set_params(n_features=number_of_features(len(rows.rows), FEATURES_PER_ROOT, least, MOST_FEATURES))
    with _threads_for(X.shape[0], grown):
        choice = choose_on_features(
            transformer,
            X,
            codes,
            rows.weights,
            seed,
            searches=searches,
            ridge=None if is_automatic(regularization) or regularization is None else float(regularization),
            n_features=grown._n_columns if searches and "n_features" in grown.get_params() else 0,
            of_landmarks=transformer._of_landmarks,
            of_classes=of_classes and not targets.several,
            budget=budget,
        )
        grown = with_bandwidth(grown, None if choice is None else choice.bandwidth) if searches else grown
        transformer = grown.fit(X)
    phases.end("features")

    alpha = regularization if choice is None else choice.regularization
    alpha = 1.0 if is_automatic(alpha) else float(alpha)
    ridge, root, weighted = alpha, None, codes
    if rows.weights is not None:
        largest = float(rows.weights.max())
        ridge, root = ridge / largest, np.sqrt(rows.weights / largest)
        weighted = root[:, None] * codes
    n, budget, is_sparse = X.shape[0], options.budget(arrays.Device("cpu")), transformer._blocks.is_sparse
    if isinstance(solver, FeatureBlockDescent):
        if is_sparse and not solver.takes_sparse_features:
            raise ShallowsError(
                "FeatureBlockDescent needs features with dense rows: use solver='normal_equations' for these features."
            )
        columns = FeatureColumns(transformer, X, root, solver.block_size or BLOCK_SIZE, budget)
        widest = max(span.stop - span.start for span in columns.spans)
        problem = FeatureBlockProblem(columns, weighted, ridge, budget // 4 // (8 * widest * widest))
        n_blocks, most = len(columns.spans), int(solver.max_passes)
        batches, stopping = training.OwnRows(1, n_batches=n_blocks), training.Stopping(most)
        run = training.train(solver.build(seed), problem, batches, stopping, observers=call.observers)
        if not run.state.exhausted:
            warn_user(
                f"After max_passes={most} the gradient is {run.state.gap:.1e} of that of zero, above "
                f"tol={float(solver.tol):g}; more passes, larger blocks (block_size) or a larger alpha would help."
            )
        coefficients, n_iter = run.state.coefficients, max(run.epoch, 1)
        of_solver = {"n_blocks": n_blocks, "relative_gradient": run.state.gap}
    elif is_sparse:
        H = transformer.transform(X)
        H = H if root is None else scipy.sparse.diags_array(root) @ H
        limits = float(solver.tol), int(solver.max_iterations)
        coefficients, n_iter = normal_equations.solve_sparse(H, weighted, ridge, *limits)
        of_solver = {"form": "rows" if n <= normal_equations.DIRECT_ROWS else "conjugate gradients"}
    else:
        form = solver.form_for(n, transformer._n_features_out)
        check_room_of_system(transformer._n_features_out if form == "features" else n, form, budget)
        blocks, n_iter, of_solver = blocks_of_rows(transformer, X, codes, root), 1, {"form": form}
        with _threads_for(n, transformer):
            if form == "features":
                coefficients = normal_equations.solve_by_features(blocks, ridge)
            else:
                H, T = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
                coefficients = normal_equations.solve_by_rows(H, T, ridge)
    check_finite(coefficients)
    phases.end("training")
    report = {
        **transformer.report_,
        "n_components": None,
        **({} if components is None else components.report()),
        "alpha": ridge,
        **of_solver,
        **({} if choice is None else {"selection": choice.summary()}),
    }
    model = TransformedFunction(transformer, np.ascontiguousarray(coefficients.T), components)
    return FittedOnFeatures(model, targets, n_iter, report, phases.seconds, alpha)


def _threads_for(n: int, transformer: Any) -> contextlib.AbstractContextManager[None]:
    return arrays.one_blas_thread() if n * transformer._n_columns <= SMALL_FIT else contextlib.nullcontext()
