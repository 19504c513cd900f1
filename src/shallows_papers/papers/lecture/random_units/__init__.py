"""Claims about random features and random units: errors, closed forms, sizes and comparisons."""
