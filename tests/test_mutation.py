"""The faults that .ci/mutation.py plants in the sources."""

import ast
import importlib.util

import pytest

from workflow_runs import PROJECT


@pytest.fixture(scope="module")
def mutation():
    """The script, which is no module of the package."""
    found = importlib.util.spec_from_file_location("mutation", PROJECT / ".ci" / "mutation.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


SOURCE = '''
LIMIT = 3

def ramp(é, top: int = 1):
    """Text with 1 number."""
    if é < 0 and top > 0:
        raise ValueError(f"{1 - é}")
    record(é)
    return -é + 2 * top
'''


def test_every_fault_is_planted_at_its_place_and_nowhere_else(mutation):
    tree = ast.parse(SOURCE)
    faults = {
        (place.strip("."), ast.unparse(node), ast.unparse(faulty)) for place, node, faulty in mutation.sites(tree)
    }
    assert faults == {
        ("", "3", "4"),
        ("ramp", "1", "2"),
        ("ramp", "é < 0 and top > 0", "not (é < 0 and top > 0)"),
        ("ramp", "é < 0 and top > 0", "é < 0 or top > 0"),
        ("ramp", "é < 0", "é <= 0"),
        ("ramp", "top > 0", "top >= 0"),
        ("ramp", "0", "1"),
        ("ramp", "record(é)", "pass"),
        ("ramp", "-é + 2 * top", "-é - 2 * top"),
        ("ramp", "-é", "é"),
        ("ramp", "2 * top", "2 / top"),
        ("ramp", "2", "3"),
    }
    for _, node, faulty in mutation.sites(tree):
        text = mutation.planted(SOURCE, node, ast.unparse(faulty))
        assert ast.dump(ast.parse(text)) != ast.dump(tree)
        assert len(text) - len(SOURCE) == len(ast.unparse(faulty)) + 2 * isinstance(node, ast.expr) - len(
            ast.unparse(node)
        )


def test_the_same_seed_draws_the_same_faults_and_they_are_found_again(mutation, monkeypatch):
    monkeypatch.setattr(mutation, "FOLDERS", ("src/shallows/models",))
    faults = mutation.draw(20, seed=1)
    assert faults == mutation.draw(20, seed=1) != mutation.draw(20, seed=2)
    assert all(ast.unparse(mutation.find(dict(fault))) == fault["before"] for fault in faults[:3])
