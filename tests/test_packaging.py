"""What is installed: the lock, the environments of conda and pyproject.toml agree, and the wheel is whole."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = ("shallows", "shallows_papers", "snakemake_logger_plugin_shallows")
#: Where conda-forge calls it otherwise.
CONDA_NAMES = {"matplotlib-base": "matplotlib", "pytorch": "torch", "cupy": "cupy-cuda13x"}


def locked(python="3.11"):
    """Name -> version of the lock, as a Python of that version on Linux resolves it."""
    environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.0"}
    lines = re.sub(r"\\\n\s*", " ", (ROOT / "requirements.txt").read_text()).splitlines()
    found = {}
    for line in filter(None, (line.partition("--hash")[0].partition(" #")[0].strip() for line in lines)):
        if line.startswith(("#", "-")):
            continue
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(environment):
            found[canonicalize_name(requirement.name)] = str(requirement.specifier).removeprefix("==")
    return found


def conda_bounds(path):
    """Name -> bounds of an environment file, its pip part included."""
    found = {}
    for entry in yaml.safe_load((ROOT / path).read_text())["dependencies"]:
        for one in map(Requirement, entry["pip"] if isinstance(entry, dict) else [entry]):
            found[canonicalize_name(CONDA_NAMES.get(one.name, one.name))] = str(one.specifier)
    return found


def needed_by(extra):
    """The requirements of an extra, with the requirements of the extras that it names."""
    found = []
    for one in map(Requirement, PROJECT["optional-dependencies"][extra]):
        found += [of for name in sorted(one.extras) for of in needed_by(name)] if one.name == "shallows" else [one]
    return found


def asked_requirements():
    """The requirements of the package and of its extra ``dev``, each once."""
    every = [*map(Requirement, PROJECT["dependencies"]), *needed_by("dev")]
    return list({one.name: one for one in every}.values())


@pytest.mark.parametrize(("path", "extras"), [("environment.yml", []), ("environment-gpu.yml", ["gpu"])])
def test_the_environment_has_the_bounds_of_the_project(path, extras):
    needed = [*asked_requirements(), *(one for extra in extras for one in needed_by(extra))]
    bounds = {canonicalize_name(one.name): str(one.specifier) for one in needed}
    assert conda_bounds(path) == {**bounds, "python": PROJECT["requires-python"], "pip": ""}


#: Of each environment of jobs, the extras that it brings and what else of the workflow's packages its jobs import.
ENVIRONMENTS = {
    "run": (["workflow"], []),
    "nets": (["data", "nets"], ["jsonschema", "grimp"]),
    "chem": (["data", "chem"], ["jsonschema", "grimp"]),
    "gpu": (["data", "gpu"], ["jsonschema", "grimp"]),
}


@pytest.mark.parametrize("name", [path.stem for path in (ROOT / "workflow" / "envs").iterdir()])
def test_the_environment_of_a_job_has_what_it_needs_and_no_tools(name):
    extras, further = ENVIRONMENTS[name]
    of_workflow = {one.name: one for one in needed_by("workflow")}
    needed = [*map(Requirement, PROJECT["dependencies"]), *(one for extra in extras for one in needed_by(extra))]
    needed += [of_workflow[one] for one in further]
    bounds = {canonicalize_name(one.name): str(one.specifier) for one in needed if one.name != "snakemake"}
    found = conda_bounds(f"workflow/envs/{name}.yaml")
    assert found == {**bounds, "python": PROJECT["requires-python"]}
    versions = {**locked(), "python": "3.11"}
    assert all(SpecifierSet(found[one]).contains(versions[one]) for one in found.keys() & versions.keys())


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_satisfies_the_project_for_every_supported_python(python):
    versions = locked(python)
    assert [
        one.name for one in asked_requirements() if not one.specifier.contains(versions[canonicalize_name(one.name)])
    ] == []


def test_every_entry_of_the_lock_has_a_hash_and_no_host():
    text = (ROOT / "requirements.txt").read_text()
    assert not re.search(r"://|--(extra-)?index-url|--find-links|@ ", text)
    entries = [line for line in re.sub(r"\\\n\s*", " ", text).splitlines() if line and not line.startswith("#")]
    assert len(entries) > 50
    for entry in entries:
        assert re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", entry), entry[:80]


def test_the_package_itself_is_light_to_import():
    heavy = {"sklearn", "scipy", "pandas", "matplotlib", "cupy", "torch", "snakemake"}
    code = f"import sys, shallows; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_package_its_data_and_its_licence(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= inside
    assert {Path(name).suffix for name in wanted} >= {".py", ".yaml", ".json", ".html", ".css"}
    assert any(name.endswith("licenses/LICENSE") for name in inside)
    for name in ("Snakefile", "workflow/Snakefile", "config/config.yaml", "profiles/default/config.yaml"):
        assert f"shallows_papers/_workflow/{name}" in inside
    assert {"data", "results"} <= {
        name.split("/")[2] for name in inside if name.startswith("shallows_papers/_workflow/")
    }
    assert all(name.partition("/")[0] in (*PACKAGES, f"shallows-{PROJECT['version']}.dist-info") for name in inside)


@pytest.mark.slow
def test_every_module_of_the_wheel_can_be_imported(wheel, tmp_path):
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)  # a wheel of pure Python is installed by unpacking it
    code = """
import importlib, pkgutil, sys
import shallows
assert shallows.__file__.startswith(sys.argv[1]), shallows.__file__
names = [module.name for module in pkgutil.walk_packages(shallows.__path__, "shallows.")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""
    # Without site (-S) no editable installation of this package can replace the wheel.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), sysconfig.get_path("purelib")])}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(target)], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_the_installed_metadata_name_the_same_version(wheel):
    metadata = zipfile.ZipFile(wheel).read(f"shallows-{PROJECT['version']}.dist-info/METADATA").decode()
    assert f"Version: {PROJECT['version']}\n" in metadata
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert len(citation["references"]) == 5
    codemeta = json.loads((ROOT / "codemeta.json").read_text())
    assert codemeta["version"] == PROJECT["version"] and codemeta["description"] == PROJECT["description"]


def test_the_image_is_built_from_all_that_the_wheel_holds():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / ".ci" / "hatch_build.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    taken = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert taken == {
        *hook.PARTS,
        "src",
        "requirements.txt",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        ".ci/hatch_build.py",
    }
    assert all((ROOT / part).exists() for part in taken)


def test_continuous_integration_can_be_started():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)


@pytest.mark.slow
def test_the_example_of_the_readme_runs():
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[0]
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 0.9
