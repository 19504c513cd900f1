"""Plant random small faults in the sources, one at a time, and count how many the tests catch.

    python .ci/mutation.py draw FAULTS.json --number 100 --seed 1
    python -m pytest --cov=src --cov-context=test --cov-report= -m "not slow and not workflow and not browser"
    python .ci/mutation.py run FAULTS.json --coverage .coverage

`draw` writes where each fault is planted. `run` collects the tests once, and for each fault without an outcome replaces
the code of its function in a forked process, runs the tests that reach its line, and notes the first that fails.
Compiled functions and what runs at import are changed in the file and put back, so use a clone. Coverage needs
pytest-cov, which is not in the environment. Faults are found again by their function and text, so that the same list
can be run on a later commit: `run --again` forgets all outcomes first. `count` prints the figures.

`.ci/mutation.json` has two lists that were run in this way. Each survivor has a `reason` there, written by hand.
"""

from __future__ import annotations

import argparse
import ast
import collections
import copy
import functools
import gc
import importlib
import json
import os
import pathlib
import random
import re
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterable, Iterator

import pytest
from _pytest.runner import runtestprotocol

TOP = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = (
    *(f"src/shallows/{part}" for part in ("solvers", "fitting", "models", "gram", "spectrum")),
    "src/shallows_papers/experiments/comparing",
)
SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Pow: ast.Mult,
}  # fmt: skip
MOST_TESTS = 150
"""Tests that are run for one fault: those that reach the fewest files, evenly over the test functions."""


def changed(node: ast.AST) -> ast.AST | None:
    """Return the faulty form of a node, or None if it has none."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[operator]) if type(operator) in SWAPS:
            new.ops = [SWAPS[type(operator)]()]
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) if type(operator) in SWAPS:
            new.op = SWAPS[type(operator)]()
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            return new.operand
        case ast.Constant(value=bool()):
            new.value = not new.value
        case ast.Constant(value=int() | float()):
            new.value = new.value + 1 if isinstance(new.value, int) else 2 * new.value
        case ast.If() | ast.IfExp():
            return None if ast.unparse(new.test) == "TYPE_CHECKING" else ast.UnaryOp(ast.Not(), new.test)
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            return ast.Pass()
        case _:
            return None
    return new


def sites(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Yield each place of a possible fault but annotations and messages: its function, the node and its faulty form."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list") or isinstance(
            tree, ast.Raise | ast.JoinedStr | ast.Assert
        ):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST):
                continue
            place = f"{inside}.{node.name}" if isinstance(node, ast.FunctionDef | ast.ClassDef) else inside
            faulty = changed(node)
            if faulty is not None:
                yield place, node.test if isinstance(node, ast.If | ast.IfExp) else node, faulty
            yield from sites(node, place)


def faults_of(path: pathlib.Path) -> Iterator[dict]:
    """Yield the possible faults of a file. `occurrence` distinguishes equal texts of a function."""
    text, seen = path.read_text(encoding="utf-8"), {}
    for place, node, faulty in sites(ast.parse(text)):
        before, after = ast.unparse(node), ast.unparse(faulty)
        key = (place, before, after)
        seen[key] = seen.get(key, -1) + 1
        if before != after:
            yield {"file": str(path.relative_to(TOP)), "function": place.strip("."), "before": before, "after": after,
                   "occurrence": seen[key], "node": node}  # fmt: skip


def draw(number: int, seed: int) -> list[dict]:
    """Draw faults evenly over all places in FOLDERS."""
    files = sorted(path for folder in FOLDERS for path in (TOP / folder).rglob("*.py"))
    found = [fault for path in files for fault in faults_of(path)]
    print(f"{len(found)} places in {len(files)} files", file=sys.stderr)
    drawn = random.Random(seed).sample(found, number)
    return [{"seed": seed, **{k: v for k, v in fault.items() if k != "node"}} for fault in drawn]


def find(fault: dict) -> ast.AST | None:
    """Return the node of a fault in the present sources: in its file, or where its function and text are now."""
    same = ("function", "before", "after", "occurrence")
    files = [TOP / fault["file"], *(path for folder in FOLDERS for path in sorted((TOP / folder).rglob("*.py")))]
    for path in files:
        for other in faults_of(path) if path.exists() else ():
            if all(fault[key] == other[key] for key in same):
                fault["file"] = other["file"]
                return other["node"]
    return None


def planted(text: str, node: ast.AST, after: str) -> str:
    """Return a source with the faulty text instead of a node."""
    lines = text.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line.encode()))
    start = offsets[node.lineno - 1] + node.col_offset
    end = offsets[node.end_lineno - 1] + node.end_col_offset
    new = after if isinstance(node, ast.stmt) else f"({after})"
    return (text.encode()[:start] + new.encode() + text.encode()[end:]).decode()


@functools.cache
def users_of(file: str) -> frozenset[str]:
    """Return the files of sources and tests that import something of a file."""
    wanted, found = module_of(file), set()
    for path in (*(TOP / "src").rglob("*.py"), *(TOP / "tests").glob("*.py")):
        package = module_of(str(path.relative_to(TOP))).split(".")
        package = package if path.stem == "__init__" else package[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                above = package[: len(package) + 1 - node.level] if node.level else []
                origin = ".".join([*above, *(node.module or "").split(".")]).strip(".")
                if wanted in (origin, *(f"{origin}.{alias.name}" for alias in node.names)):
                    found.add(str(path.relative_to(TOP)))
    return frozenset(found)


def module_of(file: str) -> str:
    """Return the name of the module of a file."""
    return file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def tests_of(database: str, file: str, first: int, last: int, known: Iterable[str]) -> list[str]:
    """Return those of the known tests that ran one of the lines.

    For lines that coverage does not see, since they are compiled or run at import, these are the tests that ran
    anything in the file or in a file that imports it, and the tests of files that import it.
    """
    with sqlite3.connect(database) as base:
        rows = base.execute(
            "select file.path, context.context, line_bits.numbits from line_bits "
            "join file on file.id = line_bits.file_id join context on context.id = line_bits.context_id "
            "where context.context != ''"
        ).fetchall()

    def reached(bits: bytes) -> bool:
        return any(bits[n // 8] >> (n % 8) & 1 for n in range(first, last + 1) if n // 8 < len(bits))

    names = {name.partition("|")[0] for path, name, bits in rows if path.endswith("/" + file) and reached(bits)}
    users = users_of(file)
    own = {name for name in known if name.partition("::")[0] in users}
    own |= {name.partition("|")[0] for path, name, _ in rows if path.endswith("/" + file)}
    names = names or own | {name.partition("|")[0] for path, name, _ in rows if path[path.rfind("src/") :] in users}
    # Tests that reach few files come first: they are about this one.
    n_files = collections.Counter(name.partition("|")[0] for _, name, _ in rows)
    by_function: dict[str, list[str]] = {}
    for name in sorted(names.intersection(known), key=lambda name: (name not in own, n_files[name], name)):
        by_function.setdefault(name.partition("[")[0], []).append(name)
    turns = max(map(len, by_function.values()), default=0)
    return [cases[turn] for turn in range(turns) for cases in by_function.values() if turn < len(cases)][:MOST_TESTS]


def replace_in_memory(fault: dict, text: str) -> bool:
    """Give the function of a fault its faulty code in this process; False for compiled code and what runs at import."""
    outer = fault["function"].split(".")
    tree: ast.AST = ast.parse(text)
    names = []
    for name in outer:
        tree = next((node for node in tree.body if getattr(node, "name", None) == name), ast.Pass())
        names.append(name)
        if not isinstance(tree, ast.ClassDef):
            break
    if not isinstance(tree, ast.FunctionDef) or any("jit" in ast.unparse(one) for one in tree.decorator_list):
        return False
    inside = fault["node"]
    if not tree.body[0].lineno <= inside.lineno <= tree.end_lineno:
        return False  # a default value
    module = importlib.import_module(module_of(fault["file"]))
    code: types.CodeType = compile(text, module.__file__, "exec")
    for name in names:
        code = next(one for one in code.co_consts if isinstance(one, types.CodeType) and one.co_name == name)
    found = [
        one
        for one in gc.get_objects()
        if isinstance(one, types.FunctionType)
        and one.__code__.co_filename == module.__file__
        and one.__code__.co_qualname == ".".join(names)
    ]
    for function in found:
        function.__code__ = code
    return bool(found)


class Run:
    """A plugin of pytest that runs, for each fault in a forked process, the tests that reach it."""

    def __init__(self, path: pathlib.Path, database: str, seconds: float) -> None:
        self.path, self.database, self.seconds = path, database, seconds
        self.faults = json.loads(path.read_text(encoding="utf-8"))["faults"]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every fault that has no outcome yet."""
        items = {item.nodeid: (place, item) for place, item in enumerate(session.items)}
        gc.freeze()
        for index, fault in enumerate(self.faults):
            if "outcome" not in fault:
                fault |= self.outcome(fault, items)
                if fault["outcome"] == "caught":
                    fault.pop("reason", None)
                print(
                    f"{index + 1}: {fault['outcome']}: {fault['file']} {fault['before']} -> {fault['after']}",
                    flush=True,
                )
                save(self.path, self.faults)
        return True

    def outcome(self, fault: dict, items: dict[str, tuple[int, pytest.Item]]) -> dict:
        """Plant a fault, run its tests, and return what happened."""
        node = find(fault)
        if node is None:
            return {"outcome": "not in the sources any more"}
        path = TOP / fault["file"]
        names = tests_of(self.database, fault["file"], node.lineno, node.end_lineno, items)
        # First the test that caught it before; files stay whole, so that what a file has prepared is prepared once.
        files = list(dict.fromkeys(name.partition("::")[0] for name in names))
        names.sort(key=lambda name: (name != fault.get("by"), files.index(name.partition("::")[0]), items[name][0]))
        chosen = [items[name][1] for name in names]
        text = path.read_text(encoding="utf-8")
        faulty = planted(text, node, fault["after"])
        if not chosen:
            return {"outcome": "survived", "tests": 0}
        receiver, sender = os.pipe()
        child = os.fork()
        if not child:
            os.close(receiver)
            try:
                answer = "not planted"
                if replace_in_memory({**fault, "node": node}, faulty):
                    answer = "outside of a test"
                    answer = first_failure(chosen)
                else:
                    answer = "elsewhere"
            except BaseException as problem:  # the fault may make pytest itself fail
                answer += f": {type(problem).__name__}: {problem}"
            os.write(sender, answer.encode()[:1000])
            os._exit(0)
        os.close(sender)
        ready, _, _ = select.select([receiver], [], [], self.seconds)
        answer = os.read(receiver, 1000).decode() if ready else f"runs longer than {self.seconds:g} s"
        os.close(receiver)
        if not ready:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if answer == "elsewhere":
            answer = self.in_file(path, text, faulty, [item.nodeid for item in chosen])
        return {
            "outcome": {"none": "survived", "not planted": "not planted"}.get(answer.partition(":")[0], "caught"),
            "tests": len(chosen),
            "by": answer or "the process ended",
        }

    def in_file(self, path: pathlib.Path, text: str, faulty: str, tests: list[str]) -> str:
        """Plant a fault in the file itself, and return the first test that fails."""
        stat, chosen = path.stat(), TOP / ".mutation-tests"
        chosen.write_text("\n".join(tests), encoding="utf-8")
        call = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", f"@{chosen}"]
        try:
            path.write_text(faulty, encoding="utf-8")
            # What other files have compiled may hold the faulty function.
            with tempfile.TemporaryDirectory() as cache:
                env = {**os.environ, "NUMBA_CACHE_DIR": cache}
                done = subprocess.run(
                    call, cwd=TOP, env=env, capture_output=True, text=True, timeout=self.seconds, check=False
                )
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
            return (
                "none" if done.returncode == 0 else failed.group(1) if failed else f"pytest ends with {done.returncode}"
            )
        except subprocess.TimeoutExpired:
            return f"runs longer than {self.seconds:g} s"
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            chosen.unlink()


def first_failure(items: list[pytest.Item]) -> str:
    """Run tests and return the name of the first that fails, or "none"."""
    for place, item in enumerate(items):
        following = items[place + 1] if place + 1 < len(items) else None
        if any(report.failed for report in runtestprotocol(item, nextitem=following, log=False)):
            return item.nodeid
    return "none"


def save(path: pathlib.Path, faults: list[dict]) -> None:
    """Write a list of faults with the commit and the day."""
    said = subprocess.run(["git", "show", "-s", "--format=%h %as"], cwd=TOP, capture_output=True, text=True, check=True)
    commit, day = said.stdout.split()
    text = json.dumps({"commit": commit, "date of the commit": day, "faults": faults}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def count(faults: list[dict]) -> None:
    """Print how many faults of each list were caught, survived for a reason, or survived."""
    for seed in dict.fromkeys(fault["seed"] for fault in faults):
        own = [fault for fault in faults if fault["seed"] == seed]
        kinds = collections.Counter(fault.get("reason", "").partition(":")[0] or fault.get("outcome") for fault in own)
        print(f"seed {seed}: {len(own)} faults, {dict(kinds.most_common())}")


def main() -> None:
    """Read the command line and draw or run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("draw", "run", "count"))
    parser.add_argument("faults", type=pathlib.Path)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--coverage", default=".coverage", help="data of pytest-cov with --cov-context=test")
    parser.add_argument("--again", action="store_true", help="run the faults that have an outcome, too")
    parser.add_argument("--seconds", type=float, default=300, help="after which a fault counts as caught")
    call, rest = parser.parse_known_args()
    if call.command == "draw":
        save(call.faults, draw(call.number, call.seed))
        return
    if call.command == "count":
        count(json.loads(call.faults.read_text(encoding="utf-8"))["faults"])
        return
    options = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow and not workflow and not browser"]
    plugin = Run(call.faults, call.coverage, call.seconds)
    for fault in plugin.faults if call.again else ():
        fault.pop("outcome", None)
    pytest.main([*options, *rest], plugins=[plugin])
    count(plugin.faults)


if __name__ == "__main__":
    main()
