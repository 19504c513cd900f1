"""Do one run, with its record, curve, log and provenance."""
