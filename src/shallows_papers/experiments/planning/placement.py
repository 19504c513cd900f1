"""The device of each run: a GPU for targets with a long run, the CPU for all others."""

from .configuration import SCALES
from .plan import Plan
from .runs import PlannedRun, PreconditionerJob


class Placement:
    """The device of every run.

    Loading CUDA and compiling kernels takes longer than many runs. So a run with an estimated time below
    ``gpu_seconds`` (on a CPU) stays on the CPU. The exception, except in the demo, is a run that measures the time of
    the device. Times are compared within a target, so all runs of a target use the same device, and so do targets that
    share a run.
    """

    def __init__(self, plan: Plan):
        self._plan = plan
        self._device: str = plan.configuration.settings["device"]
        self._seconds: float = plan.configuration.settings["gpu_seconds"]
        self._long: dict[str, frozenset[str]] = {}
        self._preconditioners: dict[str, frozenset[str]] = {}

    def device_of(self, member: PlannedRun | PreconditionerJob) -> str:
        """Return ``"cpu"`` for a run that stays there, else the configuration's ``device``."""
        return self._device if self._device == "cpu" or self._is_long(member) else "cpu"

    def gpus(self, member: PlannedRun | PreconditionerJob) -> int:
        """Return how many GPUs to request: one if the configuration demands GPUs and the run is made on one."""
        return int(self._device == "gpu" and self._is_long(member))

    def none_is_used(self, scale: str) -> bool:
        """Whether the configuration demands GPUs but all runs of a scale stay on the CPU."""
        return self._device == "gpu" and not self._long_runs(scale)

    def _is_long(self, member: PlannedRun | PreconditionerJob) -> bool:
        if isinstance(member, PlannedRun):
            return member.id in self._long_runs(member.scale)
        # A preconditioner has no scale: it is the same at all scales.
        self._long_runs(self._plan.configuration.settings["scale"])
        return any(member.id in self._preconditioners[scale] for scale in self._long)

    def _long_runs(self, scale: str) -> frozenset[str]:
        if scale not in self._long:
            self._long[scale] = self._connected_to_long(scale)
            needed = (run.preconditioner for run in self._plan.runs(scale).values() if run.id in self._long[scale])
            self._preconditioners[scale] = frozenset(one.id for one in needed if one is not None)
        return self._long[scale]

    def _connected_to_long(self, scale: str) -> frozenset[str]:
        """Return long runs, and runs that are connected with one through shared targets."""
        runs, methods = self._plan.runs(scale).values(), self._plan.configuration.methods
        timing = {name for name, one in methods.items() if one.get("cost") == "timed" and scale != SCALES[0]}
        connected, found = [], [run for run in runs if run.cost.seconds >= self._seconds or run.method in timing]
        while len(found) > len(connected):
            connected, targets = found, {target for run in found for target in run.targets}
            found = [run for run in runs if not targets.isdisjoint(run.targets)]
        return frozenset(run.id for run in connected)
