"""Plan runs from the configuration, do them with record and provenance, and compare them with published values."""
