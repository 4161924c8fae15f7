"""Regions of the data: a partition, its tree (a flat list of nodes in JSON), and the rows in each part."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np

from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import NAN_AS_NULL, Structure, broken, entry
from granite_xai.base.formats import share
from granite_xai.base.notebook import Bar, RegionLabel
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.text import count_text
from granite_xai.base.typing import IntArray
from granite_xai.regions.code import DIALECTS
from granite_xai.regions.conditions import Condition
from granite_xai.regions.nodes import (
    Leaf,
    Node,
    Region,
    Split,
    find_leaves,
    leaves,
)
from granite_xai.regions.rule import CONDITIONS, Rule, as_table
from granite_xai.regions.tree_text import list_text, tree_text
from granite_xai.regions.words import Vocabulary, rule_words
from granite_xai.tables import frame

__all__ = ["Leaf", "Node", "Partition", "Region", "Split"]
MAX_DEPTH = 100  # deeper than any tree we grow, and shallow enough to walk by recursion
MAX_WORK = (
    2**23
)  # nodes times labels of the longest list in one of them: what reading all rules costs at most
_NODES = Structure(
    forms={float: NAN_AS_NULL}
)  # the share of a region that someone named may be unknown
_BELOW = ("left", "right", "children")


class PartitionText(Protocol):
    """What a fit says of its regions; all of it may depend on the names that the user gave."""

    def partition_text(self, names: Mapping[int, str]) -> str:
        """As text."""

    def partition_html(self, names: Mapping[int, str]) -> str:
        """For a notebook."""

    def region_columns(self) -> Mapping[str, Sequence[Any]]:
        """Figures of the regions, for a frame."""


@dataclass(frozen=True, repr=False)
class Partition(Printable):
    """Disjoint regions that cover every possible row.

    Parameters
    ----------
    root : Leaf or Split, optional
        The tree. None for regions that are `given` as rules.
    names : sequence of str
        Names of all columns at fit, for tables without names.
    given : sequence of Region
        Regions without a tree; `from_rules` makes them.
    region_names : mapping of int to str
        What the user calls the regions; `rename` gives names. Partitions that differ in names only
        are equal.

    Attributes
    ----------
    regions : tuple of Region
        The regions, from left to right in the tree.
    titles : tuple of str
        For each region its name or, if it has none, its rule in words.

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
    region_names: Mapping[int, str] = field(default_factory=dict, compare=False)
    vocabulary: Vocabulary = field(default_factory=dict, compare=False, repr=False)
    result_text: PartitionText | None = field(default=None, compare=False, repr=False)
    regions: tuple[Region, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        found = tuple(self.given) if self.root is None else _regions(leaves(self.root))
        if not found:
            raise InputError("a partition needs at least one region.", code="P03", argument="rules")
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "given", () if self.root is not None else found)
        object.__setattr__(self, "regions", found)
        self._set_region_names(self.region_names)

    @classmethod
    def from_rules(
        cls,
        rules: Sequence[Rule | str],
        *,
        names: Sequence[str] = (),
        leaves: Sequence[Leaf] | None = None,
    ) -> Partition:
        """Make a partition from rules or their texts; `leaves` adds what is known about each region.

        Examples
        --------
        >>> Partition.from_rules(["x0 ≤ 1", "x0 > 1"]).apply([[0.0], [3.0]])
        array([0, 1])
        """
        if isinstance(rules, str):
            raise InputError(
                "rules is one text, not a list of rules.", code="P02", argument="rules"
            )
        read = [Rule.parse(rule) if isinstance(rule, str) else rule for rule in rules]
        known = (
            [Leaf(0, math.nan, math.nan, "given")] * len(read) if leaves is None else list(leaves)
        )
        if len(known) != len(read):
            raise InputError(
                f"{len(read)} rules, but {len(known)} leaves.", code="P02", argument="leaves"
            )
        return cls(None, names, _regions(zip(read, known, strict=True)))

    def __len__(self) -> int:
        return len(self.regions)

    def __iter__(self) -> Iterator[Region]:
        return iter(self.regions)

    def __getitem__(self, index: int) -> Region:
        return self.regions[index]

    def __str__(self) -> str:
        if self.result_text is not None:
            return self.result_text.partition_text(self.region_names)
        if self.root is None:
            return list_text(self.regions, self.vocabulary)
        return tree_text(self.root, self.region_names, self.vocabulary)

    def _repr_html_(self) -> str:
        if self.result_text is not None:
            return self.result_text.partition_html(self.region_names)
        return self._summary().html()

    def _summary(self) -> TextSummary:
        headings = ("region", "rows", "share")
        lines = []
        for region, title in zip(self.regions, self.titles, strict=True):
            label = RegionLabel(region.index, title)
            lines.append(
                (label, f"{region.n_samples:,}", Bar(share(region.fraction), region.fraction))
            )
        return TextSummary(sentences=(), table=[headings, *lines], left=(0,))

    def __repr__(self) -> str:
        rules = "; ".join(str(rule) for rule in self.rules[:4])
        return f"<Partition of {len(self)} regions: {rules}{'; …' if len(self) > 4 else ''}>"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule of each region."""
        return tuple(region.rule for region in self.regions)

    @property
    def titles(self) -> tuple[str, ...]:
        """For each region its name or, if it has none, its rule in words."""
        return tuple(
            region.name or rule_words(region.rule, self.vocabulary) for region in self.regions
        )

    def rename(self, names: Mapping[int, str]) -> Partition:
        """Give names to regions, in place.

        Texts, figures, tables, SQL labels, files and reports then call them so; regions without a
        name are called by their rule.

        Parameters
        ----------
        names : mapping of int to str
            Names by number of the region. Other regions keep theirs; an empty text takes a name away.

        Returns
        -------
        Partition
            This one.

        Raises
        ------
        InputError
            If there is no such region, a name is no text, or two regions would have the same.

        Examples
        --------
        >>> partition = Partition.from_rules(["hr ≤ 6", "hr > 6"])
        >>> partition.rename({0: "night"}).titles
        ('night', 'hr > 6')
        """
        if not isinstance(names, Mapping):
            raise InputError(
                f"names is a {type(names).__name__}, not a mapping of regions to names.",
                code="P02",
                argument="names",
                hint='For example rename({0: "night"}).',
            )
        self._set_region_names({**self.region_names, **names})
        return self

    def _set_region_names(self, names: Mapping[int, str]) -> None:
        """Check names and keep them, here and with every region."""
        checked: dict[int, str] = {}
        for number, name in names.items():
            self._check_region_name(number, name)
            if name.strip():
                checked[int(number)] = name.strip()
        counts = Counter(checked.values())
        repeated = [name for name, count in counts.items() if count > 1]
        if repeated:
            raise InputError(
                f"two regions would be called {repeated[0]!r}.",
                code="P03",
                argument="names",
                hint="Give each region a name of its own.",
            )
        regions = tuple(
            replace(region, name=checked.get(region.index, "")) for region in self.regions
        )
        object.__setattr__(self, "region_names", dict(sorted(checked.items())))
        object.__setattr__(self, "regions", regions)

    def _check_region_name(self, number: object, name: object) -> None:
        is_number = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not is_number or not 0 <= int(cast(int, number)) < len(self.regions):
            raise InputError(
                f"there is no region {number!r}: regions are numbered 0 to {len(self) - 1}.",
                code="P02",
                argument="names",
            )
        if not isinstance(name, str):
            raise InputError(
                f"the name of region {number} is {name!r}, not a text.",
                code="P02",
                argument="names",
            )

    def described(self, vocabulary: Vocabulary, text: PartitionText) -> Partition:
        """Attach what a fit knows: the words of its features, and the text of its result.

        Parameters
        ----------
        vocabulary : mapping of feature to ColumnWords
        text : PartitionText
            What is printed instead of the tree alone.

        Returns
        -------
        Partition
            This one.
        """
        object.__setattr__(self, "vocabulary", dict(vocabulary))
        object.__setattr__(self, "result_text", text)
        return self

    def frame(self) -> Any:
        """One line a region.

        Returns
        -------
        DataFrame
            region, name (or the rule in words), rule, n_samples (search rows), share; of a fit also
            mean_prediction, heterogeneity_overall (before: on all rows), heterogeneity (inside the
            region, in units of the prediction), heterogeneity_low and heterogeneity_high.

        Examples
        --------
        >>> list(Partition.from_rules(["x ≤ 1", "x > 1"]).frame()["name"])
        ['x ≤ 1', 'x > 1']
        """
        columns: dict[str, Sequence[Any]] = {
            "region": [region.index for region in self.regions],
            "name": list(self.titles),
            "rule": [str(rule) for rule in self.rules],
            "n_samples": [region.n_samples for region in self.regions],
            "share": [region.fraction for region in self.regions],
        }
        if self.result_text is not None:
            columns |= self.result_text.region_columns()
        return frame(columns)

    def apply(self, X: Any) -> IntArray:
        """Number the region of each row of a table.

        Examples
        --------
        >>> Partition(Leaf(10, 1.0, 1.0)).apply([[1.0], [2.0]])
        array([0, 0])
        """
        table = as_table(X)
        if self.root is not None:
            return find_leaves(self.root, table, self.names)
        inside = np.array([region.rule.contains(table, self.names) for region in self.regions])
        for wrong, what in (
            (~inside.any(axis=0), "no rule"),
            (inside.sum(axis=0) > 1, "more than one rule"),
        ):
            rows = np.flatnonzero(wrong)
            if len(rows):
                labels, noun = table.row_labels(rows[:5]), "rows" if len(rows) > 1 else "row"
                words = f"{what} of the partition holds for {count_text(len(rows), noun, labels)}."
                hint = "Rules of a partition must be disjoint and cover every row."
                raise InputError(words, code="P03", argument="rules", rows=labels, hint=hint)
        return np.asarray(inside.argmax(axis=0), dtype=np.intp)

    def assign(self, frame: Any, name: str = "region") -> Any:
        """Add the region of each row as a column `name`, in the engine of the frame; a lazy frame stays lazy.

        Any frame that narwhals reads: pandas, polars, pyarrow, DuckDB, Dask, PySpark, with the columns of the rules by
        name. A row with a missing value for which the rules have no place gets -1.

        Examples
        --------
        >>> import pandas as pd
        >>> Partition.from_rules(["x ≤ 1", "x > 1"]).assign(pd.DataFrame({"x": [0.5, 2.0]}))["region"].tolist()
        [0, 1]
        """
        from granite_xai.tables.region_expressions import with_regions

        return with_regions(frame, self.rules, name)

    def to_sql(self, name: str = "region", dialect: str | None = None) -> str:
        r"""Write one CASE expression with `name` as its alias; NULL for a row that `apply` would refuse.

        Its values are the numbers of the regions; where some have a name, the titles of all.

        Parameters
        ----------
        name : str
            Alias of the expression.
        dialect : str, optional
            One of those of `Rule.to_sql`.

        Examples
        --------
        >>> partition = Partition.from_rules(["x0 ≤ 1", "x0 > 1"])
        >>> partition.to_sql()
        'CASE WHEN "x0" <= 1 THEN 0 WHEN "x0" > 1 THEN 1 END AS "region"'
        >>> partition.rename({0: "low", 1: "high"}).to_sql()
        'CASE WHEN "x0" <= 1 THEN \'low\' WHEN "x0" > 1 THEN \'high\' END AS "region"'
        """
        language = DIALECTS["ansi"]
        labels = [str(region.index) for region in self.regions]
        if self.region_names:
            labels = [language.text(name, title) for title in self.titles]
        cases = " ".join(
            f"WHEN {rule.to_sql(dialect)} THEN {label}"
            for rule, label in zip(self.rules, labels, strict=True)
        )
        return f"CASE {cases} END AS {language.column(name)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the partition in the types of JSON; the tree is a flat list of nodes.

        Examples
        --------
        >>> Partition(Leaf(10, 1.0, 1.0)).to_dict()["nodes"]
        [{'n_samples': 10, 'fraction': 1.0, 'disagreement': 1.0, 'stop_reason': ''}]
        """
        head: dict[str, Any] = {"type": "partition", "names": list(self.names)}
        if self.region_names:
            head["region_names"] = {str(k): name for k, name in self.region_names.items()}
        if self.root is None:
            lines = [
                _NODES.write(region, Region, "region", ("index", "rule", "name"))
                for region in self.given
            ]
            rules = [{"rule": rule.to_dict()} for rule in self.rules]
            return {
                **head,
                "regions": [rule | line for rule, line in zip(rules, lines, strict=True)],
            }
        nodes: list[dict[str, Any]] = []
        _write(self.root, nodes)
        return {**head, "nodes": nodes}

    @classmethod
    def from_dict(cls, data: object) -> Partition:
        """Read what `to_dict` wrote; anything else is a FormatError that names the place.

        Examples
        --------
        >>> partition = Partition.from_rules(["x0 ≤ 1", "x0 > 1"])
        >>> Partition.from_dict(partition.to_dict()) == partition
        True
        """
        if entry(data, "type", str, "partition") != "partition":
            raise broken("partition.type", "is not 'partition'")
        names = entry(data, "names", list, "partition")
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise broken("partition.names", "is not a list of different texts")
        key = "nodes" if isinstance(data, dict) and "nodes" in data else "regions"
        items = entry(data, key, list, "partition")
        expected = {"type", "names", "region_names", key}
        if not items or (isinstance(data, dict) and not data.keys() <= expected):
            raise broken(f"partition.{key}", "is empty, or not alone")
        root = _tree(items, names) if key == "nodes" else None
        given = []
        for i, item in enumerate(() if root else items):
            rule = Rule.from_dict(
                entry(item, "rule", dict, place := f"partition.regions[{i}]"), f"{place}.rule"
            )
            given.append((rule, _read(_NODES, item, Leaf, place, apart=("rule",))))
        region_names = _read_region_names(data)
        try:
            return cls(root, names, _regions(given), region_names=region_names)
        except (
            InputError
        ) as error:  # conditions on the way to a leaf that cannot describe one column
            raise broken("partition", f"has rules that do not fit: {error.message}") from error


def _read_region_names(data: Any) -> dict[int, str]:
    """Names by region, as a file has them: numbers are texts there."""
    if "region_names" not in data:
        return {}
    written = entry(data, "region_names", dict, "partition")
    if not all(number.isdecimal() and len(number) < 10 for number in written):
        raise broken("partition.region_names", "has keys that are not numbers of regions")
    return {int(number): name for number, name in written.items()}


def _regions(found: Iterable[tuple[Rule, Leaf]]) -> tuple[Region, ...]:
    return tuple(Region(i, rule, *astuple(leaf)) for i, (rule, leaf) in enumerate(found))


def _write(node: Node, nodes: list[dict[str, Any]]) -> int:
    """Append a node and all below it; return its place."""
    place = len(nodes)
    nodes.append(_NODES.write(node, type(node), "node", _BELOW))
    if isinstance(node, Split):
        pair = (node.left, node.right)
        nodes[place]["conditions"] = CONDITIONS.write(
            pair, tuple[Condition, Condition], "conditions"
        )
        nodes[place]["children"] = [_write(child, nodes) for child in node.children]
    return place


def _read(
    structure: Structure, data: Any, kind: type, place: str, apart: Sequence[str] = (), **known: Any
) -> Any:
    """Read a node, but for what stands apart; its figures must be possible."""
    own = {key: value for key, value in data.items() if key not in apart} if apart else data
    node = structure.read(own, kind, place, known)
    if node.n_samples < 0 or node.fraction < 0 or node.fraction > 1:
        raise broken(place, "has a number of rows, or a share of them, that cannot be")
    return node


def _tree(items: list[Any], names: list[str]) -> Node:
    """Build the nodes from the last to the first: every child comes after its parent, so nothing can be cyclic."""
    _check_work(items)
    built: dict[int, tuple[Node, int]] = {}  # each with how deep the tree is from there
    for i in reversed(range(len(items))):
        place, inner = (
            f"partition.nodes[{i}]",
            isinstance(items[i], dict) and "children" in items[i],
        )
        leaf = None if inner else _read(CONDITIONS, items[i], Leaf, place)
        built[i] = (leaf, 0) if leaf else _split(items[i], i, built, names)
    if len(built) > 1:
        raise broken("partition.nodes", f"has {len(built) - 1} nodes that no split refers to")
    return built[0][0]


def _check_work(items: list[Any]) -> None:
    """Refuse a tree whose leaves together would carry an absurd number of labels: paths repeat what nodes list."""
    conditions = [
        c for item in items if isinstance(item, dict) for c in _listed(item.get("conditions"))
    ]
    lists = (c.get(key) for c in conditions if isinstance(c, dict) for key in ("levels", "order"))
    longest = max((len(_listed(labels)) for labels in lists), default=0)
    if len(items) * max(longest, MAX_DEPTH) > MAX_WORK:
        words = f"partition.nodes has {len(items)} nodes with lists of {longest} labels."
        raise FormatError(words, code="F05", argument="data")


def _listed(value: object) -> Any:
    return value if isinstance(value, list | np.ndarray) else []


def _split(
    data: Any, index: int, built: dict[int, tuple[Node, int]], names: list[str]
) -> tuple[Split, int]:
    """A node above two that were built before; taking them out refuses a child with two parents."""
    place = f"partition.nodes[{index}]"
    places = entry(data, "children", list, place)
    if len(places) != 2 or not all(type(c) is int and c > index for c in places):
        raise broken(f"{place}.children", "is not a pair of later nodes")
    if places[0] == places[1] or not all(c in built for c in places):
        raise broken(f"{place}.children", "names a node that does not exist or has another parent")
    (left, left_depth), (right, right_depth) = (built.pop(c) for c in places)
    depth = 1 + max(left_depth, right_depth)
    if depth > MAX_DEPTH:
        raise FormatError(
            f"{place} stands above more than {MAX_DEPTH} splits.", code="F05", argument="data"
        )
    conditions = entry(data, "conditions", list, place)
    read = CONDITIONS.read(conditions, tuple[Condition, Condition], f"{place}.conditions")
    known = dict(zip(_BELOW, (*read, (left, right)), strict=True))
    node: Split = _read(CONDITIONS, data, Split, place, ("conditions", "children"), **known)
    if names and node.column not in names:
        raise broken(f"{place}.column", f"is {node.column!r}, which is not among the names")
    if node.n_samples != left.n_samples + right.n_samples:
        raise broken(place, "does not have the rows of its children")
    return node, depth
