"""A model saved with its preparation: new rows are prepared as the training rows were, or refused with the column."""

import csv
import json
import os
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.preprocessing import FunctionTransformer

import shallows
from own_plan import own_configuration
from shallows.errors import ShallowsError
from shallows.saving import archive
from shallows_papers import cli, datasets
from shallows_papers.datasets.files import digest
from shallows_papers.datasets.user_data import describe, request
from shallows_papers.datasets.user_data.fitted_preparation import columns_of, fit_preparation, raw_rows
from shallows_papers.experiments.running.calls import callable_for
from shallows_papers.experiments.user_data import comparison, final_model, saved_model
from user_data_example import write_rows


def write_flats(path, n=80):
    """Numbers, categories, truth values, gaps in both, and a target in euros."""
    rng = np.random.default_rng(0)
    area, age = rng.uniform(20, 200, n).round(1), rng.integers(0, 90, n).astype(object)
    kind, lift = rng.choice(["old", "new", "shop"], n).astype(object), rng.random(n) < 0.5
    price = np.round(3000 * area - 50 * age.astype(float) + 1000 * lift + rng.normal(0, 100, n))
    age[3], kind[5] = "", ""
    lines = [",".join(map(str, row)) for row in zip(area, age, kind, lift, price, strict=True)]
    path.write_text("area,age,kind,lift,price\n" + "\n".join(lines) + "\n")
    return path


def described(tmp_path, path, **settings):
    asked = request.make("mine", {"file": str(path), **settings}, "a test")
    return describe.write(asked, tmp_path / "verified.json")


def prepared_all(tmp_path, path, sparse=False, **settings):
    description = described(tmp_path, path, **settings)
    steps = comparison.feature_steps(description)
    return description, *fit_preparation(description, steps, sparse, tmp_path)


def flats_model(tmp_path, estimator=None, **settings):
    """The folder of a model of the flats, as a comparison leaves it."""
    path = write_flats(tmp_path / "flats.csv")
    description, preparation, x, y = prepared_all(tmp_path, path, **{"missing": "median", **settings})
    estimator = estimator or shallows.KernelRidgeRegressor(solver="eigenpro", bandwidth=2.0, random_state=0)
    estimator.fit(x, y)
    about = {"label": "EigenPro", "measured": "R² 0.9", "targets": saved_model.target_names(description)}
    model = saved_model.SavedModel(about, columns_of(description), preparation, estimator)
    model.save(tmp_path / "model")
    return path, model


# The preparation


@pytest.mark.parametrize("scaling", ["columns", "zscore", "unit", "none"])
def test_all_rows_become_what_the_preparation_of_the_workflow_makes_of_them(tmp_path, scaling):
    """With a test file, whose rows are not learned from, both have the training arrays of all rows."""
    path = write_flats(tmp_path / "flats.csv")
    settings = {"missing": "median", "scaling": scaling, "test_file": str(path)}
    description, preparation, x, y = prepared_all(tmp_path, path, **settings)
    comparison.prepare(tmp_path / "verified.json", tmp_path / "test", {}, None)
    data = datasets.load(tmp_path / "test")
    np.testing.assert_array_equal(x, data.x_train)
    np.testing.assert_array_equal(y, data.y_train)
    columns = columns_of(description)
    new = np.concatenate([preparation.transform(block) for block in raw_rows(path, columns, fills_missing=True)])
    np.testing.assert_array_equal(new, data.x_test)


def test_predictions_are_in_the_units_of_the_target_and_in_the_order_of_the_rows(tmp_path):
    path, _ = flats_model(tmp_path)
    with open(path, newline="") as stream:
        price = np.array([float(row["price"]) for row in csv.DictReader(stream)])
    found = saved_model.load(tmp_path / "model").predict(path)
    assert np.corrcoef(found, price)[0, 1] > 0.95
    assert abs(found.mean() / price.mean() - 1) < 0.05 and abs(found.std() / price.std() - 1) < 0.2


def test_columns_are_found_by_their_names_and_others_are_left_alone(tmp_path):
    path, model = flats_model(tmp_path)
    with open(path, newline="") as stream:
        rows = list(csv.DictReader(stream))
    turned = tmp_path / "turned.csv"
    with open(turned, "w", newline="") as stream:
        writer = csv.DictWriter(stream, ["lift", "notes", "kind", "age", "area"], delimiter=";", extrasaction="ignore")
        writer.writeheader()
        writer.writerows([{**row, "notes": "nice"} for row in rows])
    np.testing.assert_array_equal(model.predict(turned), model.predict(path))


@pytest.mark.parametrize(
    ("header", "row", "told"),
    [
        ("area,age,kind", "1,2,old", "lacks the column lift, which the model needs (it was fitted to flats.csv)"),
        ("Area,age,kind,lift", "1,2,old,True", "If Area is area, rename that column."),
        ("area,age,kind,lift", "1,many,old,True", "the column age holds 'many' in row 1, but the model"),
        ("area,age,kind,lift", "1,2,castle,True", "the column kind holds 'castle' in row 1, a category"),
        ("area,age,kind,lift", "inf,2,old,True", "the column area holds inf in row 1"),
    ],
)
def test_a_column_that_does_not_fit_is_named(tmp_path, header, row, told):
    _, model = flats_model(tmp_path)
    new = tmp_path / "new.csv"
    new.write_text(f"{header}\n{row}\n")
    with pytest.raises(ShallowsError) as caught:
        model.predict(new)
    assert told in str(caught.value)


def test_missing_values_are_filled_as_in_the_preparation_or_refused_where_none_were_missing(tmp_path):
    _, model = flats_model(tmp_path)
    new, filled = tmp_path / "new.csv", tmp_path / "filled.csv"
    new.write_text("area,age,kind,lift\n100,,,True\n")
    values = model.preparation.features["impute"].statistics_
    kinds = model.columns["options"]["features"][2]["values"]
    filled.write_text(f"area,age,kind,lift\n100,{values[1]},{kinds[int(values[2])]},True\n")
    np.testing.assert_array_equal(model.predict(new), model.predict(filled))

    whole = tmp_path / "whole.csv"
    whole.write_text("a,b,y\n" + "\n".join(f"{i % 7},{i % 5},{i % 11}.5" for i in range(40)) + "\n")
    gap = tmp_path / "gap.csv"
    gap.write_text("a,b\n1,2\n1,\n")
    columns = columns_of(described(tmp_path, whole))
    with pytest.raises(ShallowsError, match="the column b holds no value in row 2"):
        list(raw_rows(gap, columns, fills_missing=False))


def test_a_table_without_names_is_taken_by_place_with_or_without_its_target(tmp_path):
    rows = [f"{i % 7},{i % 5},{'uv'[i % 2]}" for i in range(40)]
    (tmp_path / "bare.csv").write_text("\n".join(rows) + "\n")
    columns = columns_of(described(tmp_path, tmp_path / "bare.csv", target=0, header=False, task="classification"))
    (tmp_path / "new.csv").write_text("3,u\n4,v\n")
    short = np.concatenate(list(raw_rows(tmp_path / "new.csv", columns, fills_missing=False)))
    (tmp_path / "full.csv").write_text("0,3,u\n0,4,v\n")
    full = np.concatenate(list(raw_rows(tmp_path / "full.csv", columns, fills_missing=False)))
    np.testing.assert_array_equal(short, full)
    (tmp_path / "wide.csv").write_text("0,3,u,1\n0,4,v,1\n")
    with pytest.raises(ShallowsError, match=r"wide\.csv has 4 columns, but the model was fitted to .*bare\.csv"):
        list(raw_rows(tmp_path / "wide.csv", columns, fills_missing=False))


@pytest.mark.parametrize("form", ["npy", "npz", "libsvm"])
def test_files_of_numbers_are_predicted_too(tmp_path, form):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    path = write_rows(tmp_path / f"my.{form}", x, y)
    new = write_rows(tmp_path / f"new.{form}", x[:7], y[:7])
    description, preparation, prepared, _ = prepared_all(tmp_path, path)
    found = [preparation.transform(block) for block in raw_rows(new, columns_of(description), fills_missing=False)]
    np.testing.assert_allclose(np.concatenate(found), prepared[:7], rtol=1e-6)
    if form == "npy":
        np.save(new, x[:7])
        without_target = list(raw_rows(new, columns_of(description), fills_missing=False))
        np.testing.assert_array_equal(without_target, [x[:7]])
        np.save(new, x[:7, :2])
        with pytest.raises(ShallowsError, match="has 2 columns of features, but the model was fitted to 3"):
            list(raw_rows(new, columns_of(description), fills_missing=False))


# The estimator


METHODS = own_configuration().methods
#: The methods of scikit-learn in a comparison, and one of this package.
CALLS = sorted(
    {call for one in METHODS.values() if "compare" in one for call in one["call"].values() if "sklearn" in call}
)


SPARSE = ["sklearn.neighbors:KNeighborsClassifier", "sklearn.svm:SVC", "shallows:KernelRidgeClassifier"]


@pytest.mark.parametrize(
    ("call", "sparse"), [(call, False) for call in CALLS + SPARSE[-1:]] + [(call, True) for call in SPARSE]
)
def test_an_estimator_comes_back_with_equal_predictions(tmp_path, call, sparse):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(80, 4)).astype(np.float32), rng.integers(0, 3, 80)
    x = csr_matrix(x) if sparse else x
    preparation = prepared_all(tmp_path, write_flats(tmp_path / "flats.csv"), missing="median")[1]
    estimator = callable_for({"any": call}, "any")().fit(x, y)
    saved_model.SavedModel({}, {}, preparation, estimator).save(tmp_path / "model")
    again = saved_model.load(tmp_path / "model").estimator
    np.testing.assert_array_equal(again.predict(x), estimator.predict(x))


def test_a_file_that_is_not_the_models_own_is_refused(tmp_path):
    flats_model(tmp_path, HistGradientBoostingRegressor(max_iter=5, random_state=0))
    place = tmp_path / "model" / saved_model.PIPELINE
    place.write_bytes(place.read_bytes()[:-1] + b"x")
    with pytest.raises(ShallowsError, match=r"model\.skops is missing, or was not written with model\.json"):
        saved_model.load(tmp_path / "model")


@pytest.mark.parametrize("function", [os.system, cli.main, np.fromfile])
def test_a_model_makes_nothing_but_estimators(tmp_path, function, monkeypatch):
    """Also where somebody has put the checksum right."""
    flats_model(tmp_path, HistGradientBoostingRegressor(max_iter=5, random_state=0))
    path = tmp_path / "model" / saved_model.NAME
    with monkeypatch.context() as patched:
        patched.setattr(archive, "_is_trusted", lambda name: True)
        archive.write(FunctionTransformer(function), path.with_name(saved_model.PIPELINE), drawn=[])
    content = json.loads(path.read_text())
    content["sha256"] = digest(path.with_name(saved_model.PIPELINE))
    path.write_text(json.dumps(content))
    with pytest.raises(ShallowsError, match="is not a class of a model in this version"):
        saved_model.load(tmp_path / "model")


# The command


def test_the_command_writes_a_line_for_each_row_and_says_how_good_the_model_is(tmp_path, monkeypatch, capsys):
    path, model = flats_model(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["predict", "model", path.name]) == 0
    assert capsys.readouterr().out == "flats.predictions.csv: 80 rows predicted by EigenPro (R² 0.9)\n"
    with open("flats.predictions.csv", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["predicted price"]
    np.testing.assert_allclose([float(row[0]) for row in rows[1:]], model.predict(path), rtol=1e-6)


def test_the_bandwidth_of_the_saved_model_is_the_same_multiple_of_the_median_distance(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2)).astype(np.float32)
    definition = {"compare": {"bandwidth": {"parameter": "gamma", "values": [2.0]}}}
    trial = {"words": "C 1, bandwidth 2 × median", "factor": 2.0, "parameters": {"C": 1.0, "gamma": 77.0}}
    chosen = SimpleNamespace(choice=trial["words"], seeds=(0,), records=({"selection": {"trials": [trial]}},))
    found, epochs = final_model.parameters_of(chosen, definition, 3 * x)
    from scipy.spatial.distance import pdist

    assert epochs is None
    assert found["gamma"] == pytest.approx(1 / (2 * (2 * np.median(pdist(3 * x))) ** 2), rel=1e-5)
