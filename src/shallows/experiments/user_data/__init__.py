"""The comparison of methods on a user's own data."""

from ...errors import MissingExtraError

MissingExtraError.check("data", "A model of your own file", "yaml", "pandas", "skops")
