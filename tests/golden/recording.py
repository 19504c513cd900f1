"""Record golden numbers, or compare two checkouts bit by bit on one machine.

    python tests/golden/recording.py record --new        # adds the cases that numbers.json lacks, of a new estimator
    python tests/golden/recording.py record              # writes all of numbers.json, in its own commit
    python tests/golden/recording.py digests OUT.json    # digests of all bits, for `compare`
    python tests/golden/recording.py compare OLD.json NEW.json
    python tests/golden/recording.py check --device gpu --seconds 300

Run each with PYTHONPATH=src and OMP_NUM_THREADS=1. With ``--large``, the first two use the slow cases. ``check`` runs
the small cases on a device and compares them with the stored numbers of the CPU: first every estimator with its
defaults, then the other cases until the time is over.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden import cases, large_cases
from shallows import streams

NUMBERS = Path(__file__).with_name("numbers.json")
LARGE_NUMBERS = Path(__file__).with_name("large_numbers.json")
N_KEPT = 9
"""Entries kept of each array, evenly spaced; they are stored next to its mean and its mean absolute value."""


def summary(array: np.ndarray) -> dict[str, Any]:
    """What is stored of an array: shape, mean, mean absolute value and some entries; of words the entries only."""
    flat = array.ravel()
    kept = flat[np.linspace(0, flat.size - 1, min(N_KEPT, flat.size)).astype(int)]
    if array.dtype.kind not in "fiub":
        return {"shape": list(array.shape), "words": [str(entry) for entry in kept]}
    numbers = [np.mean(flat, dtype=np.float64), np.mean(np.abs(flat), dtype=np.float64), *kept]
    return {
        "shape": list(array.shape),
        "dtype": array.dtype.name,
        "numbers": [float(f"{entry:.9g}") for entry in numbers],
    }


def summaries(made: dict[str, np.ndarray] | str) -> dict[str, Any] | str:
    """What is stored of a case."""
    return made if isinstance(made, str) else {name: summary(array) for name, array in made.items()}


def digest(made: dict[str, np.ndarray] | str) -> str:
    """Digest of all bits of a case."""
    if isinstance(made, str):
        return made
    found = hashlib.sha256()
    for name in sorted(made):
        array = np.ascontiguousarray(made[name])
        data = "|".join(map(str, array.ravel())).encode() if array.dtype.kind in "OU" else array.tobytes()
        found.update(f"{name} {array.shape}".encode() + data)
    return found.hexdigest()[:16]


TOLERANCE = 1e-3
"""Share of an array's mean absolute value by which numbers may differ. Rounding differs between processors, and
iterations magnify it: OpenBLAS's kernels for Haswell, Skylake and Sandy Bridge gave at most 4e-4."""

LOOSE = {
    "CoreVectorMachine": 0.1,
    "DoublyStochasticKernelSVD": 0.05,
    "LASVM": 0.05,
    "LinearSVMClassifier": 0.05,
    "RandomKitchenSinks": 0.05,
}
"""The same for estimators whose choice of rows or line search depends on the last digits: they gave up to 0.04."""

SHARE_OF_STEPS = 0.3
"""Share by which a number of iterations may differ."""


def differences(name: str, stored: Any, made: Any, looser: float = 1.0) -> list[str]:
    """How a case differs from what is stored, as text; empty if it agrees. One of nine labels may differ.

    ``looser`` multiplies the tolerance.
    """
    tolerated = looser * next((share for start, share in LOOSE.items() if name.startswith(start)), TOLERANCE)
    if isinstance(stored, str) or isinstance(made, str):
        return [] if stored == made else [f"{str(stored)[:80]} became {str(made)[:80]}"]
    if stored.keys() != made.keys():
        return [f"outputs {sorted(stored)} became {sorted(made)}"]
    found = []
    for output, old in stored.items():
        new = made[output]
        if old["shape"] != new["shape"] or old.get("dtype") != new.get("dtype"):
            found.append(f"{output}: {old['shape']} {old.get('dtype')} became {new['shape']} {new.get('dtype')}")
        elif "words" in old or (output == "predict" and old["dtype"].startswith("int")):
            a, b = (one.get("words", one.get("numbers", [])[2:]) for one in (old, new))
            if sum(x != y for x, y in zip(a, b, strict=True)) > 1:
                found.append(f"{output}: {a} became {b}")
        else:
            a, b = (np.array(one["numbers"]) for one in (old, new))
            share = SHARE_OF_STEPS if output == "n_iter_" else tolerated
            tolerance = share * max(abs(a[1]), abs(b[1]), 1e-12)
            gap = np.abs(a - b).max()
            if not gap <= tolerance:
                found.append(f"{output}: differs by {gap:.3g}, at most {tolerance:.3g} is rounding")
    return found


def made_of(which: Iterable[tuple[str, Callable[[], Any]]], make: Callable[[Any], Any]) -> dict[str, Any]:
    """What is made of the outputs of each case, by name."""
    return {name: make(cases.run(case)) for name, case in which}


def purposes_drawn(run: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a function returns, and the purposes for which it drew random numbers."""
    drawn, key = set(), streams._key

    def noting(seed: int, purpose: str) -> tuple[int, int]:
        drawn.add(purpose)
        return key(seed, purpose)

    streams._key = noting
    try:
        return run(), sorted(drawn)
    finally:
        streams._key = key


ROUNDING_OF_A_DEVICE = 10.0
"""Factor by which numbers of another device may differ more than those of another processor."""


def check(device: str, seconds: float) -> bool:
    """Print how the small cases on a device differ from the stored numbers, and return whether they agree."""
    stored, ends = json.loads(NUMBERS.read_text())["cases"], time.monotonic() + seconds
    cases.DEVICE = [device]
    which = sorted(cases.cases(), key=lambda case: "," in case[0])
    differing, n_run = 0, 0
    for name, case in which:
        if time.monotonic() > ends:
            break
        begun = time.monotonic()
        try:
            made = cases.run(case)
            if isinstance(made, str) and made != stored[name]:
                case()  # raises the error that `run` hides
            found = differences(name, stored[name], summaries(made), ROUNDING_OF_A_DEVICE)
        except Exception as error:  # one failing case must not hide the others
            found = [f"{type(error).__name__}: {error}"]
        n_run += 1
        differing += bool(found)
        print(f"{time.monotonic() - begun:6.2f} s  {name}", *found, sep="\n          ", flush=True)
    print(f"{n_run} of {len(which)} cases were run on {device}; {differing} differ from the numbers of the CPU.")
    return not differing


def record(path: Path, which: dict[str, Callable[[], Any]], *, only_new: bool = False) -> None:
    """Write the numbers of all cases, or add the new cases and drop the ones that no longer exist."""
    stored = json.loads(path.read_text()) if only_new else {"purposes": [], "cases": {}}
    known = {name: case for name, case in stored["cases"].items() if name in which}
    new = [(name, case) for name, case in which.items() if name not in known]
    made, purposes = purposes_drawn(lambda: made_of(new, summaries))
    of_all, purposes = known | made, sorted({*stored["purposes"], *purposes})
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(of_all[name])}" for name in which)
    path.write_text(f'{{"purposes": {json.dumps(purposes)},\n"cases": {{\n{lines}\n}}}}\n')
    print(f"{path.name}: {len(made)} cases recorded", *made, sep="\n    ")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    recorded = actions.add_parser("record")
    recorded.add_argument("--large", action="store_true")
    recorded.add_argument("--new", action="store_true")
    digests = actions.add_parser("digests")
    digests.add_argument("out", type=Path)
    digests.add_argument("--large", action="store_true")
    compare = actions.add_parser("compare")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    on_device = actions.add_parser("check")
    on_device.add_argument("--device", default="gpu")
    on_device.add_argument("--seconds", type=float, default=300.0)
    given = parser.parse_args()
    if given.action == "check":
        sys.exit(not check(given.device, given.seconds))
    if given.action == "compare":
        old, new = (json.loads(path.read_text()) for path in (given.old, given.new))
        changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        print(*changed, f"{len(changed)} of {len(old)} cases differ", sep="\n")
        sys.exit(bool(changed))
    which = large_cases.cases if given.large else cases.cases
    if given.action == "digests":
        given.out.write_text(json.dumps(made_of(which(), digest), indent=1))
    else:
        record(LARGE_NUMBERS if given.large else NUMBERS, dict(which()), only_new=given.new)


if __name__ == "__main__":
    main()
