"""Readers of zip files, of CIFAR-10 and of MATLAB files, and what of them is refused."""

from __future__ import annotations

import io
import tarfile
import zipfile

import numpy as np
import pytest
import scipy.io

from datasets_example import CSV, entry, rows_of, source
from shallows_papers.datasets import DatasetError

# Zip files


def test_a_zip_of_one_file_is_read_without_unpacking_it(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Year.txt", CSV)
    opened = source(tmp_path, {"all": ("Year.txt.zip", packed.getvalue())}, entry(2, 0, 2, "csv", parts=["all"]))
    np.testing.assert_array_equal(rows_of(opened.train)[0], [[1, -2], [3, 4]])
    assert [path.name for path in tmp_path.iterdir()] == ["Year.txt.zip"]


@pytest.mark.parametrize("name", ["../evil.csv", "/evil.csv", "a/../../evil.csv", "C:evil.csv"])
def test_a_zip_whose_member_would_escape_the_folder_is_refused(tmp_path, name):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, CSV)
    opened = source(tmp_path, {"all": ("a.zip", packed.getvalue())}, entry(2, 0, 2, "csv", parts=["all"]))
    with pytest.raises(DatasetError, match="would escape the folder, which is refused"):
        rows_of(opened.train)


# CIFAR-10


def cifar_rows(seed: int, n: int = 4) -> np.ndarray:
    rows = np.random.default_rng(seed).integers(0, 256, (n, 3073), np.uint8)
    rows[:, 0] %= 10
    return rows


BATCHES = {
    name: cifar_rows(seed) for seed, name in enumerate(["test_batch", *(f"data_batch_{n}" for n in range(1, 6))])
}


def tarball(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def cifar_members() -> dict[str, bytes]:
    folder = "cifar-10-batches-bin"
    # Not in the order of their numbers, as in the real archives.
    names = sorted(BATCHES, reverse=True)
    return {f"{folder}/{name}.bin": BATCHES[name].tobytes() for name in names} | {f"{folder}/readme.html": b"<html>"}


def assert_is_cifar(opened):
    x, y = rows_of(opened.train)
    together = np.concatenate([BATCHES[f"data_batch_{n}"] for n in range(1, 6)])
    np.testing.assert_array_equal(x, together[:, 1:])
    np.testing.assert_array_equal(y, together[:, 0])
    x_test, y_test = rows_of(opened.test)
    np.testing.assert_array_equal(x_test, BATCHES["test_batch"][:, 1:])
    np.testing.assert_array_equal(y_test, BATCHES["test_batch"][:, 0])


def archived(tmp_path, packed):
    """The source of an archive of CIFAR-10."""
    made = entry(20, 4, 3072, "cifar_binary", parts=["archive"])
    return source(tmp_path, {"archive": ("cifar.tar.gz", packed)}, made)


def test_cifar_is_read_from_its_archive_in_the_order_of_its_batches(tmp_path):
    assert_is_cifar(archived(tmp_path, tarball(cifar_members())))


def test_an_archive_whose_member_would_escape_the_folder_is_refused(tmp_path):
    for name in ("../../evil", "/etc/evil"):
        packed = tarball(cifar_members() | {name: b"evil"})
        with pytest.raises(DatasetError, match=r"evil' would escape the folder, which is refused"):
            rows_of(archived(tmp_path, packed).train)


def test_an_archive_that_holds_a_link_is_refused(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("data_batch_1.bin")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(DatasetError, match="is a link or a device, which is refused"):
        rows_of(archived(tmp_path, packed.getvalue()).train)


# MATLAB


def matlab(**arrays) -> bytes:
    packed = io.BytesIO()
    scipy.io.savemat(packed, arrays, do_compression=True)
    return packed.getvalue()


def test_qm7_is_split_by_its_own_folds(tmp_path):
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((10, 23, 23)).astype(np.float32), np.arange(10, dtype=np.float32)[None] - 500
    folds = rng.permutation(10).reshape(5, 2)
    content = matlab(X=x, T=t, P=folds, Z=np.zeros((10, 23)))
    made = entry(8, 2, 529, "qm7", parts=["data"], options={"fold": 3}, task="regression")
    opened = source(tmp_path, {"data": ("qm7.mat", content)}, made)
    rows, energies = rows_of(opened.test)
    np.testing.assert_array_equal(energies, t[0, np.sort(folds[3])])
    np.testing.assert_array_equal(rows, x[np.sort(folds[3])].reshape(2, 529))
    assert set(rows_of(opened.train)[1]) | set(energies) == set(t[0])


def test_a_matrix_has_its_targets_in_its_last_columns(tmp_path):
    table = np.arange(28.0 * 4).reshape(4, 28)
    contents = {"train": ("a.mat", matlab(sarcos_inv=table)), "test": ("b.mat", matlab(sarcos_inv_test=table[:2]))}
    made = entry(4, 2, 21, "sarcos", parts=list(contents), n_targets=7, task="regression")
    x, y = rows_of(source(tmp_path, contents, made).train)
    np.testing.assert_array_equal(x, table[:, :21])
    np.testing.assert_array_equal(y, table[:, 21:])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(200), "version 7.3; save it with -v7"),
        (b"<html>no such file</html>" * 20, "not a MATLAB file|cannot be read"),
        (matlab(X=np.zeros((32, 32, 3, 2), np.uint8)), "has no variable y"),
        (matlab(X=np.zeros((5, 2)), y=np.zeros((2, 1))), "its X has the shape"),
    ],
    ids=["7.3", "page", "no y", "shape"],
)
def test_a_matlab_file_that_cannot_be_read_is_told(tmp_path, content, words):
    with pytest.raises(DatasetError, match=words):
        rows_of(source(tmp_path, {"train": ("a.mat", content)}, entry(2, 0, 3072, "svhn", parts=["train"])).train)
