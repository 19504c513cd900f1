# What type checkers see of the names that are imported when they are first used.

from .estimators.two_samples import two_sample_test as two_sample_test
