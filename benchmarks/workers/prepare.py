"""MNIST with pixels in [0, 1], downloaded and prepared where the workflow does it too, and with the same result."""

import sys
from pathlib import Path

import measuring

from shallows_papers import datasets

STEPS = [{"unit": {}}]

data = Path(measuring.parameters()["folder"])
prepared = data / "prepared" / "mnist" / "unit"
try:
    stands = datasets.load(prepared).info["steps"] == [step.as_data() for step in datasets.check_steps(STEPS)]
except datasets.DatasetError:
    stands = False
if not stands:
    stamp = datasets.fetch("mnist", data / "raw", progress=sys.stderr.isatty())
    datasets.prepare("mnist", stamp, prepared, STEPS)
measuring.answer(folder=str(prepared), sha256=datasets.load(prepared).info["sha256"])
