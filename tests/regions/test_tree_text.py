"""Trees and lists of regions as text."""

from __future__ import annotations

import json

from granite_xai.regions.condition_pairs import cut, grouping
from granite_xai.regions.partition import Leaf, Partition, Split
from regions.random_partitions import bike


def test_the_printed_tree():
    assert str(bike()) == "\n".join(
        [
            "                                  rows  share  heterogeneity",
            "all rows                         1,000   100%           100%",
            "├─ workingday ≤ 0                  312    31%            41%",
            "│  ├─ 0  hr ≤ 6                     98    10%             1%",
            "│  └─ 1  hr > 6                    214    21%             6%",
            "└─ 2  workingday > 0 or missing    688    69%           < 1%",
        ]
    )


def test_wide_letters_keep_the_columns_aligned():
    leaf = Leaf(1, 0.5, 0.5, "x")
    lines = str(Partition(Split("温度", *cut(0.0), (leaf, leaf), 2, 1.0, 1.0))).splitlines()
    # two letters that take two places each: the same column in the terminal is two characters earlier here
    assert lines[2].index("50%") == lines[1].index("100%") + 1 - 2


def test_a_long_rule_is_cut_in_the_tree_but_not_in_the_rules():
    many = {f"level{i}" for i in range(50)}
    leaf = Leaf(1, 0.5, 0.5, "x")
    partition = Partition(
        Split("w", *grouping(many, {"other"}, larger="right"), (leaf, leaf), 2, 1.0, 1.0)
    )
    assert max(map(len, str(partition).splitlines())) < 150
    assert all(level in str(partition.rules[0]) for level in many)


def test_rules_with_known_figures_print_them():
    partition = Partition.from_rules(
        ["x ≤ 1", "x > 1"], leaves=[Leaf(3, 0.3, 0.1), Leaf(7, 0.7, 0.2)]
    )
    assert "0  x ≤ 1     3    30%            10%" in str(partition)
    assert Partition.from_dict(json.loads(json.dumps(partition.to_dict()))) == partition
