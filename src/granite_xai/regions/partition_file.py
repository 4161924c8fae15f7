"""Regions in the types of JSON: a tree is a flat list of nodes, in which children follow parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import FormatError
from granite_xai.base.files import NAN_AS_NULL, Structure, broken, entry
from granite_xai.regions.conditions import Condition
from granite_xai.regions.nodes import Leaf, Node, Region, Split
from granite_xai.regions.rule import CONDITIONS, Rule

MAX_DEPTH = 100
"""Splits above a leaf: more than any tree we grow, few enough to walk by recursion."""

MAX_WORK = 2**23
"""Nodes times labels of the longest list in one of them: what reading all rules costs at most."""

_FIGURES = Structure(forms={float: NAN_AS_NULL})
"""How figures of nodes are written; the share of a region that was given as a rule may be unknown."""

_CONDITION_PAIR = tuple[Condition, Condition]


def write_tree(root: Node) -> list[dict[str, Any]]:
    """A tree as a list of nodes, the root first; splits name their children by place.

    Parameters
    ----------
    root : Leaf or Split
    """
    nodes: list[dict[str, Any]] = []
    _append_node(root, nodes)
    return nodes


def _append_node(node: Node, nodes: list[dict[str, Any]]) -> int:
    """Append a node and all below it; return its place."""
    place = len(nodes)
    fields = _FIGURES.write(node, type(node), "node", ("left", "right", "children"))
    nodes.append(fields)
    if isinstance(node, Split):
        conditions = (node.left, node.right)
        fields["conditions"] = CONDITIONS.write(conditions, _CONDITION_PAIR, "conditions")
        fields["children"] = [_append_node(child, nodes) for child in node.children]
    return place


def write_regions(regions: Sequence[Region]) -> list[dict[str, Any]]:
    """Regions that have no tree, each with its rule."""
    written = []
    for region in regions:
        figures = _FIGURES.write(region, Region, "region", ("index", "rule", "name"))
        written.append({"rule": region.rule.to_dict(), **figures})
    return written


def read_regions(items: list[Any]) -> list[tuple[Rule, Leaf]]:
    """Read what `write_regions` wrote; anything else is a FormatError that names the place."""
    regions = []
    for number, item in enumerate(items):
        place = f"partition.regions[{number}]"
        rule = Rule.from_dict(entry(item, "rule", dict, place), f"{place}.rule")
        figures = {key: value for key, value in item.items() if key != "rule"}
        leaf = _FIGURES.read(figures, Leaf, place)
        _require_possible_figures(leaf, place)
        regions.append((rule, leaf))
    return regions


class _Subtree(NamedTuple):
    """A node that was read, and how many splits a path from it has at most."""

    node: Node
    depth: int


def read_tree(items: list[Any], names: Sequence[str], max_work: int = MAX_WORK) -> Node:
    """Read what `write_tree` wrote; anything else is a FormatError that names the place.

    Nodes are read from the last to the first: every child comes after its parent, so that nothing can
    be cyclic, and nothing is read by recursion.

    Parameters
    ----------
    items : list
        The nodes.
    names : sequence of str
        Columns that splits may name; none: any.
    max_work : int
        Nodes times labels of the longest list, at most.
    """
    _require_bounded_work(items, max_work)
    subtrees: dict[int, _Subtree] = {}  # by place; a split takes its children out
    for place in reversed(range(len(items))):
        if isinstance(items[place], dict) and "children" in items[place]:
            subtrees[place] = _read_split(items[place], place, subtrees, names)
        else:
            subtrees[place] = _Subtree(_read_leaf(items[place], place), depth=0)
    if len(subtrees) > 1:
        raise broken("partition.nodes", f"has {len(subtrees) - 1} nodes that no split refers to")
    return subtrees[0].node


def _require_bounded_work(items: list[Any], max_work: int) -> None:
    """Refuse a tree whose leaves together would carry an absurd number of labels.

    The rule of a leaf repeats what all nodes above it list.
    """
    longest = 0
    for item in items:
        conditions = item.get("conditions") if isinstance(item, dict) else None
        for condition in _as_list(conditions):
            if isinstance(condition, dict):
                n_levels = len(_as_list(condition.get("levels")))
                n_ordered = len(_as_list(condition.get("order")))
                longest = max(longest, n_levels, n_ordered)
    if len(items) * max(longest, MAX_DEPTH) > max_work:
        raise FormatError(
            f"partition.nodes has {len(items)} nodes with lists of {longest} labels.",
            code="F05",
            argument="data",
        )


def _as_list(value: object) -> Any:
    return value if isinstance(value, list | np.ndarray) else []


def _read_leaf(data: Any, number: int) -> Leaf:
    place = f"partition.nodes[{number}]"
    leaf: Leaf = CONDITIONS.read(data, Leaf, place)
    _require_possible_figures(leaf, place)
    return leaf


def _read_split(
    data: dict[str, Any], number: int, subtrees: dict[int, _Subtree], names: Sequence[str]
) -> _Subtree:
    """Read a node above two that were read before; taking them out refuses a second parent."""
    place = f"partition.nodes[{number}]"
    children = entry(data, "children", list, place)
    if len(children) != 2 or not all(type(child) is int and child > number for child in children):
        raise broken(f"{place}.children", "is not a pair of later nodes")
    if children[0] == children[1] or not all(child in subtrees for child in children):
        raise broken(f"{place}.children", "names a node that does not exist or has another parent")
    left = subtrees.pop(children[0])
    right = subtrees.pop(children[1])
    depth = 1 + max(left.depth, right.depth)
    if depth > MAX_DEPTH:
        raise FormatError(
            f"{place} stands above more than {MAX_DEPTH} splits.", code="F05", argument="data"
        )
    left_condition, right_condition = CONDITIONS.read(
        entry(data, "conditions", list, place), _CONDITION_PAIR, f"{place}.conditions"
    )
    figures = {key: value for key, value in data.items() if key not in ("conditions", "children")}
    split: Split = CONDITIONS.read(
        figures,
        Split,
        place,
        {
            "left": left_condition,
            "right": right_condition,
            "children": (left.node, right.node),
        },
    )
    _require_possible_figures(split, place)
    if names and split.column not in names:
        raise broken(f"{place}.column", f"is {split.column!r}, which is not among the names")
    if split.n_samples != left.node.n_samples + right.node.n_samples:
        raise broken(place, "does not have the rows of its children")
    return _Subtree(node=split, depth=depth)


def _require_possible_figures(node: Node, place: str) -> None:
    """Refuse numbers and shares of rows that cannot be."""
    if node.n_samples < 0 or node.fraction < 0 or node.fraction > 1:
        raise broken(place, "has a number of rows, or a share of them, that cannot be")


def read_region_names(data: dict[str, Any]) -> dict[int, str]:
    """Names by region, as a file has them: numbers are texts there."""
    if "region_names" not in data:
        return {}
    written = entry(data, "region_names", dict, "partition")
    if not all(number.isdecimal() and len(number) < 10 for number in written):
        raise broken("partition.region_names", "has keys that are not numbers of regions")
    return {int(number): name for number, name in written.items()}
