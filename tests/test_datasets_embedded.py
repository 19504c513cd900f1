"""The embedded datasets: small, licensed, and drawn as their README says."""

import gzip
import importlib.util
import zlib
from pathlib import Path

import pytest

import datasets_example
from datasets_example import MIRROR, mirrored_files
from shallows_papers import datasets
from shallows_papers.datasets.preparation.row_draws import draw_rows

FOLDER = Path(__file__).parents[1] / "data" / "embedded"
_SPEC = importlib.util.spec_from_file_location("draw_again", FOLDER / "draw_again.py")
embedded = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(embedded)
NAMES = [name for name, dataset in datasets.catalogue().items() if dataset.state == "embedded"]


def test_the_folder_holds_exactly_what_the_catalogue_lists():
    listed = {FOLDER / name / file.name for name in NAMES for file in datasets.get(name).files}
    found = {path for path in FOLDER.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert found == listed | {FOLDER / "README.md", FOLDER / "draw_again.py"}


def test_all_of_it_stays_under_two_megabytes():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 2_000_000


@pytest.mark.parametrize("name", NAMES)
def test_every_embedded_dataset_is_described_with_its_licence(name):
    dataset, readme = datasets.get(name), (FOLDER / "README.md").read_text()
    row = next(line for line in readme.splitlines() if line.startswith(f"| `{name}`"))
    assert f"{dataset.n_train:,} + {dataset.n_test:,}" in row
    assert dataset.licence in row
    assert dataset.licence_url in readme


def test_the_draws_behind_the_committed_files_are_what_they_were():
    # Rows drawn when the files were made: a change of the random streams would leave the README untrue.
    assert draw_rows(1000, 6, 0, "embedded/train").tolist() == [333, 372, 445, 564, 669, 776]


def test_a_mirror_that_lacks_the_files_skips_a_test(tmp_path, monkeypatch):
    monkeypatch.delenv("SHALLOWS_MIRROR", raising=False)
    monkeypatch.setattr(datasets_example, "MIRROR", tmp_path)
    with pytest.raises(pytest.skip.Exception, match="complete files of mnist"):
        mirrored_files("mnist")


@pytest.mark.parametrize("name", NAMES)
def test_drawing_again_from_the_real_files_gives_the_committed_ones(name, tmp_path):
    dataset = datasets.get(name)
    mirrored_files(dataset.subset_of)
    raw = datasets.fetch(dataset.subset_of, tmp_path / "raw", MIRROR).parent
    for path in embedded.rebuild(name, raw, tmp_path / name):
        committed = FOLDER / name / path.name
        assert gzip.decompress(path.read_bytes()) == gzip.decompress(committed.read_bytes())
        if zlib.ZLIB_RUNTIME_VERSION == "1.2.13":  # others may compress the same content to other bytes
            assert path.read_bytes() == committed.read_bytes()
