"""Sets the estimates of time and memory beside what finished runs took.

    python benchmarks/cost_model.py results [--write]

Of every record below the folder of results: the estimate of `shallows_papers.experiments.planning`, the seconds and
the peak memory. Settings (a method with its data and parameters, without the seed) are divided into halves by a
checksum; the factors of each half are tried on the other. ``--write`` takes the factors of both into
``src/shallows_papers/experiments/planning/measured_costs.json``. Times count at the demo scale alone, whose runs have
the machine to themselves; memory counts at all scales.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from shallows_papers.experiments.planning import costs, requests
from shallows_papers.experiments.planning.configuration import SCALES
from shallows_papers.experiments.planning.plan import Plan

ROOT = Path(__file__).resolve().parents[1]
#: Weight of a factor of one for memory, among runs of `MEMORY_WEIGHT` each.
MEMORY_PRIOR, MEMORY_WEIGHT = 0.3, 3.0
#: How much the constants of time are held near those that they begin with: of a model near 0.5 s and a factor of one,
#: of a method near its model's. A run weighs as its seconds, within `WEIGHTS`.
PRIORS, WEIGHTS = {"model": 0.5, "method": 1.0}, (0.1, 5.0)
#: Least seconds of the runs whose times are judged; the second of them gives the factor that `make explain` prints.
LEAST_SECONDS = (0.0, 1.0, 5.0)


def records(plan: Plan, results: Path) -> Iterable[dict]:
    """One row for each finished run: its setting, its estimate without factors, and what was measured."""
    for scale in SCALES:
        for run in plan.runs(scale).values():
            path = results / scale / run.folder / "record.json"
            if not path.exists():
                continue
            record = json.loads(path.read_text(encoding="utf-8"))
            model, cost = plan.unscaled_cost(run)
            text = json.dumps([run.dataset, run.variant, run.method, run.parameters, run.unit], sort_keys=True)
            yield {
                "scale": scale,
                "method": run.method,
                "model": model,
                "half": hashlib.sha256(text.encode()).digest()[0] % 2,
                "name": run.folder,
                "estimate": cost,
                "seconds": record["times"]["total"],
                "memory": record["peak_memory_bytes"],
            }


def factors(rows: Sequence[dict]) -> dict[str, dict]:
    """Start, factor of time, factor of memory and the most work measured of each model and of each method."""
    found: dict[str, dict] = {"models": defaultdict(dict), "methods": defaultdict(dict)}
    timed = [row for row in rows if row["scale"] == SCALES[0]]
    for level in ("model", "method"):
        groups: dict[str, list[dict]] = defaultdict(list)
        for row in timed:
            groups[row[level]].append(row)
        for name, group in sorted(groups.items()):
            near = costs.OVERHEAD_SECONDS, 1.0
            if level == "method":
                near = tuple(found["models"][group[0]["model"]][what] for what in ("start", "seconds"))
            start, seconds = start_and_factor(group, near, PRIORS[level])
            most = round(max(0.05, *map(work, group)), 3)
            found[f"{level}s"][name] = {"start": start, "seconds": seconds, "most": most}
        sums: dict[str, list[float]] = defaultdict(lambda: [0.0, MEMORY_PRIOR])
        for row in rows:
            sums[row[level]][0] += MEMORY_WEIGHT * math.log(row["memory"] / row["estimate"].memory_bytes)
            sums[row[level]][1] += MEMORY_WEIGHT
        for name, (total, weight) in sorted(sums.items()):
            found[f"{level}s"][name]["memory"] = float(f"{math.exp(total / weight):.3g}")
    return found


def work(row: dict) -> float:
    """Seconds that the functions of `costs` count beyond the start."""
    return max(0.0, row["estimate"].seconds - costs.OVERHEAD_SECONDS)


def start_and_factor(rows: Sequence[dict], near: tuple[float, float], prior: float) -> tuple[float, float]:
    """The start b and the factor f for which b + f × work is nearest to what runs took, by squared logarithms.

    Runs of less than `costs.OVERHEAD_SECONDS` count as that: how long they are is a matter of which came first in a
    process, and no estimate is less. Both constants are held near those given by ``prior``.
    """
    works = np.array([work(row) for row in rows])
    took = np.maximum([row["seconds"] for row in rows], costs.OVERHEAD_SECONDS)
    weight = np.sqrt(np.clip([row["seconds"] for row in rows], *WEIGHTS))

    def off(logarithms: np.ndarray) -> np.ndarray:
        start, factor = np.exp(logarithms)
        return np.r_[weight * np.log((start + factor * works) / took), prior * (logarithms - np.log(near))]

    start, factor = np.exp(least_squares(off, np.log(near)).x)
    return max(costs.OVERHEAD_SECONDS, float(f"{start:.3g}")), float(f"{factor:.3g}")


def off_by(rows: Sequence[dict], taken: dict | None) -> dict[str, list[tuple[float, dict]]]:
    """By what factor an estimate and what was measured differ, either way; ``taken`` are the factors, None for none."""
    found: dict[str, list] = {"seconds": [], "memory": []}
    if taken is not None:
        costs._measured = lambda: taken
    for row in rows:
        cost = row["estimate"]
        if taken is not None:
            cost = costs.scaled(cost, row["method"], row["model"])
        if row["scale"] == SCALES[0]:
            ratio = cost.seconds / row["seconds"]
            found["seconds"].append((max(ratio, 1 / ratio), row))
        ratio = cost.memory_bytes / row["memory"]
        found["memory"].append((max(ratio, 1 / ratio), row))
    return found


def share(values: Sequence[float], part: float) -> float:
    """The value below which a part of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else math.nan


def tell(title: str, found: dict[str, list[tuple[float, dict]]]) -> dict[str, float]:
    """Print a line for each kind of run; return the factor that holds nine of ten."""
    kept = {}
    for what, least, goal in (*(("seconds", least, 1.5) for least in LEAST_SECONDS), ("memory", 0.0, 1.2)):
        values = [factor for factor, row in found[what] if row["seconds"] >= least]
        if not values:
            continue
        near = sum(value <= goal for value in values) / len(values)
        ninth = share(values, 0.9)
        if what == "memory" or least == LEAST_SECONDS[1]:
            kept[what] = ninth
        of = f"{what} of runs over {least:g} s" if what == "seconds" else what
        print(f"| {title} | {of} | {len(values)} | {share(values, 0.5):.2f} | {ninth:.2f} | {near:.0%} within {goal} |")
    return kept


def share_of_request(row: dict) -> float:
    """The peak of a run over the memory that its job asks for."""
    cost = costs.scaled(row["estimate"], row["method"], row["model"])
    return row["memory"] / 1e6 / requests.Requests().megabytes(cost)


def main() -> None:
    """Entry of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", default=ROOT / "results")
    parser.add_argument("--write", action="store_true", help="take the factors into the package")
    parser.add_argument("--worst", type=int, default=0, help="name so many runs whose time is estimated worst")
    options = parser.parse_args()
    plan = Plan.load(ROOT)
    rows = list(records(plan, options.results))
    print("| factors | of what | runs | median | nine of ten | |")
    print("|---|---|---|---|---|---|")
    tell("none", off_by(rows, None))
    halves = [[row for row in rows if row["half"] == half] for half in (0, 1)]
    held_out: dict[str, list] = {"seconds": [], "memory": []}
    for taken, judged in (halves, halves[::-1]):
        for what, found in off_by(judged, factors(taken)).items():
            held_out[what] += found
    within = tell("of the other half of the settings", held_out)
    analyses = {name for name, one in plan.configuration.methods.items() if one["runs"] == "analysis"}
    of_models = {what: [one for one in found if one[1]["method"] not in analyses] for what, found in held_out.items()}
    tell("the same, trainings of models alone", of_models)
    made = factors(rows)
    everything = off_by(rows, made)
    tell("of all settings", everything)
    other = [
        (max(ratio, 1 / ratio), row)
        for row in rows
        if row["scale"] != SCALES[0]
        for ratio in [costs.scaled(row["estimate"], row["method"], row["model"]).seconds / row["seconds"]]
    ]
    tell("of the demo, at other scales (the machine was shared)", {"seconds": other, "memory": []})
    print(f"\nThe largest peak is {max(map(share_of_request, rows)):.2f} of the memory that its job asks for.")
    long = [one for one in held_out["seconds"] if one[1]["seconds"] > 1]
    for factor, row in sorted(long, key=lambda one: -one[0])[: options.worst]:
        estimate = row["estimate"].seconds
        print(f"{factor:.1f}  {row['model']}  {row['seconds']:.1f} s, estimated {estimate:.1f}  {row['name']}")
    if options.write:
        content = {"within": {name: round(value, 2) for name, value in within.items()}, **made}
        costs.PATH.write_text(one_line_each(content), encoding="utf-8")


def one_line_each(content: dict[str, dict]) -> str:
    """JSON with a line for each model and each method, so that one that changed is a line that changed."""
    parts = []
    for part, members in content.items():
        lines = [f" {json.dumps(name)}: {json.dumps(one)}" for name, one in members.items()]
        parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
