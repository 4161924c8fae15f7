"""A partition: regions that together cover every row."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.document import (
    Document,
    Printable,
    RegionLabel,
    Table as TableBlock,
    Tree,
    TreeLine,
)
from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import broken, entry
from granite_xai.base.numbers import rows_of, share
from granite_xai.base.options import choose
from granite_xai.base.text import LABELS_SHOWN, count_text, shortened
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.regions.code import DIALECTS, PYTHON, Narwhals, python_function
from granite_xai.regions.rule import Rule, as_table, condition_from_dict
from granite_xai.regions.tree import (
    Leaf,
    Ledger,
    Node,
    Place,
    Split,
    UntakenCut,
    find_leaves,
    walk,
)
from granite_xai.regions.words import (
    Vocabulary,
    draw_tree,
    rule_words,
    stop_reason_words,
)
from granite_xai.tables import Table, frame, is_lazy

REGIONS_IN_REPR = 4  # rules that ``repr`` lists
NO_REGION = -1  # of a row that no rule has a place for, in the engine of a frame
FIGURE_HEADINGS = ("rows", "share", "heterogeneity")
UNKNOWN_LEAF = Leaf(n_samples=0, fraction=math.nan, disagreement=math.nan, stop_reason="given")
"""What is known of a region that was given as a rule."""

LEDGER = (
    *("node", "region", "where", "feature", "cut", "n_samples", "described_before"),
    *("described_after", "removed", "found_again", "reason"),
)
"""Columns of `Partition.splits`."""

MAX_DEPTH = 100
"""Splits above a leaf in a file: more than any tree we grow, few enough to walk by recursion."""


@dataclass(frozen=True, repr=False)
class Region(Printable):
    """One part of a partition.

    Parameters
    ----------
    index : int
        Its number, from left to right in the tree.
    rule : Rule
        Which rows belong.
    n_samples, fraction : int, float
        Fitting rows in it, and their share of all.
    disagreement : float
        Its share of the disagreement over all rows; all regions add up to what remains.
    stop_reason : str
        Why it was not split.
    name : str
        What the user calls it; `Partition.rename` gives names. Regions of two names are equal.

    Examples
    --------
    >>> region = Region(0, Rule.parse("hr ≤ 6"), 60, 0.6, 0.01, "below alpha")
    >>> str(region.rule), region.disagreement
    ('hr ≤ 6', 0.01)
    """

    index: int
    rule: Rule
    n_samples: int
    fraction: float
    disagreement: float
    stop_reason: str
    name: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self.rule)

    @property
    def _compared(self) -> tuple[object, ...]:
        """All but the name; figures that are not known are alike."""
        figures = [_none_if_unknown(self.fraction), _none_if_unknown(self.disagreement)]
        return (self.index, self.rule, self.n_samples, *figures, self.stop_reason)

    def __repr__(self) -> str:
        text = f"Region {self.index}"
        if self.name:
            text += f" ({self.name})"
        text += f": {self.rule}"
        if not math.isnan(self.fraction):
            text += f"; {rows_of(self.n_samples)}"
        return f"<{text}>"

    def _document(self) -> Document:
        """Its line of the table of regions."""
        headings = ("region", "name", "rows", "share", "rule", "not split because")
        figures = (
            self.index,
            self.name,
            f"{self.n_samples:,}",
            share(self.fraction),
            self.rule,
            stop_reason_words(self.stop_reason),
        )
        return Document([TableBlock(headings, [figures], left=(1, 4, 5))])


def _none_if_unknown(figure: float) -> float | None:
    """NaN, which equals nothing, as None."""
    return None if math.isnan(figure) else figure


class PartitionWords(Protocol):
    """What a fit says of its regions."""

    def of_partition(self, names: Mapping[int, str]) -> Document:
        """What the partition shows of itself; its regions may have names that the user gave."""

    def region_columns(self) -> Mapping[str, Sequence[Any]]:
        """Figures of the regions, for a frame."""


@dataclass(frozen=True, repr=False)
class Partition(Printable):
    """Disjoint regions that cover every possible row.

    Parameters
    ----------
    root : Leaf or Split, optional
        The tree. None for regions that are given as rules.
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
    >>> from granite_xai.regions import cut
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
    # What a fit knows of its regions; `described` attaches it.
    vocabulary: Vocabulary = field(default_factory=dict, compare=False, repr=False)
    result_words: PartitionWords | None = field(default=None, compare=False, repr=False)
    ledger: Deferred[Ledger] | None = field(default=None, compare=False, repr=False)
    found_again: Sequence[float] = field(default=(), compare=False, repr=False)
    regions: tuple[Region, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        given = tuple(self.given) if self.root is None else ()
        regions = given
        if self.root is not None:
            regions = _numbered(
                (place.rule, place.node)
                for place in walk(self.root)
                if isinstance(place.node, Leaf)
            )
        if not regions:
            raise InputError("a partition needs at least one region.", code="P03", argument="rules")
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "regions", regions)
        self._set_region_names(self.region_names)

    @classmethod
    def from_rules(
        cls,
        rules: Sequence[Rule | str],
        *,
        names: Sequence[str] = (),
        leaves: Sequence[Leaf] | None = None,
    ) -> Partition:
        """Make a partition from rules or their texts.

        Parameters
        ----------
        rules : sequence of Rule or str
            Disjoint, and every row satisfies one.
        names : sequence of str
            Names of all columns, for tables without names.
        leaves : sequence of Leaf, optional
            What is known about each region.

        Examples
        --------
        >>> Partition.from_rules(["x0 ≤ 1", "x0 > 1"]).apply([[0.0], [3.0]])
        array([0, 1])
        """
        if isinstance(rules, str):
            raise InputError(
                "rules is one text, not a list of rules.", code="P02", argument="rules"
            )
        parsed = [Rule.parse(rule) if isinstance(rule, str) else rule for rule in rules]
        if leaves is None:
            leaves = [UNKNOWN_LEAF] * len(parsed)
        if len(leaves) != len(parsed):
            raise InputError(
                f"{len(parsed)} rules, but {len(leaves)} leaves.", code="P02", argument="leaves"
            )
        regions = _numbered(zip(parsed, leaves, strict=True))
        return cls(root=None, names=names, given=regions)

    def __len__(self) -> int:
        return len(self.regions)

    def __iter__(self) -> Iterator[Region]:
        return iter(self.regions)

    def __getitem__(self, index: int) -> Region:
        return self.regions[index]

    def _document(self) -> Document:
        if self.result_words is not None:
            return self.result_words.of_partition(self.region_names)
        if self.root is not None:
            return Document([self._tree()])
        figures_are_known = not all(math.isnan(region.fraction) for region in self.regions)
        head = ["region", *FIGURE_HEADINGS] if figures_are_known else ["region"]
        rows: list[list[object]] = []
        for region in self.regions:
            words = rule_words(region.rule, self.vocabulary)
            figures = _figures(region) if figures_are_known else []
            rows.append([self._label(region.index, words), *figures])
        return Document([TableBlock(head, rows, left=(0,))])

    def _tree(self) -> Tree:
        lines = []
        for place, branch, words in draw_tree(self.places, self.vocabulary):
            label = RegionLabel(None, words)
            if place.region is not None:
                label = self._label(place.region, words)
            lines.append(TreeLine(branch, place.depth, label, _figures(place.node)))
        return Tree(FIGURE_HEADINGS, lines)

    def _label(self, region: int, words: str) -> RegionLabel:
        """A region by its number, its name if it has one, and its rule or the last condition of it."""
        if region in self.region_names:
            words = f"{self.region_names[region]} ({words})"
        return RegionLabel(region, shortened(words))

    def __repr__(self) -> str:
        texts = [str(rule) for rule in self.rules[:REGIONS_IN_REPR]]
        if len(self) > REGIONS_IN_REPR:
            texts.append("…")
        return f"<Partition of {len(self)} regions: {'; '.join(texts)}>"

    @property
    def places(self) -> list[Place]:
        """The nodes of the tree, parents first; without a tree all rows, and the regions below them."""
        if self.root is not None:
            return list(walk(self.root))
        is_known = not any(math.isnan(region.disagreement) for region in self.regions)
        whole = Leaf(
            n_samples=sum(region.n_samples for region in self.regions),
            fraction=1.0,
            disagreement=1.0 if is_known else math.nan,
        )
        root = Place(whole, 0, None, range(len(self)), None, Rule(), Rule())
        places = [root]
        for region in self.regions:
            leaf = Leaf(region.n_samples, region.fraction, region.disagreement, region.stop_reason)
            number = region.index
            alone = range(number, number + 1)
            places.append(Place(leaf, number + 1, root, alone, number, region.rule, region.rule))
        return places

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
        region_names = _checked_names(names, len(self.regions))
        regions = list(self.regions)
        for number, region in enumerate(regions):
            regions[number] = replace(region, name=region_names.get(number, ""))
        object.__setattr__(self, "region_names", region_names)
        object.__setattr__(self, "regions", tuple(regions))

    def described(
        self,
        vocabulary: Vocabulary,
        words: PartitionWords,
        ledger: Deferred[Ledger],
        found_again: Sequence[float] = (),
    ) -> Partition:
        """Attach what a fit knows: the words of its features, the text of its result, the ledger of its splits.

        Parameters
        ----------
        vocabulary : mapping of feature to ColumnWords
        words : PartitionWords
            What is shown instead of the tree alone.
        ledger : Deferred of Ledger
        found_again : sequence of float
            Of each split the share of searches that made it again; empty: not known.

        Returns
        -------
        Partition
            This one.
        """
        object.__setattr__(self, "vocabulary", dict(vocabulary))
        object.__setattr__(self, "result_words", words)
        object.__setattr__(self, "ledger", ledger)
        object.__setattr__(self, "found_again", tuple(found_again))
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
        if self.result_words is not None:
            columns |= self.result_words.region_columns()
        return frame(columns)

    def split_lines(self) -> list[dict[str, Any]]:
        """The ledger: one line for each split, and one for each region with the best cut that was not made."""
        ledger = Ledger() if self.ledger is None else self.ledger.value
        lines: list[dict[str, Any]] = []
        n_splits = 0
        for place in () if self.root is None else self.places:
            node = place.node
            before = after = again = math.nan
            if isinstance(node, Split):
                feature, cut, reason = node.column, node.left.text(node.column), ""
                removed = node.disagreement - sum(child.disagreement for child in node.children)
                if ledger.described:
                    before, after = ledger.described[n_splits : n_splits + 2]
                if self.found_again:
                    again = self.found_again[n_splits]
                n_splits += 1
            else:
                cuts = ledger.untaken_cuts
                best = cuts[place.regions.start] if cuts else UntakenCut()
                feature, cut, removed = best.column, best.cut, best.gain
                reason = stop_reason_words(node.stop_reason)
            line = (
                place.number,
                NO_REGION if place.region is None else place.region,
                str(place.rule),
                feature,
                cut,
                node.n_samples,
                before,
                after,
                removed,
                again,
                reason,
            )
            lines.append(dict(zip(LEDGER, line, strict=True)))
        return lines

    def splits(self) -> Any:
        """The ledger: what each split adds, and the regions that were not split further, with the reason.

        Returns
        -------
        DataFrame
            node and region (-1: a split), where, feature and cut (of a region the best one that was tried), n_samples
            (search rows), described_before and described_after (share of the model described with the splits above in
            the list, and with this one; on the held-out rows where there are some), removed (share of the disagreement
            on all rows that the split takes away, or that the cut would), found_again (share of the searches on half
            the rows that split this feature there; NaN before ``g.stability()``) and reason (why a region is not split
            further). Without a tree there is no line.

        Examples
        --------
        >>> import granite_xai as gx
        >>> toy = gx.datasets.make_toy()
        >>> splits = gx.Granite(toy.model).fit(toy.X).partition_.splits()
        >>> list(splits["cut"])[0], list(splits["reason"])
        ('x2 ≤ 0', ['', 'nothing to explain', 'nothing to explain'])
        """
        lines = self.split_lines()
        return frame({name: [line[name] for line in lines] for name in LEDGER})

    def apply(self, X: Any) -> IntArray:
        """Number the region of each row of a table.

        Parameters
        ----------
        X : table
            The engine of a lazy one numbers its rows.

        Returns
        -------
        array of shape (n_rows,)

        Raises
        ------
        InputError
            Of rows for which no region, or more than one, has a place.

        Examples
        --------
        >>> Partition(Leaf(10, 1.0, 1.0)).apply([[1.0], [2.0]])
        array([0, 0])
        """
        if is_lazy(X):
            return self._applied_by_engine(X)
        table = as_table(X)
        if self.root is not None:
            return find_leaves(self.root, table, self.names)
        holds = np.array([rule.contains(table, self.names) for rule in self.rules])
        n_rules = holds.sum(axis=0)
        _refuse_rows(n_rules == 0, "no rule", table)
        _refuse_rows(n_rules > 1, "more than one rule", table)
        return np.asarray(holds.argmax(axis=0), dtype=np.intp)

    def assign(self, frame: Any, name: str = "region") -> Any:
        """Add the region of each row as a column, in the engine of the frame.

        Parameters
        ----------
        frame : frame
            Any that narwhals reads: pandas, polars, pyarrow, DuckDB, Dask, PySpark, with the columns
            of the rules by name. A lazy frame stays lazy.
        name : str
            Of the new column; a row with a missing value for which the rules have no place gets -1.

        Examples
        --------
        >>> import pandas as pd
        >>> partition = Partition.from_rules(["x ≤ 1", "x > 1"])
        >>> partition.assign(pd.DataFrame({"x": [0.5, 2.0]}))["region"].tolist()
        [0, 1]
        """
        table = nw.from_native(frame)
        language = Narwhals(table.collect_schema())
        region: Any = nw.lit(NO_REGION)
        for number, rule in reversed(list(enumerate(self.rules))):
            if rule.conditions:
                holds = rule.write(language)
                region = nw.when(holds).then(nw.lit(number)).otherwise(region)
            else:  # it holds for every row
                region = nw.lit(number)
        return table.with_columns(region.cast(nw.Int64).alias(name)).to_native()

    def _applied_by_engine(self, X: Any) -> IntArray:
        """Region of each row of a lazy table; a row without one is an error (D01)."""
        assigned = nw.from_native(self.assign(X)).lazy().select("region").collect()
        numbers = assigned["region"].to_numpy()
        n_homeless = int(np.sum(numbers < 0))
        if n_homeless:
            raise InputError(
                f"{n_homeless:,} rows have missing values for which the regions have no place.",
                code="D01",
                argument="X",
                hint='Impute or drop them, or fit with missing="allow".',
            )
        return np.asarray(numbers, dtype=np.intp)

    def to_sql(self, name: str = "region", dialect: str | None = None) -> str:
        r"""Write one CASE expression; NULL for a row that `apply` would refuse.

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
        language = choose("dialect", dialect or "ansi", DIALECTS)
        cases = []
        for rule, label in zip(self.rules, self._labels, strict=True):
            written = language.text(name, label) if isinstance(label, str) else str(label)
            cases.append(f"WHEN {rule.to_sql(dialect)} THEN {written}")
        return f"CASE {' '.join(cases)} END AS {language.column(name)}"

    def to_pandas(self) -> dict[int | str, str]:
        """Write one expression a region for ``DataFrame.query``; none holds for a row that `apply` would refuse.

        They stand under the values of `to_sql`.

        Examples
        --------
        >>> import pandas as pd
        >>> partition = Partition.from_rules(["x0 ≤ 1", "x0 > 1"])
        >>> partition.to_pandas()
        {0: 'x0 <= 1', 1: 'x0 > 1'}
        >>> len(pd.DataFrame({"x0": [0.0, 3.0, 4.0]}).query(partition.to_pandas()[1]))
        2
        """
        by_region: dict[int | str, str] = {}
        for rule, label in zip(self.rules, self._labels, strict=True):
            by_region[label] = rule.to_pandas()
        return by_region

    def to_polars(self, name: str = "region") -> Any:
        """Return one expression of polars, for ``with_columns``; null for a row that `apply` would refuse.

        Its values are those of `to_sql`.

        Parameters
        ----------
        name : str
            Alias of the expression.
        """
        import polars

        region: Any = polars.lit(None)
        for rule, label in zip(self.rules, self._labels, strict=True):
            region = polars.when(rule.to_polars()).then(polars.lit(label)).otherwise(region)
        return region.alias(name)

    def to_python(self, name: str = "region") -> str:
        """Write a Python function of a row (a mapping) that needs no package.

        It returns the values of `to_sql`, and None for a row that `apply` would refuse.

        Parameters
        ----------
        name : str
            Of the function.

        Examples
        --------
        >>> module = {}
        >>> exec(Partition.from_rules(["x0 ≤ 1", "x0 > 1"]).to_python(), module)
        >>> module["region"]({"x0": 3.0}), module["region"]({"x0": None})
        (1, None)
        """
        lines = []
        for rule, label in zip(self.rules, self._labels, strict=True):
            lines.append(f"    if {rule.write(PYTHON)}:")
            lines.append(f"        return {label!a}")
        lines.append("    return None")
        says = "The region of a row, a mapping of columns to values; None if it has none."
        return python_function(name, says, "\n".join(lines))

    @property
    def _labels(self) -> list[int | str]:
        """What other programs call the regions: their numbers or, where some have a name, the titles of all."""
        if self.region_names:
            return [*self.titles]
        return [region.index for region in self.regions]

    def to_dict(self) -> dict[str, Any]:
        """Return the partition in the types of JSON.

        Examples
        --------
        >>> Partition(Leaf(10, 1.0, 1.0)).to_dict()["tree"]
        {'n_samples': 10, 'fraction': 1.0, 'disagreement': 1.0, 'stop_reason': ''}
        """
        written: dict[str, Any] = {"type": "partition", "names": list(self.names)}
        if self.region_names:
            # Keys of JSON are texts.
            written["region_names"] = {str(key): name for key, name in self.region_names.items()}
        if self.root is not None:
            return {**written, "tree": _node_to_dict(self.root)}
        regions = [
            {"rule": region.rule.to_dict(), **_node_to_dict(region)} for region in self.regions
        ]
        return {**written, "regions": regions}

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
        region_names: dict[str, Any] = {}
        if isinstance(data, dict) and "region_names" in data:
            region_names = entry(data, "region_names", dict, "partition")
        if not all(number.isdecimal() and len(number) < 10 for number in region_names):
            raise broken("partition.region_names", "has keys that are not numbers of regions")
        try:
            root = None
            regions: tuple[Region, ...] = ()
            if isinstance(data, dict) and "tree" in data:
                root = _node_from_dict(data["tree"], "partition.tree", names)
            else:
                regions = _numbered(_given_from_list(entry(data, "regions", list, "partition")))
            return cls(
                root=root,
                names=names,
                given=regions,
                region_names={int(number): name for number, name in region_names.items()},
            )
        except InputError as error:  # conditions on the way to a leaf that cannot be joined
            raise broken("partition", f"has rules that do not fit: {error.message}") from error


def _numbered(leaves: Iterable[tuple[Rule, Leaf]]) -> tuple[Region, ...]:
    """Regions from leaves with their rules, numbered in that order."""
    return tuple(
        Region(number, rule, leaf.n_samples, leaf.fraction, leaf.disagreement, leaf.stop_reason)
        for number, (rule, leaf) in enumerate(leaves)
    )


def _figures(node: Node | Region) -> tuple[str, str, str]:
    """Rows, their share and the heterogeneity."""
    return (f"{node.n_samples:,}", share(node.fraction), share(node.disagreement))


def _checked_names(names: Mapping[int, str], n_regions: int) -> dict[int, str]:
    """Names by ascending number of the region, without blanks at the ends and without empty names."""
    checked: dict[int, str] = {}
    for number, name in names.items():
        is_number = isinstance(number, Integral) and not isinstance(number, bool)
        if not is_number or not 0 <= int(number) < n_regions:
            raise InputError(
                f"there is no region {number!r}: regions are numbered 0 to {n_regions - 1}.",
                code="P02",
                argument="names",
            )
        if not isinstance(name, str):
            raise InputError(
                f"the name of region {number} is {name!r}, not a text.",
                code="P02",
                argument="names",
            )
        if name.strip():
            checked[int(number)] = name.strip()
    for name, count in Counter(checked.values()).items():
        if count > 1:
            raise InputError(
                f"two regions would be called {name!r}.",
                code="P03",
                argument="names",
                hint="Give each region a name of its own.",
            )
    return dict(sorted(checked.items()))


def _refuse_rows(is_wrong: BoolArray, rules_text: str, table: Table) -> None:
    """Refuse rows that no rule of a partition, or more than one, holds for."""
    rows = np.flatnonzero(is_wrong)
    if len(rows) == 0:
        return
    labels = table.row_labels(rows[:LABELS_SHOWN])
    noun = "rows" if len(rows) > 1 else "row"
    raise InputError(
        f"{rules_text} of the partition holds for {count_text(len(rows), noun, labels)}.",
        code="P03",
        argument="rules",
        rows=labels,
        hint="Rules of a partition must be disjoint and cover every row.",
    )


def _node_to_dict(node: Node | Region) -> dict[str, Any]:
    """A node and all below it, or a region that was given; null where a figure is not known."""
    written: dict[str, Any] = {
        "n_samples": node.n_samples,
        "fraction": _none_if_unknown(node.fraction),
        "disagreement": _none_if_unknown(node.disagreement),
    }
    if not isinstance(node, Split):
        return {**written, "stop_reason": node.stop_reason}
    return {
        **written,
        "column": node.column,
        "conditions": [side.to_dict() for side in (node.left, node.right)],
        "children": [_node_to_dict(child) for child in node.children],
    }


def _node_from_dict(data: Any, place: str, names: Sequence[str], depth: int = 0) -> Node:
    """Read a node and all below it; ``names`` are the columns that it may split, if there are any."""
    if depth > MAX_DEPTH:
        raise FormatError(
            f"{place[:60]}… stands below more than {MAX_DEPTH} splits.", code="F05", argument="data"
        )
    n_samples, fraction, disagreement = _figures_from_dict(data, place)
    if math.isnan(fraction) or math.isnan(disagreement):
        raise broken(place, "has figures that are not known")
    if "children" not in data:
        return Leaf(n_samples, fraction, disagreement, entry(data, "stop_reason", str, place))
    column = entry(data, "column", str, place)
    if names and column not in names:
        raise broken(f"{place}.column", f"is {column!r}, which is not among the names")
    conditions = entry(data, "conditions", list, place)
    children = entry(data, "children", list, place)
    if len(conditions) != 2 or len(children) != 2:
        raise broken(place, "has not two conditions and two children")
    left, right = (
        _node_from_dict(child, f"{place}.children[{side}]", names, depth + 1)
        for side, child in enumerate(children)
    )
    if n_samples != left.n_samples + right.n_samples:
        raise broken(place, "does not have the rows of its children")
    goes_left = condition_from_dict(conditions[0], f"{place}.conditions[0]")
    goes_right = condition_from_dict(conditions[1], f"{place}.conditions[1]")
    try:
        return Split(
            column, goes_left, goes_right, (left, right), n_samples, fraction, disagreement
        )
    except InputError as error:
        raise broken(f"{place}.conditions", f"cannot be: {error.message}") from error


def _given_from_list(items: list[Any]) -> Iterator[tuple[Rule, Leaf]]:
    """Read the rules and figures of regions without a tree."""
    for number, item in enumerate(items):
        place = f"partition.regions[{number}]"
        rule = Rule.from_dict(entry(item, "rule", dict, place), f"{place}.rule")
        leaf = Leaf(*_figures_from_dict(item, place), entry(item, "stop_reason", str, place))
        yield rule, leaf


def _figures_from_dict(data: Any, place: str) -> tuple[int, float, float]:
    """Rows, their share and the disagreement of a node; NaN where a figure is not known."""
    n_samples = entry(data, "n_samples", int, place)
    figures = []
    for name in ("fraction", "disagreement"):
        figure = data.get(name, "")
        is_number = isinstance(figure, int | float) and not isinstance(figure, bool)
        if figure is not None and not (is_number and abs(figure) <= sys.float_info.max):
            raise broken(f"{place}.{name}", "is not a finite number")
        figures.append(math.nan if figure is None else float(figure))
    if n_samples < 0 or figures[0] < 0 or figures[0] > 1:
        raise broken(place, "has a number of rows, or a share of them, that cannot be")
    return n_samples, figures[0], figures[1]
