"""Further steps: what is prepared from prepared arrays is what one list of all the steps gives."""

import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from datasets_example import prepared_in_two_ways, prepared_rows, write_table
from shallows_papers import datasets
from shallows_papers.datasets import DatasetError
from shallows_papers.datasets.preparation import working_table

# What a chain may have otherwise than a single list.
OWN = {"after", "arrays", "peak_memory_bytes", "seconds", "sha256", "statistics"}
PICTURE = {"height": 2, "width": 2, "channels": 3, "order": "planar"}


def data(classes=3, n=90, n_features=12):
    """Whole numbers from 0 to 255, of which the second column is of four values, and labels from 1."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, size=(n, n_features)).astype(float)
    x[:, 1] %= 4
    y = rng.permutation(np.arange(n) % classes) + 1
    return x[: n - 30], y[: n - 30], x[n - 30 :], y[n - 30 :]


class Toy:
    """A dataset of files in a folder, prepared into others."""

    def __init__(self, folder, numbers=None, **changes):
        self.folder = folder
        self.entry = write_table(folder / "files", *(numbers or data()), **changes)
        self.stamp = datasets.fetch(self.entry, folder / "raw", embedded_root=folder / "files")

    def prepare(self, name, steps):
        """Prepare from the files."""
        datasets.prepare(self.entry, self.stamp, self.folder / name, steps)
        return datasets.load(self.folder / name)

    def further(self, name, before, steps):
        """Prepare from what lies in the folder `before`."""
        record = self.folder / before / "prepared.json"
        datasets.prepare(self.entry, record, self.folder / name, steps)
        return datasets.load(self.folder / name)

    def both(self, first, second):
        """One list of all steps, and the second steps after the first."""
        self.prepare("first", first)
        return self.prepare("whole", [*first, *second]), self.further("second", "first", second)


def dense(x):
    return x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)


def assert_agree(whole, chain):
    for part in ("train", "test"):
        x, y = f"x_{part}", f"y_{part}"
        expected = dense(getattr(whole, x))
        # A float32 rounding of the earlier arrays, relative to the largest of their values.
        tolerance = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(dense(getattr(chain, x)), expected, rtol=1e-5, atol=tolerance)
        np.testing.assert_array_equal(getattr(chain, y), getattr(whole, y))
        assert getattr(chain, y).dtype == getattr(whole, y).dtype
    assert set(chain.info) == set(whole.info)
    assert {key: chain.info[key] for key in set(chain.info) - OWN} == {
        key: whole.info[key] for key in set(whole.info) - OWN
    }
    told = [
        [(name, set(learned)) for one in info["statistics"] for name, learned in one.items()]
        for info in (chain.info, whole.info)
    ]
    assert told[0] == told[1]


PCA = {"pca": {"n_components": 3}}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([{"unit": {}}], [PCA]),
        ([{"unit": {}}], []),
        ([{"subset": {"n_train": 40}}], [{"subset": {"n_train": 20, "n_test": 10}}, {"zscore": {}}]),
        ([{"keep_classes": {"classes": [3, 1]}}], [{"signs": {}}, {"unit": {}}]),
        ([{"signs": {"positive": [2]}}], [{"unit": {}}, {"subset": {"n_train": 10, "stratify": False}}]),
        ([{"unit": {}}, {"signs": {"positive": [1]}}], [{"unit": {}}]),
        # Images, their range and their views.
        ([{"grayscale": {}}], [{"unit": {}}]),
        ([{"subset": {"n_train": 30}}], [{"grayscale": {}}, {"halves": {}}]),
        ([{"halves": {}}], [PCA]),
        # Columns of codes, and targets that are numbers.
        ([{"zscore": {"numeric_only": True}}], [{"one_hot": {}}]),
        ([{"center_target": {"scale": True}}], [{"unit": {}}]),
        ([{"unit": {}}], [{"center_target": {}}, {"subset": {"n_train": 20}}]),
    ],
    ids=str,
)
def test_further_steps_give_what_one_list_of_all_steps_gives(tmp_path, first, second):
    names = {name for step in first + second for name in step}
    numbers, changes = data(), {}
    if names & {"grayscale", "halves"}:
        changes = {"value_range": (0, 255), "picture": PICTURE}
    if "one_hot" in names:
        changes = {"categorical": (1,)}
    if "center_target" in names:
        x, y, x_test, y_test = numbers
        numbers, changes = (x, y / 7, x_test, y_test / 7), {"task": "regression"}
    assert_agree(*Toy(tmp_path, numbers, **changes).both(first, second))


def test_where_nothing_is_rounded_the_arrays_are_the_same_to_the_bit(tmp_path):
    whole, chain = Toy(tmp_path).both([{"subset": {"n_train": 40}}], [{"split": {"n": 10}}, {"zscore": {}}])
    assert chain.info["sha256"] == whole.info["sha256"]
    assert chain.info["statistics"] == whole.info["statistics"]


def test_a_class_that_a_subset_left_out_keeps_its_place(tmp_path):
    x, y, x_test, y_test = data(classes=10)
    first = [{"subset": {"n_train": 6, "stratify": False}}]
    whole, chain = Toy(tmp_path, (x, y, x_test, y_test)).both(first, [{"unit": {}}])
    assert len(np.unique(whole.y_train)) < 10 == len(whole.info["classes"])
    assert_agree(whole, chain)


@pytest.mark.parametrize(
    "second",
    [[{"unit": {}}], [{"zscore": {"center": False}}], [{"zscore": {}}], [{"subset": {"n_train": 31}}], [PCA]],
    ids=str,
)
@pytest.mark.parametrize("density", [0.01, 0.2], ids=["sparse", "hardly sparse"])
def test_sparse_rows_go_on_as_they_were_left(tmp_path, second, density):
    x = scipy.sparse.random(200, 1000, density, "csr", random_state=0, dtype=np.float64)
    first = [{"zscore": {"center": False}}]
    assert_agree(*prepared_in_two_ways(tmp_path, x, np.arange(200) % 2, 50, first, second))
    assert datasets.load(tmp_path / "first").info["sparse"] == (density < 0.1)


def test_the_record_tells_the_whole_chain_and_where_it_was_parted(tmp_path):
    toy = Toy(tmp_path)
    first = toy.prepare("first", [{"subset": {"n_train": 40}}, {"zscore": {}}]).info
    info = toy.further("second", "first", [PCA]).info
    assert info == json.loads((tmp_path / "second" / "prepared.json").read_text())
    assert info["steps"][:2] == first["steps"] and [*info["steps"][2]] == ["pca"]
    assert info["statistics"][:2] == first["statistics"] and [*info["statistics"][2]] == ["pca"]
    assert info["sources"] == first["sources"] and len(info["sources"]) == 2
    assert info["after"] == {"n_steps": 2, "sha256": first["sha256"]}
    assert first["after"] is None
    assert (info["n_train"], info["n_test"], info["n_features"]) == (40, 30, 3)


@pytest.mark.parametrize("sparse", [False, True])
def test_no_array_of_features_is_read_whole(tmp_path, monkeypatch, sparse):
    rng = np.random.default_rng(0)
    n, d = 20_000, 200
    x = scipy.sparse.random(n, 20 * d, 0.02, "csr", np.float32, rng) if sparse else rng.random((n, d), np.float32)
    entry, _ = prepared_rows(tmp_path / "first", x, np.arange(n) % 2, 100)
    size = sum((tmp_path / "first" / f"x_train{end}.npy").stat().st_size for end in ("", ".indices")[: 1 + sparse])
    monkeypatch.setattr(working_table, "BLOCK_BYTES", 1 << 18)
    tracemalloc.start()
    datasets.prepare(entry, tmp_path / "first" / "prepared.json", tmp_path / "second", [{"unit": {}}], memory=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Reading asks for 1,024 rows at least, twice copied; numbers and classes of rows are held.
    assert peak < size / 2
    assert datasets.load(tmp_path / "second").info["sparse"] == sparse


# What goes wrong


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([{"unit": {}}], [{"split": {"n": 5}}], "split must come before unit"),
        (
            [{"subset": {"n_train": 40}}],
            [{"subset": {"n_train": 41}}],
            "asks for n_train = 41 rows, but 'table' has only 40",
        ),
        ([{"unit": {}}], [{"impute": {}}], "impute must be the first that changes features.* variant continues"),
        ([{"signs": {"positive": [1]}}], [{"subset": {"n_train": 9}}], "converted them to signs.*'stratify: false'"),
        ([{"signs": {}}], [{"signs": {}}], "the targets are signs"),
        ([PCA], [{"pca": {"n_components": 4}}], "asks for 4 components, but 60 training rows of 3 features"),
    ],
    ids=str,
)
def test_a_step_that_cannot_stand_after_the_earlier_ones_is_told_and_leaves_nothing(tmp_path, first, second, words):
    toy = Toy(tmp_path)
    toy.prepare("first", first)
    with pytest.raises(DatasetError, match=words):
        toy.further("second", "first", second)
    assert not (tmp_path / "second").exists()


def test_what_cannot_be_begun_from_is_told(tmp_path):
    toy = Toy(tmp_path)
    with pytest.raises(DatasetError, match="no finished preparation"):
        toy.further("second", "first", [])
    toy.prepare("first", [])
    with pytest.raises(DatasetError, match="Choose another folder for the new arrays"):
        toy.further("first", "first", [])
    record = tmp_path / "first" / "prepared.json"
    with pytest.raises(DatasetError, match="describes the dataset 'table', not 'a9a'"):
        datasets.prepare("a9a", record, tmp_path / "second")
    info = json.loads(record.read_text())
    del info["table"]
    record.write_text(json.dumps(info))
    with pytest.raises(DatasetError, match=r"by an earlier version.* Prepare it again"):
        toy.further("second", "first", [])
    (tmp_path / "first" / "x_train.npy").unlink()
    with pytest.raises(DatasetError, match=r"x_train\.npy cannot be read"):
        toy.further("second", "first", [])
