"""What is promised about files: whole labels, declared categories, indices, quotes, containers, sparse rows.

Each table is one promise; each of its lines is one kind of file with what it gives, or the words of its refusal.
"""

import csv
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.io
from scipy.sparse import csc_matrix, csr_matrix, save_npz

from shallows_papers.datasets import DatasetError
from user_data_example import described, nearest_neighbour, rows, source, write

N = 40


def numbers():
    return np.arange(N) / 8


def csv_file(path, columns, separator=","):
    """A table of text in the dialect of the csv module; `columns` maps names to values."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def arff_file(path, kinds, lines):
    """An ARFF file with a line for each attribute's name and kind."""
    header = [f"@attribute {name} {kind}" for name, kind in kinds.items()]
    return write(path, "\n".join(["@relation r", *header, "@data", *lines]) + "\n")


def parquet_file(path, y, **arrow):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": numbers(), "y": y})
    frame.to_parquet(path, **arrow)
    return path


def saved(save, path, **arrays):
    save(path, **arrays)
    return path


def matlab_file(path, **variables):
    scipy.io.savemat(path, variables)
    return path


# Labels that are whole numbers keep all their digits ------------------------------------------------------------------

LONG = [2**53, 2**53 + 1, 2**60 + 1, -(2**62) - 1]
LONGER = [2**63 + 1, 2**63 + 2, 1, 3]
LONGEST = [10**25, 10**25 + 1, 10**25 + 2, 7]


def long_labels(values):
    return [values[i % 4] for i in range(N)]


def libsvm_file(path, labels):
    return write(path, "".join(f"{label} 1:{i / 8} 3:1\n" for i, label in enumerate(labels)))


def arff_labels(path, kind, line, y):
    lines = [line.format(*both) for both in zip(numbers(), y, strict=True)]
    return arff_file(path / "my.arff", {"a": "real", "y": kind}, lines)


WHOLE_LABELS = {
    "CSV": lambda p, y: csv_file(p / "my.csv", {"a": numbers(), "y": y}),
    "ARFF, numeric": lambda p, y: arff_labels(p, "numeric", "{},{}", y),
    "ARFF, nominal": lambda p, y: arff_labels(p, f"{{{','.join(map(str, set(y)))}}}", "{},{}", y),
    "ARFF, sparse": lambda p, y: arff_labels(p, "integer", "{{0 {}, 1 {}}}", y),
    "LIBSVM": lambda p, y: libsvm_file(p / "my.svm", y),
    "Parquet, decimal": lambda p, y: parquet_file(p / "my.parquet", [Decimal(one) for one in y]),
}
INTEGER_LABELS = {
    "Parquet": lambda p, y: parquet_file(p / "my.parquet", np.array(y)),
    "Parquet, nullable": lambda p, y: parquet_file(p / "my.parquet", pd.array(y, dtype="Int64")),
    "Parquet, categorical": lambda p, y: parquet_file(p / "my.parquet", pd.Categorical(y)),
    "NPZ": lambda p, y: saved(np.savez, p / "my.npz", x=np.arange(2 * N).reshape(-1, 2), y=np.array(y)),
    "NPY, a column": lambda p, y: saved(np.save, p / "my.npy", arr=np.column_stack([np.arange(N), y])),
    "MATLAB": lambda p, y: matlab_file(p / "my.mat", x=np.arange(2.0 * N).reshape(-1, 2), y=np.array(y)),
}


@pytest.mark.parametrize(
    ("make", "values"),
    [
        pytest.param(make, values, id=f"{name}, {size}")
        for name, make in (WHOLE_LABELS | INTEGER_LABELS).items()
        for size, values in {"63 bits": LONG, "64 bits": LONGER, "84 bits": LONGEST}.items()
        if name in WHOLE_LABELS or size == "63 bits"
    ],
)
def test_whole_labels_keep_all_their_digits(tmp_path, make, values):
    labels = long_labels(values)
    path = make(tmp_path, labels)
    model, description = nearest_neighbour(path)
    assert description["entry"]["n_classes"] == 4
    assert sorted(model.preparation.classes) == sorted(map(str, values))
    assert model.predict(path).tolist() == list(map(str, labels))


# Declared categories are categories -----------------------------------------------------------------------------------


def test_numbers_to_be_predicted_stay_numbers_however_large(tmp_path):
    large = csv_file(tmp_path / "large.csv", {"a": numbers(), "y": [10**25 + 10**20 * i for i in range(N)]})
    opened, description = source(large, task="regression")
    assert description["entry"]["task"] == "regression"
    np.testing.assert_allclose(rows(opened.train)[1].astype(float), 1e25 + 1e20 * np.arange(N))
    floats = csv_file(tmp_path / "floats.csv", {"a": numbers(), "y": [f"{i}e20" for i in range(N)]})
    assert described(floats)["entry"]["task"] == "regression"


def declared_parquet(path, values):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"c": values, "a": numbers(), "y": ["u", "v"] * (N // 2)})
    frame.to_parquet(path / "my.parquet")
    return path / "my.parquet"


def arrow_file(path, values):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"c": pyarrow.array(values).dictionary_encode(), "a": numbers(), "y": ["u", "v"] * (N // 2)}
    parquet.write_table(pyarrow.table(columns), path / "my.parquet")
    return path / "my.parquet"


def declared_arff(path, words, line="{c},{a},{y}", kind="{{{words}}}"):
    lines = [line.format(c=words[i % len(words)], a=a, y="uv"[i % 2]) for i, a in enumerate(numbers())]
    kinds = {"c": kind.format(words=",".join(words)), "a": "numeric", "y": "{u,v}"}
    return arff_file(path / "my.arff", kinds, lines)


CYCLE = [3, 1, 2, 10] * (N // 4)
#: What makes a file whose column c is declared to hold categories, and these.
DECLARED = {
    "ARFF {1,2,3}": (lambda p: declared_arff(p, ["1", "2", "3"]), {"1", "2", "3"}),
    "ARFF, sparse": (lambda p: declared_arff(p, ["1", "2", "3"], "{{0 {c}, 1 {a}, 2 {y}}}"), {"1", "2", "3"}),
    "ARFF, words for missing values": (lambda p: declared_arff(p, ["NA", "None", "1"]), {"NA", "None", "1"}),
    "ARFF, a question mark in quotes": (lambda p: declared_arff(p, ["'?'", "1", "2"]), {"?", "1", "2"}),
    "pandas, integers": (lambda p: declared_parquet(p, pd.Categorical(CYCLE)), {"1", "2", "3", "10"}),
    "pandas, numbers": (
        lambda p: declared_parquet(p, pd.Categorical(np.divide(CYCLE, 2))),
        {"0.5", "1.0", "1.5", "5.0"},
    ),
    "Arrow, integers": (lambda p: arrow_file(p, CYCLE), {"1", "2", "3", "10"}),
}


@pytest.mark.parametrize(("make", "words"), DECLARED.values(), ids=DECLARED)
def test_declared_categories_are_categories_in_fits_comparisons_and_predictions(tmp_path, make, words):
    path = make(tmp_path)
    model, description = nearest_neighbour(path)
    assert description["entry"]["categorical"] == [0]
    assert set(description["entry"]["options"]["features"][0]["values"]) == words
    assert model.estimator.n_features_in_ == len(words) + 1  # one-hot columns and a number
    assert model.predict(path).tolist() == ["u", "v"] * (N // 2)


def test_very_many_declared_categories_are_left_out_and_told(tmp_path):
    names = [f"person {i}" for i in range(1100)]
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"name": pd.Categorical(names), "a": np.arange(1100) / 8, "y": ["u", "v"] * 550})
    frame.to_parquet(tmp_path / "my.parquet")
    assert "Left out: name (more than 1,000 categories)" in described(tmp_path / "my.parquet")["told"]


# The index of a data frame is no column of data -----------------------------------------------------------------------

FRAME = pd.DataFrame({"a": numbers(), "b": np.arange(N) % 7 / 2, "y": np.arange(N) % 2})
#: What makes a data frame, and what its index is called in Parquet and in CSV, which is reported as left out.
INDICES = {
    "default": (lambda: FRAME, None, "column 0"),
    "a part": (lambda: FRAME[::-1].iloc[:30], None, "column 0"),
    "dates": (lambda: FRAME.set_index(pd.date_range("2024", periods=N)), None, "column 0"),
    "named": (lambda: FRAME.set_index(pd.Index(np.arange(N) * 7 % 50, name="id")), "id", "-"),
    "named dates": (lambda: FRAME.set_index(pd.date_range("2024", periods=N, name="day")), "day", "day"),
    "two levels": (
        lambda: FRAME.set_index([pd.Index(np.arange(N) // 2, name="house"), np.arange(N) % 2]),
        "house",
        "-",
    ),
    "of Dask": (lambda: FRAME.set_index(pd.Index(np.arange(N) * 7 % 50, name="__null_dask_index__")), None, "-"),
}


@pytest.mark.parametrize(
    ("make", "form", "told"),
    [
        (make, form, told)
        for make, *names in INDICES.values()
        for form, told in zip(("parquet", "csv"), names, strict=True)
        if told != "-"
    ],
)
def test_the_index_of_a_data_frame_is_no_feature(tmp_path, make, form, told):
    frame, path = make(), tmp_path / f"my.{form}"
    getattr(frame, f"to_{form}")(path)
    opened, description = source(path)
    np.testing.assert_array_equal(rows(opened.train)[0], frame[["a", "b"]])
    assert ("Left out" in description["told"]) == (told is not None)
    assert told is None or f"Left out: {told} (" in description["told"]


def test_a_column_that_is_asked_to_be_categories_may_hold_numbers_and_a_rare_word(tmp_path):
    path = csv_file(
        tmp_path / "my.csv", {"c": ["other", *(["1", "2", "3"] * 13)], "a": numbers(), "y": ["u", "v"] * 20}
    )
    assert described(path, categorical="c")["entry"]["categorical"] == [0]


def test_a_named_index_may_be_the_target_or_a_category(tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.set_index("y").to_parquet(tmp_path / "y.parquet")
    assert described(tmp_path / "y.parquet", target="y")["entry"]["n_classes"] == 2
    FRAME.set_index(pd.Index(np.arange(N) % 3, name="kind")).to_parquet(tmp_path / "kind.parquet")
    assert described(tmp_path / "kind.parquet", categorical="kind")["entry"]["categorical"] == [0]


def test_new_rows_need_no_index(tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.sample(frac=1, random_state=0).to_parquet(tmp_path / "my.parquet")
    model, _ = nearest_neighbour(tmp_path / "my.parquet")
    for name, write_frame in {"a.csv": FRAME.to_csv, "b.parquet": FRAME.set_index("y").to_parquet}.items():
        write_frame(tmp_path / name)
        assert model.predict(tmp_path / name).tolist() == [str(i % 2) for i in range(N)]


# Quotes, escapes and line breaks --------------------------------------------------------------------------------------

#: A value of ARFF as it is written, and what it means.
ARFF_WORDS = {
    "a": "a",
    "'a b'": "a b",
    '"a b"': "a b",
    '"a, b"': "a, b",
    "'a, b'": "a, b",
    "'{a}'": "{a}",
    "'a % b'": "a % b",
    r"'it\'s'": "it's",
    '"it\'s"': "it's",
    r'"say \"so\""': 'say "so"',
    "'say \"so\"'": 'say "so"',
    r"'a\\b'": "a\\b",
    r"'a\tb'": "a\tb",
    r"'a\nb'": "a\nb",
    "'?'": "?",
    "NA": "NA",
    "' a '": " a ",
    "naïve": "naïve",
}


@pytest.mark.parametrize(("sparse", "encoding"), [(False, "utf-8"), (True, "latin-1")])
@pytest.mark.parametrize(("written", "meant"), ARFF_WORDS.items())
def test_words_of_arff_are_read_by_its_own_grammar(tmp_path, written, meant, sparse, encoding):
    lines = [f"{a},  {written if i % 2 else 'other'}" for i, a in enumerate(numbers())]
    if sparse:
        lines = ["{0 " + line.replace(",  ", ", 1 ") + "}" for line in lines]
    path = arff_file(tmp_path / "my.arff", {"a": "real", "y": f"{{{written}, other}}"}, lines)
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    model, _ = nearest_neighbour(path)
    assert sorted(model.preparation.classes) == sorted([meant, "other"])
    model.write_predictions(path, tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as stream:
        assert [row[0] for row in csv.reader(stream)] == ["predicted y", *["other", meant] * (N // 2)]


#: A line of an ARFF file with the columns a (real), b (1, 2 or x), c (text) and y (u or v), and what it means.
ARFF_LINES = {
    "1.5,2,w,v": (1.5, "2", "w", "v"),
    "?,?,?,v": (None, None, None, "v"),
    ",,w,v": (None, None, "w", "v"),
    "'1.5','2',\"w\",'v'": (1.5, "2", "w", "v"),
    "NaN,x,w,v": (None, "x", "w", "v"),
    "{0 1.5, 1 2, 2 w, 3 v}": (1.5, "2", "w", "v"),
    "{0 1.5, 2 w, 3 v}": (1.5, "1", "w", "v"),
    "{2 w}": (0.0, "1", "w", "u"),
    "{0 ?, 2 'a {b} c', 3 v}": (None, "1", "a {b} c", "v"),
    "{ 2 'w 1, 0 5' }": (0.0, "1", "w 1, 0 5", "u"),
    "1.5,2,w": "line 9: Bad @DATA instance format",
    "1.5,3,w,v": "line 9: Data value 3 not found",
    "1.5,2,two words,v": "line 9: .*Error parsing",
    "1.5,2,'w,v": "line 9: .*Error parsing",
    "{0 1.5, 0 2.5, 2 w}": "line 9: a sparse row has a column twice",
    "{0 1.5, 7 2, 2 w}": "line 9: Bad @DATA instance format",
    r"1.5,2,'C:\docs',v": r"line 9: Unsupported escape sequence",
}


@pytest.mark.parametrize(("line", "meant"), ARFF_LINES.items())
def test_lines_of_arff_are_read_or_refused_by_its_own_grammar(tmp_path, line, meant):
    kinds = {"a": "real", "b": "{1,2,x}", "'c'": "string", "y": "{u,v}"}
    others = [f"{i}.5,{'12x'[i % 3]},word {i % 2},{'uv'[i % 2]}".replace("word ", "word") for i in range(N)]
    path = arff_file(tmp_path / "my.arff", kinds, ["% a comment", "", line, *others])
    if isinstance(meant, str):
        with pytest.raises(DatasetError, match=meant):
            described(path)
        return
    opened, description = source(path, missing="most_frequent")
    values = [one["values"] for one in description["entry"]["options"]["features"]]
    x, y = rows(opened.train)
    found = [
        None if np.isnan(code) else words[int(code)] if words else code
        for code, words in zip(x[0], values, strict=True)
    ]
    assert (*found, y[0]) == meant


@pytest.mark.parametrize(
    ("attribute", "name", "values"),
    [
        ("@ATTRIBUTE\tage\tREAL", "age", None),
        ("@attribute date numeric", "date", None),
        ("@attribute 'the date' numeric % of birth", "the date", None),
        ("@attribute real integer [0, 40]", "real", None),
        ("@attribute 'a  b' { 1.5 , 2.5 }", "a  b", ["1.5", "2.5"]),
        ('@attribute "date" {1.5,2.5} % two', "date", ["1.5", "2.5"]),
    ],
)
def test_attributes_of_arff_are_read_by_its_own_grammar(tmp_path, attribute, name, values):
    lines = [f"{i % 2 + 1}.5,{i % 7},{'uv'[i % 2]}" for i in range(N)]
    header = ["@relation 'of some kind'", attribute, "@attribute b real", "@attribute y {u, v}", "@data"]
    description = described(write(tmp_path / "my.arff", "\n".join([*header, *lines])))
    feature = description["entry"]["options"]["features"][0]
    assert (feature["name"], feature["values"]) == (name, values)


@pytest.mark.parametrize("kind", ["date", 'date "yyyy-MM-dd"', "DATE 'yyyy-MM-dd'"])
def test_dates_of_arff_are_left_out_and_told(tmp_path, kind):
    lines = [f"2024-01-{i % 28 + 1:02},{a},{'uv'[i % 2]}" for i, a in enumerate(numbers())]
    path = arff_file(tmp_path / "my.arff", {"'on day'": kind, "a": "real", "y": "{u,v}"}, lines)
    assert "Left out: on day (dates;" in described(path)["told"]


#: The header and a row of a table; the name of its first column, the category and the label of the row.
LINE_BREAKS = {
    "in the header": ('"a\nx",b,y\n', "1.5,p,u\n", "a\nx", "p", "u"),
    "after blank lines and comments": ('\n# 5" pipes, "old\n\n"a\nx",b,y\n', "1.5,p,u\n", "a\nx", "p", "u"),
    "in a category": ("a,b,y\n", '1.5,"p\nq",u\n', "a", "p\nq", "u"),
    "in a label": ("a,b,y\n", '1.5,p,"u\nw"\n', "a", "p", "u\nw"),
    "a comma and a quotation mark too": ("a,b,y\n", '1.5,"p\n, ""q""",u\n', "a", 'p\n, "q"', "u"),
    "separated by semicolons": ('"a\nx";b;y\n', '1.5;"p\nq";u\n', "a\nx", "p\nq", "u"),
    "separated by spaces": ('"a x" b y\n', '1.5  "p q" u\n', "a x", "p q", "u"),
    "old Macintosh": ("a,b,y\r", "1.5,p,u\r", "a", "p", "u"),
    "next lines of Unicode": ("a\u2028x,b,y\n", "1.5,p\x85q,u\n", "a\u2028x", "p\x85q", "u"),
    "without a header": ("", '1.5,"p\nq",u\n', "column 0", "p\nq", "u"),
}


@pytest.mark.parametrize(("header", "row", "name", "category", "label"), LINE_BREAKS.values(), ids=LINE_BREAKS)
def test_a_line_break_within_quotes_belongs_to_its_cell(tmp_path, header, row, name, category, label):
    separator = next(one for one in ";\t, " if one in row)
    lines = [separator.join([f"{i}.25", "rs"[i % 2], "uv"[i % 2]]) + row[-1] for i in range(N)]
    path = tmp_path / "my.csv"
    path.write_bytes((header + row * 3 + "".join(lines)).encode())
    opened, description = source(path)
    x, y = rows(opened.train)
    feature, other = description["entry"]["options"]["features"]
    assert len(y) == description["entry"]["n_train"] == N + 3
    assert (feature["name"], x[0, 0], other["values"][int(x[0, 1])], y[0]) == (name, 1.5, category, label)


def test_the_line_of_a_bad_row_counts_line_breaks_within_quotes(tmp_path):
    path = write(tmp_path / "my.csv", '\n"a\nx",b,y\n1,"p\nq",u\n' + "2,r,v\n" * 30 + "3,r\n")
    with pytest.raises(DatasetError, match=r"Line 36 of .* has 2 fields"):
        described(path)


@pytest.mark.parametrize("text", ['"a,b,y\n', 'a,b,y\n1,p,u\n2,q,v\n"3,p,u\n'])
def test_a_quotation_mark_that_is_left_open_is_told(tmp_path, text):
    path = write(tmp_path / "my.csv", text + "1.5,p,u\n" * 20_000)
    with pytest.raises(DatasetError, match=r"up to line \d.*is a quotation mark left open\?"):
        described(path)


# Containers of arrays: what they hold besides numbers -----------------------------------------------------------------

WORDS = ["cat", "horse", "dog", "ox"] * (N // 4)
X = np.column_stack([numbers(), np.arange(N) % 5])
DATES = np.datetime64("2024-01-01") + np.arange(N)


#: The arrays of an NPZ file, and the labels that it gives or the words of its refusal.
NPZ = {
    "words": ({"X": X, "y": np.array(WORDS)}, WORDS),
    "bytes": ({"X": X, "y": np.array(WORDS, dtype="S")}, WORDS),
    "truth values": ({"X": X, "y": np.arange(N) % 2 == 0}, ["True", "False"] * (N // 2)),
    "a column": ({"X": X, "y": np.array(WORDS)[:, None]}, WORDS),
    "without names": ({"arr_0": X, "arr_1": np.array(WORDS)}, WORDS),
    "a named target and other entries": ({"X": X, "y": np.array(WORDS), "id": np.arange(N), "when": DATES}, WORDS),
    "objects without use": ({"X": X, "y": np.array(WORDS), "names": np.array(["a", None])}, WORDS),
    "no separate target": ({"X": np.column_stack([X, np.arange(N) % 2])}, ["0", "1"] * (N // 2)),
    "dates": ({"X": X, "y": DATES}, "target y of .* holds dates"),
    "objects": ({"X": X, "y": np.array(WORDS, dtype=object)}, r"target y of .* holds Python objects .*astype\(str\)"),
    "complex numbers": ({"X": X, "y": np.arange(N) * 1j}, "target y of .* holds complex numbers"),
    "an empty word": ({"X": X, "y": np.array(["", *WORDS[1:]])}, "target of .* is missing in row 1"),
    "features of words": ({"X": X.astype(str), "y": np.array(WORDS)}, "features X of .* are words"),
    "features of objects": ({"X": X.astype(object), "y": np.array(WORDS)}, "features X of .* holds Python objects"),
    "two candidates": (
        {"X": X, "a": np.arange(N), "b": np.arange(N)},
        r"not clear which array of .* is the target.*a \(40,\), b \(40,\)",
    ),
    "a target of several columns": ({"X": X, "z": X}, r"not clear which array of .* is the target.*z \(40, 2\)"),
    "a test part without its target": ({"X": X, "y": np.array(WORDS), "x_test": X}, WORDS),
    "nothing but dates": ({"arr_0": DATES}, "not clear which array of .* holds the features.* arr_0 .*dates"),
}
MATLAB = {
    "cells of words": ({"X": X, "y": np.array(WORDS, dtype=object)}, WORDS),
    "cells of numbers": ({"X": X, "y": np.array([i % 2 for i in range(N)], dtype=object)}, ["0", "1"] * (N // 2)),
    "a matrix of letters": ({"X": X, "y": np.array(WORDS)}, WORDS),
    "truth values": ({"X": X, "y": np.arange(N) % 2 == 0}, ["1", "0"] * (N // 2)),
    "sparse": ({"X": csc_matrix(X), "y": csc_matrix(np.arange(N) % 2)}, ["0", "1"] * (N // 2)),
    "a struct without use": ({"X": X, "y": np.arange(N) % 2, "about": {"by": "me"}}, ["0", "1"] * (N // 2)),
    "cells of words and numbers": (
        {"X": X, "y": np.array([1, *WORDS[1:]], dtype=object)},
        "target y of .* a cell array",
    ),
    "cells as features": (
        {"X": np.array([[1, "a"]] * N, dtype=object), "y": np.arange(N)},
        "features X of .* a cell array",
    ),
    "a struct": ({"X": X, "y": {"a": 1}}, "target y of .* holds a struct"),
    "complex numbers": ({"X": X, "y": np.arange(N) * 1j}, "target y of .* holds complex numbers"),
}


def check_labels(path, expected, **settings):
    if isinstance(expected, str):
        with pytest.raises(DatasetError, match=expected):
            described(path, **settings)
        return
    model, description = nearest_neighbour(path, **settings)
    assert (description["entry"]["n_train"], description["entry"]["n_features"]) == (N, 2)
    assert model.predict(path).tolist() == expected


@pytest.mark.parametrize(
    ("arrays", "expected", "make"),
    [(*NPZ[kind], lambda path, **arrays: saved(np.savez, path / "my.npz", **arrays)) for kind in NPZ]
    + [(*MATLAB[kind], lambda path, **arrays: matlab_file(path / "my.mat", **arrays)) for kind in MATLAB],
    ids=[*NPZ, *(f"MATLAB, {kind}" for kind in MATLAB)],
)
def test_arrays_of_a_file_are_taken_or_named(tmp_path, arrays, expected, make):
    check_labels(make(tmp_path, **arrays), expected)


# Files that are called otherwise than what they are -------------------------------------------------------------------

PAIRS = [f"{i % 2} qid:{i // 5} 1:{i / 8} 2:{i % 3}" for i in range(N)]
CONTENTS = {
    "LIBSVM": ([line.replace(f"qid:{i // 5} ", "") for i, line in enumerate(PAIRS)], "LIBSVM"),
    "LIBSVM with queries and notes": ([f"{line} # page {i}" for i, line in enumerate(PAIRS)], "LIBSVM"),
    "LIBSVM with rows of zeros": (["0", "1", *PAIRS], "LIBSVM"),
    "ARFF": (
        [
            "% by hand",
            "@relation r",
            "@attribute a real",
            "@attribute y {0,1}",
            "@data",
            *[f"{i},{i % 2}" for i in range(N)],
        ],
        "ARFF",
    ),
    "table": ([f"{i / 8},{i % 2}" for i in range(N)], "table"),
    "table of times": ([f"{i % 2} 1{i % 10}:15 {i}" for i in range(N)], "table"),
}


@pytest.mark.parametrize("name", ["my.txt", "my"])
@pytest.mark.parametrize(("lines", "form"), CONTENTS.values(), ids=CONTENTS)
def test_the_form_of_a_text_file_follows_from_its_first_lines(tmp_path, lines, form, name):
    description = described(write(tmp_path / name, "\n".join(lines) + "\n"))
    assert f" {form}" in description["told"].partition(":")[0]
    assert ("numbers of queries (qid) are left aside" in description["told"]) == any("qid" in line for line in lines)


# Sparse rows equal the dense file's, or are refused ------------------------------------------------------------------

DENSE = np.array([[7.0, 5.0, 3.0, 2.0], [0.0, 1.0, 0.0, 4.0]] * (N // 2)) + 0.0
LIBSVM = {
    "sorted": ("{y} 1:{0} 2:{1} 3:{2} 4:{3}", None),
    "explicit zeros": ("{y} 1:{0} 2:{1} 3:{2} 4:{3} 5:0", None),
    "blanks": (" {y}   1:{0} 2:{1}\t3:{2}  4:{3} ", None),
    "unsorted": ("{y} 2:{1} 1:{0} 3:{2} 4:{3}", r"sorted and unique.* lines 1 to 40"),
    "repeated": ("{y} 1:{0} 2:{1} 2:{1} 3:{2} 4:{3}", r"sorted and unique.* lines 1 to 40"),
    "negative": ("{y} -1:{0} 2:{1} 3:{2} 4:{3}", "Invalid index -1"),
}


@pytest.mark.parametrize(("line", "words"), LIBSVM.values(), ids=LIBSVM)
def test_rows_of_libsvm_are_those_of_the_dense_file_or_refused(tmp_path, line, words):
    text = "\n".join(line.format(*map(float, row), y=i % 2) for i, row in enumerate(DENSE))
    path = write(tmp_path / "my.svm", text + "\n")
    if words is not None:
        with pytest.raises(DatasetError, match=words):
            described(path)
        return
    x, y = rows(source(path)[0].train)
    np.testing.assert_array_equal(x[:, :4], DENSE)
    assert not x[:, 4:].any() and y.tolist() == [0, 1] * (N // 2)


def test_a_sparse_matrix_of_scipy_is_refused_with_what_to_do(tmp_path):
    save_npz(tmp_path / "my.npz", csr_matrix(DENSE))
    with pytest.raises(DatasetError, match=r"sparse matrix of SciPy.*dump_svmlight_file"):
        described(tmp_path / "my.npz")
