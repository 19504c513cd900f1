"""What the book adds to Sphinx: pages made from the configuration, formulas as MathML, links from names of targets.

Formulas are converted when the pages are built, by docutils, so that they need neither a script nor the network.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import class_pages
import generated_pages
from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.lexers.special import TextLexer
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PROJECT = Path(__file__).parents[1]
#: Bars of an absolute value, which reStructuredText would take for a substitution.
BARS = re.compile(r"\|(?=\S)([^|`]*?\S)\|")
#: What may be the name of a target or the number of an erratum.
NAMES = re.compile(r"\b([a-z]+_[a-z0-9_]+|[EDCKLX]\d{1,2})\b")
#: Links to files of the repository that are pages of the book.
FILES = re.compile(r"config/papers/(?P<paper>\w+)/(?P<kind>errata|findings)\.md$")
#: Signs that browsers set badly: bars of a norm grow with what is next to them, accents cover their letter.
SIGNS = {
    "<mo>\u2016</mo>": '<mo stretchy="false" lspace="0" rspace="0">\u2225</mo>',
    '<mo class="mathopen">\u2016</mo>': '<mo stretchy="false" lspace="0" rspace="0">\u2225</mo>',
    '<mo stretchy="false">|</mo>': '<mo stretchy="false" lspace="0" rspace="0">|</mo>',
    "\u02c9": "\u00af",
    '<mover accent="true">': "<mover>",
}


def _write_pages(app: Sphinx) -> None:
    generated_pages.write_all(PROJECT, Path(app.srcdir))


def _keep_bars(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Set absolute values in docstrings with a sign that is no markup and as wide."""
    lines[:] = [BARS.sub("\u2223\\1\u2223", line) for line in lines]


def _mathml(text: str, *, as_block: bool) -> str:
    try:
        made = tex2mathml(text, as_block=as_block)
    except MathError as error:
        raise ExtensionError(f"The formula {text!r} cannot be converted: {error}") from None
    for found, other in SIGNS.items():
        made = made.replace(found, other)
    return made


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{_mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def _link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Make names of targets, errata and public classes links: to what is compared, the derivation, the class."""
    anchors, here = generated_pages.anchors(PROJECT), app.env.docname
    classes = {} if here.startswith("_pages/reference") else class_pages.public_classes()

    def link(name: str, shown: nodes.Node) -> nodes.Node:
        page, anchor = anchors.get(name, (here, ""))
        if page == here:
            return shown
        uri = app.builder.get_relative_uri(here, page) + f"#{anchor}"
        return nodes.reference("", "", shown, internal=True, refuri=uri)

    for literal in list(doctree.findall(nodes.literal)):
        if isinstance(literal.parent, nodes.reference | nodes.title | pending_xref):
            continue
        if full_name := classes.get(literal.astext()):
            place = {"reftype": "obj", "refdomain": "py", "reftarget": full_name, "refdoc": here}
            literal.replace_self(pending_xref("", literal.deepcopy(), **place))
        else:
            literal.replace_self(link(literal.astext(), literal.deepcopy()))
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, (nodes.paragraph, nodes.strong)):
            parts = NAMES.split(text.astext())
            made = [link(part, nodes.Text(part)) for part in parts if part]
            if any(isinstance(one, nodes.reference) for one in made):
                text.parent.replace(text, made)


def _link_files(app: Sphinx, doctree: nodes.document) -> None:
    """Lead links to findings and errata, which are files of ``config/papers``, to their pages in the book."""
    for place in list(doctree.findall(pending_xref)):
        if found := FILES.search(place["reftarget"]):
            page = f"{generated_pages.FOLDER}/{found['kind']}_{found['paper']}"
            uri = app.builder.get_relative_uri(app.env.docname, page)
            place.replace_self(nodes.reference("", "", *place.children, internal=True, refuri=uri))


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write_pages)
    app.connect("autodoc-process-docstring", _keep_bars)
    app.connect("doctree-read", _link_names)
    app.connect("doctree-read", _link_files)
    app.add_lexer("csv", TextLexer)
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": False, "parallel_write_safe": True}
