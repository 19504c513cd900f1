"""A fit that the processes of an MPI program share: ``mpiexec -n 2 python two_processes.py ESTIMATOR OUT.json``."""

import json
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from mpi4py import MPI

from golden.cases import data, estimator, outputs, targets
from shallows.distributed import Mpi

warnings.simplefilter("ignore")
name, out = sys.argv[1:]
X, _, _, new = data()
model = estimator(name, dtype="float64").fit(X, targets(name), ranks=Mpi())
if MPI.COMM_WORLD.rank == 0:
    Path(out).write_text(json.dumps({method: made.tolist() for method, made in outputs(model, new).items()}))
