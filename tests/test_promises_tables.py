"""What we promise about files of data: what is guessed of them, what is missing in them, what is kept of their form."""

import itertools

import numpy as np
import pytest

from shallows_papers.datasets import DatasetError
from shallows_papers.datasets.user_data import describe, fitted_preparation, request, summarise
from shallows_papers.datasets.user_data.fitted_preparation import columns_of, raw_rows
from user_data_example import columns_in, described, libsvm_text, rows, source, write, write_rows

# Words that stand for a missing value ---------------------------------------------------------------------------------


def with_word(tmp_path, word, form="csv"):
    """Forty rows of a land, a number and a class, one land of four and one number of ten being the word."""
    lines = [f"{(word, 'ZA', 'BW', 'AO')[i % 4]},{i}.5,{i % 2}" for i in range(40)]
    if form == "csv":
        return write(tmp_path / "lands.csv", "\n".join(["land,a,y", *lines]))
    head = f"@relation r\n@attribute land {{{word},ZA,BW,AO}}\n@attribute a numeric\n@attribute y {{0,1}}\n@data\n"
    return write(tmp_path / "lands.arff", head + "\n".join(lines))


#: The form of the file, what is set, the word in a cell, and whether it is missing.
WORDS = [
    *(("csv", None, word, True) for word in request.NA_VALUES),
    ("csv", None, "", True),
    ("csv", None, "none", False),
    ("csv", [], "NA", False),
    ("csv", [], "None", False),
    ("csv", [], "", True),
    ("csv", "?,-", "NA", False),
    ("csv", "?,-", "-", True),
    ("csv", ["unknown"], "unknown", True),
    ("csv", {"": ""}, "?", True),  # as YAML reads na_values=?
    ("csv", -999, "-999", True),
    ("arff", None, "?", True),
    ("arff", None, "NA", False),
    ("arff", ["NA"], "NA", True),
]


@pytest.mark.parametrize(("form", "na_values", "word", "missing"), WORDS)
def test_a_word_is_a_value_or_missing_as_the_setting_says(tmp_path, form, na_values, word, missing):
    found = described(with_word(tmp_path, word, form), missing="most_frequent", na_values=na_values)
    (land,) = (one for one in found["entry"]["options"]["features"] if one["name"] == "land")
    assert (word in land["values"]) is not missing
    assert found["missing"] == (10 if missing else 0)
    what = repr(word) if word and (form, word) != ("arff", "?") else "no value"
    assert (f"Taken for missing: {what} in land (10 cells)." in found["told"]) is missing


def test_what_lacks_a_value_is_named_with_its_words_and_the_setting_that_makes_them_values(tmp_path):
    with pytest.raises(
        DatasetError, match=r"lacks 10 values \('NA' in land \(10 cells\)\).* If 'NA' is a value, .*na_values='\[\]'"
    ):
        described(with_word(tmp_path, "NA"))


def test_a_class_called_na_can_be_had(tmp_path):
    path = write(tmp_path / "a.csv", "a,y\n" + "\n".join(f"{i},{('NA', 'ZA')[i % 2]}" for i in range(40)))
    with pytest.raises(DatasetError, match=r"target .* missing in row 1.* If 'NA' is a value"):
        described(path)
    _, y = rows(source(path, na_values=[])[0].train)
    assert set(y) == {"NA", "ZA"}


def test_a_number_for_missing_is_found_however_it_is_written(tmp_path):
    path = write(
        tmp_path / "a.csv", "a,y\n" + "\n".join(f"{('-999', '-999.0', '1.5')[i % 3]},{i % 2}" for i in range(42))
    )
    found = described(path, missing="mean", na_values="-999")
    assert found["missing"] == 28
    assert "'-999' in a (28 cells)" in found["told"]


# Guesses --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("na_values", [True, [None], ["?", False], {"a": 1}])
def test_words_that_yaml_reads_as_something_else_are_refused(tmp_path, na_values):
    with pytest.raises(DatasetError, match="na_values must be a list of words"):
        described(with_word(tmp_path, "x"), na_values=na_values)


def test_words_for_missing_are_those_of_tables_of_text(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((30, 2)), y=np.arange(30) % 2)
    with pytest.raises(DatasetError, match="na_values and decimal are for tables of text"):
        described(tmp_path / "a.npz", na_values=["?"])


def table_of(path, separator, decimal, header, n_texts, n_numbers, missing, n):
    """A table of columns of text, of numbers with decimals, one of whole numbers and a class; `missing`: a share."""
    rng = np.random.default_rng(0)
    words = ["red", "light blue", "green", "grey"]
    lines = [[*(f"t{j}" for j in range(n_texts)), *(f"x{j}" for j in range(n_numbers)), "k", "y"]] if header else []
    for i in range(n):
        texts = [words[rng.integers(4)] for _ in range(n_texts)]
        numbers = [f"{value:.2f}".replace(".", decimal) for value in rng.normal(0, 50, n_numbers)]
        numbers = ["" if i and rng.random() < missing else cell for cell in numbers]
        lines.append([*texts, *numbers, str(rng.integers(9)), ("yes", "no")[i % 2]])
    quoted = [[f'"{cell}"' if separator in cell else cell for cell in line] for line in lines]
    return write(path, "\n".join(separator.join(line) for line in quoted) + "\n")


@pytest.mark.parametrize(("header", "n"), [(True, 20), (True, 60), (False, 60)])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
def test_separator_decimal_sign_header_and_types_are_found(tmp_path, separator, decimal, header, n):
    for n_texts, n_numbers, missing in itertools.product((0, 1, 8), (1, 3), (0.0, 0.5)):
        if separator == " " and (missing or n_texts):
            continue  # Blanks do not mark an empty cell, and occur in texts.
        path = table_of(tmp_path / "my.csv", separator, decimal, header, n_texts, n_numbers, missing, n)
        found = described(path, missing="median" if missing else None)
        layout, features = (found["entry"]["options"][key] for key in ("layout", "features"))
        kinds = [one["values"] is not None for one in features]
        assert (layout["separator"], layout["named"], found["entry"]["n_train"]) == (separator, header, n)
        assert layout["decimal"] == decimal
        assert kinds == [True] * n_texts + [False] * (n_numbers + 1), (n_texts, n_numbers, missing)


#: Cells of the first line, and of the second; whether the first names the columns.
HEADERS = [
    (["a", "b"], ["1.5", "red"], True),
    (["0", "1", "2"], ["1.5", "2.5", "0.5"], True),  # as pandas writes columns without names
    (["0", "1", "2", "y"], ["1.5", "2.5", "0.5", "red"], True),
    (["NA", "red", "u"], ["1.5", "red", "u"], False),
    (["", "red", "u"], ["1.5", "red", "u"], False),
    (["red", "blue"], ["red", "grey"], False),
    (["colour", "form"], ["red", "round"], True),
]


@pytest.mark.parametrize(("first", "other", "header"), HEADERS)
def test_a_first_line_of_names_is_told_from_a_row(tmp_path, first, other, header):
    others = [",".join(other)] * 10 + [",".join(reversed(other))] * (not header)
    text = "\n".join([",".join(first), *others])
    layout = describe.FORMS["table"].layout(write(tmp_path / "my.csv", text), request.FileRequest("my", "my.csv"))
    assert (layout.named, layout.decimal) == (header, ".")


#: A column that no method gets unchanged: its cells in a row of number i, and what is said of it.
DROPPED = {
    "different texts": ("n{i}", "Left out: col (nearly every row has a different text, such as 'n0')."),
    "numbers written otherwise": (
        "1.{i:03d},50",
        "Left out: col (nearly every row has a different text, such as '1.000,50').",
    ),
    "dates": ("2024-01-{d:02d}", "Left out: col (dates; numbers such as"),
    "nothing": ("", "Left out: col (it has no value)."),
    "some words among numbers": (
        "{w}",
        "Read as categories, though most of their values are numbers: col ('low' in row 1).",
    ),
}


@pytest.mark.parametrize("kind", DROPPED)
def test_what_is_dropped_is_said_in_a_line_of_its_own(tmp_path, kind):
    cell, words = DROPPED[kind]
    cells = [cell.format(i=i, d=i % 28 + 1, w="low" if i % 4 == 0 else i % 7) for i in range(40)]
    text = "\n".join(["col;b;y", *(f"{value};{i}.5;{i % 2}" for i, value in enumerate(cells))])
    told = described(write(tmp_path / "my.csv", text))["told"]
    assert any(line.startswith(words) for line in told.splitlines()[1:])


# The form of the training file, in the test file and in new rows ------------------------------------------------------


DENSE = np.random.default_rng(0).normal(size=(40, 5))
SPARSE = DENSE * (np.random.default_rng(1).random(DENSE.shape) < 0.5)
NO_LAST = DENSE * ([1.0] * 4 + [0.0])

#: The training rows, from where their indices count, the new rows, from where theirs count, and what is said.
NUMBERINGS = {
    "0, as before": (DENSE, 0, DENSE, 0, None),
    "0, a row without the first feature": (SPARSE, 0, SPARSE[SPARSE[:, 0] == 0][:1], 0, None),
    "1, then 0": (DENSE, 1, DENSE, 0, "has the index 0 in row 1, but the training file counts from 1"),
    "1, then 0, sparse": (SPARSE, 1, SPARSE, 0, r"has the index 0 in row \d+, but the training file counts from 1"),
    "0, then 1": (DENSE, 0, DENSE, 1, "has the index 5 in row 1, but indices of the training file are from 0 to 4"),
    "0, then 1, no last feature": (DENSE, 0, NO_LAST, 1, "No row of .* has the index 0, but 100% of the training rows"),
    "an index too many": (DENSE[:, :3], 1, DENSE, 1, "has the index 5 in row 1, .* are from 1 to 3"),
}


@pytest.mark.parametrize("kind", NUMBERINGS)
def test_indices_of_new_rows_count_as_those_of_the_training_file(tmp_path, kind):
    x, first, new, first_of_new, words = NUMBERINGS[kind]
    path, other = (
        write(tmp_path / name, libsvm_text(some, np.arange(len(some)) % 2, least))
        for name, some, least in (("my.svm", x, first), ("new.svm", new, first_of_new))
    )
    columns = columns_in(path)

    def read():
        return np.concatenate([block.toarray() for block in raw_rows(other, columns, fills_missing=False)])

    if words is None:
        np.testing.assert_array_equal(read(), new)
        opened, _ = source(path, test_file=str(other))
        np.testing.assert_array_equal(rows(opened.test)[0], new)
        return
    with pytest.raises(DatasetError, match=words):
        read()
    if "too many" not in kind:  # A test file may show features that the training file lacks.
        with pytest.raises(DatasetError, match=r"has the index|has the index 0, but"):
            source(path, test_file=str(other))


def test_a_test_file_and_new_rows_may_be_written_otherwise(tmp_path):
    path = table_of(tmp_path / "my.csv", ";", ",", True, 1, 2, 0.0, 40)
    plain = path.read_text().replace(",", ".")
    other = write(tmp_path / "test.csv", "# a comment\n" + plain.replace(";", ","))
    opened, description = source(path, test_file=str(other))
    np.testing.assert_array_equal(rows(opened.test)[0], rows(opened.train)[0])
    description |= {"files": [{"name": "my.csv"}]}
    new = np.concatenate(list(raw_rows(other, columns_of(description), fills_missing=False)))
    np.testing.assert_array_equal(new, rows(opened.train)[0])


def test_words_for_missing_and_signs_that_were_set_hold_for_new_rows(tmp_path):
    path = write(
        tmp_path / "my.csv", "land/a/y\n" + "\n".join(f"{('NA', 'ZA')[i % 2]}/{i},5/{i % 2}" for i in range(40))
    )
    columns = columns_in(path, na_values=[], separator="/", decimal=",")
    (found,) = raw_rows(write(tmp_path / "new.csv", "land/a\nNA/2,5\n"), columns, fills_missing=True)
    np.testing.assert_array_equal(found, [[0.0, 2.5]])


def test_rows_of_another_shape_are_refused_even_where_they_hold_as_many_numbers(tmp_path):
    x, y = np.arange(30.0 * 12).reshape(30, 2, 6), np.arange(30) % 2
    np.savez(tmp_path / "my.npz", X=x, y=y)
    np.savez(tmp_path / "new.npz", X=x.reshape(30, 6, 2))
    columns = columns_in(tmp_path / "my.npz")
    with pytest.raises(DatasetError, match=r"has the shape \(6, 2\), but rows of the training file have \(2, 6\)"):
        list(raw_rows(tmp_path / "new.npz", columns, fills_missing=False))


# Numbers that are too large -------------------------------------------------------------------------------------------


#: The form of the file, and what the second number of its eighth row is called there.
PLACES = {"csv": "row 8, column 1", "npz": "row 8, column 1", "npy": "row 8, column 1", "libsvm": "row 8, index 2"}


@pytest.mark.parametrize("value", [1e39, -1e300, np.inf])
@pytest.mark.parametrize("form", PLACES)
def test_a_number_beyond_single_precision_is_refused_with_its_place(tmp_path, monkeypatch, form, value):
    for module in (summarise, fitted_preparation):
        monkeypatch.setattr(module, "_ROWS", 3)
    x, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    columns = columns_in(write_rows(tmp_path / f"my.{form}", x, y))
    x[7, 1] = value
    wrong = write_rows(tmp_path / f"wrong.{form}", x, y)
    with pytest.raises(DatasetError, match=f"wrong.{form} holds a number of the size .* in {PLACES[form]}"):
        described(wrong)
    with pytest.raises(DatasetError, match=r"column 1 holds .* in row 8" if form == "csv" else PLACES[form]):
        list(raw_rows(wrong, columns, fills_missing=False))


@pytest.mark.parametrize(("scaling", "refused"), [("none", True), ("zscore", False), (None, False)])
def test_numbers_whose_squares_overflow_need_a_scaling(tmp_path, scaling, refused):
    x, y = 1e25 * np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    path = write_rows(tmp_path / "my.csv", x, y)
    if refused:
        with pytest.raises(DatasetError, match=r"in row \d+, column .* where features are not scaled"):
            described(path, scaling=scaling)
    else:
        assert described(path, scaling=scaling)["scaling"] == (scaling or "columns")
