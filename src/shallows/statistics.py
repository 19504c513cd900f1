"""The two-sample test of kernel means."""

from .estimators.two_samples import TwoSampleResult, two_sample_test

__all__ = ["TwoSampleResult", "two_sample_test"]
