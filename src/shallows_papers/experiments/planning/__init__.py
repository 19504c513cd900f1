"""Plan the runs, their costs and the resources of jobs from the configuration."""

from shallows.errors import MissingExtraError

MissingExtraError.check("workflow", "The plan of the papers' targets", "yaml", "jsonschema")
