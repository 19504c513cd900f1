"""Make tables, figures and the HTML page from results alone: nothing here trains or knows a solver."""

from shallows.errors import MissingExtraError

MissingExtraError.check("workflow", "A report", "jinja2", "docutils", "matplotlib", "seaborn")
