"""A criterion "of the first commit" is in its target's first commit, as far as the history is available."""

import shutil
import subprocess

import pytest
import yaml

from own_plan import own_plan
from workflow_runs import PROJECT

LIMITS = ("at_most", "at_least", "between")


def git(*arguments):
    done = subprocess.run(["git", "-C", str(PROJECT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def first_entries(wanted):
    """The first entry of each (target, kind, name): in the target's first commit, or in the first one that has it."""
    loader, found = getattr(yaml, "CSafeLoader", yaml.SafeLoader), {}
    log = git("log", "--reverse", "--format=commit %H", "--name-only", "--diff-filter=AM", "--", "config/papers")
    for block in log.split("commit ")[1:]:
        commit, *paths = block.split()
        for path in (path for path in paths if path.endswith(".yaml")):
            text, missing = git("show", f"{commit}:{path}"), wanted - found.keys()
            if any(f"\n  {target}:" in text and f"\n      {name}:" in text for target, _, name in missing):
                targets = yaml.load(text, Loader=loader)["targets"]
                for target, kind, name in missing:
                    if name in (entries := targets.get(target, {}).get(kind, {})):
                        found[target, kind, name] = entries[name]
        if wanted <= found.keys():
            break
    return found


def criterion(entry):
    tolerance = entry.get("tolerance", {})
    parts = {key: tolerance[key] for key in tolerance if key != "reason" and tolerance[key]}
    return {key: entry[key] for key in LIMITS if key in entry} | {"tolerance": parts}


def said_to_be_first(plan):
    for target, spec in plan.targets.items():
        for kind in ("metrics", "claims"):
            for name, entry in spec.get(kind, {}).items():
                if entry.get("fixed") == "first commit":
                    yield target, kind, name, entry


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_criteria_of_the_first_commit_are_what_they_were():
    marked = list(said_to_be_first(own_plan()))
    history = first_entries({(target, kind, name) for target, kind, name, _ in marked})
    if git("rev-parse", "--is-shallow-repository").strip() != "false" or not history:
        pytest.skip("the history is not available")
    assert len(marked) > 50
    for target, kind, name, entry in marked:
        before = history.get((target, kind, name))
        if before is None and "tolerance" not in entry:
            raise AssertionError(f"{target}: {name} is not in the history")
        assert criterion(before or {}) == criterion(entry), (target, name)
