"""Errors of this package. Each message says what is wrong, what was expected and what to do."""

import difflib
import dis
import importlib.util
import sys
from collections.abc import Collection, Hashable, Iterable


class ShallowsError(Exception):
    """Base class of the errors of this package."""


class UnknownNameError(ShallowsError, ValueError):
    """An unknown name. ``kind``: what the name should be, such as ``"dataset"``. ``known``: the names that exist."""

    def __init__(self, kind: str, name: object, known: Iterable[str]):
        known = sorted(map(str, known))
        folded = {item.casefold(): item for item in known}
        near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6) if isinstance(name, str) else []
        hint = f" Did you mean {folded[near[0]]!r}?" if near else ""
        listed = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        super().__init__(f"There is no {kind} {name!r}.{hint} Known: {listed}.")
        self.kind, self.name, self.known = kind, name, known

    @classmethod
    def check(cls, kind: str, name: object, known: Collection[str]) -> None:
        """Raise the error if a value is not one of the known names."""
        if not (isinstance(name, Hashable) and name in known):
            raise cls(kind, name, known)


class MissingExtraError(ShallowsError, ImportError):
    """Optional packages are not installed.

    ``extra``: the extra of ``pyproject.toml`` with the packages. ``purpose``: what needs them, such as "device='gpu'".
    """

    def __init__(self, extra: str, purpose: str):
        super().__init__(
            f"{purpose} needs the optional packages of the extra '{extra}': pip install 'shallows[{extra}]' "
            f"(in a clone of the project: pip install '.[{extra}]')."
        )
        self.extra = extra

    @classmethod
    def check(cls, extra: str, purpose: str, *packages: str) -> None:
        """Raise the error if one of the packages is not installed. ``packages``: their names in import statements."""
        if any(importlib.util.find_spec(package) is None for package in packages):
            raise cls(extra, purpose)


class TooFewDirectionsError(ShallowsError, ValueError):
    """The data have fewer components than requested."""


class PrecisionError(ShallowsError, ArithmeticError):
    """Rounding in float32 loses what a fit needs. With ``dtype="auto"`` fits are repeated in float64."""


class DivergenceError(ShallowsError, ArithmeticError):
    """Training diverged. The message names the step size."""


class DeviceError(ShallowsError, RuntimeError):
    """A GPU failed during a training."""


class DeviceMemoryError(ShallowsError, MemoryError):
    """A GPU has no room for an array of a fit."""


class TrainingInterrupted(ShallowsError):
    """Training was stopped by a signal. A checkpoint was written, and the next run continues from it."""


class CheckpointError(ShallowsError):
    """A checkpoint belongs to another run or cannot be read."""


def unknown_attribute(module: str, name: str, known: Iterable[str]) -> Exception:
    """The error for a missing attribute of a module, with up to four similar names of the ``known`` ones.

    It is an ImportError in the statement ``from module import name``, where Python would replace the message of an
    AttributeError. Otherwise it is an AttributeError, so that ``hasattr`` works.
    """
    message = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(message, name=name)
    near = [repr(similar) for similar in _similar_names(name, known)]
    if near:
        message += f". Did you mean {' or '.join(filter(None, [', '.join(near[:-1]), near[-1]]))}?"
    return missing_attribute(module, name, message)


def missing_attribute(module: str, name: str, message: str) -> Exception:
    """The error with a message for a missing attribute: an ImportError in ``from module import name``."""
    if _is_imported_by_name():
        return ImportError(message, name=module)
    return AttributeError(message, name=name)


def _similar_names(name: str, known: Iterable[str]) -> list[str]:
    """At most four names that contain ``name`` in any case, or else the most similar names."""
    folded = {item.replace("_", "").casefold(): item for item in sorted(known)}
    wanted = name.replace("_", "").casefold()
    if wanted in folded:
        return [folded[wanted]]
    containing = [key for key in folded if wanted in key] if len(wanted) > 2 else []
    containing.sort(key=lambda key: (key.find(wanted), len(key)))
    near = containing or difflib.get_close_matches(wanted, folded, n=2, cutoff=0.6)
    return [folded[key] for key in near[:4]]


def _is_imported_by_name() -> bool:
    """Whether the caller of a module's ``__getattr__`` is the statement ``from module import name``."""
    frame = sys._getframe()
    while frame.f_code.co_name != "__getattr__":
        if frame.f_back is None:
            return False
        frame = frame.f_back
    caller = frame.f_back
    return caller is not None and caller.f_code.co_code[caller.f_lasti] == dis.opmap["IMPORT_FROM"]
