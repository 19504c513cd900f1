"""The order of the parts of both packages: imports point down the lists of docs/architecture.md."""

import re
from collections import defaultdict

import grimp
import pytest

from workflow_runs import PROJECT

SOURCES = PROJECT / "src"
PACKAGES = ("shallows", "shallows_papers")

#: Names of modules in several rooms: of an algorithm its solver, estimator and study, or the same part of each room.
SHARED = {
    *("__init__", "base", "claims", "components", "convergence", "decomposition", "eigenpro", "expansion"),
    *("feature_eigenpro", "feature_gaussian_process", "feature_preconditioner", "feature_ridge", "fitting"),
    *("kernel_cca", "kernel_ridge", "kernel_svd", "kitchen_sinks", "lasvm"),
    *("predictions", "problem", "regularized_risk", "rows", "semi_random", "source", "targets"),
}
#: A feature map and its transformer have the same name.
OF_MAPS = {"shallows/features", "shallows/estimators/feature_maps"}


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph(*PACKAGES, cache_dir=None, exclude_type_checking_imports=True)


@pytest.fixture(scope="module")
def order():
    """Rooms from the top of the list down; several in one line have one height."""
    text = (PROJECT / "docs" / "architecture.md").read_text()
    heights = {}
    for package in PACKAGES:
        table = text.partition(f"| part of `{package}` | holds |")[2].partition("\n\n")[0]
        for height, line in enumerate(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)):
            heights |= {f"{package}.{room}": height for room in re.findall(r"`(\w+)(?:/|\.py)`", line)}
    return heights


def room_of(module):
    return ".".join(module.split(".")[:2])


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_stands_in_the_list(order, package):
    parts = (SOURCES / package).iterdir()
    rooms = {f"{package}.{path.stem}" for path in parts if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {f"{package}.__init__"} == {room for room in order if room.startswith(f"{package}.")}


def test_the_library_never_imports_the_reproduction(graph):
    library = {module for module in graph.modules if module.partition(".")[0] == "shallows"}
    assert not [
        f"{module} imports {imported}"
        for module in sorted(library)
        for imported in graph.find_modules_directly_imported_by(module)
        if imported not in library
    ]


def test_no_name_of_a_module_has_two_meanings():
    rooms = defaultdict(set)
    for path in (path for package in PACKAGES for path in (SOURCES / package).rglob("*.py")):
        rooms[path.stem].add(str(path.parent.relative_to(SOURCES)))
    shared = {name for name, those in rooms.items() if len(those) > 1 and those != OF_MAPS}
    assert not (new := shared - SHARED), (
        f"Several modules are called {new}. Rename them, or, if they belong to one algorithm, add the name to SHARED."
    )
    assert not SHARED - shared, "SHARED has names that a single module has. Remove them."


def test_imports_point_down_the_list(graph, order):
    upward = []
    for module in sorted(graph.modules - set(PACKAGES)):
        for imported in sorted(graph.find_modules_directly_imported_by(module) - set(PACKAGES)):
            above, below = room_of(module), room_of(imported)
            if above != below and above.partition(".")[0] == below.partition(".")[0] and order[above] >= order[below]:
                upward.append(f"{module} imports {imported}")
    assert not upward


def test_no_module_imports_itself_through_others(graph):
    for module in graph.modules:
        assert not graph.find_modules_directly_imported_by(module) & graph.find_downstream_modules(module), module


def test_no_room_within_a_room_imports_another_in_a_circle(graph):
    inner = defaultdict(set)
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            above, below = (".".join(one.split(".")[:3]) for one in (module, imported))
            if above != below and above.count(".") == below.count(".") == 2:
                inner[above].add(below)
    left = {room: set(below) for room, below in inner.items()}
    while ends := [room for room, below in left.items() if not below & set(left)]:
        for room in ends:
            del left[room]
    assert not left
