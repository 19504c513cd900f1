"""The parts of a plan: runs, preconditioners and series, each with its name."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..identity import code, signatures
from ..parameters import last_name
from . import costs

#: Keys of a method's definition that its runs depend on. Other keys are for readers, plans and comparisons.
OF_THE_RUN = ("runs", "call", "marks", "measures", "takes", "index")

#: Estimators that work with `shallows.distributed.Mpi`, if their solver's settings have ``takes_ranks``.
FITTED_BY_SEVERAL = frozenset(
    f"{family}{kind}" for family in ("KernelRidge", "DoublyStochastic") for kind in ("Classifier", "Regressor")
)


def digest(*parts: Any, length: int = 10) -> str:
    """Return a hash of anything that JSON can write, independent of the order of keys."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def fixed_parameters(definition: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Return the parameters that a method has for a task in every target."""
    return {**definition.get("parameters", {}), **definition.get("parameters_in", {}).get(task, {})}


def slug(parameters: Mapping[str, Any], seed: int, length: int = 60) -> str:
    """Write parameters as a readable part of a path: kernel and bandwidth first, the seed last, numbers after name."""
    first = {"kernel": 0, "bandwidth": 1}
    parts = []
    for name, value in sorted(parameters.items(), key=lambda pair: (first.get(last_name(pair[0]), 2), pair[0])):
        if value is None:
            continue
        if isinstance(value, float):
            value = f"{value:.4g}"
        name = last_name(name)
        parts.append(str(value) if isinstance(value, str) and not value[:1].isdigit() else f"{name}{value}")
    text = re.sub(r"[^A-Za-z0-9.-]+", "", "-".join(parts).replace("_", ""))
    text = text if len(text) <= length else text[:length].rsplit("-", 1)[0]
    return f"{text}-seed{seed}"


@dataclass(frozen=True)
class PreconditionerJob:
    """A preconditioner as a separate artifact, shared by the runs that need the same one."""

    dataset: str
    variant: str
    call: str  # the function that computes it
    parameters: dict[str, Any]
    seed: int
    cost: costs.Cost

    @cached_property
    def id(self) -> str:
        """Hash of everything that the preconditioner depends on."""
        return digest("preconditioner", self.dataset, self.variant, self.call, self.parameters, self.seed)

    @property
    def path(self) -> str:
        """Its file, below the folder of the scale."""
        name = f"{slug(self.parameters, self.seed)}-{self.id}"
        return f"preconditioners/{self.dataset}-{self.variant}/{name}.npz"

    def spec(self) -> dict[str, Any]:
        """Parameters of its job."""
        planned = [*self.files]
        return {"call": self.call, "parameters": self.parameters, "seed": self.seed, "planned": planned}

    @cached_property
    def files(self) -> dict[str, str]:
        """The project's files that it depends on, with their digests."""
        return code.files_of_preconditioner(self.call, self.parameters)


@dataclass(frozen=True)
class PlannedRun:
    """One method on one prepared dataset with one seed.

    Its identity is its dataset, variant, method, parameters, seed and unit. Its ``marks`` are the union of the marks
    that its targets request, in the method's own unit or in another one (``unit``).
    """

    scale: str
    dataset: str
    variant: str
    method: str
    parameters: dict[str, Any]
    seed: int
    marks: tuple[int, ...] = ()
    unit: str = ""
    targets: tuple[str, ...] = ()
    preconditioner: PreconditionerJob | None = None
    cost: costs.Cost = field(default_factory=costs.Cost)

    @cached_property
    def id(self) -> str:
        """Hash of the identity."""
        unit = [self.unit] if self.unit else []
        return digest(self.dataset, self.variant, self.method, self.parameters, self.seed, *unit)

    def can_be_shared(self, methods: Mapping[str, Any]) -> bool:
        """Whether several processes can train it together; not if it is evaluated by time, which would differ."""
        definition = methods[self.method]
        by_clock = (self.unit or definition.get("marks", "epoch")) == "seconds"
        called = [*definition["call"].values()]
        return definition["runs"] == "estimator" and all(map(self._takes_ranks, called)) and not by_clock

    def _takes_ranks(self, place: str) -> bool:
        solver = signatures.class_of(place, "solver", self.parameters)
        takes_ranks = solver is None or signatures.constant(solver, "takes_ranks")
        return place.partition(":")[2] in FITTED_BY_SEVERAL and bool(takes_ranks)

    @property
    def folder(self) -> str:
        """Its folder, below the folder of the scale."""
        name = "-".join(filter(None, (slug(self.parameters, self.seed), self.unit, self.id)))
        return f"runs/{self.dataset}-{self.variant}/{self.method}/{name}"

    def spec(self, methods: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of its job: all that its numbers depend on except the data and the code."""
        definition = {**methods[self.method], **({"marks": self.unit} if self.unit else {})}
        return {
            "id": self.id,
            "scale": self.scale,
            "dataset": self.dataset,
            "variant": self.variant,
            "method": self.method,
            "parameters": self.parameters,
            "seed": self.seed,
            "marks": list(self.marks),
            **({"unit": self.unit} if self.unit else {}),
            "definition": {key: definition[key] for key in OF_THE_RUN if key in definition},
        }


@dataclass(frozen=True)
class Series:
    """What a target measures at one place: the same thing over its seeds.

    ``altered`` has the parameters that differ between this scale and the target: name -> (here, there).
    ``parameters`` has all parameters that its runs share.
    """

    data: str
    method: str
    setting: dict[str, str]
    marks: tuple[int, ...]
    run_ids: tuple[str, ...]
    altered: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
