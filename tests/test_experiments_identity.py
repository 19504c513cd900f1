"""Which modules a piece of code is made of, and the digests by which results are kept."""

import json
import re
import textwrap

import pytest

from shallows.experiments.identity import code, imports
from shallows.experiments.planning import configuration
from workflow_runs import PROJECT

METHODS = configuration.load(PROJECT).methods

#: A small package with a door: two shapes in modules of their own, found by name, and who uses one of them.
PACKAGE = {
    "__init__.py": """
        _WHERE = {"Painter": "painters"}
        def __getattr__(name):
            return getattr(__import__(_WHERE[name]), name)
    """,
    "shapes/__init__.py": """
        from .base import Shape
        from .circle import Circle
        from .square import Square
        SHAPES = {"circle": Circle, "square": Square}
        LATE = {"star": "shapes.star:Star", "moon": "small.shapes.moon:Moon"}
        def make(name):
            return SHAPES[name]()
        def unused():
            return Square
    """,
    "shapes/base.py": "class Shape: pass",
    "shapes/circle.py": "from .base import Shape\nfrom ..geometry import area\nclass Circle(Shape): pass",
    "shapes/square.py": "from .base import Shape\nclass Square(Shape): pass",
    "shapes/moon.py": "class Moon: pass",
    "geometry.py": "def area(): return 'formula.json'",
    "formula.json": "{}",
    "typing_only.py": "",
    "painters/__init__.py": "from .painter import Painter",
    "painters/painter.py": """
        from typing import TYPE_CHECKING
        from .. import shapes
        if TYPE_CHECKING:
            from .. import typing_only
        class Painter:
            def paint(self, shape="circle"):
                from . import brush
                return shapes.make(shape)
    """,
    "painters/brush.py": "",
}


@pytest.fixture
def package(tmp_path):
    def write(**changes):
        for name, text in {**PACKAGE, **changes}.items():
            path = tmp_path / "small" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return imports.Source(tmp_path / "small")

    return write


PAINTER = {
    "small.painters.painter",
    "small.painters.brush",
    "small.painters:Painter",
    "small.shapes:make",
    "small.shapes:SHAPES",
    "small.shapes.circle",
    "small.shapes.base",
    "small.geometry",
    "small/formula.json",
}


def test_a_closure_holds_what_is_imported_and_of_tables_what_is_named(package):
    assert set(imports.closure(package(), ["small:Painter"])) == PAINTER


def test_words_choose_entries_of_tables(package):
    found = imports.closure(package(), ["small:Painter"], ["square"])
    assert set(found) == PAINTER | {"small.shapes.square"}


def test_a_table_may_name_what_is_loaded_late(package):
    found = imports.closure(package(), ["small.shapes:LATE"], ["moon"])
    assert set(found) == {"small.shapes:LATE", "small.shapes.moon"}


@pytest.mark.parametrize(
    "change",
    [
        {"shapes/square.py": "class Square: side = 2"},
        {"shapes/triangle.py": "class Triangle: pass"},
        {"painters/painter.py": PACKAGE["painters/painter.py"] + "    # a comment\n"},
        {"shapes/__init__.py": PACKAGE["shapes/__init__.py"].replace('"square"', '"triangle": Square, "square"')},
        {"shapes/base.py": 'class Shape:\n    """Words."""'},
    ],
    ids=["another entry", "a new module", "a comment", "a new entry", "a docstring"],
)
def test_what_a_neighbour_does_changes_no_digest(package, change):
    before = imports.digest(imports.closure(package(), ["small:Painter"]))
    assert imports.digest(imports.closure(package(**change), ["small:Painter"])) == before


@pytest.mark.parametrize(
    "change",
    [
        {"shapes/circle.py": PACKAGE["shapes/circle.py"] + "\nx = 1"},
        {"geometry.py": "def area(): return 'another'"},
        {"formula.json": "[]"},
        {"painters/brush.py": "x = 1"},
        {"shapes/__init__.py": PACKAGE["shapes/__init__.py"].replace("SHAPES[name]()", "SHAPES[name](1)")},
        {"shapes/__init__.py": PACKAGE["shapes/__init__.py"].replace('"circle": Circle', '"circle": Square')},
    ],
    ids=["an entry", "what an entry imports", "a data file", "an import in a function", "a function", "another value"],
)
def test_what_it_uses_changes_the_digest(package, change):
    before = imports.digest(imports.closure(package(), ["small:Painter"]))
    assert imports.digest(imports.closure(package(**change), ["small:Painter"])) != before


# The package itself


def modules(method, **parameters):
    definition = METHODS[method]
    calls = [*definition["call"].values()]
    return code.modules_of(*calls, words=[str(one) for one in parameters.values()])


@pytest.mark.parametrize(
    ("method", "solver"),
    [("eigenpro", "eigenpro"), ("doubly_stochastic", "doubly_stochastic"), ("svrg", "svrg"), ("sdca", "sdca")],
)
def test_a_method_is_made_of_its_own_solver_and_of_no_other(method, solver):
    name = next(name for name in METHODS if name == method or name.endswith(method))
    found = {one.rpartition(".")[2] for one in modules(name) if one.startswith("shallows.solvers.")}
    others = {"eigenpro", "doubly_stochastic", "svrg", "sag", "sdca", "norma", "pegasos", "cholesky"} - {solver}
    assert solver in found and not found & others


def test_a_run_depends_on_the_kernel_that_it_names():
    with_heat = modules("eigenpro", kernel="heat_circle")
    assert {one for one in with_heat if one not in modules("eigenpro")} == {"shallows.kernels.heat"}


def test_every_method_of_the_configuration_is_found_whole():
    """No call leads nowhere, and none is made of its package's door alone."""
    for name, definition in METHODS.items():
        calls = [call for call in definition["call"].values() if call.startswith("shallows")]
        for call in calls:
            found = code.modules_of(call)
            assert any(":" not in one and "/" not in one for one in found), (name, call)


def test_no_digest_of_a_run_depends_on_plans_tables_or_reports():
    for name, definition in METHODS.items():
        calls = [call for call in definition["call"].values() if call.startswith("shallows")]
        if calls:
            wrong = [one for one in code.modules_of(*calls) if re.match(r"shallows\.(experiments|report|cli)\b", one)]
            assert not wrong, (name, wrong)


@pytest.mark.parametrize("kept", [None, "no JSON", "[]", "{}"])
def test_a_digest_is_the_same_whatever_was_kept_of_it(tmp_path, monkeypatch, kept):
    def forget():
        code._source.cache_clear()
        code._digest.cache_clear()

    before = code.digest_of_module("shallows:EigenProClassifier")
    monkeypatch.setattr(code, "_KEPT", tmp_path / "kept" / "imports.json")
    if kept is not None:
        code._KEPT.parent.mkdir()
        code._KEPT.write_text(kept)
    for _ in range(2):  # once without, once with what the first left
        forget()
        assert code.digest_of_module("shallows:EigenProClassifier") == before
    assert json.loads(code._KEPT.read_text())
    forget()


def test_no_digest_depends_on_what_python_keeps_beside_the_sources():
    for script in (PROJECT / "workflow" / "scripts").glob("*.py"):
        assert not [one for one in code.modules_of(*imports.of_script(script)) if "__pycache__" in one], script.name
