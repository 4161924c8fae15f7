"""Partitions in files: the same again, or refused (F04, F05)."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import FormatError
from granite_xai.regions.condition_pairs import grouping
from granite_xai.regions.partition import Leaf, Partition, Split
from granite_xai.regions.partition_file import read_tree, write_tree
from regions.random_partitions import bike, frame_of, partitions, rows


@given(partitions, rows)
def test_json_gives_the_same_partition(partition, cells):
    again = Partition.from_dict(json.loads(json.dumps(partition.to_dict(), allow_nan=False)))
    assert again == partition
    assert str(again) == str(partition)
    assert np.array_equal(again.apply(frame_of(cells)), partition.apply(frame_of(cells)))
    assert pickle.loads(pickle.dumps(partition)) == partition


def changed(**changes):
    data = bike().to_dict()
    for place, value in changes.items():
        node, key = place.split("__")
        data["nodes"][int(node[1:])][key] = value
    return data


@pytest.mark.parametrize(
    "data",
    [
        None, [], {}, {"type": "model"}, {"type": "partition", "names": []}, {"type": "partition", "names": ["a", "a"]},
        {"type": "partition", "names": [], "nodes": []}, {"type": "partition", "names": [], "regions": []},
        {"type": "partition", "names": [], "nodes": [1]}, {"type": "partition", "names": [1], "nodes": []},
        changed(n0__children=[1, 1]), changed(n0__children=[0, 1]), changed(n0__children=[1, 99]),
        changed(n0__children=[1, -1]), changed(n0__children=[1]), changed(n0__children=[1.0, 4]),
        changed(n0__children=[2, 4]), changed(n1__children=[2, 4]), changed(n1__children=[0, 3]),
        changed(n0__children=[True, 4]), changed(n0__children="ab"), changed(n1__column="temp"), changed(n1__column=3),
        changed(n0__n_samples=5),
        changed(n0__n_samples=1001), changed(n2__n_samples=-1), changed(n2__n_samples=True), changed(n2__n_samples=1.5),
        changed(n2__fraction=float("nan")), changed(n2__disagreement=float("inf")), changed(n2__fraction="1"),
        changed(n2__fraction=2), changed(n2__disagreement=10**400), changed(n2__stop_reason=None),
        changed(n1__conditions=[]), changed(n1__conditions=[{}, {}]), changed(n2__disagreement=None),
    ],
)  # fmt: skip
def test_F05_a_hostile_file_is_refused(data):
    with pytest.raises(FormatError, match="partition"):
        Partition.from_dict(data)


@pytest.mark.parametrize("high", [float("nan"), float("inf"), 7.0, None, "6", ["6"], True, {}])
def test_F05_a_threshold_that_is_no_number_or_not_that_of_its_twin_is_refused(high):
    data = bike().to_dict()
    data["nodes"][1]["conditions"][0]["high"] = high
    with pytest.raises(FormatError, match=r"nodes\[1\]"):
        Partition.from_dict(data)


def test_F05_a_node_without_parent_is_refused():
    data = bike().to_dict()
    data["nodes"].append(data["nodes"][-1])
    with pytest.raises(FormatError, match="1 nodes that no split refers to"):
        Partition.from_dict(data)


@pytest.mark.slow
def test_F05_a_very_deep_tree_is_refused_without_recursion():
    chain = []
    for i in range(3000):
        chain.append(
            {
                **changed()["nodes"][1],
                "column": "hr",
                "children": [2 * i + 1, 2 * i + 2],
                "n_samples": 0,
            }
        )
        chain.append({**changed()["nodes"][2], "n_samples": 0})
    chain.append({**changed()["nodes"][2], "n_samples": 0})
    with pytest.raises(FormatError, match="100 splits") as caught:
        Partition.from_dict({"type": "partition", "names": ["hr"], "nodes": chain})
    assert caught.value.code == "F05"


def places(data, path=()):
    """Every place of nested dicts and lists."""
    yield path
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in items:
        yield from places(value, (*path, key))


JUNK = [
    None,
    True,
    -1,
    0,
    3,
    1e308,
    float("nan"),
    "",
    "interval",
    "levels",
    [],
    {},
    [None],
    [[]],
    {"type": "interval"},
    "\x00",
]


@given(partitions, st.data())
def test_F04_any_change_of_a_file_is_refused_or_gives_a_partition(partition, data):
    """Nothing but a FormatError, and whatever is read can be applied and printed."""
    stored = copy.deepcopy(partition.to_dict())
    path = data.draw(st.sampled_from([p for p in places(stored) if p]))
    target = stored
    for key in path[:-1]:
        target = target[key]
    if data.draw(st.booleans()):
        target[path[-1]] = data.draw(st.sampled_from(JUNK))
    else:
        del target[path[-1]]
    try:
        again = Partition.from_dict(stored)
    except FormatError:
        return
    assert isinstance(str(again), str)
    assert Partition.from_dict(again.to_dict()) == again


def test_F05_the_work_of_a_file_is_bounded_by_nodes_times_labels():
    """At the limit a tree is read; a label more is refused before anything is built."""
    labels = {f"label {number}" for number in range(150)}
    halves = grouping(labels, {"b"}, larger="right")
    leaves = (Leaf(2, 0.5, 0.1, "small"), Leaf(2, 0.5, 0.1, "small"))
    nodes = write_tree(Split("weather", *halves, leaves, 4, 1.0, 0.2))
    assert read_tree(nodes, ["weather"], max_work=3 * 150).n_samples == 4
    with pytest.raises(FormatError, match="3 nodes with lists of 150 labels"):
        read_tree(nodes, ["weather"], max_work=3 * 150 - 1)
