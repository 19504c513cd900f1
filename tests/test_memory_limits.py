"""The limits of containers and batch systems, read from made-up trees of the files in which Linux reports them."""

import subprocess
import sys

import pytest

from shallows import arrays
from shallows.utils import memory_limits

V1_MOUNT = "35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
V2_MOUNT = "31 23 0:28 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
UNLIMITED_V1 = 9223372036854771712
JOB = "slurm/uid_0/job_7/step_0/task_0"


def tree(root, mount, named, groups):
    """Write what /proc says, and groups: path below the mounted folder -> names and contents of its files."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text("22 1 0:20 / / rw - ext4 /dev/sda rw\n" + mount)
    (root / "proc/self/cgroup").write_text(named)
    top = root / mount.split()[4].lstrip("/")
    top.mkdir(parents=True)
    for path, files in groups.items():
        folder = top / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(f"{content}\n")
    return root


def v1(limit, usage, stat=""):
    return {"memory.limit_in_bytes": limit, "memory.usage_in_bytes": usage, "memory.stat": stat}


def v2(limit, usage, stat=""):
    return {"memory.max": limit, "memory.current": usage, "memory.stat": stat}


def v1_quota(processors):
    return {"cpu.cfs_quota_us": 100_000 * processors, "cpu.cfs_period_us": 100_000}


def sizes(root, environment=()):
    return [(limit.size, limit.used) for limit in memory_limits.limits(root, dict(environment))]


def test_the_limit_of_a_job_of_slurm_stands_in_its_own_group_and_in_those_above_it(tmp_path):
    groups = {"": v1(UNLIMITED_V1, 9 * 10**9), "slurm/uid_0/job_7": v1(800, 300), JOB: v1(1000, 200)}
    root = tree(tmp_path, V1_MOUNT.format(root="/"), f"5:devices:/x\n4:memory:/{JOB}\n0::/\n", groups)
    assert sizes(root) == [(1000, 200), (800, 300)]


def test_groups_of_version_two_are_read_up_the_tree(tmp_path):
    groups = {"": {}, "slice": v2("max", 5), "slice/job_7": v2(4000, 100), "slice/job_7/step": v2("max", 90)}
    root = tree(tmp_path, V2_MOUNT.format(root="/"), "0::/slice/job_7/step\n", groups)
    assert sizes(root) == [(4000, 100)]


@pytest.mark.parametrize("version", [1, 2])
def test_pages_of_files_that_were_read_do_not_count_as_taken(tmp_path, version):
    old = {"": v1(1000, 900, "inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 200")}
    new = {"": v2(1000, 900, "inactive_file 300\nactive_file 200")}
    mount, line, groups = (V1_MOUNT, "4:memory:/\n", old) if version == 1 else (V2_MOUNT, "0::/\n", new)
    assert sizes(tree(tmp_path, mount.format(root="/"), line, groups)) == [(1000, 400)]


def test_a_machine_without_groups_or_with_groups_that_limit_nothing_has_no_limits(tmp_path):
    assert sizes(tmp_path) == []
    groups = dict.fromkeys(("", "a"), v1(UNLIMITED_V1, 5))
    assert sizes(tree(tmp_path / "free", V1_MOUNT.format(root="/"), "4:memory:/a\n", groups)) == []


@pytest.mark.parametrize(
    ("environment", "megabytes"),
    [
        ({"SLURM_MEM_PER_NODE": "2000"}, 2000),
        ({"SLURM_MEM_PER_CPU": "500", "SLURM_CPUS_ON_NODE": "4"}, 2000),
        ({"SLURM_MEM_PER_CPU": "500", "SLURM_JOB_CPUS_PER_NODE": "4(x2),2"}, 2000),
        ({"SLURM_MEM_PER_NODE": "0"}, None),  # all that the node has
        ({"SLURM_MEM_PER_NODE": "much"}, None),
    ],
)
def test_the_share_that_slurm_names_is_a_limit_where_no_group_is(tmp_path, environment, megabytes):
    found = memory_limits.limits(tmp_path, environment)
    assert [limit.size for limit in found] == ([] if megabytes is None else [megabytes * 2**20])
    assert all(2**20 < limit.used < 2**40 for limit in found)  # what this very process holds


def test_the_budget_and_the_memory_of_the_machine_keep_to_the_least_limit(monkeypatch):
    both = [memory_limits.Limit(900 * 2**20, 0), memory_limits.Limit(800 * 2**20, 300 * 2**20)]
    monkeypatch.setattr(memory_limits, "limits", lambda: both)
    assert arrays.available_memory() == 500 * 2**20
    assert arrays.memory_budget(None) == int(0.7 * 500 * 2**20)
    assert memory_limits.main_memory() == 800 * 2**20


@pytest.mark.parametrize(
    ("mount", "named", "groups", "expected"),
    [
        (V2_MOUNT, "0::/a/b\n", {"a": {"cpu.max": "150000 100000"}, "a/b": {"cpu.max": "max 100000"}}, 2),
        (V2_MOUNT, "0::/\n", {"": {"cpu.max": "5000 100000"}}, 1),
        (V1_MOUNT.replace("memory", "cpu"), "4:memory:/a\n2:cpu:/b\n", {"a": v1_quota(1), "b": v1_quota(3)}, 3),
        (V1_MOUNT.replace("memory", "cpu,cpuacct"), "2:cpu,cpuacct:/\n", {"": v1_quota(-1)}, float("inf")),
    ],
)
def test_a_quota_of_processor_time_limits_the_processors(tmp_path, mount, named, groups, expected):
    assert memory_limits.processors(tree(tmp_path, mount.format(root="/"), named, groups)) == expected


def test_threads_keep_within_the_quota_of_a_container():
    program = """
from shallows.utils import memory_limits
memory_limits.processors = lambda: 1
import threadpoolctl
from shallows import arrays
with threadpoolctl.threadpool_limits(2, user_api="blas"):
    assert arrays.n_threads() == 1
    libraries = threadpoolctl.threadpool_info()
    assert {library["num_threads"] for library in libraries if library["user_api"] == "blas"} == {1}
"""
    subprocess.run([sys.executable, "-c", program], check=True)
