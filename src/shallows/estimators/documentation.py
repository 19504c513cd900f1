"""Docstrings of estimators, of which what several have in common is written once.

The docstring of a pair of estimators stands beside their constructor, in the class that both derive from. It names in
braces what differs between the two, and parts that other estimators have as well.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping

from sklearn.base import ClassifierMixin

_NAMED = re.compile(r"\{(\w+)\}")

_LEARNT = {
    "Classifier": """
        classes_ : ndarray, shape (n_classes,)""",
    "Regressor": """
        intercept_ : ndarray, shape (n_outputs,)
            Mean of the targets.""",
}


def documented(parts: Mapping[str, str] | None = None, **own: str) -> Callable[[type], type]:
    """Decorate a class with the docstring of the class that it shares its constructor with.

    The class's own docstring is the ``{summary}`` of that one; examples in it come at the end. ``{kind}`` is
    "Classifier" or "Regressor", ``{learnt}`` the attribute that a fit to such targets leaves.

    Parameters
    ----------
    parts, **own
        What else is named in braces, for several estimators and for this one.
    """

    def document(made: type) -> type:
        kind = "Classifier" if issubclass(made, ClassifierMixin) else "Regressor"
        summary, heading, examples = inspect.cleandoc(made.__doc__).partition("\n\nExamples\n")
        of_class = {"summary": summary, "kind": kind, "learnt": _LEARNT[kind]}
        template = next((base.__doc__ for base in made.__mro__ if "{summary}" in (base.__doc__ or "")), "{summary}")
        made.__doc__ = filled(template, {**(parts or {}), **own, **of_class}) + heading + examples
        return made

    return document


def filled(text: str, parts: Mapping[str, str]) -> str:
    """A docstring with the parts that it names in braces, indented as the lines that name them.

    Raises
    ------
    KeyError
        If a part is named that there is not.
    """
    lines = []
    for line in inspect.cleandoc(text).splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        line = _NAMED.sub(lambda named: filled(parts[named[1]], parts), line)
        lines.append(re.sub(r"\n(?=.)", "\n" + indent, line))
    return "\n".join(lines)
