"""A target's entry in the configuration: its evaluation points and variants, and checks that a schema cannot make.

Its metrics and claims must name existing things, and pass functions parameters that they have. A metric may be any
number in a run's curve or record; this module does not know what methods measure. The workflow imports it whenever it
is parsed, so it imports nothing heavy.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from shallows_papers.papers.claim_functions import ACROSS, REDUCTIONS, find, takes_curves

from ..setting_text import listed, parse_setting
from .configuration import ConfigurationError, look_up, placed

CRITERIA = ("at_most", "at_least", "between", "tolerance")


def marks(group: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the evaluation points of a group of runs, given as a list or as a range with both ends."""
    given = group.get("marks", ())
    if isinstance(given, Mapping) and "seconds" in given:
        return tuple(given["seconds"])
    if isinstance(given, Mapping):
        return tuple(range(given.get("from", 1), given["to"] + 1, given.get("step", 1)))
    return tuple(given)


def unit(group: Mapping[str, Any]) -> str:
    """Return the unit of a group's evaluation points; empty for the method's own unit."""
    return "seconds" if "seconds" in group.get("marks", ()) else ""


def variants(data: Mapping[str, Any]) -> list[str]:
    """Return the variants of a dataset in a target; the runs of several variants are repetitions, as with seeds."""
    given = data["variant"]
    return [given] if isinstance(given, str) else list(given)


def check(target: str, spec: Mapping[str, Any]) -> None:
    """Check the names in the metrics and claims of a target, and that each claim has one criterion."""
    for name, metric in spec["metrics"].items():
        with placed(f"target {target}, metric {name}"):
            if name in spec.get("claims", {}):
                raise ConfigurationError(f"The name {name!r} is both a metric and a claim.")
            if name == spec.get("mark"):
                raise ConfigurationError(f"The name {name!r} is both a metric and the mark. Rename one of them.")
            is_derived = metric.get("evidence") == "derivation"
            is_judged = metric.get("evidence") == "number" and not {"tolerance", "not_measured"} & metric.keys()
            if ("why" in metric) != (is_derived or is_judged) or ("why" in metric and "tolerance" in metric):
                raise ConfigurationError(
                    "A metric needs 'why' if its evidence is 'derivation', or if it is a number without a tolerance, "
                    "which is not compared with the printed one. Other metrics have no 'why'."
                )
            _check_reference(_level(metric), spec)
    for name, claim in spec.get("claims", {}).items():
        with placed(f"target {target}, claim {name}"):
            if sum(one in claim for one in CRITERIA) != (claim["evidence"] != "derivation"):
                raise ConfigurationError(
                    "A derivation has no criterion, since no run can contradict it."
                    if claim["evidence"] == "derivation"
                    else f"The claim needs a criterion, one of {', '.join(CRITERIA)}."
                )
            _check_evidence(claim)
            ways = [key for key in ("at", "reduce") if key in claim]
            if "across" in claim:
                find(claim["across"], ACROSS)
                ways += ["across: " + claim["across"]] * takes_curves(claim["across"])
            if len(ways) > 1:
                raise ConfigurationError(
                    f"A claim has {' or '.join(ways)}, not both: each says which value of a series is compared."
                )
            find(claim.get("reduce", "last"), REDUCTIONS)
            for key in ("of", "over", "less", "to"):
                _check_reference(claim.get(key), spec)
            if isinstance(until := claim.get("to"), Mapping):
                level = spec["metrics"].get(until.get("metric"), {})
                if "first_passage" not in level:
                    raise ConfigurationError(
                        "The metric in 'to' must have a first_passage: the claim is about values up to it."
                    )
            points = _points(spec) if "at" in claim else set()
            if points and claim["at"] not in points:
                known = ", ".join(map(str, sorted(points)))
                raise ConfigurationError(
                    f"at: {claim['at']} is no evaluation point of the target, so the claim would never be judged. Its "
                    f"'marks' have {known}: add it there, or take one of these."
                )
    for one in (*spec.get("causes", ()), *spec.get("calibrated", ())):
        with placed(f"target {target}, {'the cause ' + repr(one['cause']) if 'cause' in one else 'calibrated'}"):
            _check_selection(one.get("where", {}), spec)


def _points(spec: Mapping[str, Any]) -> set[int]:
    """Return the evaluation points of the trainings of a target at all scales; none for analyses."""
    return {point for at in spec["scales"].values() for group in at["runs"] for point in marks(group)}


def check_series(target: str, spec: Mapping[str, Any], methods: Mapping[str, Any]) -> None:
    """Check which methods are ours, and where the settings of the others come from.

    If one method of a target has ``sources``, every parameter of all methods that are not ours needs a source. In the
    project's own configuration all targets need them, see `without_source`.
    """
    entries = spec["methods"]
    for word, entry in entries.items():
        with placed(f"target {target}, method {word}"):
            if "ours" in entry:
                if "ours" in look_up("method", entry["ours"], entries):
                    raise ConfigurationError(f"{entry['ours']!r} is a method of ours, not one of the paper.")
                if not word.endswith("(ours)") or "sources" in entry:
                    raise ConfigurationError(
                        f"A method that is ours has a name that ends in '(ours)', like '{entry['ours']} (ours)', and "
                        "no sources, since it is not judged."
                    )
            elif any("sources" in one for one in entries.values()):
                definition = look_up("method", entry["method"], methods)
                given = _given_parameters(word, spec, definition)
                if unused := [name for name in entry.get("sources", {}) if name not in given]:
                    raise ConfigurationError(
                        f"'sources' has {', '.join(map(repr, unused))}, but the method gets no such parameter. Remove "
                        f"it there, or give the parameter. The method gets {', '.join(sorted(given)) or 'none'}."
                    )
                if missing := without_source(word, spec, definition):
                    raise ConfigurationError(
                        f"No source is given for {', '.join(missing)}. Say under 'sources' where each is printed, in "
                        "which public code of the authors it is, from which printed numbers it is inferred, or why it "
                        "was chosen here."
                    )


def without_source(word: str, spec: Mapping[str, Any], definition: Mapping[str, Any]) -> list[str]:
    """Return the settings of a method that have no source; the source of an object applies to its parameters too."""
    given, known = _given_parameters(word, spec, definition), sources_of(word, spec, definition).keys()
    # The solver is the method.
    return sorted(name for name in given - {"solver"} if not known & {*parents(name)})


def sources_of(word: str, spec: Mapping[str, Any], definition: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """Return the sources of a method's settings: those of its entry, else of the target, else of its definition."""
    needed = {place for name in _given_parameters(word, spec, definition) for place in parents(name)}
    every = {**definition.get("sources", {}), **spec.get("sources", {}), **spec["methods"][word].get("sources", {})}
    return {name: source for name, source in every.items() if name in needed}


def parents(path: str) -> list[str]:
    """Return a path of a parameter, and the paths of the objects that it is in, such as ``solver__step``."""
    parts = path.split("__")
    return ["__".join(parts[: k + 1]) for k in range(len(parts))]


def _given_parameters(word: str, spec: Mapping[str, Any], definition: Mapping[str, Any]) -> set[str]:
    own = [definition.get("parameters", {}), *definition.get("parameters_in", {}).values()]
    given = set(spec["methods"][word].get("parameters", {})).union(*own)
    for choices in spec["settings"].values():
        given |= {choices} if isinstance(choices, str) else {name for choice in choices.values() for name in choice}
    for at in spec["scales"].values():
        for group in (group for group in at["runs"] if word in group.get("methods", spec["methods"])):
            given |= set(group.get("parameters", {}))
            for data in group.get("data", at["data"]):
                given |= set(at["data"].get(data, {}).get("parameters", {}))
    return given


#: The key that this kind of evidence must have and no other kind may have, and its content.
_NEEDED = {
    "could_fail": ("theorem", "which data or code would contradict it"),
    "why": ("derivation", "why no run can contradict it"),
}


def _check_evidence(claim: Mapping[str, Any]) -> None:
    kind = claim["evidence"]
    if {"refuted", "misprint"} & claim.keys() and kind not in ("order", "theorem"):
        raise ConfigurationError(f"A claim whose evidence is {kind!r} cannot be 'refuted': only a statement can.")
    for key, (of_kind, says) in _NEEDED.items():
        if kind == of_kind and key not in claim:
            raise ConfigurationError(f"A claim whose evidence is a {kind} needs {key!r}: {says}.")
    for key, (of_kind, _) in {**_NEEDED, "corrects": ("own", "")}.items():
        if key in claim and kind != of_kind:
            raise ConfigurationError(f"A claim whose evidence is {kind!r} has no {key!r}.")
    if ("fixed" in claim) != (kind not in ("derivation", "own")):
        raise ConfigurationError(
            f"A claim whose evidence is {kind!r} has no 'fixed'."
            if "fixed" in claim
            else "A claim needs 'fixed': when its criterion was set, 'first commit' or 'after a look'."
        )
    if "over" in claim and "less" in claim:
        raise ConfigurationError("A claim has 'over' or 'less', not both: it is about a ratio or about a difference.")
    if claim.get("paired") == "counted" and "less" not in claim:
        raise ConfigurationError("'paired: counted' needs 'less', because it is about the interval of a difference.")
    if claim.get("paired") and "tolerance" in claim:
        raise ConfigurationError("An interval is judged by at_most, at_least or between, not by a tolerance.")


def check_published(target: str, spec: Mapping[str, Any], rows: Iterable[Mapping[str, str]]) -> None:
    """Check that each published row is about settings of the target, and a metric or claim with a kind of evidence."""
    defined = {**spec["metrics"], **spec.get("claims", {})}
    rows = list(rows)
    said = {row["metric"] for row in rows}
    with placed(f"target {target}, its published values"):
        for name in said:
            look_up("metric or claim", name, defined)
        for key in {key for row in rows for key in parse_setting(row["setting"])}:
            look_up("setting", key, [*spec["settings"], *filter(None, [spec.get("mark")])])
    for name, one in spec["metrics"].items():
        with placed(f"target {target}, metric {name}"):
            if name in said and "evidence" not in one:
                raise ConfigurationError("A metric with published values needs 'evidence', the kind of these values.")
            if "tolerance" in one and "fixed" not in one:
                raise ConfigurationError(
                    "A metric with a tolerance needs 'fixed': when the tolerance was set, 'first commit' or 'after a "
                    "look'."
                )
    for name, one in spec.get("claims", {}).items():
        with placed(f"target {target}, claim {name}"):
            if said and (one["evidence"] == "own") == (name in said):
                raise ConfigurationError(
                    "A claim has the evidence 'own' if no paper prints it, and otherwise not; "
                    + ("the published file has it." if name in said else "the published file has no row of it.")
                )


def check_data(target: str, spec: Mapping[str, Any]) -> None:
    """Check that each dataset of the paper has its size, so that a part of it is not mistaken for the whole."""
    kinds = {one.get("evidence") for one in (*spec["metrics"].values(), *spec.get("claims", {}).values())}
    if not kinds & {"number", "order", "theorem"}:
        return
    for word, data in spec["published_data"].items():
        if "dataset" in data and "n_train" not in data:
            with placed(f"target {target}, published_data {word}"):
                raise ConfigurationError("The dataset needs n_train, the number of training points that the paper had.")


def metrics_from_outputs(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the metrics of a target that are computed from the outputs of its models, with the function of each."""
    return {name: one["from_outputs"] for name, one in spec["metrics"].items() if "from_outputs" in one}


def compares_by_point(spec: Mapping[str, Any]) -> bool:
    """Whether a claim of a target compares the errors of two of its models on each test point."""
    claims = spec.get("claims", {}).values()
    return any(one.get("paired") == "counted" and "metric" not in one.get("less", {}) for one in claims)


def needs_outputs(spec: Mapping[str, Any]) -> bool:
    """Whether values of a target are computed from the outputs of its models."""
    return bool(metrics_from_outputs(spec)) or compares_by_point(spec)


def functions_of(spec: Mapping[str, Any]) -> list[str]:
    """Return the functions of a paper that the claims of a target name, as module:function."""
    named = (claim.get(key, "") for claim in spec.get("claims", {}).values() for key in ("reduce", "across"))
    return sorted({name for name in named if ":" in name})


def printed_targets(spec: Mapping[str, Any]) -> list[str]:
    """Return the targets whose printed values are levels of the metrics of a target."""
    levels = map(_level, spec["metrics"].values())
    named = (level["printed"] for level in levels if isinstance(level, Mapping) and "printed" in level)
    return list(dict.fromkeys(named))


def _level(metric: Mapping[str, Any]) -> Any:
    return metric.get("first_passage", {}).get("at_most")


def _check_reference(reference: Any, spec: Mapping[str, Any]) -> None:
    if not isinstance(reference, Mapping):
        return
    for key, wanted in reference.items():
        if key not in ("metric", "printed"):
            look_up("setting", key, ("data", "method", *spec["settings"]))
        if key == "method":
            for word in listed(wanted):
                look_up("method", word, spec["methods"])


def _check_selection(where: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
    """Check that a selection of rows names what the target has."""
    names = {"metric": {**spec["metrics"], **spec.get("claims", {})}, "method": spec["methods"]}
    names["data"] = {word for at in spec["scales"].values() for word in at["data"]}
    for key, wanted in where.items():
        look_up("key of a row", key, (*names, *spec["settings"], spec.get("mark", "")))
        for word in listed(wanted):
            look_up(key, word, names.get(key, (word,)))


def drawn_data(methods: Mapping[str, Any], used: Collection[str]) -> tuple[dict[str, str], str]:
    """Return the data that analyses generate, by method, and the common name if all generate the same data."""
    drawn = {method: methods[method]["makes_data"] for method in sorted(used) if "makes_data" in methods[method]}
    alike = set(drawn.values()) if len(drawn) == len(used) else set()
    return drawn, next(iter(alike)) if len(alike) == 1 else ""
