"""Which rule of a partition holds for a row."""

from __future__ import annotations

import pytest

from granite_xai.base.errors import InputError
from granite_xai.regions.rule import Rule, as_table
from granite_xai.regions.rule_of_row import find_rules

TABLE = as_table([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])


def rules(*texts):
    return [Rule.parse(text) for text in texts]


def test_rules_are_numbered_in_their_order():
    assert find_rules(rules("x0 > 2", "x0 ≤ 1", "1 < x0 ≤ 2"), TABLE).tolist() == [1, 1, 2, 0]


def test_tables_without_names_are_read_by_place():
    assert find_rules(rules("a > 2", "a ≤ 2"), TABLE, ["a", "b"]).tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["x0 ≤ 1", "x0 > 2"], "no rule of the partition holds for 1 row"),
        (["x0 ≤ 2", "x0 > 0"], "more than one rule of the partition holds for 2 rows"),
    ],
)
def test_gaps_and_overlaps_name_their_rows(texts, message):
    with pytest.raises(InputError, match=message) as caught:
        find_rules(rules(*texts), TABLE)
    assert caught.value.code == "P03"
