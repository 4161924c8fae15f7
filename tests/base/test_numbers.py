"""Numbers as people read them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from granite_xai.base.numbers import OutputUnit, amount, share, share_interval, signed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0%"),
        (1e-14, "0%"),
        (1e-5, "< 1%"),
        (0.0099, "< 1%"),
        (0.01, "1%"),
        (0.275, "28%"),
        (0.99, "99%"),
        (0.991, "> 99%"),
        (1 - 1e-14, "100%"),
        (1.0, "100%"),
        (1.21, "121%"),
        (-0.004, "> −1%"),
        (-0.3, "−30%"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_share(value, text):
    assert share(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (4.849, "4.8"),
        (9.94, "9.9"),
        (9.96, "10"),
        (0.0996, "0.10"),
        (0.00034567, "0.00035"),
        (1.6e-28, "1.6e-28"),
        (-121.4, "−121"),
        (1027000.4, "1,027,000"),
        (math.inf, "–"),
    ],
)
def test_amount(value, text):
    assert amount(value) == text


def test_amount_keeps_two_significant_digits():
    for value in np.geomspace(1e-6, 1e6, 500):
        written = float(amount(float(value)).replace(",", ""))
        assert abs(written - value) <= 0.0501 * value


def test_signed():
    assert [signed(value) for value in (51.0, -55.0, 0.0)] == ["+51", "−55", "0"]


def test_intervals():
    assert share_interval(0.907, 0.931) == "91–93%"
    assert share_interval(0.9181, 0.9224) == "91.8–92.2%"
    assert share_interval(-0.02, 0.05) == "−2 to 5%"


def test_probabilities_are_percentages_and_their_differences_points():
    unit = OutputUnit(probability=True)
    assert unit.level(0.8674) == "87%"
    assert unit.effect(0.8674) == "87 points"
    assert unit.signed_effect(-0.006686) == "−0.7 points"
    assert unit.signed_effect(0.19, bare=True) == "+19"
    assert unit.effect(0.0001) == "< 0.1 points"
    assert unit.spread(0.12) == "±12 points"
    assert unit.spread(math.nan) == "–"


def test_units_of_the_user():
    unit = OutputUnit(unit="€")
    assert unit.level(1027.0) == "1,027 €"
    assert unit.level(1027.0, bare=True) == "1,027"
    assert OutputUnit().effect(4.83) == "4.8"
