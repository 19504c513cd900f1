"""Queries to Slurm: whether it keeps accounts of jobs, how large its nodes are, and the resulting limits of jobs."""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

from shallows.errors import ShallowsError

from . import executors
from .costs import Requests

#: Seconds to wait for an answer of Slurm.
PATIENCE = 20.0


@dataclass(frozen=True)
class Nodes:
    """The most that any node has: cores, megabytes, GPUs, and minutes that a job may run; None without a limit."""

    cores: int
    megabytes: int
    gpus: int
    minutes: int | None


def require_plugin() -> None:
    """End the program with one sentence if Snakemake lacks its plugin for Slurm."""
    executors.require("slurm", 'the extra "cluster"', '-e ".[cluster]"')


def keeps_accounts() -> bool:
    """Whether Slurm keeps accounts of finished jobs, which `sacct` reads; True if Slurm does not answer."""
    said = ask("scontrol", "show", "config").stdout
    kept = re.search(r"^AccountingStorageType\s*=\s*(\S+)", said, re.MULTILINE)
    return kept is None or kept[1] not in ("accounting_storage/none", "(null)")


def is_used(words: Iterable[str] = ()) -> bool:
    """Whether a command line sends jobs to Slurm and this process is not such a job."""
    words = [*(words or sys.argv[1:])]
    options = dict(itertools.pairwise(words))
    options |= dict(word.split("=", 1) for word in words if word.startswith("--") and "=" in word)
    if options.get("--executor", options.get("-e", "")).startswith("slurm-"):
        return False
    named = [options.get(option, "") for option in ("--executor", "-e", "--profile")]
    return any("slurm" in os.path.basename(os.path.normpath(one)) for one in named if one)


def launches() -> bool:
    """Whether Slurm starts the processes of a training: its jobs are sent to it, or this process is one of its jobs."""
    return "SLURM_JOB_ID" in os.environ or is_used()


def launcher() -> str:
    """Return the command that starts the processes of a shared training: ``srun`` under Slurm, else ``mpiexec``."""
    return "srun" if launches() else "mpiexec"


def nodes() -> Nodes | None:
    """Return the most that any node has; None if `sinfo` is not on the path or does not answer."""
    lines = [line.split("|") for line in ask("sinfo", "--noheader", "--format=%c|%m|%G|%l").stdout.splitlines()]
    found = [fields for fields in lines if len(fields) == 4]
    if not found:
        return None
    times = [seconds_of(fields[3]) for fields in found]
    return Nodes(
        cores=max(int(re.sub(r"\D", "", fields[0]) or 1) for fields in found),
        megabytes=max(int(re.sub(r"\D", "", fields[1]) or 0) for fields in found),
        # Generic resources, such as gpu:a100:4(S:0-1),nvme:1
        gpus=max(sum(map(int, re.findall(r"(?:^|,)gpu(?::[^:,()]+)?:(\d+)", fields[2]))) for fields in found),
        minutes=None if None in times else max(times) // 60,
    )


def fitted(requests: Requests, largest: Nodes) -> Requests:
    """Limit requests to the threads of a node and the longest time of a job."""
    minutes = [one for one in (requests.most_minutes, largest.minutes) if one is not None]
    threads = min(requests.most_threads, largest.cores)
    return replace(requests, most_threads=threads, most_minutes=min(minutes, default=None))


def inside_job(requests: Requests) -> Requests:
    """Limit requests to the threads of the Slurm job that this process is in.

    Snakemake computes resources again inside the job, where it does not know the nodes.
    """
    given = os.environ.get("SLURM_CPUS_PER_TASK") or os.environ.get("SLURM_CPUS_ON_NODE")
    if "SLURM_JOB_ID" not in os.environ or not (given or "").isdigit():
        return requests
    return replace(requests, most_threads=min(requests.most_threads, int(given)))


def check(jobs: Iterable[tuple[str, int]], largest: Nodes, gpus: int) -> None:
    """Raise an error for jobs, given as (name, megabytes) and GPUs of each, that fit no node and would wait forever."""
    if gpus > largest.gpus:
        raise ShallowsError(
            "Jobs would ask for a GPU (device: gpu), but sinfo lists no node that has one. Use profiles/slurm, or "
            "--config device=auto."
        )
    too_large = sorted((megabytes, name) for name, megabytes in jobs if megabytes > largest.megabytes)
    if too_large:
        most, name = too_large[-1]
        raise ShallowsError(
            f"{len(too_large)} jobs would ask for more memory than a node has ({largest.megabytes:,} MB) and wait "
            f"forever; the largest is {name} with {most:,} MB. Set limits: {{memory: {largest.megabytes // 1000}GB}} "
            "in config/config.yaml: methods that keep a kernel matrix then compute it again each time, which is slower."
        )


def ask(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Slurm; a missing or slow command counts as failed, with the reason as its error."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def seconds_of(limit: str) -> int | None:
    """Return the seconds of a time limit, ``[days-]hours:minutes:seconds`` or ``minutes:seconds``; None without one."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", limit.strip())
    if found is None:  # such as UNLIMITED
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return seconds + 60 * (minutes + 60 * (hours + 24 * days))
