"""The MPI program of the tests of distributed trainings: ``mpiexec -n N python distributed_program.py CASE FOLDER``."""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import shallows
from forms import centers_classifier, centers_regressor, eigenpro_classifier, eigenpro_regressor
from shallows import Options
from shallows.distributed import mpi
from shallows.errors import ShallowsError, TrainingInterrupted
from shallows.models.centering import TrainingRows
from shallows.solvers import DoublyStochastic, EigenPro
from shallows.training import Checkpoint, Curve, Observer

WORLD = None
"""All processes; set where this runs as a program, so that tests that read its cases do not start MPI."""


def data(n=700):
    X, y = load_digits(return_X_y=True)
    return X[:n] / 16.0, y[:n], X[n : n + 200] / 16.0


COMMON = {"bandwidth": 2.0, "random_state": 0, "dtype": "float64"}
EIGENPRO = COMMON | {"n_subsample": 150, "rank": 30, "batch_size": 90, "max_epochs": 3, "tol": 0.0}
ON_CENTERS = {"batch_size": 120, "max_epochs": 3, "tol": 0.0}


def dsg(Estimator=shallows.DoublyStochasticClassifier, **given):
    solver = DoublyStochastic(block_size=32, batch_size=64, n_iter=25)
    model = Estimator(bandwidth=2.0, random_state=0, options=Options(dtype="float64"), solver=solver)
    return model.set_params(**given)


FITS = {
    "EigenPro": lambda: eigenpro_classifier(**EIGENPRO, calibration=None),
    "EigenPro, regularized, with a calibration": lambda: eigenpro_classifier(**EIGENPRO, alpha=0.05),
    "EigenPro, in single precision": lambda: eigenpro_classifier(**EIGENPRO | {"dtype": "float32"}),
    "EigenPro, in steps that do not average": lambda: eigenpro_regressor(**EIGENPRO, step="theorem"),
    "EigenPro, stopped early": lambda: eigenpro_classifier(**EIGENPRO, early_stopping=True),
    "EigenPro on centres": lambda: centers_classifier(**COMMON, centers=150, **ON_CENTERS),
    "EigenPro on centers, read batch by batch": lambda: centers_regressor(**COMMON, centers=150, **ON_CENTERS),
    "Conjugate gradients on centres": lambda: centers_classifier(**COMMON, centers=150, tol=0.0),
    # A single epoch keeps no kernel values, so that a tenth of the rows is learnt first.
    "Conjugate gradients on centers, begun at some rows": lambda: centers_classifier(
        **COMMON, centers=50, max_epochs=1
    ),
    "DSG": dsg,
    "DSG, without known values": lambda: dsg(shallows.DoublyStochasticRegressor, solver__keep_values=False),
    "DSG with a kernel of products": lambda: dsg(kernel="exponential", regularization=1e-4),
    "UDSG, with a search": lambda: dsg(solver__reuse="uniform_reuse", solver__schedule="line_search"),
    "DSG, with decoupled decay": lambda: dsg(regularization=1e-3, solver__preconditioning="decoupled"),
    "CDSG": lambda: dsg(solver__reuse="checked_reuse", solver__preconditioning=None),
}
WEIGHTED = ("EigenPro, regularized, with a calibration", "EigenPro on centres", "Conjugate gradients on centres", "DSG")


def weights(name, y):
    return np.where(y == 3, 2.0, 1.0) if name in WEIGHTED else None


class At(Observer):
    """Does something after a batch, in the process of one rank."""

    def __init__(self, iteration, rank, act):
        self.iteration, self.rank, self.act = iteration, rank, act

    def on_batch(self, run):
        if run.iteration == self.iteration and WORLD.rank == self.rank:
            self.act()


MAKE_ROWS = TrainingRows.__init__


def of_memory(held):
    """The constructor of training rows that are held in memory, or that are not, however much is free."""

    def make(self, *given, **_):
        MAKE_ROWS(self, *given, held=held)

    return make


def fits(folder):
    """Every family, with curves that are evaluated by all processes; each must have the same model at the end."""
    X, y, new = data()
    found = {}
    for name, make in FITS.items():
        TrainingRows.__init__ = of_memory(held="read batch by batch" not in name)
        curve = Curve([1, 2], lambda snapshot: {"loss": snapshot.square_loss(X[:50], y[:50])})
        curve_in_training = Curve([1], lambda snapshot: {"loss": snapshot.training_square_loss(y)})
        model = make().fit(X, y, weights(name, y), observers=[curve, curve_in_training], ranks=mpi.Mpi())
        assert type(model) is type(make())
        scores = model.decision_function(new) if hasattr(model, "decision_function") else model.predict(new)
        everywhere = WORLD.allgather((scores.tobytes(), model.dual_coef_.tobytes()))
        assert len(set(everywhere)) == 1
        measured = [row["loss"] for row in curve.rows + curve_in_training.rows]
        found |= {f"{name}/coefficients": model.dual_coef_, f"{name}/scores": scores, f"{name}/curve": measured}
    if WORLD.rank == 0:
        np.savez(folder / "found.npz", **found)


RESUMED = ("EigenPro", "EigenPro on centres", "DSG")


def stopped(folder):
    """A training of each family that the last process was asked to stop in."""
    X, y, _ = data()
    for name in RESUMED:
        checkpoint = Checkpoint(folder / name, "key", every_seconds=1e9)
        stop = At(11, WORLD.size - 1, checkpoint.request_stop)
        try:
            FITS[name]().fit(X, y, weights(name, y), observers=[stop], checkpoint=checkpoint, ranks=mpi.Mpi())
        except TrainingInterrupted:
            continue
        raise SystemExit("The training was not stopped.")


def resumed(folder):
    """The same trainings to their end."""
    X, y, _ = data()
    for name in RESUMED:
        checkpoint = Checkpoint(folder / name, "key")
        model = FITS[name]().fit(X, y, weights(name, y), checkpoint=checkpoint, ranks=mpi.Mpi())
        assert model.n_resumes_ == 1
        if WORLD.rank == 0:
            np.save(folder / f"{name}.npy", model.dual_coef_)


def fails_alone(folder):
    """The process of rank 1 meets an error that no other meets."""
    mpi.GRACE_SECONDS = 0.5

    def fail():
        raise RuntimeError("the disk of rank 1 is full")

    X, y, _ = data()
    FITS["EigenPro"]().fit(X, y, observers=[At(3, 1, fail)], ranks=mpi.Mpi())


def killed(folder):
    """The process of rank 1 dies without a word while the others wait for a sum."""
    X, y, _ = data()
    die = At(3, 1, lambda: os.kill(os.getpid(), signal.SIGKILL))
    FITS["EigenPro"]().fit(X, y, observers=[die], ranks=mpi.Mpi())


def refused(folder):
    """The errors of processes that do not fit together; they continue with the next case."""
    X, y, _ = data()
    told = {}

    def tried(name, estimator, X, y, **given):
        try:
            estimator.fit(X, y, **given, ranks=mpi.Mpi())
        except (ShallowsError, ValueError) as error:
            told[name] = str(error)

    tried("data", FITS["EigenPro"](), X, np.roll(y, WORLD.rank))
    tried("parameters", shallows.KernelRidgeClassifier(solver=EigenPro(batch_size=100 + WORLD.rank)), X, y)
    tried("out of range", shallows.KernelRidgeClassifier(solver=EigenPro(damping=2.0)), X, y)
    tried("precomputed", shallows.KernelRidgeClassifier(solver="eigenpro", kernel="precomputed"), X, y)
    tried("warm start", shallows.KernelRidgeClassifier(solver="eigenpro", warm_start=True), X, y)
    tried("seconds", shallows.DoublyStochasticClassifier(options=Options(max_seconds=1.0)), X, y)
    tried("no such method", shallows.KernelRidgeClassifier(), X, y)
    if WORLD.rank == 0:
        Checkpoint(folder / "foreign", "another").save({}, {})
    WORLD.barrier()
    tried("checkpoint", FITS["EigenPro"](), X, y, checkpoint=Checkpoint(folder / "foreign", "key"))
    shallows.__version__ += f"+{WORLD.rank}"
    tried("versions", FITS["EigenPro"](), X, y)
    (folder / f"told{WORLD.rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    from mpi4py import MPI

    WORLD = MPI.COMM_WORLD
    globals()[sys.argv[1]](Path(sys.argv[2]))
