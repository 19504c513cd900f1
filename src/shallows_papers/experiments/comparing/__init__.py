"""Compare published with measured values and give each a verdict."""
