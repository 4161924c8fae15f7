"""A partition in the types of JSON: a flat list of nodes, checked when it is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import broken, entry, members, number
from granite_xai.regions.nodes import Leaf, Node, Region, Split
from granite_xai.regions.rule import Rule
from granite_xai.regions.stored import condition_from_dict, condition_to_dict

# Deeper than any tree we grow, and shallow enough to walk by recursion.
MAX_DEPTH = 100
# Nodes times labels of the longest list in one of them: what reading the rules of all leaves costs at most.
MAX_WORK = 2**23
Parts = tuple[Node | None, list[str], list[tuple[Rule, Leaf]]]


def partition_to_dict(root: Node | None, names: Sequence[str], given: Sequence[Region]) -> dict[str, Any]:
    """Write a tree as a list of nodes, parents first, or given regions as a list of rules.

    Examples
    --------
    >>> sorted(partition_to_dict(Leaf(10, 1.0, 1.0), ["a"], ()))
    ['names', 'nodes', 'type']
    """
    head = {"type": "partition", "names": list(names)}
    if root is None:
        return {
            **head,
            "regions": [{"rule": r.rule.to_dict(), **_figures(r), "stop_reason": r.stop_reason} for r in given],
        }
    nodes: list[dict[str, Any]] = []
    _write(root, nodes)
    return {**head, "nodes": nodes}


def _write(node: Node, nodes: list[dict[str, Any]]) -> int:
    """Append a node and all below it; return its place."""
    place = len(nodes)
    nodes.append(_figures(node))
    if isinstance(node, Leaf):
        nodes[place]["stop_reason"] = node.stop_reason
        return place
    nodes[place]["column"] = node.column
    nodes[place]["conditions"] = [condition_to_dict(c) for c in (node.left, node.right)]
    nodes[place]["children"] = [_write(child, nodes) for child in node.children]
    return place


def _figures(node: Node | Region) -> dict[str, Any]:
    """Return the numbers of a node; a number that is not known is null."""
    shares = {"fraction": node.fraction, "disagreement": node.disagreement}
    return {"n_samples": node.n_samples, **{k: None if math.isnan(v) else v for k, v in shares.items()}}


def partition_parts(data: object) -> Parts:
    """Read what `partition_to_dict` wrote: the tree, the names, and the given rules.

    Examples
    --------
    >>> partition_parts(partition_to_dict(Leaf(10, 1.0, 1.0), ["a"], ()))
    (Leaf(n_samples=10, fraction=1.0, disagreement=1.0, stop_reason=''), ['a'], [])
    """
    if entry(data, "type", str, "partition") != "partition":
        raise broken("partition.type", "is not 'partition'")
    names = members(data, "names", "partition")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise broken("partition.names", "is not a list of different texts")
    if isinstance(data, dict) and "nodes" in data:
        return _tree(members(data, "nodes", "partition"), names), names, []
    items = members(data, "regions", "partition")
    if not items:
        raise broken("partition.regions", "is empty")
    return None, names, [_region(item, f"partition.regions[{i}]") for i, item in enumerate(items)]


def _region(data: object, place: str) -> tuple[Rule, Leaf]:
    return Rule.from_dict(entry(data, "rule", dict, place), f"{place}.rule"), _leaf(data, place, known=False)


def _leaf(data: object, place: str, *, known: bool = True) -> Leaf:
    return Leaf(*_shares(data, place, known=known), entry(data, "stop_reason", str, place))


def _shares(data: object, place: str, *, known: bool = True) -> tuple[int, float, float]:
    rows = entry(data, "n_samples", int, place)
    fraction, disagreement = (
        math.nan if not known and entry(data, key, object, place) is None else number(data, key, place)
        for key in ("fraction", "disagreement")
    )
    if rows < 0 or fraction < 0 or fraction > 1:
        raise broken(place, "has a number of rows, or a share of them, that cannot be")
    return rows, fraction, disagreement


def _tree(items: list[Any], names: list[str]) -> Node:
    """Build the nodes from the last to the first: every child comes after its parent, so nothing can be cyclic."""
    if not items:
        raise broken("partition.nodes", "is empty")
    _check_work(items)
    built: dict[int, tuple[Node, int]] = {}
    for i in range(len(items) - 1, -1, -1):
        place = f"partition.nodes[{i}]"
        if isinstance(items[i], dict) and "children" in items[i]:
            built[i] = _split(items[i], i, built, names, place)
        else:
            built[i] = _leaf(items[i], place), 0
    if len(built) > 1:
        raise broken("partition.nodes", f"has {len(built) - 1} nodes that no split refers to")
    return built[0][0]


def _check_work(items: list[Any]) -> None:
    """Refuse a tree whose leaves together would carry an absurd number of labels: paths repeat what nodes list."""
    conditions = [c for item in items if isinstance(item, dict) for c in _listed(item.get("conditions"))]
    longest = max(
        (len(_listed(c.get(key))) for c in conditions if isinstance(c, dict) for key in ("levels", "order")), default=0
    )
    if len(items) * max(longest, MAX_DEPTH) > MAX_WORK:
        raise FormatError(
            f"partition.nodes has {len(items)} nodes with lists of {longest} labels.", code="F05", argument="data"
        )


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _split(
    data: object, index: int, built: dict[int, tuple[Node, int]], names: list[str], place: str
) -> tuple[Node, int]:
    """Build a split from two nodes built before; taking them out refuses a child with two parents."""
    children = members(data, "children", place)
    if len(children) != 2 or not all(type(c) is int and c > index for c in children):
        raise broken(f"{place}.children", "is not a pair of later nodes")
    if children[0] == children[1] or not all(c in built for c in children):
        raise broken(f"{place}.children", "names a node that does not exist or has another parent")
    (left, left_depth), (right, right_depth) = (built.pop(c) for c in children)
    depth = 1 + max(left_depth, right_depth)
    if depth > MAX_DEPTH:
        raise FormatError(f"{place} stands above more than {MAX_DEPTH} splits.", code="F05", argument="data")
    return _joined(data, (left, right), names, place), depth


def _joined(data: object, children: tuple[Node, Node], names: list[str], place: str) -> Split:
    column = entry(data, "column", str, place)
    if names and column not in names:
        raise broken(f"{place}.column", f"is {column!r}, which is not among the names")
    conditions = [condition_from_dict(c, f"{place}.conditions") for c in members(data, "conditions", place)]
    rows, fraction, disagreement = _shares(data, place)
    if len(conditions) != 2 or rows != sum(child.n_samples for child in children):
        raise broken(place, "does not have two conditions, or not the rows of its children")
    try:
        return Split(column, conditions[0], conditions[1], children, rows, fraction, disagreement)
    except InputError as error:
        raise broken(f"{place}.conditions", f"do not fit: {error.message}") from error
