"""Iterations and run time of support vector machine solvers, and their measured exponents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.svm import SVC

from shallows import arrays
from shallows.errors import UnknownNameError
from shallows.solvers.linear_svm.problem import LinearSVMProblem
from shallows.solvers.linear_svm.subgradients import LinearPegasosStepper
from shallows.solvers.support_vectors.interior_point import longest_step

from ...results import AnalysisResult
from ...timing import repeated_seconds
from .exact import BY_VISITS, SOLVERS, generated, optimum, problem_of, solver_of

MOST_ITERATIONS = 3000


def orders_of_solver(
    data: Any = None,
    *,
    solver: str,
    along: str,
    sizes: Sequence[float],
    n: int = 2000,
    d: int = 20,
    regularisation: float = 1e-3,
    accuracy: float = 0.01,
    rounds: int = 3,
    random_state: int = 0,
) -> AnalysisResult:
    """Iterations to an accuracy and processor seconds of an iteration, against n, d, s, 1/λ or 1/ρ.

    Points of unit length are made by `exact.generated`, in ten intrinsic dimensions. For s, rows have s values among
    4,000 columns. "smo" is scikit-learn's ``SVC`` with a linear kernel. The accuracy is ρ = P(w) − P*, in units of the
    loss; for the interior-point method it is relative. The fastest round counts.

    Over the sizes: ``iterations`` (steps of single examples, passes, planes), ``seconds`` of one of them, and
    ``total``, their product. "smo" has only ``total``; the interior-point method also has ``bytes`` of its matrix.
    """
    UnknownNameError.check("along", along, (*ALONG, "s"))
    UnknownNameError.check("solver", solver, (*SOLVERS, "smo", "interior_point"))
    found: dict[str, list[float | None]] = {"iterations": [], "seconds": [], "total": [], "bytes": []}
    with arrays.one_blas_thread():
        for size in sizes:
            here = {"n": n, "d": d, "inverse_regularisation": 1 / regularisation, "inverse_accuracy": 1 / accuracy}
            here[along] = size
            shape = {"n_values": int(size)} if along == "s" else {"intrinsic": 10}
            X, y = generated(int(here["n"]), 4000 if along == "s" else int(here["d"]), random_state, **shape)
            lam, rho = 1 / here["inverse_regularisation"], 1 / here["inverse_accuracy"]
            if solver == "smo":
                machine = SVC(kernel="linear", C=1 / (lam * len(y)), tol=rho, cache_size=1000)
                seconds = repeated_seconds(partial(machine.fit, X, y), rounds)
                measured: dict[str, float | None] = {"total": seconds}
            elif solver == "interior_point":
                measured = _interior_point(X, y, lam, rho, rounds)
            else:
                measured = _linear(solver, problem_of(X, y, lam), rho, rounds, random_state)
            for name, values in found.items():
                values.append(measured.get(name))
    kept = {name: values for name, values in found.items() if any(value is not None for value in values)}
    return AnalysisResult(list(sizes), kept, {}, {"solver": solver, "along": along, "n": n, "d": d})


def _linear(name: str, problem: LinearSVMProblem, rho: float, rounds: int, seed: int) -> dict[str, float | None]:
    _, value, bound = optimum(problem, min(1e-4, 0.1 * rho))
    goal = 0.5 * (value + bound) + rho
    by_visits = name in BY_VISITS
    # Cutting planes run to a tenth of the measured accuracy; other solvers run until they reach the accuracy.
    tolerance = 0.1 * rho if name in ("bmrm", "ocas") else 0.0
    options: dict[str, Any] = {"seed": seed} if by_visits else {"tolerance": tolerance}
    if by_visits:
        options["averaging"] = "weighted"
    made = solver_of(name, options)
    state, until, done = made.init(problem), 1, 0
    while done < (MOST_STEPS if by_visits else MOST_ITERATIONS):
        state, done = made.step(problem, state, until - done), until
        if problem.objective(state.coefficients) <= goal or state.exhausted:
            break
        until = max(until + 1, int(np.ceil(until * GROWTH))) if by_visits else until + 1
    timed = min(done, 20_000 if by_visits else 20)
    seconds = repeated_seconds(lambda: made.step(problem, made.init(problem), timed), rounds) / timed
    return {"iterations": float(done), "seconds": seconds, "total": seconds * done}


def _interior_point(X: np.ndarray, y: np.ndarray, lam: float, rho: float, rounds: int) -> dict[str, float | None]:
    Q, C = (X * y[:, None]) @ (X * y[:, None]).T, 1 / (lam * len(y))
    _, iterations = interior_point(Q, C, rho)
    seconds = repeated_seconds(lambda: interior_point(Q, C, rho), rounds)
    return {
        "iterations": float(iterations),
        "seconds": seconds / max(iterations, 1),
        "total": seconds,
        "bytes": float(Q.nbytes),
    }


def interior_point(Q: np.ndarray, C: float, accuracy: float, most: int = 200) -> tuple[np.ndarray, int]:
    """Minimise ½ aᵀQa − Σ aᵢ over 0 ≤ aᵢ ≤ C, by Newton steps on the conditions of optimality with a falling barrier.

    Q has yᵢyⱼ k(xᵢ, xⱼ). Each iteration factors an n × n matrix, Q and a diagonal. It stops when primal and dual
    objective differ by at most a share ``accuracy`` of the primal objective. Returns the variables and the number of
    iterations.

    References
    ----------
    M. C. Ferris and T. S. Munson (2002), "Interior-point methods for massive support vector machines", SIAM Journal on
    Optimization 13. S. Mehrotra (1992), "On the implementation of a primal-dual interior point method", SIAM Journal
    on Optimization 2 (the prediction of the barrier).
    """
    n = len(Q)
    a, low, high = np.full(n, 0.5 * C), np.ones(n), np.ones(n)
    for iteration in range(most):
        gradient = Q @ a - 1.0
        residual = gradient - low + high
        gap = float(low @ a + high @ (C - a))
        size = abs(0.5 * float(a @ (gradient - 1.0))) + 1e-300
        if gap <= accuracy * size and np.abs(residual).max() <= accuracy:
            return a, iteration
        factor = scipy.linalg.cho_factor(Q + np.diag(low / a + high / (C - a)), check_finite=False)
        barrier, da = 0.0, np.zeros(n)
        dlow, dhigh = np.zeros(n), np.zeros(n)
        for corrected in (False, True):
            # The second solve corrects for products of the predicted changes, which the linear equations omit.
            first = (barrier - low * a - (dlow * da if corrected else 0.0)) / a
            second = (barrier - high * (C - a) + (dhigh * da if corrected else 0.0)) / (C - a)
            da = scipy.linalg.cho_solve(factor, -residual + first - second, check_finite=False)
            dlow, dhigh = first - low / a * da, second + high / (C - a) * da
            step = min(
                longest_step(a, da), longest_step(C - a, -da), longest_step(low, dlow), longest_step(high, dhigh)
            )
            if not corrected:
                after = (low + step * dlow) @ (a + step * da) + (high + step * dhigh) @ (C - a - step * da)
                barrier = (after / gap) ** 3 * gap / (2 * n)
        step *= 0.995
        a, low, high = a + step * da, low + step * dlow, high + step * dhigh
    return a, most


ALONG = ("n", "d", "inverse_regularisation", "inverse_accuracy")
INTRINSIC = 10  # dimensions of the points before a rotation into d dimensions, so that only d varies
MOST_STEPS = 2_000_000
GROWTH = 1.15  # ratio of successive numbers of iterations at which the objective is evaluated


def iterations_needed(
    data: Any = None,
    *,
    along: str,
    sizes: Sequence[float],
    n: int = 4000,
    d: int = 20,
    regularisation: float = 1e-3,
    accuracy: float = 0.02,
    repetitions: int = 5,
    projection: bool = True,
    random_state: int = 0,
) -> AnalysisResult:
    """Iterations of Pegasos on single examples until P(w) − P* ≤ ε, against one of n, d, 1/λ and 1/ε.

    Points of unit length are made by `exact.generated`, so n, d and λ can be varied separately. ε is in units of the
    loss. The result is the geometric mean over orders of examples.

    Over the sizes: ``iterations``, and ``values``, the number of multiplications, iterations times d.
    """
    UnknownNameError.check("along", along, ALONG)
    found: dict[str, list[float]] = {"iterations": [], "values": []}
    for size in sizes:
        here = {"n": n, "d": d, "inverse_regularisation": 1 / regularisation, "inverse_accuracy": 1 / accuracy}
        here[along] = size
        X, y = generated(int(here["n"]), int(here["d"]), random_state, intrinsic=INTRINSIC)
        problem = problem_of(X, y, 1.0 / here["inverse_regularisation"])
        _, value, bound = optimum(problem, 1e-5)
        goal = 0.5 * (value + bound) + 1.0 / here["inverse_accuracy"]
        needed = [
            first_within(problem, lambda w, problem=problem, goal=goal: problem.objective(w) <= goal, seed, projection)
            for seed in range(random_state, random_state + repetitions)
        ]
        mean = math.exp(float(np.mean(np.log(needed))))
        found["iterations"].append(mean)
        found["values"].append(mean * here["d"])
    return AnalysisResult(list(sizes), found, {}, {"along": along, "repetitions": repetitions})


def first_within(
    problem: LinearSVMProblem,
    reached: Callable[[np.ndarray], bool],
    seed: int,
    projection: bool = True,
    first: int = 1,
    most: float = MOST_STEPS,
) -> float:
    """Return the first evaluated number of iterations with a good enough model, or infinity above ``most``."""
    solver = LinearPegasosStepper(projection=projection, averaging="weighted", seed=seed)
    state, until = solver.init(problem), first
    while until <= most:
        state = solver.step(problem, state, until - state.n_steps)
        if reached(state.coefficients):
            return float(state.n_steps)
        until = max(until + 1, math.ceil(until * GROWTH))
    return math.inf


def steps_to_error(
    data: Any = None,
    *,
    sizes: Sequence[int] = (1000, 2000, 4000, 8000, 16000),
    d: int = 50,
    noise: float = 0.5,
    excess: float = 0.02,
    regularisations: Sequence[float] = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    n_test: int = 10_000,
    repetitions: int = 5,
    random_state: int = 0,
) -> AnalysisResult:
    """Measure iterations of Pegasos to a test error, with the best λ for each number of training points.

    Points are made by `exact.generated`. The target error is `excess` above the error of the rule that made the labels.

    Over the training points: ``iterations``, the smallest over λ of their medians over orders of examples (infinite
    if no λ reaches the error). As numbers ``rule_error``, the error of the rule, and ``target_error``.
    """
    X, y = generated(max(sizes) + n_test, d, random_state, noise)
    x_new, y_new = X[-n_test:], y[-n_test:]
    ideal = np.linalg.lstsq(X, y, rcond=None)[0]
    rule_error = float(np.mean(np.sign(x_new @ ideal) != y_new))

    def reached(w: np.ndarray) -> bool:
        return float(np.mean(np.sign(x_new @ w) != y_new)) <= rule_error + excess

    needed = []
    for m in sizes:
        medians = []
        for lam in regularisations:
            problem = problem_of(X[:m], y[:m], lam)
            steps = [
                first_within(problem, reached, seed, first=50, most=30 * problem.n)  # at most 30 passes
                for seed in range(random_state, random_state + repetitions)
            ]
            medians.append(float(np.median(steps)))
        needed.append(min(medians))
    numbers = {"rule_error": 100 * rule_error, "target_error": 100 * (rule_error + excess)}
    return AnalysisResult(list(sizes), {"iterations": needed}, numbers, {"d": d, "noise": noise})
