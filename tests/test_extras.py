"""The core alone: what needs an extra that is not installed says which one, in one sentence."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from numba.core import caching, config

import shallows


def run_without(packages, code):
    """What a fresh Python writes to stdout, to which some packages look as if they were not installed."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({packages!r})); "
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", hidden + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOOP = """
from shallows.utils.compilation import njit

@njit(cache=True)
def double(x):
    return 2 * x
"""


def double_in(path, monkeypatch):
    """The compiled loop of a module, as a new process loads it."""
    path.write_text(LOOP)
    os.utime(path, (1, 1))  # numba's index is for a file of one time
    monkeypatch.setattr(config, "CACHE_DIR", "")  # the cache is next to the module, also if NUMBA_CACHE_DIR is set
    monkeypatch.syspath_prepend(path.parent)
    sys.modules.pop(path.stem, None)
    return importlib.import_module(path.stem).double


def test_a_loop_is_compiled_where_no_folder_can_keep_it(tmp_path, monkeypatch):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    assert double_in(tmp_path / "a_loop.py", monkeypatch)(2) == 4
    library = Path(shallows.__file__).parent
    own = library / "utils" / "compilation.py"
    assert [path for path in library.rglob("*.py") if re.search(r"numba\b.*\bn?jit\b", path.read_text())] == [own]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_loop_is_compiled_again_where_a_file_of_the_cache_is_damaged(ending, share, tmp_path, monkeypatch):
    path = tmp_path / "a_loop.py"
    assert double_in(path, monkeypatch)(2) == 4
    (kept,) = tmp_path.rglob(f"*.{ending}")
    held = kept.read_bytes()
    kept.write_bytes(held[: int(share * len(held))])
    assert double_in(path, monkeypatch)(2) == 4
    repaired = double_in(path, monkeypatch)
    assert repaired(2) == 4
    assert sum(repaired.stats.cache_hits.values()) == 1


def test_a_loop_is_compiled_where_the_cache_can_be_neither_read_nor_written(tmp_path, monkeypatch):
    path = tmp_path / "a_loop.py"
    assert double_in(path, monkeypatch)(2) == 4
    next(tmp_path.rglob("*.nbi")).write_bytes(b"")
    monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", mock.Mock(side_effect=PermissionError))
    with pytest.warns(UserWarning, match=f"{tmp_path}.*Delete this folder"):
        assert double_in(path, monkeypatch)(2) == 4


@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [
        ("yaml", "datasets", "data"),
        ("pandas", "datasets.formats.delimited_text", "data"),
        ("requests", "datasets.download.fetching", "data"),
        ("jsonschema", "experiments.planning", "workflow"),
        ("seaborn", "report", "workflow"),
    ],
)
def test_a_room_names_the_extra_that_it_needs(package, module, extra):
    code = f"""
try:
    import shallows_papers.{module}
except ImportError as error:
    print(error)
"""
    assert f"pip install 'shallows[{extra}]'" in run_without([package], code)


OTHERS = ["pandas", "yaml", "requests", "pooch", "matplotlib", "seaborn", "snakemake", "jsonschema", "tqdm"]


def test_help_and_tools_can_look_at_the_package_without_an_extra():
    code = """
import inspect, pydoc, shallows
for name, room in inspect.getmembers(shallows, inspect.ismodule):
    inspect.getmembers(room)
    pydoc.render_doc(room)
print("class KernelRidgeClassifier" in pydoc.plain(pydoc.render_doc(shallows)), "report" in dir(shallows))
"""
    assert run_without([*OTHERS, "jinja2", "docutils", "mpi4py"], code) == "True False"


def test_the_command_line_names_the_extra():
    code = "from shallows_papers import cli; import sys; sys.stderr = sys.stdout; print(cli.main(['data', 'list']))"
    said, status = run_without(["yaml"], code).splitlines()
    assert said.startswith("shallows: ") and "pip install 'shallows[data]'" in said and status == "2"
