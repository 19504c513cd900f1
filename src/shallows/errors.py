"""The errors that the package raises on purpose; each says what was wrong, what was expected and what to do."""

from __future__ import annotations

import difflib
import importlib.util
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
        near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
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
