"""What keeping the kernel matrix costs, in units of the bare product of the same points with themselves."""

from __future__ import annotations

import statistics

from bench import Bench, Row, row

SIZES = {"automatic batches": None, "batches of 256": 256}


def measure(bench: Bench) -> list[Row]:
    """Whole MNIST. Each process has its own product, half of it before the fit and half of it after."""
    runs: dict[str, list[dict]] = {name: [] for name in SIZES}
    for _ in bench.rounds():
        for name, found in runs.items():
            asked = {"n_train": bench.size(60_000), "batch_size": SIZES[name]}
            label = f"kept kernel matrix, {name}"
            found.append(bench.work("shallows", "kernel_matrix", label, keeps_memory=True, **asked))
    everything = [one for found in runs.values() for one in found]
    touching = statistics.median(one["first_touch_seconds"] / one["product_seconds"] for one in everything)
    building = _share("building the kernel matrix / bare product", "build_seconds", everything, 0.8)
    building.note += f"; its memory was touched before, which takes another {touching:.2f} on this machine"
    return [
        building,
        *(
            _share(f"a later epoch, {name} / bare product", "epoch_seconds", found, 0.12)
            for name, found in runs.items()
        ),
    ]


def _share(what: str, key: str, runs: list[dict], target: float) -> Row:
    kept = min(one["kept_fraction"] for one in runs)
    sizes = "batches of " + " and ".join(str(size) for size in sorted({one["batch_size"] for one in runs}))
    return row(
        what,
        [one[key] / one["product_seconds"] for one in runs],
        target,
        [one["sgemm_gflops"] for one in runs],
        note=sizes if kept == 1.0 else f"not valid: only {100 * kept:.0f} % of the matrix fitted into memory",
    )
