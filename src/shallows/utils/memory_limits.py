"""Main memory and processors of this process: limits of Linux control groups and of its Slurm job."""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Limit:
    """A limit on main memory and how much of it is used, both in bytes."""

    size: int
    used: int


def main_memory() -> int:
    """Bytes of main memory of this machine, or of the share that a container or a batch system grants."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([whole, *(limit.size for limit in limits())])


def limits(root: str | Path = "/", environment: Mapping[str, str] | None = None) -> list[Limit]:
    """All limits on this process: of its control group, of each group above it, and of its Slurm job.

    ``root``: the folder that contains ``proc/self`` and ``sys/fs/cgroup``. ``environment``: None means ``os.environ``.
    """
    found = [limit for group in _groups(Path(root), "memory") if (limit := _limit_of(*group)) is not None]
    allocated = _slurm_allocation(os.environ if environment is None else environment)
    if allocated is None:
        return found
    import psutil

    return [*found, Limit(allocated, psutil.Process().memory_info().rss)]


def processors(root: str | Path = "/") -> float:
    """The number of processors whose time the control groups of this process may use, rounded up; else infinity."""
    fewest = math.inf
    for group, is_v2 in _groups(Path(root), "cpu"):
        names = ("cpu.max", "cpu.max") if is_v2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        with suppress(OSError, ValueError):  # version 2 writes "max" if there is no limit
            quota = int((group / names[0]).read_text(encoding="ascii").split()[0])
            period = int((group / names[1]).read_text(encoding="ascii").split()[-1])
            if quota > 0:  # version 1 writes -1 if there is no limit
                fewest = min(fewest, max(1, math.ceil(quota / period)))
    return fewest


def _groups(root: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """Folders of the control groups of this process, innermost first, and whether each is of version 2.

    ``controller``: "memory" or "cpu", which in version 1 have different groups.

    ``/proc/self/cgroup`` has the name of the group in the whole hierarchy. Inside a container only a part of the
    hierarchy is mounted; the fourth field of ``/proc/self/mountinfo`` says which part. If the two do not match, the
    mounted folder is used.
    """
    groups = [line.split(":", 2) for line in _lines(root / "proc/self/cgroup") if line.count(":") > 1]
    for line in _lines(root / "proc/self/mountinfo"):
        left, _, right = line.partition(" - ")
        fields, (kind, _, options) = left.split(" "), [*right.split(" ", 2), "", ""][:3]
        is_v2 = kind == "cgroup2"
        if len(fields) < 5 or not (is_v2 or (kind == "cgroup" and controller in options.split(","))):
            continue
        top = root / fields[4].lstrip("/")
        for number, controllers, name in groups:
            is_own = number == "0" and not controllers if is_v2 else controller in controllers.split(",")
            if not is_own:
                continue
            with suppress(ValueError):
                name = PurePosixPath("/") / PurePosixPath(name).relative_to(fields[3])
            inside = [part for part in PurePosixPath(name).parts if part != "/"]
            group = top.joinpath(*inside)
            if ".." in inside or not group.is_dir():
                group = top
            yield from ((folder, is_v2) for folder in (group, *group.parents) if folder.is_relative_to(top))


def _limit_of(group: Path, is_v2: bool) -> Limit | None:
    """The limit of one group, or None if it has no limit."""
    names = ("memory.max", "memory.current") if is_v2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    try:
        size, used = (int((group / name).read_text(encoding="ascii")) for name in names)
    except (OSError, ValueError):  # version 2 writes "max" if there is no limit
        return None
    if size >= 2**60:  # version 1 writes the largest whole number of pages
        return None
    # Cached pages of files count as used, but the system drops them before it refuses memory.
    prefix = "" if is_v2 else "total_"
    counters = dict(line.split(" ", 1) for line in _lines(group / "memory.stat") if " " in line)
    pages = sum(int(counters.get(f"{prefix}{kind}_file", 0)) for kind in ("active", "inactive"))
    return Limit(size, max(used - pages, 0))


def _slurm_allocation(environment: Mapping[str, str]) -> int | None:
    """Bytes of a node that Slurm allocated to its job, or None if the environment does not say."""
    cores = environment.get("SLURM_CPUS_ON_NODE", environment.get("SLURM_JOB_CPUS_PER_NODE", "1"))
    n_cores = float(cores.partition("(")[0].partition(",")[0])
    found = []
    for name, factor in (("SLURM_MEM_PER_NODE", 1), ("SLURM_MEM_PER_CPU", n_cores)):
        with suppress(ValueError):
            found.append(float(environment.get(name, "")) * factor)
    return int(min(positive) * 2**20) if (positive := [megabytes for megabytes in found if megabytes > 0]) else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
