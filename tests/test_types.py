"""The types of the public names: type checkers see every one of them, and mypy notices a wrong one."""

import ast
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def names_in(stub):
    """What a stub imports for others; a star stands for the names of the stub next to it."""
    found = set()
    for one in ast.walk(ast.parse(stub.read_text())):
        if isinstance(one, ast.ImportFrom):
            found |= {alias.asname for alias in one.names} - {None}
            if one.names[0].name == "*":
                found |= names_in(stub.parent / one.module / "__init__.pyi")
    return found


@pytest.mark.parametrize("room", ["", ".decomposition", ".estimators", ".kernel_approximation", ".svm"])
def test_type_checkers_see_every_public_name(room):
    module = importlib.import_module(f"shallows{room}")
    stub = Path(module.__file__).with_suffix(".pyi")
    of_extras = getattr(module, "_ROOMS_OF_EXTRAS", ())  # `dir` lists them once they are imported
    seen, public = names_in(stub), {*(module.__all__ if room else dir(module)), *of_extras} - {"__version__"}
    lines = [f"from {getattr(module, name).__module__} import {name} as {name}" for name in sorted(public - seen)]
    assert seen == public, f"{stub.relative_to(ROOT)} lacks {lines}, in the form of its other lines"


@pytest.mark.slow
def test_a_wrong_annotation_in_a_public_signature_is_noticed(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests").mkdir()
    for name in ("pyproject.toml", "tests/typed_example.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    estimators = tmp_path / "src" / "shallows" / "estimators"
    plants = [
        ("feature_maps/base.py", "bandwidth: float | str", "bandwidth: float"),
        ("base.py", "self: _Trained, X: Any, y: Any, sample", "self: _Trained, X, y: Any, sample"),
        ("least_squares/kernel_ridge.py", "warm_start: bool = False", 'warm_start: str = "no"'),
        ("feature_maps/base.py", "y: Any = None) -> Self:", "y: Any = None) -> int:"),
    ]
    for path, right, wrong in plants:
        text = (estimators / path).read_text()
        assert right in text, path
        (estimators / path).write_text(text.replace(right, wrong, 1))
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=tmp_path, capture_output=True, text=True)
    noticed = set(re.findall(r"(\w+\.py):\d+: error: .*\[(.+)\]$", done.stdout, re.MULTILINE))
    assert noticed >= {
        ("base.py", "assignment"),  # its default has another type
        ("base.py", "no-untyped-def"),
        ("typed_example.py", "arg-type"),
        ("typed_example.py", "assert-type"),
    }
