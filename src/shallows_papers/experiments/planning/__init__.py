"""Planning: from the configuration to runs, their costs, and the resources of jobs."""

from shallows.errors import MissingExtraError

MissingExtraError.check("workflow", "The plan of the papers' targets", "yaml", "jsonschema")
