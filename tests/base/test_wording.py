"""Numbers as a person reads them: one example each."""

from __future__ import annotations

import pytest

from granite_xai.base import wording
from granite_xai.explanation.catalog import CATALOG, explanations, title

EXAMPLES = [
    (wording.percent, (0.3071,), "30.7%"),
    (wording.percent, (0.0001,), "< 0.1%"),
    (wording.percent, (None,), "–"),
    (wording.percent, (0.99999,), "> 99.9%"),
    (wording.percent, (-0.2,), "-20.0%"),
    (wording.number, (12345.678,), "12,346"),
    (wording.number, (0.00123456,), "0.001235"),
    (wording.number, (1e-9,), "1e-09"),
    (wording.number, (3,), "3"),
    (wording.number, (None,), "–"),
    (wording.value, (2011.0,), "2011"),
    (wording.value, (0.125,), "0.125"),
    (wording.value, (1e-9,), "1e-09"),
    (wording.count, (1, "region"), "1 region"),
    (wording.count, (3, "region"), "3 regions"),
    (wording.rows_of, (1234,), "1,234 rows"),
    (wording.rows_of, (7,), "7 rows (few)"),
    (wording.duration, (0.123,), "0.12 s"),
    (wording.duration, (75.4,), "75 s"),
    (wording.duration, (600.0,), "10 min"),
    (wording.duration, (9000.0,), "2.5 h"),
    (title, ("pdp",), "PDP"),
    (title, ("mine",), "mine"),
    (title, (None, "first"), "the first explanation"),
]


@pytest.mark.parametrize(("write", "arguments", "expected"), EXAMPLES)
def test_each_function_writes_its_example(write, arguments, expected):
    assert write(*arguments) == expected


def test_every_named_explanation_has_a_title():
    assert set(explanations()) == set(CATALOG)
