"""Regions and their tree in plain types."""

from __future__ import annotations

from typing import Any

from granite_xai.regions.nodes import Leaf, Node, leaves
from granite_xai.regions.rule import Rule
from granite_xai.report.basis import Basis
from granite_xai.report.panels import region_explained

SMALL = 20
"""Rows below which a region is flagged: its figures say little, and they are about few."""


def regions(basis: Basis, importance: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Each region: rule, rows, disagreement, how well its own curves describe it, its strongest sets."""
    partition = basis.fitted.partition
    explained: list[float | None] = [None] * len(partition)
    if basis.evaluations is not None:
        explained = [*region_explained(basis)]
    return [
        {
            "region": region.index,
            "rule": str(region.rule),
            "short": short_rule(region.rule),
            "n_samples": region.n_samples,
            "fraction": _finite(region.fraction),
            "disagreement": _finite(region.disagreement),
            "explained": value,
            "strongest": _strongest(importance, region.index, len(partition)),
            "stop_reason": region.stop_reason,
            "small": region.n_samples < SMALL,
        }
        for region, value in zip(partition, explained, strict=True)
    ]


def short_rule(rule: Rule) -> str:
    """A rule for narrow places: every condition is cut in its middle, so that its end stays readable.

    Examples
    --------
    >>> short_rule(Rule.parse("`a very long name of some column that goes on and on` > 3 and x ≤ 1"))
    '`a very long name of so…on and on` > 3 and x ≤ 1'
    """
    return " and ".join(middle(condition.text(name)) for name, condition in rule.conditions) or "all rows"


def middle(text: str, width: int = 40) -> str:
    """Cut a long text in its middle."""
    return text if len(text) <= width else text[: width - 17] + "…" + text[-14:]


def _finite(value: float) -> float | None:
    return float(value) if value == value else None


def _strongest(importance: dict[str, Any] | None, region: int, count: int) -> list[str]:
    if importance is None:
        return []
    scope = importance["scopes"][0 if count == 1 else region + 1]
    size = [abs(value or 0.0) for value in scope["second"]]
    ranked = sorted(range(len(size)), key=lambda i: -size[i])
    return [importance["sets"][i] for i in ranked[:3] if size[i] > 1e-9 * max(size)]


def tree(basis: Basis) -> dict[str, Any] | None:
    """The nested nodes; None for regions that have no tree."""
    root = basis.fitted.partition.root
    if root is None:
        return None
    return _node(root, "all rows", iter(range(len(basis.fitted.partition))))


def _node(node: Node, text: str, numbers: Any) -> dict[str, Any]:
    facts = {
        "text": text,
        "short": middle(text, 60),
        "n_samples": node.n_samples,
        "fraction": float(node.fraction),
        "disagreement": float(node.disagreement),
    }
    if isinstance(node, Leaf):
        return {**facts, "left": float(node.disagreement), "region": next(numbers), "stop_reason": node.stop_reason}
    left = sum(leaf.disagreement for _, leaf in leaves(node))
    children = [
        _node(child, condition.text(node.column), numbers)
        for child, condition in zip(node.children, (node.left, node.right), strict=True)
    ]
    return {**facts, "left": float(left), "column": node.column, "children": children}
