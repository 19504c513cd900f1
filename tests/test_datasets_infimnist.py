"""Rows of MNIST-8M from made-up digits, deformation fields and tangent vectors, against the rule pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

from datasets_example import dataset, read, rows_of
from shallows_papers.datasets import DatasetError, File, get
from shallows_papers.datasets.formats import infimnist
from shallows_papers.datasets.formats.idx import write_idx
from shallows_papers.datasets.sources import open_source

SIDE, N_DIGITS, N_FIELDS = 5, 7, 11
PARTS = ("train_images", "train_labels", "test_images", "test_labels", "fields", "tangents")


@pytest.fixture
def made_up(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "train_images": rng.integers(0, 256, (N_DIGITS, SIDE, SIDE), dtype=np.uint8),
        "train_labels": np.arange(N_DIGITS, dtype=np.uint8),
        "test_images": rng.integers(0, 256, (3, SIDE, SIDE), dtype=np.uint8),
        "test_labels": np.array([2, 0, 1], dtype=np.uint8),
        "fields": rng.normal(size=(N_FIELDS, SIDE**2)).astype("<f4"),
        "tangents": (40 * rng.normal(size=(N_DIGITS, 2, SIDE**2))).astype("<f4"),
    }
    for part, array in arrays.items():
        (tmp_path / part).write_bytes(write_idx(array) if array.dtype == np.uint8 else array.tobytes())
    return arrays, {part: tmp_path / part for part in PARTS}


def entry(n_train: int):
    files = tuple(File(part, part) for part in PARTS)
    sizes = {"n_train": n_train, "n_test": 3, "n_features": SIDE**2, "n_classes": N_DIGITS}
    return dataset(state="supplied", format="infimnist", files=files, **sizes)


def row(arrays, i):
    """The image of the number i by the published rule, pixel by pixel."""
    a = (i - 10_000) % N_DIGITS
    image = arrays["train_images"][a].ravel()
    if i < 10_000 + N_DIGITS:
        return image
    k1 = (i * 131071) % 2**32 % (N_FIELDS - 1)
    k2 = (k1 + 1 + 2 * i) % N_FIELDS
    sign = np.float32(-1 if (k1 + k2) % 2 else 1)
    F, T = arrays["fields"], arrays["tangents"][a]
    c = []
    for j in range(SIDE**2):
        x = np.float32(image[j]) + sign * (F[k1, j] * T[0, j] - F[k2, j] * T[1, j])
        c.append(0 if x < 0 else 255 if x > 255 else int(x))
    for move in {0: "u", 1: "d", 2: "l", 3: "r", 4: "ul", 5: "ur", 6: "dl", 7: "dr", 8: ""}[k1 % 9]:
        if move == "u":
            c = c[SIDE:] + [0] * SIDE
        elif move == "d":
            c = [0] * SIDE + c[:-SIDE]
        elif move == "l":
            c = [0 if j % SIDE == 0 else c[j + 1] for j in range(SIDE**2 - 1)] + [0]
        else:
            c = [0] + [0 if (j - 1) % SIDE == 0 else c[j - 1] for j in range(1, SIDE**2)]
    return np.array(c, dtype=np.uint8)


def test_rows_are_those_of_the_rule(made_up):
    arrays, paths = made_up
    found = read(entry(3000), paths)
    expected = np.stack([row(arrays, 10_000 + t) for t in range(3000)])
    np.testing.assert_array_equal(found.x_train, expected)
    np.testing.assert_array_equal(found.y_train, np.arange(3000) % N_DIGITS)
    np.testing.assert_array_equal(found.x_test, arrays["test_images"].reshape(3, -1))
    np.testing.assert_array_equal(found.y_test, [2, 0, 1])
    assert found.x_train.dtype == np.uint8


def test_rows_do_not_depend_on_the_blocks(made_up):
    _, paths = made_up
    part = open_source(entry(100), paths).train
    np.testing.assert_array_equal(rows_of(part, 3)[0], rows_of(part, 64)[0])


def test_the_product_of_a_large_number_wraps_at_32_bits(made_up):
    arrays, _ = made_up
    numbers = np.array([8_109_999, 40_000, 3_000_001])
    images = arrays["train_images"][(numbers - 10_000) % N_DIGITS]
    found = infimnist.deform(images, arrays["tangents"], arrays["fields"], numbers)
    np.testing.assert_array_equal(found.reshape(3, -1), [row(arrays, int(i)) for i in numbers])


@pytest.mark.parametrize("part", ["fields", "tangents"])
def test_a_file_that_is_cut_off_is_named(made_up, part):
    _, paths = made_up
    content = paths[part].read_bytes()
    paths[part].write_bytes(content[:-40] if part == "fields" else content[: 4 * SIDE**2])
    with pytest.raises(DatasetError, match=part):
        read(entry(20), paths)


def test_the_catalogue_has_the_sizes_of_the_files():
    files = {file.part: file.size for file in get("mnist8m_first_million").files}
    assert files["fields"] == 1522 * 784 * 4 and files["tangents"] == 60_000 * 2 * 784 * 4
