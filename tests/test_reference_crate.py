"""A finished scale as a crate to deposit: its files, their checksums, the metadata, and what is refused."""

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shallows.errors import MissingExtraError, ShallowsError
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.running import job
from shallows_papers.reference import crate
from workflow_runs import PROJECT

IMAGES = {"name": "train-images-idx3-ubyte.gz", "part": "train_images", "size": 644745}


@pytest.fixture
def finished(tmp_path, monkeypatch):
    return finish(tmp_path, monkeypatch)


def finish(tmp_path, monkeypatch):
    """The plan of the small configuration of the project, with all that its demo leaves, numbers and pictures apart."""
    # Snakemake made none of it, and knows nothing of it.
    monkeypatch.setattr(crate, "out_of_date", lambda plan, scale: [])
    places = {"results": str(tmp_path / "results"), "data": str(tmp_path / "data")}
    plan = Plan.load(PROJECT, {"configuration": str(PROJECT / ".test" / "config"), **places})
    results = tmp_path / "results" / "demo"

    def put(path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content) if isinstance(content, dict) else content, encoding="utf-8")

    for target in plan.targets:
        for path in plan.products(target):
            put(results / path, {"title": "Errors", "paper": "A paper", "source": "Table 1"})
    for name in ("index", "paper"):
        put(results / "report" / f"{name}.html", "<p>all</p>")
    for number, run in enumerate(plan.runs("demo").values()):
        key = job.key_of({**run.spec(plan.configuration.methods), "code": plan.code_of(run)}, "da7a")
        record = {
            "run": {"key": key},
            "data": {"sha256": "da7a"},
            "packages": {"python": "3.11.7", "numpy": "2.4.6"},
            "hardware": {"cpu": "Some CPU", "cores": 2, "memory_bytes": 2**33, "gpu": None},
            "blas": {"library": "openblas", "version": "0.3"},
            "code": {"version": "0.2.0", "commit": "c0ffee", "dirty": False},
            "times": {"total": 1.5},
            "peak_memory_bytes": 1000 + number,
            "started": f"2026-01-01T00:00:0{number}+00:00",
            "finished": f"2026-01-01T00:00:1{number}+00:00",
        }
        put(results / run.folder / "record.json", record)
        put(results / run.folder / "curve.csv", "epoch\n1\n")
    images = PROJECT / "data" / "embedded" / "mnist_demo" / IMAGES["name"]
    sha256 = hashlib.sha256(images.read_bytes()).hexdigest()
    put(tmp_path / "data/raw/mnist_demo/verified.json", {"files": [{**IMAGES, "path": str(images), "sha256": sha256}]})
    return plan, results


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A crate, and its entities by their names."""
    pytest.importorskip("rocrate.rocrate", reason="the extra crate is not installed")
    folder = tmp_path_factory.mktemp("packed") / "crate"
    with pytest.MonkeyPatch.context() as patch:
        plan, results = finish(tmp_path_factory.mktemp("finished"), patch)
        crate.write(plan, "demo", results, folder, "Ada Lovelace")
    metadata = json.loads((folder / "ro-crate-metadata.json").read_text())
    return folder, {one["@id"]: one for one in metadata["@graph"] if not one["@id"].startswith("ro-crate")}


def references(value):
    if isinstance(value, list):
        return [found for one in value for found in references(one)]
    return [value["@id"]] if isinstance(value, dict) else []


def test_every_file_is_described_with_its_checksum_and_its_size_and_caches_are_left_out(packed):
    folder, found = packed
    files = [one for one in found.values() if "File" in one["@type"]]
    assert found["README.md"]["encodingFormat"] == "text/markdown"
    for one in files:
        content = (folder / one["@id"]).read_bytes()
        assert (one["sha256"], one["contentSize"]) == (hashlib.sha256(content).hexdigest(), str(len(content)))
    folders = [one["@id"] for one in found.values() if one["@type"] == "Dataset"]
    assert all((folder / one).is_dir() for one in folders)
    for one in ("Snakefile", "README.md", "results/demo/tables/small_table.csv", "results/demo/report/paper.html"):
        assert one in found
    assert {"workflow/", "config/", "src/", "results/demo/runs/"} <= {*folders}
    listed = {line.split("  ", 1)[1] for line in (folder / crate.MANIFEST).read_text().splitlines()}
    there = {one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file()}
    described = {"ro-crate-metadata.json", "ro-crate-preview.html"}  # written after the list
    assert there == {*listed, crate.MANIFEST} | described
    assert len([one for one in there if one.endswith(("record.json", "curve.csv"))]) == 4
    assert not any("__pycache__" in one for one in there)


def test_the_metadata_refer_to_no_entity_that_is_missing(packed):
    _, found = packed
    named = {one for entity in found.values() for value in entity.values() for one in references(value)}
    outside = ("https://bioschemas.org/profiles/", "https://snakemake.readthedocs.io", "https://doi.org/")
    assert [one for one in named if one not in found and not one.startswith(outside)] == []


def test_the_run_has_its_inputs_results_software_and_machine(packed):
    _, found = packed
    run = found["#run"]
    images = f"data/embedded/mnist_demo/{IMAGES['name']}"
    assert found[found["./"]["mainEntity"]["@id"]]["@id"] == run["instrument"]["@id"] == "Snakefile"
    assert references(run["object"]) == ["#scale", "config/", images] and found["#scale"]["value"] == "demo"
    assert {"results/demo/runs/", "results/demo/tables/small_table.md"} <= {*references(run["result"])}
    assert (run["startTime"], run["endTime"]) == ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:11+00:00")
    assert found[run["agent"]["@id"]]["name"] == "Ada Lovelace" and "2 runs by commit c0ffee." in run["description"]
    used = {found[one]["name"]: found[one]["value"] for one in references(run["resourceUsage"])}
    assert used["machine"] == "Some CPU, 2 cores, 8 GiB" and used["largest memory of a run"] == 1001
    software = [found[one] for one in references(found["Snakefile"]["softwareRequirements"])]
    assert [(one["name"], one["softwareVersion"]) for one in software] == [("python", "3.11.7"), ("numpy", "2.4.6")]


def with_data_of(urls, plan):
    """The plan, with digits that were downloaded from there, or supplied where there is no address."""
    stamp = Path(plan.configuration.settings["data"]) / "raw" / "mnist_demo" / "verified.json"
    stamp.write_text(json.dumps({"files": [{**IMAGES, "path": IMAGES["name"], "sha256": "abc"}]}))
    dataset = plan.catalogue["mnist_demo"]
    dataset = replace(dataset, files=tuple(replace(file, urls=urls) for file in dataset.files))
    return Plan(plan.configuration, {**plan.catalogue, "mnist_demo": dataset})


@pytest.mark.parametrize(("urls", "kind"), [(("https://a.invalid/images.gz",), "File"), ((), "CreativeWork")])
def test_data_of_another_place_are_named_and_not_copied(finished, urls, kind):
    [one] = crate.input_files(with_data_of(urls, finished[0]), "demo")
    assert one["@id"] == (urls[0] if urls else f"#mnist_demo/{IMAGES['name']}")
    assert (one["@type"], one["sha256"], one["contentSize"]) == (kind, "abc", "644745")
    assert one["encodingFormat"] == "application/gzip"


@pytest.mark.parametrize("lost", ["tables/small_table.md", "report/index.html", "curve.csv"])
def test_a_scale_that_is_not_finished_is_refused_with_what_is_missing(finished, lost, tmp_path):
    plan, results = finished
    next(results.rglob(Path(lost).name)).unlink()
    with pytest.raises(ShallowsError, match=r"The scale demo is not finished\.") as refused:
        crate.write(plan, "demo", results, tmp_path / "crate")
    assert lost in str(refused.value) and "make SCALE=demo" in str(refused.value)
    assert ("small_table" in str(refused.value)) == ("report" not in lost)


def of_other_code(results, out, monkeypatch):
    record = next(results.rglob("record.json"))
    record.write_text(json.dumps(json.loads(record.read_text()) | {"run": {"key": "of another day"}}))


def out_of_date(results, out, monkeypatch):
    monkeypatch.setattr(crate, "out_of_date", lambda plan, scale: [f"target_{number}" for number in range(12)])


def there_already(results, out, monkeypatch):
    out.mkdir()


def private(results, out, monkeypatch):
    pytest.importorskip("rocrate.rocrate", reason="the extra crate is not installed")
    (results / "tables" / "small_table.md").write_text("see /home/ada/secret")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (of_other_code, r"small_table .* has other code or parameters than the current ones"),
        (out_of_date, r"out of date: .* target_0, .*, target_9 and 2 more\. .* make SCALE=demo"),
        (there_already, r"already exists\. Remove it, or choose another folder with --out"),
        (private, "would reveal a path on this machine"),
    ],
)
def test_what_cannot_be_packed_is_refused_in_words(finished, tmp_path, monkeypatch, change, told):
    plan, results = finished
    change(results, tmp_path / "crate", monkeypatch)
    with pytest.raises(ShallowsError, match=told):
        crate.write(plan, "demo", results, tmp_path / "crate")
    assert (tmp_path / "crate").exists() == (change is there_already)


def test_without_rocrate_the_extra_is_named_and_nothing_is_left(finished, tmp_path, monkeypatch):
    plan, results = finished
    monkeypatch.setitem(sys.modules, "rocrate", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shallows\[crate\]'"):
        crate.write(plan, "demo", results, tmp_path / "new" / "crate")
    assert not (tmp_path / "new").exists()


def test_the_crate_can_be_read_again(packed):
    from rocrate.rocrate import ROCrate

    place, _ = packed
    read = ROCrate(place)
    assert read.mainEntity.id == "Snakefile" and read.get("#run").get("agent").get("name") == "Ada Lovelace"
    assert read.get("results/demo/tables/small_table.csv").type == "File"
    assert "small_table.csv" in (place / "ro-crate-preview.html").read_text() and [*place.parent.iterdir()] == [place]
