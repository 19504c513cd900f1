"""The errors that the package raises on purpose; each says what was wrong, what was expected and what to do."""

from __future__ import annotations

import difflib
import dis
import importlib.util
import sys
from collections.abc import Collection, Hashable, Iterable


class ShallowsError(Exception):
    """Base of the errors that this package raises on purpose."""


class UnknownNameError(ShallowsError, ValueError):
    """A name that is not on the list it was looked up in.

    Parameters
    ----------
    kind : str
        What the name should have been, in the singular: ``"dataset"``, ``"target"``.
    name : str
        What was asked for.
    known : iterable of str
        The names that exist.
    """

    def __init__(self, kind: str, name: object, known: Iterable[str]):
        known = sorted(map(str, known))
        folded = {one.casefold(): one for one in known}
        near = difflib.get_close_matches(str(name).casefold(), folded, n=1, cutoff=0.4)
        hint = f" Did you mean {folded[near[0]]!r}?" if near else ""
        listed = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        super().__init__(f"There is no {kind} {name!r}.{hint} Known: {listed}.")
        self.kind, self.name, self.known = kind, name, known

    @classmethod
    def check(cls, kind: str, name: object, known: Collection[str]) -> None:
        """Raise the error unless a value is one of the known names; no list or array is one."""
        if not (isinstance(name, Hashable) and name in known):
            raise cls(kind, name, known)


class MissingExtraError(ShallowsError, ImportError):
    """An optional part was asked for whose packages are not installed.

    Parameters
    ----------
    extra : str
        The extra of ``pyproject.toml`` that holds the packages.
    purpose : str
        What needs it, as the subject of a sentence: ``"device='gpu'"``.
    """

    def __init__(self, extra: str, purpose: str):
        super().__init__(
            f"{purpose} needs the optional packages of the extra '{extra}': pip install 'shallows[{extra}]' "
            f"(in a clone of the project: pip install '.[{extra}]')."
        )
        self.extra = extra

    @classmethod
    def check(cls, extra: str, purpose: str, *packages: str) -> None:
        """Raise the error unless all of the packages, named as Python imports them, are installed."""
        if any(importlib.util.find_spec(package) is None for package in packages):
            raise cls(extra, purpose)


class TooFewDirectionsError(ShallowsError, ValueError):
    """The data have fewer components than were asked for."""


class DivergenceError(ShallowsError, ArithmeticError):
    """Training left the numbers; the message names the step size."""


class DeviceError(ShallowsError, RuntimeError):
    """A GPU failed in the middle of a training; the message says what is kept and what to do."""


class DeviceMemoryError(ShallowsError, MemoryError):
    """A GPU has no room for an array of a fit; the message says what there was and what to do."""


class TrainingInterrupted(ShallowsError):
    """Training was asked to stop; a checkpoint was written and the next run goes on from it."""


class CheckpointError(ShallowsError):
    """A checkpoint that belongs to another run, or that cannot be read."""


def unknown_attribute(module: str, name: str, known: Iterable[str]) -> Exception:
    """The error about an attribute that a module does not have; the message suggests up to four similar names.

    Parameters
    ----------
    module : str
    name : str
        What was asked for.
    known : iterable of str
        The public names of the module.

    Returns
    -------
    AttributeError, or ImportError in the statement ``from module import name``
        Python replaces the message of an AttributeError in that statement by its own, which has no suggestion.
    """
    message = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(message, name=name)
    near = [repr(one) for one in _similar_names(name, known)]
    if near:
        message += f". Did you mean {' or '.join(filter(None, [', '.join(near[:-1]), near[-1]]))}?"
    if _is_imported_by_name():
        return ImportError(f"cannot import {name!r}: {message}", name=module)
    return AttributeError(message, name=name)


def _similar_names(name: str, known: Iterable[str]) -> list[str]:
    """Names that contain the given one, whatever the case, else the most similar ones; at most four."""
    folded = {one.replace("_", "").casefold(): one for one in sorted(known)}
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
