"""Partitions: disjoint, covering, readable, and safe to read from a file (I14-I17, F04, F05)."""

from __future__ import annotations

import copy
import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import FormatError, InputError
from granite_xai.regions.condition_pairs import cut, grouping, missing_or_present
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.partition import Leaf, Partition, Split
from granite_xai.regions.partition_file import read_tree, write_tree
from granite_xai.regions.rule import Rule
from granite_xai.tables import read_table

NAMES = ("number", "size", "weather", "holiday", "day")
ORDER = ("tiny", "small", "medium", "large")
sides = st.sampled_from(["left", "right"])
days = [np.datetime64(f"2012-0{m}-01") for m in range(1, 7)]

number_pairs = st.builds(
    lambda at, m: cut(at, missing=m), st.sampled_from([-1.0, 0.0, 0.5, 2.0]), sides
)
size_pairs = st.builds(
    lambda at, m, big: cut(at, order=ORDER, missing=m, larger=big),
    st.sampled_from(ORDER[:-1]),
    sides,
    sides,
)
weather_pairs = st.builds(
    lambda left, big, m: grouping(left, {"clear", "mist", "rain"} - left, larger=big, missing=m),
    st.sampled_from([{"clear"}, {"mist"}, {"clear", "rain"}]),
    sides,
    sides,
)
holiday_pairs = st.builds(
    lambda m, big: grouping({False}, {True}, larger=big, missing=m), sides, sides
)
day_pairs = st.builds(lambda at, m: cut(at, missing=m), st.sampled_from(days), sides)
splits = st.one_of(
    st.tuples(st.just("number"), number_pairs),
    st.tuples(st.just("size"), size_pairs),
    st.tuples(st.just("weather"), weather_pairs),
    st.tuples(st.just("holiday"), holiday_pairs),
    st.tuples(st.just("day"), day_pairs),
    st.tuples(st.sampled_from(NAMES), st.just(missing_or_present())),
)
a_leaf = st.builds(
    Leaf, st.integers(0, 50), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["small", "deep"])
)


def joined(split, left, right):
    (column, (one, two)), rows = split, left.n_samples + right.n_samples
    return Split(column, one, two, (left, right), rows, 0.5, left.disagreement + right.disagreement)


trees = st.recursive(a_leaf, lambda below: st.builds(joined, splits, below, below), max_leaves=8)
partitions = st.builds(lambda root: Partition(root, NAMES), trees)
rows = st.lists(
    st.tuples(
        st.sampled_from([-3.0, -1.0, -0.0, 0.25, 0.5, 1.0, 2.0, 9.0, np.nan]),
        st.sampled_from([*ORDER, "huge", None]),
        st.sampled_from(["clear", "mist", "rain", "hail", None]),
        st.sampled_from([False, True, None]),
        st.sampled_from([*days, np.datetime64("2012-03-15T12:00"), None]),
    ),
    min_size=1,
    max_size=12,
)


def frame_of(cells):
    columns = dict(zip(NAMES, zip(*cells, strict=True), strict=True))
    return pd.DataFrame(
        {
            "number": np.array(columns["number"], dtype=float),
            "size": pd.Categorical(columns["size"], categories=[*ORDER, "huge"], ordered=True),
            "weather": pd.Categorical(
                columns["weather"], categories=["mist", "hail", "rain", "clear"]
            ),
            "holiday": pd.array(columns["holiday"], dtype="boolean"),
            "day": pd.Series(columns["day"], dtype="datetime64[ns]"),
        }
    )


@given(partitions, rows)
def test_I14_every_row_belongs_to_exactly_one_region(partition, cells):
    """Missing values, labels never seen and new dates included: the rules say what the tree does."""
    table = read_table(frame_of(cells), missing="allow")
    inside = np.array([region.rule.contains(table) for region in partition])
    assert (inside.sum(axis=0) == 1).all()
    assert np.array_equal(partition.apply(table), inside.argmax(axis=0))
    assert partition.apply(table).dtype == np.intp


@given(partitions, rows)
def test_I16_regions_survive_their_text(partition, cells):
    orders = {"size": ORDER}
    again = Partition.from_rules([Rule.parse(str(rule), orders) for rule in partition.rules])
    frame = frame_of([(a, None if b == "huge" else b, c, d, e) for a, b, c, d, e in cells])
    assert np.array_equal(again.apply(frame), partition.apply(frame))


@given(partitions, rows)
def test_json_gives_the_same_partition(partition, cells):
    again = Partition.from_dict(json.loads(json.dumps(partition.to_dict(), allow_nan=False)))
    assert again == partition
    assert str(again) == str(partition)
    assert np.array_equal(again.apply(frame_of(cells)), partition.apply(frame_of(cells)))
    assert pickle.loads(pickle.dumps(partition)) == partition


@given(partitions)
def test_regions_are_the_leaves_from_left_to_right(partition):
    assert [region.index for region in partition] == list(range(len(partition)))
    assert partition[0] == next(iter(partition))
    assert partition[-1].index == len(partition) - 1
    lines = str(partition).splitlines()
    for region in partition:
        (line,) = [line for line in lines if re.match(rf"[├└│─ ]*{region.index}  ", line)]
        assert re.search(rf" {region.n_samples:,}  ", line)


def test_infinite_values_have_a_region():
    left, right = cut(0.0)
    values = np.array([-np.inf, np.inf])
    assert left.contains(values).tolist() == [True, False]
    assert right.contains(values).tolist() == [False, True]


# What a stranger reads


def bike() -> Partition:
    calm = Leaf(98, 0.098, 0.012, "below alpha")
    ride = Leaf(214, 0.214, 0.0615, "maximal depth")
    work = Leaf(688, 0.688, 0.0001, "below alpha")
    free = Split("hr", *cut(6.0), (calm, ride), 312, 0.312, 0.41)
    return Partition(
        Split("workingday", *cut(0.0, missing="right"), (free, work), 1000, 1.0, 1.0),
        ("hr", "workingday"),
    )


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


def test_the_printed_region():
    """Numbers end, and words begin, under each other."""
    head, line = str(bike()[0]).split("\n")
    assert head == "region  name  rows  share  rule                       not split because"
    assert line == "     0          98    10%  workingday ≤ 0 and hr ≤ 6  little left to split"


def test_named_regions():
    partition = bike().rename({0: "night", 2: " working days "})
    assert partition.titles == ("night", "workingday ≤ 0, hr > 6", "working days")
    assert [region.name for region in partition] == ["night", "", "working days"]
    assert "0  night (hr ≤ 6)" in str(partition)
    assert partition.frame()["name"].tolist() == list(partition.titles)
    assert "THEN 'night'" in partition.to_sql()
    assert partition == bike()
    again = Partition.from_dict(partition.to_dict())
    assert again.region_names == {0: "night", 2: "working days"}
    assert partition.rename({0: ""}).region_names == {2: "working days"}
    assert "region_names" not in bike().to_dict()


@pytest.mark.parametrize(
    ("names", "code", "words"),
    [
        ({3: "x"}, "P02", "there is no region 3: regions are numbered 0 to 2"),
        ({-1: "x"}, "P02", "there is no region -1"),
        ({True: "x"}, "P02", "there is no region True"),
        ({"0": "x"}, "P02", "there is no region '0'"),
        ({0: 7}, "P02", "the name of region 0 is 7, not a text"),
        ({0: "x", 1: "x"}, "P03", "two regions would be called 'x'"),
        (["x"], "P02", "names is a list"),
    ],
)
def test_wrong_names(names, code, words):
    partition = bike()
    with pytest.raises(InputError, match=words) as caught:
        partition.rename(names)
    assert caught.value.code == code
    assert partition.region_names == {}


def test_a_name_of_a_file_that_fits_no_region():
    written = bike().rename({0: "night"}).to_dict()
    for wrong in ({"9": "x"}, {"x": "y"}, {"0": 1}, {"0": "a", "1": "a"}, []):
        with pytest.raises(FormatError):
            Partition.from_dict({**written, "region_names": wrong})


def test_S04_hostile_names_and_reasons_cannot_act_on_the_terminal():
    leaf = Leaf(1, 0.5, 0.5, "\x1b[2J\nregion 7")
    text = str(
        Partition(
            Split(
                "\x1b[31m\u202e\n",
                *grouping({"\x07"}, {"b"}, larger="right"),
                (leaf, leaf),
                2,
                1.0,
                1.0,
            )
        )
    )
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text.split("\n")) == 4


def test_one_region_is_still_a_partition():
    partition = Partition(Leaf(7, 1.0, 0.0, "nothing to explain"))
    assert len(partition) == 1
    assert [str(rule) for rule in partition.rules] == ["all rows"]
    assert partition.apply(np.zeros((3, 2))).tolist() == [0, 0, 0]


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


# Errors at apply


def test_D01_a_missing_value_where_the_fit_had_none_is_an_error():
    partition = Partition(
        Split("x1", *cut(0.0), (Leaf(1, 0.5, 0.0), Leaf(1, 0.5, 0.0)), 2, 1.0, 1.0)
    )
    X = np.array([[0.0, 1.0], [0.0, np.nan], [np.nan, -1.0]])
    with pytest.raises(InputError, match=r"'x1' \(index 1\) has 1 missing value") as caught:
        partition.apply(X)
    assert caught.value.code == "D01"
    assert caught.value.rows == (1,)
    assert partition.apply(X[[0, 2]]).tolist() == [1, 0]


def test_an_array_after_a_frame_is_read_by_position():
    assert bike().apply(np.array([[3.0, 0.0], [9.0, 0.0], [9.0, 1.0]])).tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="no column 'workingday'"):
        bike().apply(np.zeros((1, 3)))


def test_rules_that_overlap_or_leave_rows_out_are_named_with_the_rows():
    frame = pd.DataFrame({"x": [0.0, 2.0, 4.0]}, index=["a", "b", "c"])
    with pytest.raises(InputError, match="no rule .* 'b'"):
        Partition.from_rules(["x ≤ 1", "x > 3"]).apply(frame)
    with pytest.raises(InputError, match="more than one rule .* 'b'"):
        Partition.from_rules(["x ≤ 3", "x > 1"]).apply(frame)
    assert Partition.from_rules(["x <= 1", Rule.parse("x > 1")]).apply(frame).tolist() == [0, 1, 1]
    with pytest.raises(InputError):
        Partition.from_rules([])
    with pytest.raises(InputError):
        Partition.from_rules("x ≤ 1")


def test_rules_with_known_figures_print_them():
    partition = Partition.from_rules(
        ["x ≤ 1", "x > 1"], leaves=[Leaf(3, 0.3, 0.1), Leaf(7, 0.7, 0.2)]
    )
    assert "0  x ≤ 1     3    30%            10%" in str(partition)
    assert Partition.from_dict(json.loads(json.dumps(partition.to_dict()))) == partition


@pytest.mark.parametrize(
    "pair",
    [
        (Interval(None, 1), Interval(2)),
        (Interval(None, 2), Interval(1)),
        (Interval(1), Interval(None, 1)),
        (Interval(None, 1, missing=True), Interval(1, missing=True)),
        (Levels({"a"}), Levels({"b"})),
        (Levels({"a"}), Interval()),
        (Interval(None, "small", ORDER), Interval("small", None, ORDER[::-1])),
        (Interval(), Interval()),
    ],
)
def test_a_split_whose_sides_do_not_divide_the_values_is_refused(pair):
    with pytest.raises(InputError, match="divide"):
        Split("x", *pair, (Leaf(1, 0.5, 0.0), Leaf(1, 0.5, 0.0)), 2, 1.0, 1.0)


# Files


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
        changed(n0__n_samples=5), changed(n2__n_samples=-1), changed(n2__n_samples=True), changed(n2__n_samples=1.5),
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


def test_labels_never_seen_can_be_a_region_of_their_own():
    """Two cuts of an ordered column that leave no known label leave the unknown ones where the tree sends them."""
    above = Interval("tiny", None, ORDER, others=True)
    below = Interval(None, "tiny", ORDER, missing=True, others=True)
    both = above.intersect(below)
    values = np.array(["tiny", "large", "huge", None], dtype=object)
    assert both.contains(values).tolist() == [False, False, True, False]
    assert not both.is_empty
    assert both.intersect(Interval()).contains(values).tolist() == [False, False, True, False]
    assert both.intersect(Interval(None, "tiny", ORDER)).is_empty
