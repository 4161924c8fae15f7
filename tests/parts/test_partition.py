"""Partitions: disjoint, covering, readable, in files the same again or refused (I14-I17, F04, F05)."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.base.errors import FormatError, InputError
from granite_xai.regions import (
    Interval,
    Leaf,
    Levels,
    Partition,
    Region,
    Rule,
    Split,
    cut,
    grouping,
    walk,
)
from granite_xai.tables import read_table
from parts.random_partitions import NAMES, bike, frame_of, partitions, rows
from parts.random_rules import (
    ORDER,
)
from parts.rules_elsewhere import few, in_duckdb, in_sqlite


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


@given(partitions)
def test_regions_are_the_leaves_from_left_to_right(partition):
    assert [region.index for region in partition] == list(range(len(partition)))
    assert partition[0] == next(iter(partition))
    assert partition[-1].index == len(partition) - 1
    lines = str(partition).splitlines()
    for region in partition:
        (line,) = [line for line in lines if re.match(rf"[├└│─ ]*{region.index}  ", line)]
        assert re.search(rf" {region.n_samples:,}  ", line)


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


def test_one_region_is_still_a_partition():
    partition = Partition(Leaf(7, 1.0, 0.0, "nothing to explain"))
    assert len(partition) == 1
    assert [str(rule) for rule in partition.rules] == ["all rows"]
    assert partition.apply(np.zeros((3, 2))).tolist() == [0, 0, 0]


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


@few
@given(partitions, rows)
def test_a_partition_in_sql_numbers_the_regions(partition, cells):
    frame = frame_of(cells)
    expected = partition.apply(frame).tolist()
    for statement, run in (
        (partition.to_sql(dialect="duckdb"), in_duckdb),
        (partition.to_sql("r", "sqlite"), in_sqlite),
    ):
        assert run(frame, statement) == expected


@few
@given(partitions, rows)
def test_a_partition_in_other_languages_numbers_the_regions(partition, cells):
    frame = frame_of(cells)
    expected = partition.apply(frame).tolist()
    assert regions_in_pandas(partition, frame) == expected
    assert regions_in_polars(partition, frame) == expected
    assert regions_in_python(partition, frame) == expected


def regions_in_pandas(partition, frame):
    """None for a row that no expression holds for; the test fails where two do."""
    regions = pd.Series([None] * len(frame), dtype=object)
    for label, expression in partition.to_pandas().items():
        rows = frame.query(expression, engine="python").index
        assert regions[rows].isna().all()
        regions[rows] = label
    return [None if pd.isna(label) else label for label in regions]


def regions_in_polars(partition, frame):
    there = pl.from_pandas(frame, nan_to_null=False)
    return there.lazy().with_columns(partition.to_polars("r")).collect()["r"].to_list()


def regions_in_python(partition, frame):
    made = {}
    exec(partition.to_python("region_of"), made)
    return [made["region_of"](row) for row in frame.astype(object).to_dict("records")]


@pytest.mark.filterwarnings("ignore:D02")
@pytest.mark.parametrize("with_gaps", [False, True])
def test_rules_of_a_fit_say_the_same_of_missing_values_everywhere(with_gaps):
    """Text, SQL, Python and frames, where the model takes missing values and where the fit had some."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 2)).round(2), columns=["a", "b"])
    X["size"] = pd.Categorical(rng.choice(ORDER, 400), categories=ORDER, ordered=True)
    gaps = X.mask(rng.random(X.shape) < 0.2)

    def model(X):
        b = X["b"].fillna(2.0).to_numpy()
        return np.where(b > 0.3, 1.0, -1.0) * X["a"].fillna(0.0).to_numpy()

    fitted = gx.Granite(model, missing="allow", max_depth=2).fit(gaps if with_gaps else X)
    partition = fitted.partition_
    assert len(partition) > 1
    regions = fitted.apply(gaps)
    expected = regions.tolist()
    assert any("or missing" in str(rule) for rule in partition.rules)
    for number, text in enumerate(partition.frame()["rule"]):
        rule = Rule.parse(text, {"size": ORDER})
        assert rule == partition.rules[number]
        assert np.array_equal(rule.contains(gaps), regions == number)
    assert in_duckdb(gaps, partition.to_sql(dialect="duckdb")) == expected
    assert in_sqlite(gaps, partition.to_sql("r", "sqlite")) == expected
    assert regions_in_pandas(partition, gaps) == expected
    assert regions_in_polars(partition, gaps) == expected
    assert regions_in_python(partition, gaps) == expected
    assert partition.assign(gaps)["region"].tolist() == expected


@pytest.mark.parametrize("dtype", ["float64", "Int64", "Float64"])
def test_a_row_that_no_region_holds_has_none_in_other_languages(dtype):
    partition = Partition.from_rules(["number ≤ 1", "number > 1"], names=NAMES[:1])
    frame = pd.DataFrame({"number": pd.Series([0.0, None, 3.0], dtype=dtype)})
    assert regions_in_pandas(partition, frame) == [0, None, 1]
    assert regions_in_polars(partition, frame) == [0, None, 1]
    assert regions_in_python(partition, frame) == [0, None, 1]


def test_names_of_regions_are_told_to_other_languages():
    partition = Partition.from_rules(["x ≤ 1", "x > 1"]).rename({0: 'it\'s "night"'})
    frame = pd.DataFrame({"x": [2.0, 1.0]})
    assert regions_in_polars(partition, frame) == ["x > 1", 'it\'s "night"']
    assert regions_in_python(partition, frame) == ["x > 1", 'it\'s "night"']
    assert regions_in_pandas(partition, frame) == ["x > 1", 'it\'s "night"']
    with pytest.raises(InputError, match="P02"):
        partition.to_python("no name")


def test_a_row_that_no_region_holds_is_null():
    partition = Partition.from_rules(["number ≤ 1", "number > 1"], names=NAMES[:1])
    assert in_duckdb(
        pd.DataFrame({"number": [0.0, 3.0, np.nan]}), partition.to_sql(dialect="duckdb")
    ) == [0, 1, None]
    assert partition.to_sql('my "r"').endswith('AS "my ""r"""')


@given(partitions, rows)
def test_json_gives_the_same_partition(partition, cells):
    again = Partition.from_dict(json.loads(json.dumps(partition.to_dict(), allow_nan=False)))
    assert again == partition
    assert str(again) == str(partition)
    assert np.array_equal(again.apply(frame_of(cells)), partition.apply(frame_of(cells)))
    assert pickle.loads(pickle.dumps(partition)) == partition


def changed(place, key, value):
    """The file of a tree with one entry changed; a place such as "01" is the right child of the left one."""
    data = bike().to_dict()
    node = data["tree"]
    for side in place:
        node = node["children"][int(side)]
    node[key] = value
    return data


LEAF = {"n_samples": 1, "fraction": 0.1, "disagreement": 0.1, "stop_reason": ""}


@pytest.mark.parametrize(
    "data",
    [
        None, [], {}, {"type": "model"}, {"type": "partition", "names": []},
        {"type": "partition", "names": ["a", "a"], "tree": LEAF}, {"type": "partition", "names": [1], "tree": LEAF},
        {"type": "partition", "names": [], "tree": []}, {"type": "partition", "names": [], "regions": []},
        {"type": "partition", "names": [], "regions": [1]}, {"type": "partition", "names": [], "tree": 1},
        changed("", "children", [LEAF]), changed("", "children", [1, 2]), changed("", "children", "ab"),
        changed("", "children", [LEAF, LEAF]), changed("0", "column", "temp"), changed("0", "column", 3),
        changed("", "n_samples", 5), changed("00", "n_samples", -1), changed("00", "n_samples", True),
        changed("00", "n_samples", 1.5), changed("00", "fraction", float("nan")), changed("00", "fraction", "1"),
        changed("00", "disagreement", float("inf")), changed("00", "fraction", 2), changed("00", "fraction", True),
        changed("00", "disagreement", 10**400), changed("00", "stop_reason", None), changed("0", "conditions", []),
        changed("0", "conditions", [{}, {}]), changed("00", "disagreement", None),
    ],
)  # fmt: skip
def test_F05_a_hostile_file_is_refused(data):
    with pytest.raises(FormatError, match="partition"):
        Partition.from_dict(data)


@pytest.mark.parametrize("high", [float("nan"), float("inf"), 7.0, None, "6", ["6"], True, {}])
def test_F05_a_threshold_that_is_no_number_or_not_that_of_its_twin_is_refused(high):
    data = bike().to_dict()
    data["tree"]["children"][0]["conditions"][0]["high"] = high
    with pytest.raises(FormatError, match=r"tree.children\[0\].conditions"):
        Partition.from_dict(data)


def test_F05_a_very_deep_tree_is_refused():
    node = LEAF
    for n_samples in range(2, 300):
        split = {**bike().to_dict()["tree"], "column": "hr", "n_samples": n_samples}
        node = {**split, "children": [node, LEAF]}
    with pytest.raises(FormatError, match="100 splits") as caught:
        Partition.from_dict({"type": "partition", "names": ["hr"], "tree": node})
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


def test_a_walk_visits_parents_first_and_leaves_from_left_to_right():
    places = list(walk(bike().root))
    assert [place.number for place in places] == [0, 1, 2, 3, 4]
    assert [place.depth for place in places] == [0, 1, 2, 2, 1]
    assert [place.region for place in places] == [None, None, 0, 1, 2]
    edges = ["all rows", "workingday ≤ 0", "hr ≤ 6", "hr > 6", "workingday > 0 or missing"]
    assert [str(place.edge) for place in places] == edges
    assert [place.regions for place in places] == [
        *(range(3), range(2), range(1), range(1, 2), range(2, 3)),
    ]
    assert [place.rule for place in places if place.region is not None] == list(bike().rules)
    assert [str(place.rule) for place in places] == [
        "all rows",
        "workingday ≤ 0",
        "workingday ≤ 0 and hr ≤ 6",
        "workingday ≤ 0 and hr > 6",
        "workingday > 0 or missing",
    ]


def test_regions_without_a_tree_hang_from_all_rows():
    root, *below = Partition.from_rules(["x ≤ 1", "x > 1"]).places
    assert (root.parent, root.region, root.regions, str(root.rule)) == (
        None,
        None,
        range(2),
        "all rows",
    )
    assert [(place.parent, place.depth, place.region) for place in below] == [
        (root, 1, 0),
        (root, 1, 1),
    ]
    assert [str(place.edge) for place in below] == ["x ≤ 1", "x > 1"]
    assert (root.node.fraction, np.isnan(root.node.disagreement)) == (1.0, True)
    known = Partition.from_rules(["x ≤ 1", "x > 1"], leaves=[Leaf(3, 0.3, 0.1), Leaf(7, 0.7, 0.2)])
    assert known.places[0].node == Leaf(10, 1.0, 1.0)


def test_D15_labels_outside_the_order_are_named():
    left = Interval(None, "small", ORDER)
    right = Interval("small", None, ORDER)
    halves = (Leaf(1, 0.5, 0.0), Leaf(1, 0.5, 0.0))
    table = read_table(pd.DataFrame({"size": ["tiny", "huge"]}), missing="allow")
    with pytest.raises(InputError, match="1 labels outside the order") as caught:
        Partition(Split("size", left, right, halves, 2, 1.0, 1.0)).apply(table)
    assert caught.value.code == "D15"


def test_reasons_to_stop_are_said_in_words():
    for reason, words in (("split undone", "a further split did not hold up"), ("mine", "mine")):
        assert str(Partition(Leaf(1, 1.0, 0.0, reason))[0]).endswith(words)


def test_regions_of_equal_rules_and_figures_are_equal():
    with_order = Region(
        0, Rule().and_("size", Interval(high="small", order=ORDER)), 1, 0.5, 0.1, ""
    )
    without_order = Region(0, Rule.parse("size ≤ small"), 1, 0.5, 0.1, "")
    assert with_order.rule == without_order.rule
    assert with_order == without_order
    assert hash(with_order) == hash(without_order)
    unknown = [Region(0, Rule(), 0, float("nan"), nan, "given") for nan in (math.nan, np.nan * 2)]
    assert unknown[0] == unknown[1]
    assert with_order != Region(0, with_order.rule, 1, 0.5, math.nan, "")


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
