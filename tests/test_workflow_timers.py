"""The scheduler does not look for work by the clock, and the end does not wait for it."""

import time

import pytest

from workflow_runs import PROJECT, snakemake

pytestmark = pytest.mark.workflow

JOBS = """
include: "{rules}/timers.smk"

onstart:
    set_no_timers()

rule all:
    input: [f"{{i}}.first" for i in range(6)], "slow", [f"{{i}}.last" for i in range(2)]

rule first:
    output: touch("{{i}}.first")
    priority: 2

rule slow:
    output: touch("slow")
    priority: 1
    threads: 2
    shell: "sleep 2"

rule last:
    output: touch("{{i}}.last")
"""


def looks(root, *limit):
    """How often the scheduler looked for jobs that can start: six short ones, a slow one, and two that wait for it."""
    (root / "Snakefile").write_text(JOBS.format(rules=PROJECT / "workflow" / "rules"))
    profile = ("--workflow-profile", str(PROJECT / "profiles" / "default"))
    said = snakemake(root, "--cores", "2", "--forceall", "--verbose", *profile, *limit).stdout
    assert "10 of 10 steps (100%) done" in said, said
    return said.count("Ready jobs: ")


def test_it_looks_when_a_job_ends_and_by_the_clock_only_for_a_limit_that_a_person_gives(tmp_path):
    started = time.monotonic()
    assert looks(tmp_path) <= 10
    assert time.monotonic() - started < 25  # less than the timers of the profile's limit
    assert looks(tmp_path, "--max-jobs-per-timespan", "50/1s") > 9
