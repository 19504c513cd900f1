"""Which modules a piece of code is made of, and the digests by which results go out of date."""

import dataclasses
import importlib
import json
import re
import shutil
import subprocess
import textwrap

import pytest

import shallows
from own_plan import own_configuration, own_plan
from shallows_papers import datasets
from shallows_papers.experiments.identity import code, project_modules, signatures
from workflow_runs import PROJECT

METHODS = own_configuration().methods

#: A small package: two shapes in their own modules, found by name, and who uses one of them.
PACKAGE = {
    "__init__.py": """
        from .painters import PAINTERS
        def __getattr__(name):
            return PAINTERS[name]
    """,
    "tables.py": "def LazyTable(*given): pass",
    "shapes/__init__.py": """
        from ..tables import LazyTable
        from .base import Shape
        SHAPES = LazyTable(
            "shape",
            __name__,
            {"circle": ".circle:Circle", "square": ".square:Square"},
        )
        def make(name):
            return SHAPES[name]()
    """,
    "shapes/base.py": "class Shape: pass",
    "shapes/circle.py": "from .base import Shape\nfrom ..geometry import area\nclass Circle(Shape): pass",
    "shapes/square.py": "from .base import Shape\nclass Square(Shape): pass",
    "geometry.py": "def area(): return f'{1!r}', 'formula.json'",
    "formula.json": "{}",
    "typing_only.py": "",
    "painters/__init__.py": """
        from ..tables import LazyTable
        PAINTERS = LazyTable("painter", __name__, {"Painter": ".painter"})
    """,
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
    "collage.py": "from . import shapes\nmade = shapes.Circle()",
}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The small package, as far as it is changed."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(**changes):
        for name, text in {**PACKAGE, **changes}.items():
            path = tmp_path / "small" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        for folder in {path.parent for path in (tmp_path / "small").rglob("*.py")}:
            (folder / "__init__.py").touch()
        return project_modules.Sources(tmp_path, ["small"], tmp_path / "kept")

    return write


@pytest.fixture
def closure(small):
    """The closure of a place in the small package, as far as it is changed."""
    return lambda place="small:Painter", words=(), **changes: small(**changes).closure([place], words)


PAINTER = {"small.painters", "small.painters.painter", "small.painters.brush"}
PAINTER |= {"small.shapes", "small.shapes.base", "small.tables"}
CIRCLE = {"small.shapes.circle", "small.geometry", "small/formula.json"}


def test_a_closure_holds_what_is_imported_and_of_tables_what_is_named(closure):
    assert set(closure()) == PAINTER
    assert set(closure(words=["circle", "large", "auto"])) == PAINTER | CIRCLE
    assert set(closure(words=["square"])) == PAINTER | {"small.shapes.square"}
    assert set(closure("small.collage")) > CIRCLE  # what a module uses of a package that imports it late


def test_the_folder_that_a_package_left_hides_no_module_of_its_name(small, tmp_path):
    (tmp_path / "small" / "geometry" / "__pycache__").mkdir(parents=True)
    assert set(small().closure(["small:Painter"], ["circle"])) == PAINTER | CIRCLE


def test_data_files_of_every_kind_count_and_those_in_a_folder_that_is_named(closure):
    for suffix in (".cu", ".json", ".html"):
        files = {f"table{suffix}": "1", f"drawings/inner/a{suffix}": "2", f"others/b{suffix}": "3"}
        found = closure("small.geometry", **{"geometry.py": f"names = 'table{suffix}', 'drawings'", **files})
        assert {f"small/table{suffix}", f"small/drawings/inner/a{suffix}"} < set(found)
        assert not [one for one in found if "others" in one]


def changed(name, old, new):
    """A file of the package, with a part replaced."""
    assert old in PACKAGE[name]
    return {name: PACKAGE[name].replace(old, new)}


UNRELATED = {
    "another entry": {"shapes/square.py": "class Square: side = 2"},
    "a new module": {"shapes/triangle.py": "class Triangle: pass"},
    "a comment": changed("painters/painter.py", "        class Painter", "        # a comment\n        class Painter"),
    "a line break": changed(
        "painters/painter.py", "make(shape)", "make(\n                    shape\n                )"
    ),
    "a new entry": changed("shapes/__init__.py", '"square"', '"triangle": ".triangle", "square"'),
    "a docstring": {"shapes/base.py": 'class Shape:\n    """Words."""\n    pass'},
}
RELATED = {
    "an entry": {"shapes/circle.py": PACKAGE["shapes/circle.py"] + "\nx = 1"},
    "what an entry imports": {"geometry.py": "def area(): return f'{2!r}', 'formula.json'"},
    "a data file": {"formula.json": "[]"},
    "an import in a function": {"painters/brush.py": "if x:\n    y\nz"},
    "a function": changed("shapes/__init__.py", "SHAPES[name]()", "SHAPES[name](1)"),
    "a place": changed("shapes/__init__.py", ".circle:Circle", ".square:Square"),
}


@pytest.mark.parametrize("change", [*UNRELATED, *RELATED])
def test_only_what_a_place_uses_changes_its_digest(closure, change):
    base = {"shapes/base.py": "class Shape:\n    pass"}
    before = project_modules.digest(closure(words=["circle"], **base))
    after = project_modules.digest(closure(words=["circle"], **{**base, **(UNRELATED | RELATED)[change]}))
    assert (before == after) == (change in UNRELATED)


def test_a_digest_of_today_is_that_of_records_that_stand(small):
    # Another value makes every record of every user out of date, also one that another version of Python makes.
    assert project_modules.digest({"shallows.arrays": "1", "a": "2"}) == "13ea27646d7224b7"
    text = '"""Words."""\n\ndef f(x):\n    return x + 1  # more\n'
    assert small(**{"more.py": text}).read("small.more").digest == "d7ac089b61ba84c0"


def test_an_entry_of_the_catalogue_counts_for_its_preparation_and_none_for_data_of_the_users(monkeypatch):
    def digests(state):
        dataset = dataclasses.replace(datasets.get("a9a_demo"), state=state)
        for entry in ({"n": 1}, {"n": 2}):
            monkeypatch.setattr("shallows_papers.datasets.identity.entries_of", lambda _, entry=entry: entry)
            yield code.digest_of_preparation(dataset, [])

    assert len(set(digests(datasets.get("a9a_demo").state))) == 2
    assert len(set(digests("user"))) == 1


def test_parameters_and_defaults_are_read_from_the_signature_that_a_call_leads_to(small, monkeypatch):
    calls = """
        def f(a, b=1, *, c, d="x", e=[1]): pass
        def any(a, **others): pass
        class Base:
            def __init__(self, kernel, *, bandwidth=2.0): pass
        class Heir(Base): pass
        class Made:
            __init__ = with_parameters(Base.__init__, loss="hinge", bandwidth=3)
    """
    monkeypatch.setattr(project_modules, "SHALLOWS", small(**{"calls.py": calls}))
    assert signatures.parameters("small.calls:f") == {"a": None, "b": 1, "c": None, "d": "x", "e": [1]}
    assert signatures.parameters("small.calls:any") is None
    assert signatures.parameters("small.calls:Heir") == {"kernel": None, "bandwidth": 2.0}
    assert signatures.parameters("small.calls:Made") == {"kernel": None, "bandwidth": 3, "loss": "hinge"}


def test_the_commit_is_that_of_the_repository_which_tracks_the_package(tmp_path):
    def git(*arguments):
        told = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path), *arguments]
        return subprocess.run(told, capture_output=True, text=True, check=True).stdout.strip()

    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (tmp_path / "errors.py").write_text("a = 1\n")
    code.commit.cache_clear()
    untracked = code.commit(tmp_path)
    git("init", "--quiet")
    code.commit.cache_clear()
    assert code.commit(tmp_path) == untracked == {"version": shallows.__version__, "commit": None, "dirty": None}
    git("add", "errors.py")
    git("commit", "--quiet", "-m", "first")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "measured.json").write_text("{}")
    git("add", "benchmarks")
    git("commit", "--quiet", "-m", "second")
    (tmp_path / "benchmarks" / "measured.json").write_text("{1: 2}")  # No result depends on it.
    for change, dirty in (("a = 1\n", False), ("a = 2\n", True)):
        (tmp_path / "errors.py").write_text(change)
        code.commit.cache_clear()
        assert code.commit(tmp_path) == {
            "version": shallows.__version__,
            "commit": git("rev-parse", "HEAD"),
            "dirty": dirty,
        }
    code.commit.cache_clear()


# The package itself


def modules(method, **parameters):
    return code.files_of_run(METHODS[method], parameters)


def test_the_run_of_a_users_own_class_depends_on_its_file_and_on_what_that_imports(tmp_path, monkeypatch):
    mine = tmp_path / "mine_of_this_test.py"
    mine.write_text("from shallows import KernelRidgeClassifier\n\n\nclass Mine(KernelRidgeClassifier):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    call = {"call": {"classification": "mine_of_this_test:Mine"}, "runs": "estimator"}
    found = code.files_of_run(call, {"solver": "kernel_sgd"})
    assert len(found["mine_of_this_test"]) == 64
    # The second one follows from the name of the solver, the third one from the kernel of the class that is extended.
    wanted = ("estimators.least_squares.kernel_ridge", "solvers.least_squares.kernel_sgd", "kernels.radial")
    assert {f"shallows.{one}" for one in wanted} <= {*found}
    assert "sklearn.svm" not in code.files_of_run({**call, "call": {"any": "sklearn.svm:SVC"}}, {})


def test_no_run_depends_on_a_map_a_kernel_or_a_loss_that_it_does_not_name():
    names = {"features.tensor_sketch", "features.fastfood", "features.quasi_monte_carlo", "losses.novelty"}
    named_alone = {f"shallows.{one}": one.partition(".")[2] for one in names} | {"shallows.kernels.inner": "linear"}
    for run in own_plan().runs("laptop").values():
        if METHODS[run.method]["runs"] != "analysis":
            found = code.files_of_run(METHODS[run.method], run.parameters)
            for module, name in named_alone.items():
                assert module not in found or name in code._texts(run.parameters), (run.method, run.parameters, module)


def test_a_run_depends_on_every_entry_of_a_table_that_the_configuration_names():
    plan, named = own_plan(), set()
    runs = [run for scale in ("demo", "laptop", "paper") for run in plan.runs(scale).values()]
    for run in {(run.method, frozenset(code._texts(run.parameters))): run for run in runs}.values():
        found = code.files_of_run(METHODS[run.method], run.parameters)
        tables = [project_modules.SHALLOWS.read(module).table for module in found if "/" not in module]
        for word in code._texts(run.parameters):
            for table in (table for table in tables if word in table):
                assert table[word].partition(":")[0] in found, (run.id, word)
                named.add(word)
    assert named >= {"gaussian", "hinge", "fourier", "eigenpro", "nystrom"}


def test_every_method_leads_to_a_module_and_depends_on_no_report():
    for name, definition in METHODS.items():
        calls = [call for call in definition["call"].values() if call.startswith("shallows")]
        found = project_modules.SHALLOWS.closure(calls)
        assert len(found) > len(calls) or not calls, name
        wrong = [one for one in found if re.match(r"shallows_papers\.(report|cli|experiments\.comparing)\b", one)]
        assert not wrong, (name, wrong)
        for call in calls:
            importlib.import_module(call.partition(":")[0])
    for script in (PROJECT / "workflow" / "scripts").glob("*.py"):
        found = project_modules.SHALLOWS.closure(project_modules.imports_of_script(script))
        assert not [one for one in found if "__pycache__" in one]


@pytest.mark.parametrize("kept", [None, "no JSON", "[]", "{}", '{"reader": "", "modules": {}}'])
def test_a_digest_is_the_same_whatever_was_kept_of_it(small, tmp_path, kept):
    before, (place,) = small().closure(["small:Painter"]), (tmp_path / "kept").glob("project_modules*.json")
    place.unlink()
    if kept is not None:
        place.write_text(kept)
    for _ in range(2):  # once without, once with what the first left
        assert small().closure(["small:Painter"]) == before
    assert json.loads(place.read_text())["modules"]


def test_what_was_kept_is_used_by_the_same_reader_and_by_no_other(closure, tmp_path):
    before, (place,) = closure(), (tmp_path / "kept").glob("project_modules*.json")
    kept = json.loads(place.read_text())
    for module in kept["modules"].values():
        module["digest"] = "kept"
    place.write_text(json.dumps(kept))
    assert set(closure().values()) == {"kept"}
    place.write_text(json.dumps({**kept, "reader": "another"}))
    assert closure() == before
