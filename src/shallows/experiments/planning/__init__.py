"""Planning: from the configuration to runs, their costs, and the resources of jobs."""
