"""The command line: what it lists, fetches, verifies, describes and removes, and how it reports what is wrong."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shallows_papers import cli, datasets
from shallows_papers.datasets.download import fetching
from shallows_papers.experiments import watching

ROOT = Path(__file__).resolve().parents[1]
EMBEDDED = ROOT / "data" / "embedded"


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Run in its own folder, with no mirror and no answer to questions."""
    monkeypatch.delenv("SHALLOWS_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda question: pytest.fail(f"asked: {question}"))


def data(*arguments: str) -> int:
    return cli.main(["data", *map(str, arguments)])


@pytest.fixture(scope="module", autouse=True)
def one_plan():
    """The plan is read once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "_plan", functools.cache(cli._plan))
        yield


def place_supplied(folder: Path) -> None:
    """Put a small file of TIMIT's form into data/raw/timit."""
    folder.mkdir(parents=True)
    x, y = np.zeros((4, 440), np.float32), np.arange(4)
    np.savez(folder / "timit.npz", x_train=x, y_train=y, x_test=x, y_test=y)


def told_of(capsys, *arguments, status=0):
    """What a command of the data says on its two channels."""
    assert data(*arguments) == status
    return capsys.readouterr()


def test_list_names_every_dataset_with_state_size_and_licence_and_can_be_of_one_state(capsys, tmp_path):
    lines = told_of(capsys, "list").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(datasets.catalogue())
    mnist = next(line for line in lines if line.startswith("mnist "))
    for words in ("public", "60,000 + 10,000", "784", "11.6 MB", "not here", "CC BY-SA 3.0"):
        assert words in mnist
    place_supplied(tmp_path / "data" / "raw" / "timit")
    lines = told_of(capsys, "list", "--state", "supplied").out.splitlines()[1:]
    here = {line.split()[0]: "not here" not in line for line in lines}
    assert list(here) == [name for name, one in datasets.catalogue().items() if one.state == "supplied"]
    assert [name for name, is_here in here.items() if is_here] == ["timit"]


def test_fetch_takes_the_names_of_the_papers_and_goes_on_after_a_dataset_that_cannot_be_had(capsys):
    assert data("fetch", "TIMIT", "a9a_demo", "--embedded-root", EMBEDDED) == 1
    told = capsys.readouterr()
    assert "shallows: The dataset 'timit' (TIMIT) has to be supplied by the user" in told.err
    assert told.out == "a9a_demo: 2 files verified in data/raw/a9a_demo\n"


def test_fetch_from_a_mirror_tells_of_a_wrong_file(capsys, tmp_path, monkeypatch):
    def unplugged(*_):
        raise fetching.TransferError("no connection")

    monkeypatch.setattr(fetching.ResumingDownloader, "__call__", unplugged)
    (tmp_path / "mirror" / "cpu_act").mkdir(parents=True)
    (tmp_path / "mirror" / "cpu_act" / "cpu_act.arff").write_text("<html>moved</html>")
    assert data("fetch", "cpu_act", "--mirror", tmp_path / "mirror", "--root", tmp_path / "raw") == 1
    told = capsys.readouterr().err
    assert "note: The mirror" in told
    assert "it is an HTML page, not the data" in told


def test_an_unknown_name_is_told_before_anything_is_done(capsys, tmp_path):
    assert data("fetch", "a9a_demo", "minst") == 2
    assert "There is no dataset 'minst'. Did you mean 'mnist'?" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_verify_names_files_that_are_right_wrong_or_missing(capsys, tmp_path):
    of_project = ("--embedded-root", EMBEDDED)
    told = told_of(capsys, "verify", "a9a_demo", "covtype_demo", *of_project).out
    assert told == "a9a_demo: 2 files right\ncovtype_demo: 2 files right\n"
    shutil.copytree(EMBEDDED / "a9a_demo", tmp_path / "embedded" / "a9a_demo")
    path = tmp_path / "embedded" / "a9a_demo" / "a9a.gz"
    path.write_bytes(path.read_bytes()[:-5])
    told = told_of(capsys, "verify", "a9a_demo", "--embedded-root", tmp_path / "embedded", status=1).out
    assert f"a9a_demo: {path}: it is truncated" in told
    told = told_of(capsys, "verify", "cpu_act", status=1).out
    assert "data/raw/cpu_act/cpu_act.arff: it is missing" in told
    place_supplied(tmp_path / "data" / "raw" / "timit")
    lines = told_of(capsys, "verify", *of_project).out.splitlines()  # without names, what is here
    names = [line.split(":")[0] for line in lines]
    assert names == ["mnist_demo", "a9a_demo", "covtype_demo", "kddcup99_demo", "timit"]


def test_describe_tells_of_size_classes_and_range_or_how_to_get_the_data(capsys):
    told = told_of(capsys, "describe", "covtype_demo", "--embedded-root", EMBEDDED).out
    for words in ("found      n = 6,000 + 2,000, d = 54", "Spruce/Fir: ", "features   from ", "licence    CC BY 4.0"):
        assert words in told
    told = told_of(capsys, "describe", "a9a_demo", "--embedded-root", EMBEDDED).out
    assert "features   from 0 to 1" in told  # the zeros of sparse rows count
    told = told_of(capsys, "describe", "susy", "timit").out
    for words in ("to fetch   shallows data fetch susy", "no checksum published", "Put into data/raw/timit:"):
        assert words in told


def test_remove_asks_and_leaves_what_is_not_agreed(capsys, tmp_path, monkeypatch):
    data("fetch", "a9a_demo", "--embedded-root", EMBEDDED)
    place, questions = tmp_path / "data" / "raw" / "a9a_demo", []
    for answer in "ny":
        assert place.exists()
        monkeypatch.setattr("builtins.input", lambda question, answer=answer: questions.append(question) or answer)
        assert data("remove", "a9a_demo") == 0
    assert not place.exists()
    told = capsys.readouterr().out
    assert "a9a_demo: left as it is" in told and "removed" in told
    place_supplied(tmp_path / "data" / "raw" / "timit")
    data("remove", "timit")
    assert "which cannot be downloaded again" in questions[-1]


def test_remove_takes_what_was_prepared_too_and_nothing_else_and_follows_no_link(capsys, tmp_path):
    for name in ("data/raw/susy", "data/prepared/susy/unit", "data/raw/higgs", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x").write_bytes(b"123")
    (tmp_path / "data/raw/usps").symlink_to(tmp_path / "elsewhere")
    assert data("remove", "susy", "usps", "--yes") == 0
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("x"))
    assert left == ["data/raw/higgs/x", "elsewhere/x"] and not (tmp_path / "data/raw/usps").exists()
    capsys.readouterr()
    assert told_of(capsys, "remove", "susy", "--yes").out == "susy: nothing of it is here\n"


def test_the_table_of_all_datasets_is_the_one_that_the_command_makes(tmp_path):
    assert data("table", "--out", tmp_path / "README.md") == 0
    made = (tmp_path / "README.md").read_text()
    assert (ROOT / "data" / "README.md").read_text() == made
    assert all(f"| `{name}` | [" in made for name in datasets.catalogue())


def test_it_starts_without_anything_heavy():
    code = (
        "import sys; from shallows_papers import cli; cli.main(['data', 'list']); "
        "heavy = ('numpy', 'pandas', 'sklearn', 'scipy', 'requests', 'matplotlib', 'PIL'); "
        "print([module for module in heavy if module in sys.modules], file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert told.stderr.strip() == "[]"


def test_the_command_alone_prints_help_with_three_examples(capsys):
    assert cli.main([]) == 0
    assert capsys.readouterr().out.partition("examples:\n")[2].count("  shallows ") == 3


@pytest.mark.parametrize("command", sorted(set(cli.EXAMPLES) - {"", "data"}))
def test_examples_of_a_command_can_be_parsed(command):
    for line in cli.EXAMPLES[command].strip().splitlines():
        words = line.strip().partition("   ")[0].split()
        assert cli.parser().parse_args(words[1:]).run.__name__ == f"_{command}"


def test_targets_are_listed_by_words_within_the_width_of_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.main(["targets", "EigenPro", "mnist"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "eigenpro" in lines and any(line.startswith("  eigenpro_table6: Table 6") for line in lines)
    assert not any("eigenpro_table_eigratio" in line for line in lines) and max(map(len, lines)) <= 60
    assert cli.main(["targets", "no such words"]) == 2


def test_what_is_wrong_is_refused_before_snakemake_starts(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(watching, "watch", lambda words: pytest.fail("Snakemake was started"))
    (tmp_path / "my.csv").write_text("a,b\n1,2\n")
    assert cli.main(["reproduce", "eigenpro_table66"]) == 2
    assert cli.main(["compare", "my.csv", "--missing", "foo"]) == 2
    told = capsys.readouterr().err
    assert "Did you mean 'eigenpro_table6'?" in told and "no way to fill in missing values 'foo'" in told


@pytest.mark.parametrize("arguments", [["data"], ["data", "fetch"], ["data", "lsit"], ["dta"]])
def test_a_command_that_is_none_is_told_by_its_usage(capsys, arguments):
    with pytest.raises(SystemExit) as told:
        cli.main(arguments)
    assert told.value.code == 2
    assert "usage: shallows" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error():
    code = 'from shallows_papers import cli; raise SystemExit(cli.main(["data", "list"]))'
    command = f"{sys.executable} -c '{code}' | head -1"
    told = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in told.stderr
