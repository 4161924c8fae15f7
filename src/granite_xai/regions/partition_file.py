"""Partitions in the types of JSON.

A tree is a flat list of nodes, in which children follow parents; a node has a number, its index there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from granite_xai.base.errors import FormatError
from granite_xai.base.files import NAN_AS_NULL, Structure, broken, entry
from granite_xai.regions.conditions import Condition
from granite_xai.regions.nodes import Leaf, Node, Region, Split, number_regions
from granite_xai.regions.rule import CONDITIONS, Rule

MAX_DEPTH = 100
"""Splits above a leaf: more than any tree we grow, few enough to walk by recursion."""

MAX_WORK = 2**23
"""Nodes times labels of the longest list in one of them: what reading all rules costs at most."""

_FIGURES = Structure(forms={float: NAN_AS_NULL})
"""How figures are written, and those of regions without a tree are read, where some are not known.

Figures of a tree are always known: its nodes are read by `CONDITIONS`, which refuses a null.
"""

_CONDITION_PAIR = tuple[Condition, Condition]


class PartitionContent(NamedTuple):
    """What a file says of a partition; parameters as of `Partition`."""

    names: Sequence[str]
    root: Node | None
    regions: Sequence[Region]  # those without a tree
    region_names: Mapping[int, str]


def write_partition(
    names: Sequence[str],
    root: Node | None,
    regions: Sequence[Region],
    region_names: Mapping[int, str],
) -> dict[str, Any]:
    """A partition in the types of JSON.

    Parameters
    ----------
    names : sequence of str
        Of all columns at fit.
    root : Leaf or Split, or None
        The tree.
    regions : sequence of Region
        Where there is no tree.
    region_names : mapping of int to str
        What the user calls the regions.
    """
    written: dict[str, Any] = {"type": "partition", "names": list(names)}
    if region_names:
        # Keys of JSON are texts.
        written["region_names"] = {str(number): name for number, name in region_names.items()}
    if root is None:
        written["regions"] = write_regions(regions)
    else:
        written["nodes"] = write_tree(root)
    return written


def read_partition(data: object) -> PartitionContent:
    """Read what `write_partition` wrote; anything else is a FormatError that names the place.

    Parameters
    ----------
    data : object
    """
    if entry(data, "type", str, "partition") != "partition":
        raise broken("partition.type", "is not 'partition'")
    names = entry(data, "names", list, "partition")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise broken("partition.names", "is not a list of different texts")
    content = cast(dict[str, Any], data)  # `entry` refused everything else
    key = "nodes" if "nodes" in content else "regions"
    items = entry(content, key, list, "partition")
    if not items or not content.keys() <= {"type", "names", "region_names", key}:
        raise broken(f"partition.{key}", "is empty, or not alone")
    root = None
    regions: tuple[Region, ...] = ()
    if key == "nodes":
        root = read_tree(items, names)
    else:
        regions = number_regions(read_regions(items))
    region_names = read_region_names(content)
    return PartitionContent(names=names, root=root, regions=regions, region_names=region_names)


def write_tree(root: Node) -> list[dict[str, Any]]:
    """A tree as a list of nodes, the root first; splits name their children by number.

    Parameters
    ----------
    root : Leaf or Split
    """
    nodes: list[dict[str, Any]] = []
    _append_node(root, nodes)
    return nodes


def _append_node(node: Node, nodes: list[dict[str, Any]]) -> int:
    """Append a node and all below it; return its number."""
    number = len(nodes)
    fields = _FIGURES.write(node, type(node), "node", ("left", "right", "children"))
    nodes.append(fields)
    if isinstance(node, Split):
        conditions = (node.left, node.right)
        fields["conditions"] = CONDITIONS.write(conditions, _CONDITION_PAIR, "conditions")
        fields["children"] = [_append_node(child, nodes) for child in node.children]
    return number


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
    subtrees: dict[int, _Subtree] = {}  # by number; a split takes its children out
    for number in reversed(range(len(items))):
        item = items[number]
        if isinstance(item, dict) and "children" in item:
            subtrees[number] = _read_split(item, number, subtrees, names)
        else:
            subtrees[number] = _Subtree(_read_leaf(item, number), depth=0)
    if len(subtrees) > 1:
        raise broken("partition.nodes", f"has {len(subtrees) - 1} nodes that no split refers to")
    return subtrees[0].node


def _require_bounded_work(items: list[Any], max_work: int) -> None:
    """Refuse a tree whose leaves together would carry an absurd number of labels.

    The rule of a leaf repeats what all nodes above it list.
    """
    longest = max((_longest_list(item) for item in items), default=0)
    if len(items) * max(longest, MAX_DEPTH) > max_work:
        raise FormatError(
            f"partition.nodes has {len(items)} nodes with lists of {longest} labels.",
            code="F05",
            argument="data",
        )


def _longest_list(item: object) -> int:
    """Labels in the longest list of a node that was not read yet, whatever it is."""
    longest = 0
    for condition in _list_of(item, "conditions"):
        n_levels = len(_list_of(condition, "levels"))
        n_ordered = len(_list_of(condition, "order"))
        longest = max(longest, n_levels, n_ordered)
    return longest


def _list_of(item: object, key: str) -> Any:
    """The list that a mapping has under a key; empty where there is none."""
    if isinstance(item, dict) and isinstance(item.get(key), list | np.ndarray):
        return item[key]
    return []


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
    are_later = all(type(child) is int and child > number for child in children)
    if len(children) != 2 or not are_later:
        raise broken(f"{place}.children", "is not a pair of later nodes")
    if children[0] == children[1] or not subtrees.keys() >= set(children):
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
