"""What we promise about the command line: what cannot be taken is said in a sentence, nothing is replaced unsaid."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from own_plan import own_configuration
from shallows.errors import ShallowsError
from shallows_papers import cli
from shallows_papers.datasets.user_data import request
from shallows_papers.experiments.planning import configuration
from shallows_papers.experiments.user_data import comparison, file_fit, leaderboard, saved_model
from user_data_example import table, write
from workflow_runs import PROJECT

FIT = ("fit", "my.csv", "--out", "fitted")
PREDICT = ("predict", "model", "new.csv")
CHEAP = ("--method", "FeatureRidge")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a model of it, and new rows."""
    place = tmp_path_factory.mktemp("typed")
    table(place, row="{i}.5,{j},{t}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert cli.main(["fit", "my.csv", "--out", "model", *CHEAP]) == 0
    write(place / "text.csv", "a,b,y\n" + "1,2,u\n2,x,v\n" * 20)
    return place


@pytest.fixture
def typed(folder, monkeypatch, capsys):
    """Type a command in that folder; its exit status, and what it says."""
    monkeypatch.chdir(folder)

    def run(*words):
        status = cli.main([*map(str, words)])
        return status, capsys.readouterr()

    return run


# A sentence that names the row, the column or the parameter, and the exit status 2 ------------------------------------

#: A value in the fourth row of the second column of a training file, and of new rows.
CELLS = ["1e300", "-1e39", "inf", "1e400", "word", ""]


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_that_no_method_can_take_is_named_by_its_row_and_column(folder, typed, cell):
    table(folder, row="{i}.5,{j},{t}", change={3: f"3.5,{cell},u"}, name="wrong.csv")
    for command in (("fit", "wrong.csv", "--out", "fitted"), ("predict", "model", "wrong.csv")):
        status, said = typed(*command)
        assert status == 2
        assert "row 4" in said.err and "column b" in said.err and "Traceback" not in said.err


def test_a_row_that_is_too_far_from_the_training_rows_is_named(folder, typed):
    typed("fit", "my.csv", "--out", "cubic", "--method", "FeatureRidge", "--set", "features=polynomial")
    table(folder, row="{i}.5,{j},{t}", change={3: "3.5,1e30,u"}, name="far.csv")
    status, said = typed("predict", "cubic", "far.csv")
    assert status == 2
    assert "far.csv cannot be predicted" in said.err and "1e+30 in row 4, column b" in said.err


#: What is typed after a command, and what the sentence names.
TYPED = [
    (FIT, ["--set", "random_state=abc"], "random_state must be"),
    (FIT, ["--set", "kernel=precomputed"], "kernel=precomputed takes a matrix"),
    (FIT, ["--set", "kernel=*"], "kernel '*'"),
    (FIT, ["--set", "kernel_params=1"], "use kernel (an object of shallows.kernels"),
    (FIT, ["--set", "max_epochs=1e30"], "max_epochs must be"),
    (FIT, ["--set", "bandwidth={a"], "bandwidth must be"),
    (FIT, ["--set", "early_stopping=flase"], "early_stopping must be True, False"),
    (FIT, ["--set", "preconditioner=nothing.npz"], "preconditioner"),
    (FIT, ["--set", "kernel"], "name=value"),
    (FIT, ["--set", "bandwith=1"], "Did you mean 'bandwidth'"),
    (FIT, [*CHEAP, "--set", "features_params=1"], "use features"),
    (FIT, [*CHEAP, "--set", "features__n_features=0"], "n_features must be"),
    (FIT, [*CHEAP, "--checkpoints", "c"], "checkpoint cannot be used with solver='normal_equations'"),
    (FIT, ["--method", "EigenPor"], "Did you mean 'EigenPro'"),
    (FIT, ["--method", "KernelSVM", "--target", "b", "--task", "regression"], "KernelSVM is not for regression"),
    (FIT, ["--method", "KernelRidgeRegressor"], "KernelRidgeRegressor is not for classification"),
    (FIT, ["--target", "{a"], "column '{a'"),
    (FIT, ["--task", "regression"], "task regression"),
    (FIT, ["--missing", "nan"], "missing must be"),
    (FIT, ["--missing", "1e400"], "missing must be"),
    (("fit", "."), [], "It is a folder"),
    (("fit", "my.csv"), [*CHEAP, "--out", "text.csv"], "text.csv"),
    (PREDICT, [], "There is no file new.csv"),
    (("predict", "model", "."), [], "There is no file ."),
    (("predict", "my.csv", "my.csv"), [], "cannot be read as a model"),
    (("predict", "model", "my.csv"), ["--out", "my.csv/x.csv"], "my.csv"),
    (("predict", "model", "my.csv"), ["--out", "./my.csv"], "would replace the rows"),
    (("data", "fetch", "minst"), [], "Did you mean 'mnist'"),
]


@pytest.mark.parametrize(("command", "further", "words"), TYPED, ids=lambda part: " ".join(part) if part else "-")
def test_what_cannot_be_taken_is_said_in_a_sentence(typed, command, further, words):
    status, said = typed(*command, *further)
    assert status == 2
    assert said.err.splitlines()[-1].startswith("shallows: ") and words in said.err


def test_none_is_none_and_the_fit_has_no_seed(typed):
    status, _ = typed(*FIT, *CHEAP, "--set", "random_state=None")
    assert status == 0
    assert saved_model.load("fitted").estimator.random_state is None


@pytest.mark.parametrize(
    ("word", "name", "solver"),
    [
        ("KernelRidgeClassifier", "KernelRidgeClassifier", "auto"),
        ("smo", "KernelSVMClassifier", "smo"),
        ("SMO", "KernelSVMClassifier", "smo"),
    ],
)
def test_a_method_is_named_by_its_class_or_its_solver(word, name, solver):
    estimator = file_fit.estimator_of(word, "classification", {})
    assert (type(estimator).__name__, estimator.solver) == (name, solver)


def test_words_for_missing_are_an_option(folder, typed):
    write(folder / "lands.csv", "land,a,y\n" + "\n".join(f"{('NA', 'ZA')[i % 2]},{i},{i % 3}" for i in range(42)))
    status, said = typed("fit", "lands.csv", *CHEAP)
    assert status == 2 and "'NA' in land (21 cells)" in said.err and "--na-values '[]'" in said.err
    status, _ = typed("fit", "lands.csv", "--na-values", "[]", *CHEAP)
    assert status == 0
    assert saved_model.load("lands.model").columns["options"]["features"][0]["values"] == ["NA", "ZA"]


# Names of folders -----------------------------------------------------------------------------------------------------

#: Files that a name by their letters alone would confuse.
ALIKE = [
    "my.csv",
    "my.tsv",
    "My.csv",
    "other/my.csv",
    "数据.csv",
    "データ.csv",
    "data.csv",
    ".csv",
    "my-.csv",
    "my.csv.gz",
]


def test_no_two_files_share_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = write(_make(tmp_path / "config" / "datasets" / "my.yaml"), "file: my.csv\n")
    for path in ALIKE:
        table(_make(tmp_path / path).parent, name=Path(path).name)
    names = [request.resolve({"dataset": path}).name for path in ALIKE]
    names.append(request.resolve({"dataset": entry.stem}).name)
    assert len(set(names)) == len(ALIKE) + 1
    assert all(name.isascii() and name.replace("-", "").replace("_", "").isalnum() for name in names)
    # One file has one name, however its path is written.
    assert {request.resolve({"dataset": path}).name for path in ("my.csv", "./my.csv", str(tmp_path / "my.csv"))} == {
        names[0]
    }


def test_two_projects_with_one_folder_of_results_do_not_share_names(tmp_path, monkeypatch):
    names = set()
    for project in ("one", "other"):
        table(_make(tmp_path / project / "my.csv").parent)
        monkeypatch.chdir(tmp_path / project)
        names.add(request.resolve({"dataset": "my.csv"}).name)
        shared = {"results": str(tmp_path / "results"), "data": "data"}
        names.add(request.resolve({"dataset": "my.csv", **shared}).name)
    assert len(names) == 3  # the same name in separate folders of results


def _make(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_the_model_of_another_file_is_replaced_only_where_that_is_asked_for(folder, typed):
    table(_make(folder / "further" / "my.csv").parent, n=44, row="{i}.5,{j},{t}")
    assert typed("fit", "my.csv", *CHEAP)[0] == 0
    status, said = typed("fit", "further/my.csv", *CHEAP)
    assert status == 2 and f"my.model is the model of {folder / 'my.csv'}" in said.err
    assert typed("fit", "my.csv", *CHEAP)[0] == 0  # the same file again
    status, said = typed("fit", "further/my.csv", "--out", "my.model", *CHEAP)
    assert status == 0 and "replacing the earlier model" in said.out


def test_predictions_that_replace_others_say_so(typed):
    assert "replaced" not in typed("predict", "model", "my.csv", "--out", "first.csv")[1].out
    assert "the file that was there is replaced" in typed("predict", "model", "my.csv", "--out", "first.csv")[1].out


def test_runs_of_an_earlier_comparison_do_not_stay_beside_the_new(tmp_path, monkeypatch):
    runs = tmp_path / "runs"
    for place in ("svm/seed0", "svm/seed1", "retired/seed0"):
        write(_make(runs / place / "outcome.json"), json.dumps({}))
        write(runs / place / "record.json", "{}")
    write(_make(runs / "svm" / "notes.txt"), "mine")
    write(tmp_path / "verified.json", json.dumps({"entry": {}}))
    monkeypatch.setattr(leaderboard, "read", lambda *_: None)
    monkeypatch.setattr(leaderboard, "write_tables", lambda *_: None)
    leaderboard.write([runs / "svm/seed0/outcome.json"], tmp_path / "verified.json", "", "own", tmp_path / "tables")
    assert {str(path.relative_to(runs)) for path in runs.rglob("*.*")} == {
        "svm/seed0/outcome.json",
        "svm/seed0/record.json",
        "svm/notes.txt",
    }


# Braces, which Snakemake takes for wildcards --------------------------------------------------------------------------

BRACES = ["data{0}.csv", "{x}/my.csv", "a{.csv"]


@pytest.fixture(scope="module")
def loaded():
    return own_configuration()


@pytest.mark.parametrize("path", BRACES)
def test_braces_in_a_path_of_the_workflow_are_refused_in_words(tmp_path, monkeypatch, loaded, path):
    monkeypatch.chdir(tmp_path)
    table(_make(tmp_path / path).parent, name=Path(path).name)
    table(tmp_path)
    for setting in ("results", "data"):
        with pytest.raises(ShallowsError, match="has braces, which Snakemake takes for wildcards"):
            configuration.load(PROJECT, {setting: path})
    for setting in ("dataset", "test_file"):
        asked = replace(loaded, settings={**loaded.settings, "dataset": "my.csv", setting: path})
        with pytest.raises(ShallowsError, match="has braces, which Snakemake takes for wildcards"):
            comparison.Comparison.of(asked)


@pytest.mark.parametrize("path", BRACES[:1])
def test_braces_mean_nothing_where_there_is_no_snakemake(folder, typed, path):
    table(_make(folder / path).parent, name=Path(path).name, row="{i}.5,{j},{t}")
    assert typed("fit", path, "--out", "fitted", *CHEAP)[0] == 0
    assert typed("predict", "fitted", path, "--out", "found.csv")[0] == 0
    assert len(np.loadtxt("found.csv", dtype=str, skiprows=1)) == 40
