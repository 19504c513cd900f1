"""Numbers as people read them."""

import pytest

from shallows_papers.report import wording
from shallows_papers.report.wording import quantity


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5120.0, "5,120"),
        (5123.4, "5,123"),
        (100.4, "100"),
        (99.96, "100"),
        (1.5, "1.5"),
        (0.01234, "0.0123"),
        (-0.00044, "-0.00044"),
        (0.0000449, "4.49e-5"),
        (12345678.0, "1.23e7"),
        (0.0, "0"),
    ],
)
def test_a_number_has_three_digits_and_no_exponent_where_it_needs_none(value, text):
    assert wording.significant(value) == text


@pytest.mark.parametrize(("value", "text"), [(1234.56, "1,235"), (12.34, "12"), (1.26, "1.3"), (0.0123, "0.012")])
def test_seconds_are_rounded(value, text):
    assert wording.seconds(value) == wording.writer([], [value], "s")(value) == text


def test_counts_are_written_whole():
    write = wording.writer([], [5120.0, 64.0])
    assert (write(5120.0), write(64.0)) == ("5,120", "64")
    assert wording.writer([], [5120.0, 0.5])(0.5) == "0.5"


def test_measured_values_have_the_decimals_of_the_printed_ones():
    assert wording.writer(["15", "15.3"], [16.44])(16.44) == "16.4"
    assert wording.writer(["60000"], [4000.0])(4000.0) == "4,000"
    assert wording.writer(["O(1/t)"], [-1.0461])(-1.0461) == "-1.05"  # words say nothing about digits
    assert wording.writer(["0.407", "2.17e-05"], [0.359, 4.5e-7])(0.359) == "0.359"
    assert wording.writer(["1e100"], [1.2576734e260])(1.2576734e260) == "1.3e260"


def test_a_deviation_has_the_decimals_of_its_mean():
    assert wording.spread("-1.05", 0.0736, wording.significant) == "0.07"
    assert wording.spread("5,120", 12.4, wording.significant) == "12"
    assert wording.spread("12", 0.04, wording.significant) == "0.04"  # it is not nothing
    assert wording.spread("0.00", 0.0, wording.significant) == "0.00"
    assert wording.spread("4.5e-7", 1.2e-8, wording.significant) == "1.2e-8"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("60000", "60,000"), ("4096.5", "4,096.5"), ("15.30", "15.30"), ("0.8", "0.8"), ("O(t)", "O(t)")],
)
def test_a_printed_number_keeps_its_digits(text, shown):
    assert wording.separated(text) == shown


def test_a_quantity_has_its_unit_and_a_minus_sign():
    assert quantity("-16.4", "%") == "−16.4\u00a0%" and quantity("8100000") == "8,100,000"
    assert quantity("as good as the best", "%") == "as good as the best"


def test_a_mean_that_is_nothing_beside_its_deviation_has_the_digits_of_that():
    assert wording.mean_beside(-7.41e-6, 0.0398, wording.significant) == "0.000"
    assert wording.mean_beside(7.41e-6, 1e-7, wording.significant) == "7.41e-6"
    assert wording.mean_beside(7.41e-6, None, wording.significant) == "7.41e-6"
    assert wording.mean_beside(3e-14, 5e-14, wording.significant) == "3e-14"  # rounding errors stay what they are
    assert wording.mean_beside(-1.05, 0.07, wording.significant) == "-1.05"
