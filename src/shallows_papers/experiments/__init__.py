"""The plan (configuration to runs), one run, its record and provenance, and the comparison with published values."""
