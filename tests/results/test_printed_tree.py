"""The nodes of a tree as they are printed."""

from __future__ import annotations

import math
from types import SimpleNamespace

from granite_xai.regions import Partition
from granite_xai.results.printed_tree import tree_lines
from parts.random_partitions import bike


def nodes(count):
    figures = [SimpleNamespace(mean=float(k), heterogeneity=10.0 * k) for k in range(count)]
    return SimpleNamespace(nodes=figures)


def test_nodes_come_with_their_figures_parents_first():
    lines = tree_lines(bike(), nodes(5), {})
    assert [line.words for line in lines] == [
        "all rows",
        "workingday ≤ 0",
        "hr ≤ 6",
        "hr > 6",
        "workingday > 0 or missing",
    ]
    assert [line.region for line in lines] == [None, None, 0, 1, 2]
    assert [line.depth for line in lines] == [0, 1, 2, 2, 1]
    assert [line.branch for line in lines] == ["", "├─ ", "│  ├─ ", "│  └─ ", "└─ "]
    assert [line.mean for line in lines] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert lines[4].stray == 40.0


def test_without_a_tree_every_region_stands_below_all_rows():
    lines = tree_lines(Partition.from_rules(["x ≤ 1", "x > 1"]), nodes(3), {})
    assert [line.words for line in lines] == ["all rows", "x ≤ 1", "x > 1"]
    assert [line.region for line in lines] == [None, 0, 1]
    assert [line.depth for line in lines] == [0, 1, 1]
    assert lines[0].share == 1.0


def test_figures_of_another_tree_are_left_out():
    assert all(math.isnan(line.mean) for line in tree_lines(bike(), nodes(3), {}))
    assert all(math.isnan(line.stray) for line in tree_lines(bike(), None, {}))
