"""The solvers of linear support vector machines by name: how they are made, what they take, and how long they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import ShallowsError, UnknownNameError
from ...fitting.parameter_checks import check_choice, check_kinds, check_not_negative, check_positive, check_whole
from ...solvers.linear_svm.cutting_planes import CuttingPlanes
from ...solvers.linear_svm.dual_coordinate_descent import DualCoordinateDescent
from ...solvers.linear_svm.folos import FOLOS
from ...solvers.linear_svm.lbfgs import LBFGS
from ...solvers.linear_svm.newton import PrimalNewton
from ...solvers.linear_svm.pegasos import LinearPegasos
from ...solvers.linear_svm.sarah import SARAH
from ...solvers.linear_svm.subgradient_loop import AVERAGINGS
from ...solvers.linear_svm.svm_sgd import SVMSGD
from ...solvers.linear_svm.visits import SAMPLINGS

LOSSES = ("hinge", "squared_hinge")

PAIR_STEPS = 20_000
"""Steps on a cutting-plane method's smaller problem before active sets take over; scaled columns need fewer."""


@dataclass(frozen=True)
class Choice:
    """What an estimator must know of a solver."""

    make: Callable[[Any, int, str], Any]  # of the estimator's parameters, a seed, and the sampling
    losses: tuple[str, ...] = LOSSES  # that it takes; the first is meant by "auto"
    max_epochs: int = 1000  # where the user names none; `epochs_of` makes it more for few rows
    online: bool = False  # whether a batch is a number of examples, so that ``partial_fit`` can go on with others
    converges: bool = True  # whether it notices that it has come to its tolerance
    certain: bool = False  # whether that holds for columns of any scale; models of others are looked at afterwards


SOLVERS = {
    "dual_coordinate_descent": Choice(
        lambda model, seed, _: DualCoordinateDescent(float(model.tol), True, seed), certain=True
    ),
    "pegasos": Choice(
        lambda model, seed, sampling: LinearPegasos(
            model.batch_size, bool(model.projection), model.averaging, sampling, seed
        ),
        losses=("hinge",),
        max_epochs=20,
        online=True,
        converges=False,
    ),
    "svm_sgd": Choice(
        lambda model, seed, sampling: SVMSGD(None, model.averaging, sampling, seed),
        max_epochs=20,
        online=True,
        converges=False,
    ),
    "folos": Choice(
        lambda model, seed, sampling: FOLOS(model.batch_size, model.averaging, sampling, seed),
        losses=("hinge",),
        max_epochs=20,
        online=True,
        converges=False,
    ),
    "newton": Choice(lambda model, *_: PrimalNewton(float(model.tol)), losses=("squared_hinge",)),
    "lbfgs": Choice(lambda model, *_: LBFGS(float(model.tol)), losses=("squared_hinge", "logistic")),
    "sarah": Choice(lambda _, seed, __: SARAH(seed=seed), losses=("squared_hinge",), max_epochs=20, converges=False),
    "bmrm": Choice(lambda model, *_: CuttingPlanes(float(model.tol), False, PAIR_STEPS, True)),
    "ocas": Choice(lambda model, *_: CuttingPlanes(float(model.tol), True, PAIR_STEPS, True)),
}
"""The solvers by name."""


FEWEST_VISITS = 20_000
"""Examples that a stochastic method visits at least where the user says nothing: of few rows passes cost little."""


def epochs_of(model: Any, n: int) -> int:
    """The most epochs of an estimator on n rows."""
    choice = SOLVERS[model.solver]
    if model.max_epochs is not None:
        return int(model.max_epochs)
    return choice.max_epochs if choice.converges else max(choice.max_epochs, -(-FEWEST_VISITS // n))


def loss_of(model: Any) -> str:
    """The name of the loss of an estimator."""
    return SOLVERS[model.solver].losses[0] if model.loss == "auto" else model.loss


_WHY_NOT = {
    "hinge": "it needs gradients.",
    "squared_hinge": "its first steps are long and need bounded slopes.",
    "logistic": "that one is for 'lbfgs'.",
}


def check_parameters(model: Any) -> None:
    """Refuse parameters out of their range, and losses that a solver does not take.

    Raises
    ------
    ShallowsError
    """
    check_kinds(model)
    UnknownNameError.check("solver", model.solver, SOLVERS)
    UnknownNameError.check("loss", model.loss, ("auto", *LOSSES, "logistic"))
    if loss_of(model) not in SOLVERS[model.solver].losses:
        raise ShallowsError(
            f"solver={model.solver!r} takes the loss {' or '.join(map(repr, SOLVERS[model.solver].losses))}, not "
            f"{model.loss!r}: {_WHY_NOT[model.loss]}"
        )
    for name, known in (("averaging", AVERAGINGS), ("sampling", SAMPLINGS)):
        UnknownNameError.check(name, getattr(model, name), known)
    check_choice(model, device=("auto", "cpu"))
    check_positive(model, "regularisation", "max_seconds")
    check_whole(model, "batch_size")
    check_whole(model, "max_epochs", optional=True)
    check_not_negative(model, "tol")
