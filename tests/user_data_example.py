"""Files of a user, as tests write and read them."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from shallows_papers.datasets.user_data import describe, file_forms, request
from shallows_papers.datasets.user_data.fitted_preparation import fit_preparation
from shallows_papers.datasets.user_data.new_rows import columns_of
from shallows_papers.experiments.user_data import comparison, saved_model


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def table(tmp_path, header="a,b,y", n=40, row="{i}.5,{j},{c}", change=None, name="my.csv"):
    """A CSV file of n rows; `change` maps a row (from 0) to another line."""
    lines = [row.format(i=i, j=(i * 7) % 11, c=i % 2, t="uvw"[i % 3]) for i in range(n)]
    for place, line in (change or {}).items():
        lines[place] = line
    return write(tmp_path / name, "\n".join(([header] if header else []) + lines) + "\n")


def described(path, **settings):
    return describe.describe(request.make("my", {"file": str(path), **settings}, "a test"))


def source(path, **settings):
    asked = request.make("my", {"file": str(path), **settings}, "a test")
    description = describe.describe(asked)
    found = describe.dataset_of(description)
    paths = dict(zip(("train", "test"), map(type(path), asked.files), strict=False))
    return file_forms.open_source(found, paths), description


def rows(part):
    blocks = list(part.blocks(7))
    x = [block.x.toarray() if hasattr(block.x, "toarray") else block.x for block in blocks]
    return np.concatenate(x), np.concatenate([block.y for block in blocks])


def nearest_neighbour(path, **settings):
    """A model of all rows of a file, which gives each of them its own label, and the description of the file."""
    asked = request.make("my", {"file": str(path), **settings}, "a test")
    description = describe.write(asked, path.with_name("verified.json"))
    steps = comparison.feature_steps(description)
    preparation, x, y = fit_preparation(description, steps, False, path.parent)
    estimator = KNeighborsClassifier(1).fit(x, y)
    about = {"targets": saved_model.target_names(description)}
    return saved_model.SavedModel(about, columns_of(description), preparation, estimator), description
