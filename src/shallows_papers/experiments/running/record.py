"""Write, read and check the record of a run, ``record.json``, with its provenance, and its curve."""

import csv
import json
import os
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from shallows.errors import ShallowsError
from shallows_papers.datasets.files import replacing, write_json

from ..identity import code

SCHEMA_VERSION = 2
SCHEMA_PATH = Path(__file__).with_name("record.schema.json")

#: The file of the outputs of a trained model on the test part.
OUTPUTS = "outputs.npz"

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "snakemake", "cupy-cuda12x", "cupy-cuda13x", "torch")

# Vector width of processors with these flags, and of OpenBLAS's cores. Other cores are not judged.
_FLAG_LEVELS = (("avx512bw", 3, "AVX-512"), ("avx2", 2, "AVX2"), ("avx", 1, "AVX"))
_CORE_LEVELS = {
    **dict.fromkeys(("skylakex", "cooperlake", "sapphirerapids"), 3),
    **dict.fromkeys(("haswell", "zen", "excavator"), 2),
    **dict.fromkeys(("sandybridge", "bulldozer", "piledriver", "steamroller"), 1),
    **dict.fromkeys(("prescott", "core2", "penryn", "dunnington", "nehalem", "atom", "barcelona", "bobcat"), 0),
}


def write(
    folder: str | Path,
    record: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    outputs: Mapping[str, Any] | None = None,
) -> None:
    """Check the record, and write ``outputs.npz`` if there are outputs, ``curve.csv``, then the record.

    Each file gets its name only when it is complete. ``outputs`` are arrays or lists, see `measures.KeptOutputs`.
    """
    check(record)
    folder = Path(folder)
    if outputs is not None:
        import numpy as np

        with replacing(folder / OUTPUTS) as partial, open(partial, "wb") as file:
            np.savez_compressed(file, **{name: np.asarray(one) for name, one in outputs.items()})
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(folder / "curve.csv") as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_json(folder / "record.json", record)


def read_outputs(folder: str | Path) -> dict[str, Any]:
    """Return the outputs of a run on the test part."""
    import numpy as np

    path = Path(folder) / OUTPUTS
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except (OSError, ValueError, BadZipFile) as error:
        raise ShallowsError(f"{path} cannot be read: {error}. Delete it, to have it made again.") from None


def read(folder: str | Path) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return a run's record and the rows of its curve."""
    folder = Path(folder)
    try:
        record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise ShallowsError(
            f"{folder / 'record.json'} is not valid JSON: {error}. Delete it, to have it made again."
        ) from None
    with open(folder / "curve.csv", newline="", encoding="utf-8") as stream:
        return record, list(csv.DictReader(stream))


def check(record: Mapping[str, Any], place: str | Path = "") -> None:
    """Check a record against its schema; an error names its place, and its version if that is another one."""
    version, named = record.get("schema_version"), f"The record{f' in {place}' if str(place) else ''}"
    if isinstance(version, int) and version != SCHEMA_VERSION:
        raise ShallowsError(
            f"{named} was written by another version of this package (its schema has version {version}, this package "
            f"uses {SCHEMA_VERSION}). Results of two versions cannot be mixed. Move the folder of results away, "
            "or name another with --config results=..., and run it again."
        )
    error = next(iter(_validator().iter_errors(record)), None)
    if error is not None:
        where, remedy = ".".join(map(str, error.path)), ". Delete it, to have it made again." if str(place) else ""
        raise ShallowsError(f"{named} does not agree with its schema at {where or 'the top'}: {error.message}{remedy}")


@cache
def _validator() -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text(encoding="utf-8")))


def plain(value: Any) -> Any:
    """Convert a value to types of JSON: NumPy's numbers become Python's, and non-finite numbers become text."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if value is None or isinstance(value, str | int | bool):
        return value
    return str(value)


def made(
    run: Mapping[str, Any], info: Mapping[str, Any], started: datetime, device: str, **found: Any
) -> dict[str, Any]:
    """Return the record of a run that ends now: the request, the data, the results, and the provenance.

    ``info`` is the record of the preparation; ``peak_memory_bytes`` is measured if ``found`` does not have it.
    """
    from shallows import arrays

    of_data = ("title", "n_train", "n_test", "n_features", "sha256", "licence", "steps")
    return plain(
        {
            "schema_version": SCHEMA_VERSION,
            "run": run,
            "data": {name: info[name] for name in of_data},
            "peak_memory_bytes": arrays.peak_memory(),
            **found,
            **provenance(device),
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
    )


def provenance(device: str = "cpu") -> dict[str, Any]:
    """Return the code, packages, hardware and BLAS of this process for a record; ``"gpu:N"`` selects a GPU."""
    made_on = hardware(int(device.partition(":")[2] or 0))
    return {"code": code.commit(), "packages": packages(), "hardware": made_on, "blas": blas()}


@cache
def packages() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect numbers."""
    from importlib import metadata

    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


@cache
def hardware(gpu: int = 0) -> dict[str, Any]:
    """Return the processor, the cores that this process may use, the main memory and the GPU with the given number."""
    import psutil

    from shallows import arrays

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": _cpu_field("model name") or platform.processor() or platform.machine(),
        "cores": allowed,
        "memory_bytes": psutil.virtual_memory().total,
        "gpu": arrays.gpu_name(gpu),
    }


def blas() -> dict[str, Any]:
    """Return the BLAS library of NumPy, with a warning if its core is older than the processor."""
    import numpy as np  # noqa: F401  (loads the BLAS library)
    import threadpoolctl

    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    pool = min(pools, key=lambda pool: "numpy" not in pool["filepath"].lower(), default={})
    core = pool.get("architecture")
    return {
        "library": pool.get("internal_api", "unknown"),
        "version": pool.get("version"),
        "core": core,
        "threads": pool.get("num_threads"),
        "warning": core_warning(core, (_cpu_field("flags") or "").split()),
    }


def core_warning(core: str | None, flags: Iterable[str]) -> str | None:
    """Return a warning if a BLAS core is older than the processor's instruction set, else None."""
    flags = set(flags)
    able = next(((level, name) for flag, level, name in _FLAG_LEVELS if flag in flags), None)
    used = _CORE_LEVELS.get((core or "").lower())
    if able is None or used is None or used >= able[0]:
        return None
    return (
        f"The BLAS core {core} does not use {able[1]}, which this processor has: "
        "products run at about half their speed. Unset OPENBLAS_CORETYPE where it is set."
    )


def _cpu_field(name: str) -> str | None:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return None


def reset_peak_memory() -> None:
    """Restart the measurement of peak memory if the system can (Linux), so that it is separate for each run."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as control:
        control.write("5")
