"""A partition: regions that together cover every row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from granite_xai.base.errors import InputError
from granite_xai.base.files import broken
from granite_xai.base.formats import share
from granite_xai.base.notebook import Bar, RegionLabel
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.typing import IntArray
from granite_xai.regions.code import write_rule
from granite_xai.regions.code_languages import DIALECTS, PYTHON, python_function
from granite_xai.regions.nodes import (
    Leaf,
    Node,
    Region,
    Split,
    find_leaves,
    leaves,
    number_regions,
)
from granite_xai.regions.partition_file import read_partition, write_partition
from granite_xai.regions.region_names import check_region_names
from granite_xai.regions.rule import Rule, as_table
from granite_xai.regions.rule_of_row import find_rules
from granite_xai.regions.tree_text import list_text, tree_text
from granite_xai.regions.words import Vocabulary, rule_words
from granite_xai.tables import frame
from granite_xai.tables.region_expressions import with_regions

__all__ = ["Leaf", "Node", "Partition", "Region", "Split"]

REGIONS_IN_REPR = 4
"""Rules that ``repr`` lists."""

UNKNOWN_LEAF = Leaf(n_samples=0, fraction=math.nan, disagreement=math.nan, stop_reason="given")
"""What is known of a region that was given as a rule."""


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
    >>> from granite_xai.regions.condition_pairs import cut
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
    result_text: PartitionText | None = field(default=None, compare=False, repr=False)
    regions: tuple[Region, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        given: tuple[Region, ...] = ()
        if self.root is None:
            given = tuple(self.given)
            regions = given
        else:
            regions = number_regions(leaves(self.root))
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
        parsed = []
        for rule in rules:
            if isinstance(rule, str):
                parsed.append(Rule.parse(rule))
            else:
                parsed.append(rule)
        if leaves is None:
            leaves = [UNKNOWN_LEAF] * len(parsed)
        if len(leaves) != len(parsed):
            raise InputError(
                f"{len(parsed)} rules, but {len(leaves)} leaves.", code="P02", argument="leaves"
            )
        regions = number_regions(zip(parsed, leaves, strict=True))
        return cls(root=None, names=names, given=regions)

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
        table: list[tuple[object, ...]] = [("region", "rows", "share")]
        for region, title in zip(self.regions, self.titles, strict=True):
            label = RegionLabel(number=region.index, text=title)
            bar = Bar(text=share(region.fraction), fraction=region.fraction)
            table.append((label, f"{region.n_samples:,}", bar))
        return TextSummary(sentences=(), table=table, left=(0,))

    def __repr__(self) -> str:
        texts = [str(rule) for rule in self.rules[:REGIONS_IN_REPR]]
        if len(self) > REGIONS_IN_REPR:
            texts.append("…")
        return f"<Partition of {len(self)} regions: {'; '.join(texts)}>"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule of each region."""
        return tuple(region.rule for region in self.regions)

    @property
    def titles(self) -> tuple[str, ...]:
        """For each region its name or, if it has none, its rule in words."""
        return tuple(self._title(region) for region in self.regions)

    def _title(self, region: Region) -> str:
        return region.name or rule_words(region.rule, self.vocabulary)

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
        region_names = check_region_names(names, len(self.regions))
        regions = list(self.regions)
        for number, region in enumerate(regions):
            regions[number] = replace(region, name=region_names.get(number, ""))
        object.__setattr__(self, "region_names", region_names)
        object.__setattr__(self, "regions", tuple(regions))

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

        Parameters
        ----------
        X : table

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
        table = as_table(X)
        if self.root is not None:
            return find_leaves(self.root, table, self.names)
        return find_rules(self.rules, table, self.names)

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
        return with_regions(frame, self.rules, name)

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
        language = DIALECTS["ansi"]  # names and texts are quoted alike in all dialects
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
            lines.append(f"    if {write_rule(rule.conditions, PYTHON)}:")
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
        """Return the partition in the types of JSON; the tree is a flat list of nodes.

        Examples
        --------
        >>> Partition(Leaf(10, 1.0, 1.0)).to_dict()["nodes"]
        [{'n_samples': 10, 'fraction': 1.0, 'disagreement': 1.0, 'stop_reason': ''}]
        """
        return write_partition(self.names, self.root, self.given, self.region_names)

    @classmethod
    def from_dict(cls, data: object) -> Partition:
        """Read what `to_dict` wrote; anything else is a FormatError that names the place.

        Examples
        --------
        >>> partition = Partition.from_rules(["x0 ≤ 1", "x0 > 1"])
        >>> Partition.from_dict(partition.to_dict()) == partition
        True
        """
        content = read_partition(data)
        try:
            return cls(
                root=content.root,
                names=content.names,
                given=content.regions,
                region_names=content.region_names,
            )
        except InputError as error:  # conditions on the way to a leaf that cannot be joined
            raise broken("partition", f"has rules that do not fit: {error.message}") from error
