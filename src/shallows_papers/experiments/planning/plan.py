"""The plan: the runs of every target at every scale.

The workflow imports this module whenever it is parsed, so it imports nothing heavy.
"""

import importlib.util
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ..identity import code, project_modules
from ..parameters import by_last_name
from . import configuration, costs, kept_plans, resolved_parameters, target_entry
from .configuration import SCALES, Configuration, ConfigurationError, load, look_up, placed
from .runs import PlannedRun, PreconditionerJob, Series

#: The file formats of a target's numbers, and of its picture if it has one, by their folder.
PRODUCTS = {"tables": ("csv", "json", "md", "html"), "figures": ("svg", "png")}


@dataclass(frozen=True)
class Plan:
    """Every target, run and preconditioner at every scale."""

    configuration: Configuration
    catalogue: Mapping[str, Any]
    deployed: bool = False
    file_name: str = ""  # of `keep`
    #: What `look_around` found when this was planned.
    surroundings: dict[str, Any] = field(default_factory=dict, compare=False)
    #: Digests of code and other results of slow methods, and whether some are "new".
    _known: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def load(cls, root: str | Path = ".", settings: Mapping[str, Any] | None = None, *, deployed: bool = False) -> Self:
        """Read the configuration below ``root`` and plan everything, or read the plan that `keep` wrote.

        Jobs that are ``deployed`` run in separate environments, which have the extras that they need.
        """
        from shallows_papers import datasets

        configuration.refuse_braces(Path.cwd())
        file_name = kept_plans.name_of(Path(root), settings or {}, deployed)
        if (kept := kept_plans.read(file_name)) is not None:
            return kept
        plan = cls(load(root, settings), datasets.catalogue(), deployed, file_name)
        plan.surroundings.update(plan.look_around())
        plan.runs(SCALES[0])  # plans every scale, so that an error in any of them is raised at once
        return plan

    def keep(self) -> None:
        """Write this plan and what was computed with it to a file, which `load` reads while nothing has changed."""
        if self._known.pop("new", False):
            kept_plans.write(self.file_name, self)

    def look_around(self) -> dict[str, Any]:
        """Return what planning finds outside the files of the project: data that a user supplied, installed extras."""
        supplied = (name for name, entry in self.catalogue.items() if entry.state == "supplied")
        return {name: self._to_be_supplied(name) for name in supplied} | {
            extra: self._not_installed(extra) for extra in _PACKAGE_OF
        }

    @cached_property
    def targets(self) -> dict[str, dict[str, Any]]:
        """Targets by identifier, in the order of the files."""
        found: dict[str, dict[str, Any]] = {}
        for name, paper in self.configuration.papers.items():
            for target, spec in paper["targets"].items():
                if target in found:
                    raise ConfigurationError(f"The target {target!r} is in two papers.")
                target_entry.check(target, spec)
                target_entry.check_published(target, spec, self.configuration.published[target])
                target_entry.check_data(target, spec)
                target_entry.check_series(target, spec, self.configuration.methods)
                found[target] = {**spec, "paper": name}
        for target, changes in self._changes.items():
            with placed("changes"):
                resolved_parameters.check_changes(
                    target, look_up("target", target, found), changes, self.configuration.methods
                )
        for target, spec in found.items():
            with placed(f"target {target}, metrics"):
                for one in target_entry.printed_targets(spec):
                    look_up("target", one, found)
        return found

    @property
    def _changes(self) -> dict[str, dict[str, Any]]:
        """Parameters that the user changes, by target."""
        return self.configuration.settings.get("changes") or {}

    @cached_property
    def items(self) -> configuration.Items:
        """All printed items of the papers, by target, checked against the published files; empty without a list."""
        root, folder = self.configuration.root, self.configuration.folder
        found = configuration.read_items(folder, root / "workflow" / "schemas")
        configuration.check_items(found, self.configuration.published)
        return found

    @cached_property
    def summaries(self) -> list[str]:
        """The paths of the papers' summaries."""
        return configuration.summary_paths(self.configuration)

    @property
    def papers(self) -> dict[str, list[str]]:
        """Identifiers of the targets of each paper."""
        return {name: list(paper["targets"]) for name, paper in self.configuration.papers.items()}

    @property
    def figures(self) -> list[str]:
        """Identifiers of the targets with a picture."""
        return [target for target, spec in self.targets.items() if spec.get("figure")]

    def products(self, target: str) -> list[str]:
        """Return the tables and figures of a target, below the folder of its scale."""
        kinds = PRODUCTS if target in self.figures else ["tables"]
        return [f"{kind}/{target}.{ending}" for kind in kinds for ending in PRODUCTS[kind]]

    def target(self, name: str) -> dict[str, Any]:
        """Return the entry of a target; for an unknown name, the error gives the nearest one."""
        return look_up("target", name, self.targets)

    def runs(self, scale: str) -> dict[str, PlannedRun]:
        """Return all runs of a scale, by identifier."""
        return self._expanded[look_up("scale", scale, SCALES)][0]

    def series(self, target: str, scale: str) -> list[Series]:
        """Return what a target measures at a scale."""
        self.target(target)
        return self._expanded[look_up("scale", scale, SCALES)][1][target]

    def runs_of(self, target: str, scale: str) -> list[PlannedRun]:
        """Return the runs that a target needs, each once."""
        wanted = dict.fromkeys(run for series in self.series(target, scale) for run in series.run_ids)
        return [self.runs(scale)[run] for run in wanted]

    def preconditioners(self, scale: str) -> dict[str, PreconditionerJob]:
        """Return all preconditioners of a scale, by identifier."""
        return {run.preconditioner.id: run.preconditioner for run in self.runs(scale).values() if run.preconditioner}

    def run_named(self, scale: str, name: str) -> PlannedRun:
        """Return the run whose folder has this name, which ends with its identifier."""
        return _find_by_folder("run", name, self.runs(scale), scale)

    def preconditioner_named(self, scale: str, name: str) -> PreconditionerJob:
        """Return the preconditioner whose file has this name, without its ending."""
        return _find_by_folder("preconditioner", name, self.preconditioners(scale), scale)

    def job(self, run: PlannedRun) -> dict[str, Any]:
        """Return every parameter of the job of a run."""
        spec = run.spec(self.configuration.methods)
        return {**spec, "target_ids": list(run.targets), "code": self.code_of(run)}

    def code_of(self, run: PlannedRun) -> str:
        """Return the digest of the code that a run depends on."""
        return self._once(("code", run.id), lambda: project_modules.digest(self.files_of(run)))

    def files_of(self, run: PlannedRun) -> dict[str, str]:
        """Return the modules, and the data files of the project, that a run may use, with their digests."""
        definition = self.configuration.methods[run.method]
        return self._once(("files", run.id), lambda: code.files_of_run(definition, run.parameters))

    def names_of_files(self, run: PlannedRun) -> list[str]:
        """Return the names of `files_of` a run, and of the module that offers what it calls."""
        calls = self.configuration.methods[run.method]["call"].values()
        return [*self.files_of(run), *(place.partition(":")[0] for place in calls)]

    def code_of_preparation(self, dataset: str, variant: str) -> str:
        """Return the digest of the code that a preparation depends on."""
        steps = self.configuration.steps_of(variant)
        return self._once((dataset, variant), lambda: code.digest_of_preparation(self.catalogue[dataset], steps))

    def code_of_script(self, path: Path, called: Iterable[str] = ()) -> str:
        """Return the digest of the code that a script of the workflow imports or calls by name."""
        called = (*called,)
        return self._once((path.name, called), lambda: code.digest_of_script(path, called))

    def _once(self, key: Any, compute: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known.update({key: compute(), "new": True})
        return self._known[key]

    @cached_property
    def _expanded(self) -> dict[str, tuple[dict[str, PlannedRun], dict[str, list[Series]]]]:
        return {scale: self._expand(scale) for scale in SCALES}

    def _expand(self, scale: str) -> tuple[dict[str, PlannedRun], dict[str, list[Series]]]:
        merged: dict[str, PlannedRun] = {}
        series: dict[str, list[Series]] = {}
        for target, spec in self.targets.items():
            with placed(f"target {target}, scale {scale}"):
                found = list(self._series(target, spec, scale))
            series[target] = [one for one, _ in found]
            for _, runs in found:
                for run in runs:
                    before = merged.get(run.id, run)
                    merged[run.id] = replace(
                        run,
                        marks=tuple(sorted({*before.marks, *run.marks})),
                        targets=tuple(dict.fromkeys((*before.targets, target))),
                    )
        runs = {name: replace(run, cost=self._cost(run)) for name, run in merged.items()}
        return runs, series

    def _series(self, target: str, spec: dict[str, Any], scale: str) -> Iterator[tuple[Series, list[PlannedRun]]]:
        at = spec["scales"][scale]
        absent, changes = self.absent(target, scale), self._changes.get(target, {})
        for group in at["runs"]:
            # Runs on missing data are planned too: they can be made once the data are there.
            words = [word for word in _select("dataset", group.get("data"), at["data"]) if word not in absent]
            methods = _select("method", group.get("methods"), spec["methods"])
            axes = list(_axes(spec["settings"], group.get("settings", {})))
            marks, unit = target_entry.marks(group), target_entry.unit(group)
            seeds = self.configuration.settings["seeds"] or group.get("seeds", at["seeds"])
            for word, method, *choices in itertools.product(words, methods, *axes):
                data, entry = at["data"][word], spec["methods"][method]
                definition = look_up("method", entry["method"], self.configuration.methods)
                if self._not_installed(definition.get("extra")):
                    continue
                look_up("dataset", data["dataset"], self.catalogue)
                for variant in target_entry.variants(data):
                    look_up("variant", variant, self.configuration.variants)
                own = {name: value for _, _, given in choices for name, value in given.items()}
                task, given = self.catalogue[data["dataset"]].task, [one.get("parameters", {}) for one in (group, data)]
                parameters, altered = resolved_parameters.resolve(definition, task, spec, method, own, given, changes)
                run = PlannedRun(scale, data["dataset"], "", entry["method"], parameters, 0, marks, unit)
                runs = [
                    self._with_preconditioner(replace(run, variant=variant, seed=seed), definition)
                    for variant in target_entry.variants(data)
                    for seed in seeds
                ]
                setting = {axis: value for axis, value, _ in choices}
                ids = tuple(run.id for run in runs)
                yield Series(word, method, setting, marks, ids, altered, parameters), runs

    def _with_preconditioner(self, run: PlannedRun, definition: Mapping[str, Any]) -> PlannedRun:
        """Return a run with its preconditioner, unless the run itself chooses a parameter that this depends on."""
        made = definition.get("preconditioner")
        if not made:
            return run
        own = {
            name.removeprefix("solver__").removeprefix("features__"): value
            for name, value in run.parameters.items()
            if name in made["takes"] or name.removeprefix("features__").startswith("kernel__")
        }
        if code.AUTOMATIC in own.values():
            return run
        size = self.size(run.dataset, run.variant)
        cost = costs.estimate(made["cost"], size, {"n_subsample": costs.DEFAULT_WIDTH, **own}, (1,))
        job = PreconditionerJob(run.dataset, run.variant, made["call"], own, run.seed, cost)
        return replace(run, preconditioner=job)

    def absent(self, target: str, scale: str) -> dict[str, str]:
        """Say why some of a target's datasets are not used at a scale, by the paper's words for them.

        The configuration leaves them out, the user has not supplied them yet, or an extra is not installed.
        """
        reasons = {}
        for word, data in self.target(target)["scales"][scale]["data"].items():
            reasons[word] = (
                data.get("missing")
                or self._to_be_supplied(data["dataset"])
                or next(filter(None, map(self._missing_extra, target_entry.variants(data))), None)
            )
        return {word: reason for word, reason in reasons.items() if reason}

    def _missing_extra(self, variant: str) -> str | None:
        """Say why a variant cannot be prepared without an extra; None if it can."""
        from shallows_papers.datasets.preparation.steps import STEPS

        steps = self.configuration.steps_of(variant) if variant in self.configuration.variants else ()
        extras = (STEPS[name].extra for step in steps for name in step if name in STEPS)
        return next(filter(None, map(self._not_installed, extras)), None)

    def _not_installed(self, extra: str | None) -> str | None:
        return None if self.deployed else _not_installed(extra)

    def extra_of_run(self, run: PlannedRun) -> str | None:
        """Return the extra that a run needs."""
        return self.configuration.methods[run.method].get("extra")

    def extra_of_preparation(self, dataset: str, steps: Iterable[Mapping[str, Any]]) -> str | None:
        """Return the extra that a preparation needs, for one of its steps or to generate the data."""
        from shallows_papers.datasets.preparation.steps import STEPS

        extras = (STEPS[name].extra for step in steps for name in step)
        generator = self.catalogue[dataset].generator or {}
        return next(filter(None, extras), None) or _EXTRA_OF_GENERATOR.get(generator.get("name"))

    def _left_out(self, target: str, scale: str) -> str:
        """Say why some of a target's methods are not run at a scale."""
        spec = self.target(target)
        reasons = [spec["scales"][scale].get("left_out", "")]
        for word, entry in spec["methods"].items():
            extra = self.configuration.methods.get(entry["method"], {}).get("extra")
            reasons += [f"{word} {reason}"] if (reason := self._not_installed(extra)) else []
        return "; ".join(filter(None, reasons))

    def _to_be_supplied(self, dataset: str) -> str | None:
        from shallows_papers.datasets.download import supplied_files

        entry, settings = self.catalogue.get(dataset), self.configuration.settings
        # The path is relative to the folder from which the workflow runs, as for all data.
        place = Path(settings["data"]) / "raw" / dataset
        if entry is None or entry.state != "supplied" or supplied_files.is_there(entry, place, settings["mirror"]):
            return None
        return supplied_files.not_run(entry, place)

    def size(self, dataset: str, variant: str) -> costs.ProblemSize:
        """Return the sizes of prepared data, as known before the preparation."""
        if (dataset, variant) not in self._sizes:
            steps = self.configuration.steps_of(variant)
            self._sizes[dataset, variant] = self._size_after(self.catalogue[dataset], steps)
        return self._sizes[dataset, variant]

    @staticmethod
    def _size_after(entry: Any, steps: list[dict[str, Any]]) -> costs.ProblemSize:
        from shallows_papers.datasets import shape_after

        return costs.ProblemSize(*shape_after(entry, steps), entry.n_classes or entry.n_targets)

    @cached_property
    def _sizes(self) -> dict[tuple[str, str], costs.ProblemSize]:
        return {}  # for the few data that thousands of runs share

    def cost_of_preparation(self, dataset: str, variant: str) -> costs.Cost:
        """Return the cost of preparing a dataset, from its sizes before and after its steps and the nets it trains."""
        entry, steps = self.catalogue[dataset], self.configuration.steps_of(variant)
        rows = (entry.n_train or 0) + (entry.n_test or 0)
        cost = costs.preparation(rows, entry.n_features or 1, self.size(dataset, variant))
        for place in range(len(steps) - len(self.configuration.variants[variant]["steps"]), len(steps)):
            if net := steps[place].get("net_features"):
                size = self._size_after(entry, steps[:place])
                trained_on = replace(size, n_train=net.get("rows") or size.n_train)
                training = costs.estimate("rows", trained_on, {}, (net.get("epochs") or 10,))
                cost = costs.Cost(cost.seconds + training.seconds, max(cost.memory_bytes, training.memory_bytes))
        return cost

    def comparison(self, target: str, scale: str) -> dict[str, Any]:
        """Return what the comparison of a target with its paper needs in addition to the measurements."""
        return self._once(("comparison", target, scale), lambda: self._comparison(target, scale))

    def _comparison(self, target: str, scale: str) -> dict[str, Any]:
        spec = self.target(target)
        paper = self.configuration.papers[spec["paper"]]
        at = spec["scales"][scale]
        sizes, absent = {}, self.absent(target, scale)
        used = {run.method for run in self.runs_of(target, scale)}
        makes_data, drawn = target_entry.drawn_data(self.configuration.methods, used)
        for word, data in at["data"].items():
            if word in absent:
                continue
            name, title, n_train, n_test = drawn, drawn, "", ""
            if not drawn:
                name, size = data["dataset"], self.size(data["dataset"], target_entry.variants(data)[0])
                title, n_train, n_test = self.catalogue[name].title, size.n_train, size.n_test
            sizes[word] = {"dataset": name, "title": title, "n_train": n_train, "n_test": n_test}
        return {
            "target": target,
            "scale": scale,
            "spec": {key: value for key, value in spec.items() if key != "scales"},
            "paper": {"title": paper["title"], "citation": paper["citation"]},
            "method": next(iter(spec["methods"])),
            "sources": {
                word: target_entry.sources_of(word, spec, self.configuration.methods[entry["method"]])
                for word, entry in spec["methods"].items()
                if "ours" not in entry
            },
            "series": [asdict(series) for series in self.series(target, scale)],
            "published": self.configuration.published[target],
            "printed": {one: self.configuration.published[one] for one in target_entry.printed_targets(spec)},
            "sizes": sizes,
            "makes_data": makes_data,
            "missing": absent,
            "left_out": self._left_out(target, scale),
            "no_row": [f"{one['item']}: {one['why_not']}" for one in self.items.get(target, ()) if "why_not" in one],
        }

    def _cost(self, run: PlannedRun) -> costs.Cost:
        definition = self.configuration.methods[run.method]
        size, unit = self.size(run.dataset, run.variant), run.unit or definition.get("marks", "epoch")
        return costs.estimate(definition.get("cost", costs.SMALL), size, by_last_name(run.parameters), run.marks, unit)


#: The package that shows that an extra is installed.
_PACKAGE_OF = {"nets": "torch"}
_EXTRA_OF_GENERATOR = {"smiles_molecules": "chem"}


def _not_installed(extra: str | None) -> str | None:
    """Say why something that needs an extra is not run; None if the extra is installed."""
    if extra is None or importlib.util.find_spec(_PACKAGE_OF[extra]) is not None:
        return None
    return f"needs the optional packages of the extra '{extra}': pip install 'shallows[{extra}]'"


def _find_by_folder(kind: str, name: str, known: Mapping[str, Any], scale: str) -> Any:
    with placed(f"scale {scale}, {name}"):
        return look_up(kind, name.rpartition("-")[2], known)


def _select(kind: str, wanted: list[Any] | None, known: Mapping[str, Any]) -> list[str]:
    for name in wanted or ():
        look_up(kind, name, known)
    return list(known if wanted is None else wanted)


def _axes(
    settings: Mapping[str, Any], wanted: Mapping[str, list[Any]]
) -> Iterator[list[tuple[str, str, dict[str, Any]]]]:
    """Yield for each axis its values: (axis, word, parameters)."""
    for axis in wanted:
        look_up("setting", axis, settings)
    for axis, choices in settings.items():
        if isinstance(choices, str):
            if axis not in wanted:
                raise ConfigurationError(f"The axis {axis!r} has no values.")
            yield [(axis, str(value), {choices: value}) for value in wanted[axis]]
        else:
            yield [(axis, str(word), choices[word]) for word in _select(axis, wanted.get(axis), choices)]
