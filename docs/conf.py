"""Sphinx configuration of the book: ``make docs`` writes it to ``docs/_build/html``."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import shallows  # noqa: E402

project = "shallows"
author = "The shallows developers"
version = release = shallows.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_additions",
]
exclude_patterns = ["_build", "gallery", "explanations"]
default_role = "py:obj"
highlight_language = "python"
keep_warnings = True
nitpicky = False

autodoc_typehints = "none"  # the docstrings say types and shapes
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_use_plots = False

myst_enable_extensions = ["attrs_inline", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_missing"]  # CONTRIBUTING.md links to places that a repository has and a site has not

sphinx_gallery_conf = {
    "examples_dirs": ["gallery", "explanations"],
    "gallery_dirs": ["_gallery", "_explanations"],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("shallows",),
    "backreferences_dir": "_gallery/backreferences",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 20,
    "write_computation_times": False,
}

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"shallows {version}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_theme_options = {"navigation_with_keys": True}
