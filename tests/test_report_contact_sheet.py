"""The contact sheet of deformed digits."""

from __future__ import annotations

import numpy as np
import pytest

from shallows_papers import datasets
from shallows_papers.datasets.synthetic import make
from shallows_papers.report import contact_sheet
from synthetic_example import embedded_digits
from workflow_runs import PROJECT


@pytest.fixture
def digits():
    return embedded_digits()


@pytest.mark.slow
def test_the_contact_sheet_is_drawn_the_same_again(tmp_path, digits):
    data = make("endless_mnist", digits=digits)
    drawn = []
    for turn in ("a", "b"):
        paths = [tmp_path / f"{turn}.svg", tmp_path / f"{turn}.png"]
        contact_sheet.of_digits(data, paths[0], source="4,000 training digits of MNIST")
        drawn.append([path.read_bytes() for path in paths])
    assert drawn[0] == drawn[1]
    assert b"<svg" in drawn[0][0] and drawn[0][1].startswith(b"\x89PNG")


def test_the_sheet_of_a_dataset_of_the_catalogue_is_drawn_from_its_verified_files(tmp_path, monkeypatch):
    verified = datasets.fetch(
        "mnist_endless_demo", tmp_path / "raw", embedded_root=PROJECT / "data" / "embedded", progress=False
    )
    drawn = []
    monkeypatch.setattr(contact_sheet, "draw", lambda plain, deformed, path, **words: drawn.append((plain, path)))
    contact_sheet.of_dataset("mnist_endless_demo", verified, "a.svg")
    ((plain, path),) = drawn
    assert len(plain) == 10 and plain[0].shape == (28, 28) and path == "a.svg"


def test_the_contact_sheet_shows_a_hundred_deformed_digits_beside_their_plain_ones(digits, monkeypatch):
    shown = []
    monkeypatch.setattr(contact_sheet, "draw", lambda plain, deformed, *_, **__: shown.extend([plain, deformed]))
    contact_sheet.of_digits(make("endless_mnist", digits=digits), "a.svg", source="")
    plain, deformed = shown
    assert len(plain) == 10 and [len(row) for row in deformed] == [10] * 10
    flat = digits[0].reshape(4000, -1)
    for label, image in enumerate(plain):
        first = int(np.flatnonzero((flat == image.ravel()).all(axis=1))[0])
        assert digits[1][first] == label
    assert len({image.tobytes() for row in deformed for image in row}) == 100
