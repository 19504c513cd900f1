"""A user's own file: what is refused, and in which words."""

import sys
from importlib.util import find_spec

import pandas
import pytest

from shallows.errors import UnknownNameError
from shallows_papers.datasets import DatasetError
from shallows_papers.datasets.user_data import request, table_files
from user_data_example import described, table, write


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({20: "1,2"}, r"Line 22 of .* has 2 fields, but the first line has 3"),
        ({20: "a,b,y"}, r"column a holds 'a' in row 21, .* looks like a header in the middle"),
        ({20: "1,abc,0"}, r"column b holds 'abc' in row 21, but nearly all its other values are numbers"),
        ({20: "1,,0"}, r"lacks 1 value; the first is in row 21, column b.*missing=median"),
        ({20: "1,2,"}, r"The target of .* is missing in row 21"),
        ({20: "1,2,high"}, r"The target y holds 'high' in row 21"),
        ({20: "1,2,7"}, r"The class 7 of .* has 1 row, but needs three"),
        ({20: '1,"2,0'}, r"has \d+ fields"),
    ],
)
def test_a_bad_row_is_told_with_its_place_and_a_remedy(tmp_path, change, words):
    with pytest.raises(DatasetError, match=words):
        described(table(tmp_path, change=change))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a,b,y\n", "holds a header and no rows"),
        ("a,b,y\n1,2,0\n", "holds 1 row; at least 20 are needed"),
        ("a,a,y\n" + "1,2,0\n2,1,1\n" * 20, "Two columns of .* are called 'a'"),
        ("a,y\n" + "1,5\n2,5\n" * 20, "is the same in all rows: 5"),
        ("y\n" + "0\n1\n" * 20, "no column of features"),
        ("<!DOCTYPE html><html></html>", "is a web page"),
        ("a\0b", "is not text"),
        ("1\u00a02\u00a00\n2\u00a01\u00a01\n" * 20, r"separated by the character '.*' \(U\+00A0, no-break space\)"),
    ],
)
def test_a_file_that_is_no_table_of_data_is_told(tmp_path, text, words):
    with pytest.raises(DatasetError, match=words):
        described(write(tmp_path / "my.csv", text))


@pytest.mark.parametrize(
    ("target", "task", "words"),
    [
        ("{t}", "regression", r"task=regression is set, .* is text, such as 'u'"),
        ("{i}.5", "classification", r"40 different values in 40 rows: too many for classes"),
    ],
)
def test_a_target_that_does_not_suit_the_task_is_told(tmp_path, target, task, words):
    with pytest.raises(DatasetError, match=words):
        described(table(tmp_path, row="{i}.5,{j}," + target), task=task)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"target": "z"}, UnknownNameError, "no column 'z'"),
        ({"target": 7}, DatasetError, "names column 7, but there are 3"),
        ({"target": "9:"}, DatasetError, "contains no column. There are 3 columns"),
        ({"target": "0:3"}, DatasetError, "leaves no features"),
        ({"task": "ranking"}, UnknownNameError, "no task 'ranking'"),
        ({"missing": "meen"}, UnknownNameError, "Did you mean 'mean'"),
        ({"scaling": "zscor"}, UnknownNameError, "Did you mean 'zscore'"),
        ({"tagret": "y"}, UnknownNameError, "Did you mean 'target'"),
        ({"ignore": ["y"]}, DatasetError, "is the target, so it cannot be left out"),
        ({"header": "perhaps"}, DatasetError, "header must be true or false"),
    ],
)
def test_a_wrong_wish_is_told(tmp_path, settings, error, words):
    with pytest.raises(error, match=words):
        described(table(tmp_path), **settings)


def test_a_missing_file_is_told_with_the_nearest_one(tmp_path):
    table(tmp_path, name="house.csv")
    with pytest.raises(DatasetError, match=r"no such file\. Did you mean .*house\.csv"):
        request.resolve({"dataset": str(tmp_path / "huose.csv")}, tmp_path)
    with pytest.raises(DatasetError, match=r"The dataset nothing\.csv cannot be read"):
        request.resolve({"dataset": str(tmp_path / "house.csv"), "test_file": "nothing.csv"}, tmp_path)


def test_an_excel_file_is_read_by_openpyxl_or_its_package_is_named(tmp_path, monkeypatch):
    path = tmp_path / "book.xlsx"
    if find_spec("openpyxl"):
        pandas.read_csv(table(tmp_path, row="{i}.5,{j},{t}")).to_excel(path, index=False)
        entry = described(path)["entry"]
        assert (entry["n_train"], entry["n_features"], entry["n_classes"]) == (40, 2, 3)
    write(path, "PK")
    with pytest.raises(DatasetError, match=r"cannot be read as an Excel file|needs the package openpyxl"):
        described(path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DatasetError, match=r"pip install openpyxl\. Or save it as CSV or Parquet"):
        described(path)


@pytest.mark.parametrize("name", ["broken.npz", "broken.npy", "broken.mat", "broken.parquet"])
def test_a_damaged_file_is_told(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04 not really" * 20)
    with pytest.raises(DatasetError, match="broken"):
        described(tmp_path / name)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_that_does_not_fit_into_memory_is_told_with_the_forms_that_do(tmp_path, monkeypatch, ending):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(table_files, "available_memory", lambda: 1000)
    path = table(tmp_path)
    if ending == "parquet":
        pandas.read_csv(path).to_parquet(tmp_path / "my.parquet")
    with pytest.raises(DatasetError, match=r"needs about 0\.0 GB of memory as a table.* Save its numbers with numpy"):
        described(tmp_path / f"my.{ending}")
