"""Regions of the data: a partition, its tree, and the rows in each part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError, count_text
from granite_xai.base.files import broken
from granite_xai.base.typing import IntArray
from granite_xai.regions.json import partition_parts, partition_to_dict
from granite_xai.regions.nodes import Leaf, Node, Region, Split, find_leaves, leaves, list_text, tree_text
from granite_xai.regions.rule import Rule, as_table
from granite_xai.tables import Table

__all__ = ["Leaf", "Node", "Partition", "Region", "Split"]


@dataclass(frozen=True, repr=False)
class Partition:
    """Disjoint regions that cover every possible row.

    Parameters
    ----------
    root : Leaf or Split, optional
        The tree. None for regions that are `given` as rules.
    names : sequence of str
        Names of all columns at fit, for tables without names.
    given : sequence of Region
        Regions without a tree; `from_rules` makes them.

    Attributes
    ----------
    regions : tuple of Region
        The regions, from left to right in the tree.

    Examples
    --------
    >>> from granite_xai.regions.conditions import cut
    >>> halves = (Leaf(60, 0.6, 0.0, "below alpha"), Leaf(40, 0.4, 0.1, "below alpha"))
    >>> partition = Partition(Split("x1", *cut(0.0), halves, 100, 1.0, 1.0))
    >>> [str(rule) for rule in partition.rules]
    ['x1 ≤ 0', 'x1 > 0']
    >>> partition.apply([[5.0, 1.0], [5.0, -1.0]])
    array([1, 0])
    """

    root: Node | None
    names: Sequence[str] = ()
    given: Sequence[Region] = ()
    regions: tuple[Region, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        found = tuple(self.given) if self.root is None else _regions(leaves(self.root))
        if not found:
            raise InputError("a partition needs at least one region.", code="P03", argument="rules")
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "given", () if self.root is not None else found)
        object.__setattr__(self, "regions", found)

    @classmethod
    def from_rules(
        cls, rules: Sequence[Rule | str], *, names: Sequence[str] = (), leaves: Sequence[Leaf] | None = None
    ) -> Partition:
        """Make a partition from rules or their texts; `leaves` adds what is known about each region.

        Examples
        --------
        >>> Partition.from_rules(["x0 ≤ 1", "x0 > 1"]).apply([[0.0], [3.0]])
        array([0, 1])
        """
        if isinstance(rules, str):
            raise InputError("rules is one text, not a list of rules.", code="P02", argument="rules")
        read = [Rule.parse(rule) if isinstance(rule, str) else rule for rule in rules]
        known = [Leaf(0, math.nan, math.nan, "given")] * len(read) if leaves is None else list(leaves)
        if len(known) != len(read):
            raise InputError(f"{len(read)} rules, but {len(known)} leaves.", code="P02", argument="leaves")
        return cls(None, names, _regions(zip(read, known, strict=True)))

    def __len__(self) -> int:
        """Return the number of regions."""
        return len(self.regions)

    def __iter__(self) -> Iterator[Region]:
        """List the regions from left to right."""
        return iter(self.regions)

    def __getitem__(self, index: int) -> Region:
        """Return one region by its number."""
        return self.regions[index]

    def __str__(self) -> str:
        """Return the tree with rows and disagreement, before and after its splits."""
        return list_text(self.regions) if self.root is None else tree_text(self.root)

    def __repr__(self) -> str:
        """Return the number of regions and the first rules."""
        rules = "; ".join(str(rule) for rule in self.rules[:4])
        return f"<Partition of {len(self)} regions: {rules}{'; …' if len(self) > 4 else ''}>"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule of each region."""
        return tuple(region.rule for region in self.regions)

    def apply(self, X: Any) -> IntArray:
        """Number the region of each row of a table.

        Examples
        --------
        >>> Partition(Leaf(10, 1.0, 1.0)).apply([[1.0], [2.0]])
        array([0, 0])
        """
        table = as_table(X)
        return self._apply_rules(table) if self.root is None else find_leaves(self.root, table, self.names)

    def _apply_rules(self, table: Table) -> IntArray:
        inside = np.array([region.rule.contains(table, self.names) for region in self.regions])
        for wrong, what in ((~inside.any(axis=0), "no rule"), (inside.sum(axis=0) > 1, "more than one rule")):
            rows = np.flatnonzero(wrong)
            if len(rows):
                raise _unplaced(table, rows, what)
        found: IntArray = inside.argmax(axis=0).astype(np.intp)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the partition in the types of JSON; the tree is a flat list of nodes.

        Examples
        --------
        >>> Partition(Leaf(10, 1.0, 1.0)).to_dict()["nodes"]
        [{'n_samples': 10, 'fraction': 1.0, 'disagreement': 1.0, 'stop_reason': ''}]
        """
        return partition_to_dict(self.root, self.names, self.given)

    @classmethod
    def from_dict(cls, data: object) -> Partition:
        """Read what `to_dict` wrote; anything else is a FormatError that names the place.

        Examples
        --------
        >>> partition = Partition.from_rules(["x0 ≤ 1", "x0 > 1"])
        >>> Partition.from_dict(partition.to_dict()) == partition
        True
        """
        root, names, given = partition_parts(data)
        try:
            return cls(root, names, _regions(given))
        except InputError as error:  # conditions on the way to a leaf that cannot describe one column
            raise broken("partition", f"has rules that do not fit: {error.message}") from error


def _unplaced(table: Table, rows: IntArray, what: str) -> InputError:
    labels = table.row_labels(rows[:5])
    words = f"{what} of the partition holds for {count_text(len(rows), 'rows' if len(rows) > 1 else 'row', labels)}."
    hint = "Rules of a partition must be disjoint and cover every row."
    return InputError(words, code="P03", argument="rules", rows=labels, hint=hint)


def _regions(found: Iterable[tuple[Rule, Leaf]]) -> tuple[Region, ...]:
    return tuple(
        Region(i, rule, leaf.n_samples, leaf.fraction, leaf.disagreement, leaf.stop_reason)
        for i, (rule, leaf) in enumerate(found)
    )
