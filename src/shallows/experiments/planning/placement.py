"""Which runs are made on a GPU: those of targets with a long run, since short ones are done before a card begins."""

from __future__ import annotations

from .configuration import SCALES
from .plan import Plan
from .runs import Preconditioner, Run


class Placement:
    """The device of every run, where a GPU is asked for or may be taken.

    A process that uses a GPU loads CUDA and compiles kernels first, which takes longer than many a run. So a run that
    is estimated at less than ``gpu_seconds`` of the configuration (on a CPU) stays on the CPU, but for one whose
    subject is the time of the device, at the scales beyond the demo. Times of methods are compared within a target:
    where one of its runs is made on the GPU, all of them are, and so are those of all targets that share a run with it.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan):
        self._plan = plan
        self._device: str = plan.configuration.settings["device"]
        self._seconds: float = plan.configuration.settings["gpu_seconds"]
        self._long: dict[str, frozenset[str]] = {}
        self._preconditioners: dict[str, frozenset[str]] = {}

    def device_of(self, member: Run | Preconditioner) -> str:
        """``"cpu"`` for what stays there; else the configuration's ``device``."""
        return self._device if self._device == "cpu" or self._is_long(member) else "cpu"

    def gpus(self, member: Run | Preconditioner) -> int:
        """GPUs to ask for: one where the configuration insists on them and the run is made there."""
        return int(self._device == "gpu" and self._is_long(member))

    def none_is_used(self, scale: str) -> bool:
        """Whether GPUs are insisted on, and all runs of a scale stay on the CPU."""
        return self._device == "gpu" and not self._long_runs(scale)

    def _is_long(self, member: Run | Preconditioner) -> bool:
        if isinstance(member, Run):
            return member.id in self._long_runs(member.scale)
        # A preconditioner has no scale; it is the same one wherever it is made.
        self._long_runs(self._plan.configuration.settings["scale"])
        return any(member.id in self._preconditioners[scale] for scale in self._long)

    def _long_runs(self, scale: str) -> frozenset[str]:
        if scale not in self._long:
            found = self._found(scale)
            needed = (run.preconditioner for run in self._plan.runs(scale).values() if run.id in found)
            self._preconditioners[scale] = frozenset(one.id for one in needed if one is not None)
            self._long[scale] = frozenset(found)
        return self._long[scale]

    def _times_the_device(self, run: Run) -> bool:
        definition = self._plan.configuration.methods[run.method]
        return run.scale != SCALES[0] and definition.get("cost") == "timed_iterations"

    def _found(self, scale: str) -> set[str]:
        """Runs that are reached from a long one through targets."""
        runs = self._plan.runs(scale)
        of_target: dict[str, list[str]] = {}
        for run in runs.values():
            for target in run.targets:
                of_target.setdefault(target, []).append(run.id)
        found: set[str] = set()
        open_ = [run.id for run in runs.values() if run.cost.seconds >= self._seconds or self._times_the_device(run)]
        while open_:
            one = open_.pop()
            if one not in found:
                found.add(one)
                open_ += [other for target in runs[one].targets for other in of_target[target] if other not in found]
        return found
