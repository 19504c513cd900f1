"""The log of a job: whole lines for those who watch, kept in a file, errors in their own words."""

import io
import sys

import pytest

from shallows.errors import ShallowsError
from shallows_papers.experiments.running import snakemake_process
from shallows_papers.experiments.running.journal import journal


class Unbuffered(io.StringIO):
    """What another process at the other end of a pipe would be given, piece by piece."""

    def __init__(self):
        super().__init__()
        self.pieces = []

    def write(self, text):
        self.pieces.append(text)
        return len(text)


def watch(monkeypatch):
    stream = Unbuffered()
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def test_a_line_is_passed_on_in_one_piece(monkeypatch, tmp_path):
    seen = watch(monkeypatch)
    with journal(tmp_path / "log"):
        print("a run:", 1.5, flush=True)
        print("another")
    assert seen.pieces == ["a run: 1.5\n", "another\n"]


def test_the_log_keeps_lines_also_unfinished_ones_and_not_the_drawings_of_a_bar(monkeypatch, tmp_path):
    seen = watch(monkeypatch)
    with journal(tmp_path / "log"):
        print("\r 10 %", end="")
        print("\r 20 %", end="")
        print("\ndone")
        print("half", end="")
    assert seen.pieces[:2] == ["\r 10 %", "\r 20 %"] and seen.pieces[-1] == "half"
    assert (tmp_path / "log").read_text() == "\ndone\nhalf"


def test_only_warnings_and_errors_are_passed_on_where_make_shows_the_output(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(snakemake_process.WATCHER, "1")
    with journal(tmp_path / "log"):
        print("a result")
        print("a warning", file=sys.stderr)
    assert capsys.readouterr() == ("", "a warning\n")
    assert (tmp_path / "log").read_text() == "a result\na warning\n"


def test_an_error_on_purpose_ends_the_job_with_its_sentence(tmp_path, capsys):
    with pytest.raises(SystemExit), journal(tmp_path / "log"):
        raise ShallowsError("the bandwidth is 0; it has to be greater than 0")
    assert capsys.readouterr().err == "Error: the bandwidth is 0; it has to be greater than 0\n"
    assert "the bandwidth is 0" in (tmp_path / "log").read_text()


def test_a_fault_leaves_its_traceback_in_the_log(tmp_path):
    with pytest.raises(ZeroDivisionError), journal(tmp_path / "log"):
        1 / 0  # noqa: B018
    assert "ZeroDivisionError" in (tmp_path / "log").read_text()
