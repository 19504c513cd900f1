"""The contact sheet of deformed digits."""

from __future__ import annotations

import numpy as np

from shallows_papers import datasets
from shallows_papers.datasets.synthetic import make
from shallows_papers.report import contact_sheet
from synthetic_example import embedded_digits
from workflow_runs import PROJECT


def test_the_sheet_of_a_dataset_of_the_catalogue_is_drawn_from_its_verified_files(tmp_path, monkeypatch):
    verified = datasets.fetch(
        "mnist_endless_demo", tmp_path / "raw", embedded_root=PROJECT / "data" / "embedded", progress=False
    )
    drawn = []
    monkeypatch.setattr(contact_sheet, "draw", lambda plain, deformed, path, **words: drawn.append((plain, path)))
    contact_sheet.of_dataset("mnist_endless_demo", verified, "a.svg")
    ((plain, path),) = drawn
    assert len(plain) == 10 and plain[0].shape == (28, 28) and path == "a.svg"


def test_the_contact_sheet_shows_a_hundred_deformed_digits_beside_their_plain_ones(monkeypatch):
    shown, digits = [], embedded_digits()
    monkeypatch.setattr(contact_sheet, "draw", lambda plain, deformed, *_, **__: shown.extend([plain, deformed]))
    contact_sheet.of_digits(make("endless_mnist", digits=digits), "a.svg", source="")
    plain, deformed = shown
    assert len(plain) == 10 and [len(row) for row in deformed] == [10] * 10
    flat = digits[0].reshape(4000, -1)
    for label, image in enumerate(plain):
        first = int(np.flatnonzero((flat == image.ravel()).all(axis=1))[0])
        assert digits[1][first] == label
    assert len({image.tobytes() for row in deformed for image in row}) == 100
