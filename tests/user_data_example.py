"""Files of a user, as tests write and read them."""

import bz2
import gzip

import numpy as np
import pandas
import scipy.io
from sklearn.neighbors import KNeighborsClassifier

from shallows_papers.datasets.user_data import describe, file_forms, request
from shallows_papers.datasets.user_data.fitted_preparation import columns_of, fit_preparation
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


def csv_text(x, y, separator=",", decimal="."):
    lines = [
        separator.join([*(repr(float(value)).replace(".", decimal) for value in row), str(target)])
        for row, target in zip(x, y, strict=True)
    ]
    return "\n".join(lines) + "\n"


def libsvm_text(x, y, first=1):
    """Rows whose indices count from `first`, without zeros."""
    rows = [" ".join(f"{j}:{v!r}" for j, v in enumerate(row, start=first) if v) for row in x.tolist()]
    return "".join(f"{target} {row}\n" for target, row in zip(y, rows, strict=True))


#: What a text file of three columns and a target is, by its ending.
TEXTS = {
    ".csv": lambda x, y: csv_text(x, y),
    ".gz": lambda x, y: csv_text(x, y),
    ".tsv": lambda x, y: "a\tb\tc\tlabel\n" + csv_text(x, y, "\t"),
    ".txt": lambda x, y: csv_text(x, y, "   "),
    ".dat": lambda x, y: "a;b;c;y\n" + csv_text(x, y, ";", ","),
    ".arff": lambda x, y: ARFF_HEADER + csv_text(x, y),
    ".libsvm": lambda x, y: libsvm_text(x, y),
}
ARFF_HEADER = """% comment
@relation r
@attribute a numeric
@attribute b numeric
@attribute c numeric
@attribute 'the class' {0,1,2}

@data
% one more
"""
BINARY = {
    ".parquet": lambda path, x, y: pandas.DataFrame(x, columns=list("abc")).assign(target=y).to_parquet(path),
    ".npy": lambda path, x, y: np.save(path, np.column_stack([x, y])),
    ".npz": lambda path, x, y: np.savez(path, X=x, y=y),
    ".mat": lambda path, x, y: scipy.io.savemat(path, {"data": x, "labels": y}),
}


def write_rows(path, x, y):
    """Write features and a target in the form of the file's ending."""
    if path.suffix == ".bz2":
        path.write_bytes(bz2.compress(write_rows(path.with_name("plain.libsvm"), x, y).read_bytes()))
    elif path.suffix in BINARY:
        BINARY[path.suffix](path, x, y)
    else:
        text = TEXTS[path.suffix](x, y).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def described(path, **settings):
    return describe.describe(request.make("my", {"file": str(path), **settings}, "a test"))


def columns_in(path, **settings):
    """The columns of a file that a model of it needs."""
    asked = request.make("my", {"file": str(path), **settings}, "a test")
    return columns_of(describe.write(asked, path.with_name("verified.json")))


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
