"""How much main memory this process may take: the limits of control groups, and what Slurm gives to its job."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Limit:
    """A limit on main memory, and how much of it is taken, both in bytes."""

    size: int
    used: int


def main_memory() -> int:
    """Bytes of main memory that this machine has, or that a container's or a batch system's share of it holds."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([whole, *(limit.size for limit in limits())])


def limits(root: str | Path = "/", environment: Mapping[str, str] | None = None) -> list[Limit]:
    """All limits that hold for this process: of its control group and of each one above it, and of its Slurm job.

    ``root``: where ``proc/self`` and ``sys/fs/cgroup`` are looked for. ``environment``: environment variables; those of
    the process by default. Returns: empty where nothing limits the process.
    """
    found = [limit for group in _memory_groups(Path(root)) if (limit := _limit_of(*group)) is not None]
    asked = _slurm_allocation(os.environ if environment is None else environment)
    return found if asked is None else [*found, Limit(asked, _resident_bytes())]


def _memory_groups(root: Path) -> Iterator[tuple[Path, bool]]:
    """Folders of the control groups that this process is in, innermost first, and whether each is of version 2.

    ``/proc/self/cgroup`` names the group as it is called in its whole hierarchy. Inside a container only a part of that
    is mounted; which one, the fourth field of ``/proc/self/mountinfo`` tells. Where the two do not fit together, the
    mounted folder itself is taken for the group.
    """
    for mounted, mount_point, is_v2 in _mounts(root):
        for name in _group_names(root, is_v2):
            with suppress(ValueError):
                name = PurePosixPath("/") / PurePosixPath(name).relative_to(mounted)
            inside = [part for part in PurePosixPath(name).parts if part != "/"]
            top = root / mount_point.lstrip("/")
            group = top.joinpath(*inside)
            if ".." in inside or not group.is_dir():
                group = top
            yield from ((one, is_v2) for one in (group, *group.parents) if one == top or top in one.parents)


def _mounts(root: Path) -> Iterator[tuple[str, str, bool]]:
    """What part of a hierarchy is mounted, where, and whether it is of version 2."""
    for line in _lines(root / "proc/self/mountinfo"):
        left, _, right = line.partition(" - ")
        kind, _, options = [*right.split(" ", 2), "", ""][:3]
        fields = left.split(" ")
        if len(fields) < 5 or not (kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(","))):
            continue
        yield fields[3], fields[4], kind == "cgroup2"


def _group_names(root: Path, is_v2: bool) -> Iterator[str]:
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if (number == "0" and not controllers) if is_v2 else "memory" in controllers.split(","):
            yield name


def _limit_of(group: Path, is_v2: bool) -> Limit | None:
    """The limit of one group; None where it has none."""
    names = ("memory.max", "memory.current") if is_v2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    try:
        size, used = (int((group / name).read_text(encoding="ascii")) for name in names)
    except (OSError, ValueError):  # version 2 writes "max" where nothing limits
        return None
    if size >= 2**60:  # version 1 writes the largest whole number of pages
        return None
    # Pages of files count as used, but are dropped before anything is refused.
    prefix = "" if is_v2 else "total_"
    counters = dict(line.split(" ", 1) for line in _lines(group / "memory.stat") if " " in line)
    pages = sum(int(counters.get(f"{prefix}{kind}_file", 0)) for kind in ("active", "inactive"))
    return Limit(size, max(used - pages, 0))


def _slurm_allocation(environment: Mapping[str, str]) -> int | None:
    """Bytes that the environment of a Slurm job names as the job's share of its node; None where it names none."""

    def number(name: str) -> float:
        with suppress(ValueError):
            return float(environment.get(name, ""))
        return math.nan

    cores = environment.get("SLURM_CPUS_ON_NODE", environment.get("SLURM_JOB_CPUS_PER_NODE", "1"))
    per_core = number("SLURM_MEM_PER_CPU") * float(cores.partition("(")[0].partition(",")[0])
    found = [megabytes for megabytes in (number("SLURM_MEM_PER_NODE"), per_core) if megabytes > 0]
    return int(min(found) * 2**20) if found else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _resident_bytes() -> int:
    import psutil

    return psutil.Process().memory_info().rss
