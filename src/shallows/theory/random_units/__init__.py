"""What is claimed of random features and random units: errors, closed forms, sizes and what they are compared with."""
