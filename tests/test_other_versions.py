"""Runs of other versions of packages are counted in one line, and exactly these are recomputed."""

import json
import os

import pytest

from own_plan import own_plan
from shallows_papers.experiments import other_versions, watching

INSTALLED = other_versions.packages()
OLDER = {**INSTALLED, "numpy": "1.0", "snakemake": "1.0"}


@pytest.mark.parametrize(
    ("packages", "device", "changed"),
    [
        (INSTALLED, "cpu", []),
        (OLDER, "cpu", ["numpy"]),
        ({**INSTALLED, "cupy-cuda13x": "1.0"}, "cpu", []),
        ({**INSTALLED, "cupy-cuda13x": "1.0"}, "gpu:0", ["cupy-cuda13x"]),
        ({"numba": "0.1"}, None, ["numba"]),
        ({}, "cpu", []),
    ],
)
def test_packages_that_affect_numbers_are_compared(monkeypatch, packages, device, changed):
    monkeypatch.setattr(other_versions, "packages", lambda: {**INSTALLED, "cupy-cuda13x": "14.0"})
    assert [*other_versions.other_versions({"packages": packages, "effective": {"device": device}})] == changed


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """Finished runs with versions and times, in a folder with the project's configuration."""
    monkeypatch.chdir(tmp_path)
    for name in ("config", "workflow"):
        os.symlink(own_plan().configuration.root / name, tmp_path / name)

    def make(run, packages, seconds):
        path = tmp_path / "results" / "demo" / run.folder / "record.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"packages": packages, "effective": {}, "run": {"id": run.id}}))
        os.utime(path, (seconds, seconds))
        return path.relative_to(tmp_path).as_posix()

    return make


def test_refresh_forces_exactly_the_runs_of_other_versions_and_their_preconditioners(finished, monkeypatch, capsys):
    runs = own_plan().runs("demo").values()
    shared = next(run for run in runs if run.preconditioner is not None)
    other = next(run for run in runs if run.preconditioner not in (None, shared.preconditioner))
    plain = [run for run in runs if run.preconditioner is None]
    called = []
    monkeypatch.setattr(watching, "watch", lambda words: called.append(words) or 0)
    finished(plain[0], INSTALLED, 1000)
    assert watching.main(["--refresh"]) == 0 and not called
    assert "were made with the installed versions" in capsys.readouterr().out

    expected = [finished(plain[1], OLDER, 1000), finished(shared, OLDER, 1000), finished(other, OLDER, 1000)]
    for run, seconds in ((shared, 900), (other, 1100)):  # the second was made again since
        path = watching.Path("results", "demo", run.preconditioner.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (seconds, seconds))
    expected.append(f"results/demo/{shared.preconditioner.path}")
    table = watching.Path("results", "demo", "tables", f"{shared.targets[0]}.csv")
    table.parent.mkdir()
    table.write_text("target,metric\n")
    table.with_suffix(".json").write_text("{}")
    gone = watching.Path("results/demo/runs/data/method/setting-0123456789/record.json")
    gone.parent.mkdir(parents=True)
    gone.write_text(json.dumps({"packages": OLDER}))
    assert watching.main(["--refresh", "--cores", "2"]) == 0
    (words,) = called
    asked, forced = words[2 : words.index("--forcerun")], words[words.index("--forcerun") + 1 : -2]
    assert words[:2] == ["--cores", "2"] and words[-2:] == ["--config", "scale=demo"]
    assert {*forced} == {*expected}
    # Only tables that exist are made again: the rest of the scale may take hours.
    assert {*asked} == {*expected, table.as_posix()}
    said = capsys.readouterr().out
    assert f"3 runs were made with numpy 1.0 (now {INSTALLED['numpy']}). To recompute: make refresh SCALE=demo" in said
