#!/usr/bin/env python3
"""Build this package as it would be published, install it into an empty environment elsewhere, and use it there.

The source archive is built from the repository and the wheel from the unpacked archive. There, with no path to the
repository, every estimator is fitted with the core alone, each part that needs an extra must say which one; then, with
the extra ``all``, every module is imported, the command line is called, a model is fitted, saved and loaded, and two
methods are compared on a table.

``python .ci/release_check.py [--offline] [--keep FOLDER]``; it runs in an environment that has hatchling, and takes uv
where there is one, else venv and pip. Exit status: 0 where all is well, 1 where something is not, 3 where the packages
that it needs are not available.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_TO_BE_HAD = 3

IMPORTS = """
import importlib, pkgutil, sys
import shallows, shallows_papers
from shallows.errors import MissingExtraError

assert shallows.__file__.startswith(sys.prefix), shallows.__file__
extras = {"cupy", "torch", "rdkit", "pyarrow"}
packages = (shallows, shallows_papers)
names = [one.name for package in packages for one in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
without = []
for name in names:
    try:
        importlib.import_module(name)
    except (ImportError, MissingExtraError) as error:
        if isinstance(error, ImportError) and (error.name or "").partition(".")[0] not in extras:
            raise
        without.append(f"{name} ({error})")
public = [getattr(shallows, name) for name in shallows.__all__]
print(f"{len(names)} modules and {len(public)} public names, {len(without)} modules for want of an extra")
print(*without, sep="\\n")
"""

CORE = """
import importlib.metadata, pathlib, sys
import shallows
from shallows.errors import MissingExtraError
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
X, y = X[:300], y[:300]
estimators = [getattr(shallows.estimators, name) for name in shallows.estimators.__all__]
for estimator in estimators:
    views = (X[:, :32], X[:, 32:]) if "CCA" in estimator.__name__ or "SVD" in estimator.__name__ else (X, y)
    model = estimator()
    if "max_iterations" in model.get_params():
        model.set_params(max_iterations=20)
    model.fit(*views)
if sys.argv[1] == "core":
    for room in ("datasets", "report", "experiments.planning", "experiments.user_data.file_fit"):
        try:
            importlib.import_module(f"shallows_papers.{room}")
        except MissingExtraError as error:
            assert error.extra in ("data", "workflow"), error
        else:
            raise AssertionError(f"shallows_papers.{room} does not say which extra it needs")
site = pathlib.Path(shallows.__file__).parents[1]
size = sum(path.lstat().st_size for path in site.rglob("*") if path.is_file()) / 2**20
n_packages = len({one.name for one in importlib.metadata.distributions()} - {"pip", "setuptools"})
print(f"{sys.argv[1]}: {n_packages} packages, {size:.0f} MB; all {len(estimators)} estimators fit")
"""

FIT = """
import numpy as np
import shallows
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
model = shallows.KernelRidgeClassifier(kernel="gaussian", solver="eigenpro", random_state=0).fit(X[:1500], y[:1500])
accuracy = (model.predict(X[1500:]) == y[1500:]).mean()
assert accuracy > 0.95, accuracy
shallows.save(model, "digits.skops")
assert np.array_equal(shallows.load("digits.skops").predict(X[1500:]), model.predict(X[1500:]))
print(f"digits: {accuracy:.1%} of 297 test points are right, before and after saving")
"""


def main() -> int:
    """Run all steps; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--offline", action="store_true", help="install from the local cache of uv alone")
    parser.add_argument("--keep", type=Path, help="keep the archive and the wheel in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shallows-release-") as folder:
        place = Path(folder)
        archive, wheel = build(place)
        print(f"built {archive.name} ({archive.stat().st_size:,} bytes) and {wheel.name} ({wheel.stat().st_size:,})")
        (place / "elsewhere").mkdir()
        python = install(wheel, "", place / "environment", options.offline)
        if python is None:
            return NOT_TO_BE_HAD
        use_core(python, place / "elsewhere", "core")
        if install(wheel, "[all]", place / "environment", options.offline) is None:
            return NOT_TO_BE_HAD
        use_core(python, place / "elsewhere", "all")
        use(python, place / "elsewhere")
        compare(python, place / "Größe und Gewicht")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for path in (archive, wheel):
                shutil.copy2(path, options.keep)
    print("the release is sound")
    return 0


def build(place: Path) -> tuple[Path, Path]:
    """The source archive of the repository, and the wheel of the unpacked archive."""
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(place / "dist")], ROOT)
    (archive,) = (place / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(place / "source", filter="data")
    (source,) = (place / "source").iterdir()
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")], source)
    (wheel,) = (place / "dist").glob("*.whl")
    return archive, wheel


def install(wheel: Path, extras: str, environment: Path, offline: bool) -> Path | None:
    """The Python of an environment that has the wheel and the locked versions of what it needs, or None."""
    python = environment / "bin" / "python"
    # The versions of the lock without its hashes: with them pip asks for one of the wheel too, which is new.
    lines = re.findall(r"^[\w.-]+==[^\\\n]+", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    constraints = wheel.with_name("constraints.txt")
    constraints.write_text("\n".join(lines) + "\n")
    uv, wanted = shutil.which("uv"), ["--constraint", str(constraints), f"{wheel}{extras}"]
    if uv:
        flags = ["--offline"] if offline else []
        if not python.exists():
            run([uv, "venv", "--quiet", *flags, "--python", sys.executable, str(environment)])
        command = [uv, "pip", "install", "--quiet", *flags, "--python", str(python), *wanted]
    elif offline:
        print("uv, whose cache can be installed from without a network, is not here")
        return None
    else:
        if not python.exists():
            run([sys.executable, "-m", "venv", str(environment)])
        command = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, env=clean())
    if done.returncode == 0:
        return python
    print("the packages that this one needs are not available:", done.stderr.strip()[-2000:], sep="\n")
    return None


def use_core(python: Path, elsewhere: Path, extras: str) -> None:
    """Fit every estimator. With the core alone, the other parts of the package have to name the extra they need."""
    print(run([str(python), "-W", "ignore", "-c", CORE, extras], elsewhere).strip())
    print(run([str(python.with_name("shallows")), "--version"], elsewhere).strip())


def use(python: Path, elsewhere: Path) -> None:
    """Import everything, call the command line and fit a model, in a folder that holds nothing else."""
    command = str(python.with_name("shallows"))
    print(run([str(python), "-c", IMPORTS], elsewhere).strip())
    for arguments, wanted in (
        (["--help"], "predict"),
        (["data", "list"], "mnist"),
        (["data", "describe", "mnist", "--no-read"], "MNIST"),
        (["predict", "--help"], "MODEL"),
    ):
        said = run([command, *arguments], elsewhere)
        if wanted not in said:
            raise SystemExit(f"shallows {' '.join(arguments)} does not mention {wanted}:\n{said}")
    missing = subprocess.run(
        [command, "predict", "no-model", "no-rows.csv"], cwd=elsewhere, capture_output=True, text=True, env=clean()
    )
    if missing.returncode != 2 or not missing.stderr.startswith("shallows: "):
        raise SystemExit(f"shallows predict does not say that there is no model:\n{missing.stderr}")
    print(run([str(python), "-c", FIT], elsewhere).strip())


def compare(python: Path, folder: Path) -> None:
    """Compare two methods on a table by the workflow that the package holds, in a folder with a space and an umlaut."""
    folder.mkdir()
    (folder / "Maße.csv").write_text("Größe,Gewicht,Art\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(120)))
    command = str(python.with_name("shallows"))
    run([command, "data", "fetch", "mnist_demo"], folder)
    (workflow,) = python.parents[1].glob("lib/python*/site-packages/shallows_papers/_workflow")
    before, begun = sorted(workflow.rglob("*")), time.monotonic()
    run([command, "compare", "Maße.csv", "target=Art", f"configuration={ROOT / '.test' / 'config'}"], folder)
    (page,) = folder.glob("results/own/*/report/index.html")
    if sorted(workflow.rglob("*")) != before:
        raise SystemExit("The comparison wrote into the installed package.")
    print(f"two methods compared in {time.monotonic() - begun:.0f} s, with a page of {page.stat().st_size:,} bytes")


def run(command: list[str], folder: Path | None = None) -> str:
    """What a command writes to stdout; the program ends where the command fails, with what it said."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=clean())
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)[:200]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def clean() -> dict[str, str]:
    """The environment without what could lead to the repository or to another Python's packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


if __name__ == "__main__":
    sys.exit(main())
