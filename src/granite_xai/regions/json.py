"""Partitions in the types of JSON: a tree is a flat list of nodes, checked when it is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from granite_xai.base.errors import FormatError
from granite_xai.base.files import Form, Structure, broken, entry
from granite_xai.regions.conditions import Condition
from granite_xai.regions.nodes import Leaf, Node, Region, Split
from granite_xai.regions.rule import CONDITIONS, Rule

# Deeper than any tree we grow, and shallow enough to walk by recursion.
MAX_DEPTH = 100
# Nodes times labels of the longest list in one of them: what reading the rules of all leaves costs at most.
MAX_WORK = 2**23


# The share of a region that someone named may be unknown: NaN, which is null in a file.
_SHARE = Form(
    lambda value, place: None if math.isnan(value) else CONDITIONS.write(value, float, place),
    lambda data, place: math.nan if data is None else CONDITIONS.read(data, float, place),
)
_NODES = Structure(forms={float: _SHARE})
_BELOW = ("left", "right", "children")


def partition_to_dict(root: Node | None, names: Sequence[str], given: Sequence[Region]) -> dict[str, Any]:
    """Write a tree as a list of nodes, parents first, or given regions as a list of rules."""
    head = {"type": "partition", "names": list(names)}
    if root is None:
        lines = [_NODES.write(region, Region, "region", ("index", "rule")) for region in given]
        return {**head, "regions": [{"rule": r.rule.to_dict(), **line} for r, line in zip(given, lines, strict=True)]}
    nodes: list[dict[str, Any]] = []
    _write(root, nodes)
    return {**head, "nodes": nodes}


def _write(node: Node, nodes: list[dict[str, Any]]) -> int:
    """Append a node and all below it; return its place."""
    place = len(nodes)
    nodes.append(_NODES.write(node, type(node), "node", _BELOW))
    if isinstance(node, Split):
        pair = (node.left, node.right)
        nodes[place]["conditions"] = CONDITIONS.write(pair, tuple[Condition, Condition], "conditions")
        nodes[place]["children"] = [_write(child, nodes) for child in node.children]
    return place


def partition_parts(data: object) -> tuple[Node | None, list[str], list[tuple[Rule, Leaf]]]:
    """Read what `partition_to_dict` wrote: the tree, the names, and the given rules."""
    if entry(data, "type", str, "partition") != "partition":
        raise broken("partition.type", "is not 'partition'")
    names = entry(data, "names", list, "partition")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise broken("partition.names", "is not a list of different texts")
    key = "nodes" if isinstance(data, dict) and "nodes" in data else "regions"
    items = entry(data, key, list, "partition")
    if not items or (isinstance(data, dict) and len(data) > 3):
        raise broken(f"partition.{key}", "is empty, or not alone")
    if key == "nodes":
        return _tree(items, names), names, []
    return None, names, [_given(item, f"partition.regions[{i}]") for i, item in enumerate(items)]


def _given(data: object, place: str) -> tuple[Rule, Leaf]:
    rule = Rule.from_dict(entry(data, "rule", dict, place), f"{place}.rule")
    leaf: Leaf = _NODES.read(_without(data, "rule"), Leaf, place)
    _check_figures(leaf, place)
    return rule, leaf


def _without(data: Any, *keys: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def _check_figures(node: Node, place: str) -> None:
    if node.n_samples < 0 or node.fraction < 0 or node.fraction > 1:
        raise broken(place, "has a number of rows, or a share of them, that cannot be")


def _tree(items: list[Any], names: list[str]) -> Node:
    """Build the nodes from the last to the first: every child comes after its parent, so nothing can be cyclic."""
    _check_work(items)
    built: dict[int, tuple[Node, int]] = {}
    for i in range(len(items) - 1, -1, -1):
        place = f"partition.nodes[{i}]"
        if isinstance(items[i], dict) and "children" in items[i]:
            children, depth = _children(items[i], i, built, place)
            node: Node = _split(items[i], children, names, place)
        else:
            node, depth = CONDITIONS.read(items[i], Leaf, place), 0
        _check_figures(node, place)
        built[i] = node, depth
    if len(built) > 1:
        raise broken("partition.nodes", f"has {len(built) - 1} nodes that no split refers to")
    return built[0][0]


def _check_work(items: list[Any]) -> None:
    """Refuse a tree whose leaves together would carry an absurd number of labels: paths repeat what nodes list."""
    conditions = [c for item in items if isinstance(item, dict) for c in _listed(item.get("conditions"))]
    lists = (c.get(key) for c in conditions if isinstance(c, dict) for key in ("levels", "order"))
    longest = max((len(_listed(labels)) for labels in lists), default=0)
    if len(items) * max(longest, MAX_DEPTH) > MAX_WORK:
        words = f"partition.nodes has {len(items)} nodes with lists of {longest} labels."
        raise FormatError(words, code="F05", argument="data")


def _listed(value: object) -> Any:
    return value if isinstance(value, list | np.ndarray) else []


def _children(
    data: object, index: int, built: dict[int, tuple[Node, int]], place: str
) -> tuple[tuple[Node, Node], int]:
    """Two nodes built before, and how deep the tree is from here; taking them out refuses a child with two parents."""
    places = entry(data, "children", list, place)
    if len(places) != 2 or not all(type(c) is int and c > index for c in places):
        raise broken(f"{place}.children", "is not a pair of later nodes")
    if places[0] == places[1] or not all(c in built for c in places):
        raise broken(f"{place}.children", "names a node that does not exist or has another parent")
    (left, left_depth), (right, right_depth) = (built.pop(c) for c in places)
    depth = 1 + max(left_depth, right_depth)
    if depth > MAX_DEPTH:
        raise FormatError(f"{place} stands above more than {MAX_DEPTH} splits.", code="F05", argument="data")
    return (left, right), depth


def _split(data: dict[str, Any], children: tuple[Node, Node], names: list[str], place: str) -> Split:
    conditions = entry(data, "conditions", list, place)
    left, right = CONDITIONS.read(conditions, tuple[Condition, Condition], f"{place}.conditions")
    known = {"left": left, "right": right, "children": children}
    node: Split = CONDITIONS.read(_without(data, "conditions", "children"), Split, place, **known)
    if names and node.column not in names:
        raise broken(f"{place}.column", f"is {node.column!r}, which is not among the names")
    if node.n_samples != sum(child.n_samples for child in children):
        raise broken(place, "does not have the rows of its children")
    return node
