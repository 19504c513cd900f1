"""What a process did for jobs that wait is found by them, and copied by a script that starts no Python."""

import shlex
import subprocess

import report_example
from shallows.experiments.running.shared_process import work
from shallows.report import figures
from shallows.report.figures import FigureTask
from workflow_runs import PROJECT


def declared(name, values):
    """A variable as Snakemake declares it for a script in Bash."""
    entries = " ".join(f"[{key}]={shlex.quote(str(one))}" for key, one in values)
    return f"declare -A snakemake_{name}=( {entries} )"


def test_figures_drawn_besides_are_found_by_their_own_jobs_until_their_numbers_change(tmp_path, monkeypatch):
    pairs = []
    for name, make in (("one", report_example.error_table), ("other", report_example.spectrum)):
        (tmp_path / name).mkdir()
        pairs.append(make(tmp_path / name))
    drawn = []

    def draw(numbers, meta, svg, png):
        drawn.append(numbers)
        for path in (svg, png):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(numbers.read_text())

    monkeypatch.setattr("shallows.report.figures.draw", draw)
    kept = tmp_path / "kept"
    out = [[tmp_path / "figures" / f"{numbers.stem}.{form}" for form in ("svg", "png")] for numbers, _ in pairs]
    first, second = (FigureTask(*pair, kept, "code", paths) for pair, paths in zip(pairs, out, strict=True))
    work(first, [FigureTask(*pairs[1], kept, "code")], seconds=60)
    assert first.out[1].exists() and not second.out[1].exists() and second.is_finished()
    work(second)
    assert len(drawn) == 2 and second.out[0].read_text() == pairs[1][0].read_text()

    pairs[1][0].write_text(pairs[1][0].read_text() + "\n")
    again = FigureTask(*pairs[1], kept, "code", out[1])
    assert not again.is_finished() and not FigureTask(*pairs[0], kept, "other code").is_finished()
    work(again)
    assert len(drawn) == 3 and not figures.is_drawn(second.folder)


def test_the_script_copies_what_is_finished_and_the_output_that_stands_for_all_last(tmp_path):
    kept, out = tmp_path / "kept here", tmp_path / "runs"
    for folder in (kept, out):
        folder.mkdir()
    for name in ("record.json", "curve.csv"):
        (kept / name).write_text(name)
    outputs = [out / "record.json", out / "curve.csv"]
    script = [
        declared("params", [("finished", kept)]),
        declared("output", enumerate(outputs)),
        declared("log", [(0, tmp_path / "log")]),
        (PROJECT / "workflow" / "scripts" / "deliver.sh").read_text(),
    ]

    def run():
        return subprocess.run(["bash", "-c", "\n".join(script)], capture_output=True, text=True, check=False)

    done = run()
    assert done.returncode == 0 and "found finished" in done.stdout
    assert done.stdout == (tmp_path / "log").read_text()
    assert [path.read_text() for path in outputs] == ["record.json", "curve.csv"]
    assert sorted(path.name for path in out.iterdir()) == ["curve.csv", "record.json"]
    for path in (*outputs, kept / "curve.csv"):
        path.unlink()
    assert run().returncode != 0 and not (out / "record.json").exists()
