"""A region's rule: conditions on columns that hold together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base import notebook
from granite_xai.base.errors import InputError
from granite_xai.base.files import Structure, broken, entry
from granite_xai.base.printable import Printable
from granite_xai.base.text import listing
from granite_xai.base.typing import BoolArray
from granite_xai.base.validation import choose
from granite_xai.base.wording import ALL_ROWS
from granite_xai.regions.code import write_rule
from granite_xai.regions.code_languages import DIALECTS, PANDAS, PYTHON, python_function
from granite_xai.regions.code_polars import Polars
from granite_xai.regions.conditions import OR_MISSING, Condition, Interval, Levels
from granite_xai.regions.rule_parser import parse_conditions
from granite_xai.regions.values import Label
from granite_xai.tables import Column, Table, read_table

__all__ = ["Condition", "Interval", "Levels", "Rule", "as_table", "find_column", "satisfied"]

CONDITIONS = Structure({"interval": Interval, "levels": Levels})
"""How conditions are written in files."""


@dataclass(frozen=True, repr=False)
class Rule(Printable):
    """The rows that satisfy one condition on each of some columns.

    Membership, text and JSON derive from the same conditions; no rule is ever merged as text. Dates
    with a time zone are compared, and written, in UTC.

    Parameters
    ----------
    conditions : tuple of (column name, condition)
        At most one condition for each column; none: all rows.

    Examples
    --------
    >>> rule = Rule().and_("workingday", Interval(high=0)).and_("hr", Interval(6.5, 20))
    >>> str(rule)
    'workingday ≤ 0 and 6.5 < hr ≤ 20'
    >>> Rule.parse(str(rule)) == rule
    True
    >>> str(Rule())
    'all rows'
    """

    conditions: tuple[tuple[str, Condition], ...] = ()

    def __post_init__(self) -> None:
        conditions = tuple((str(name), condition) for name, condition in self.conditions)
        counts = Counter(name for name, _ in conditions)
        repeated = sorted(name for name, count in counts.items() if count > 1)
        if repeated:
            raise InputError(
                f"{listing(repeated)} has two conditions.",
                code="P03",
                columns=repeated,
                hint="Join the conditions of a column with Rule.and_.",
            )
        object.__setattr__(self, "conditions", conditions)

    def __str__(self) -> str:
        texts = [condition.text(name) for name, condition in self.conditions]
        if len(texts) > 1:
            # "a or missing and b" would leave it to the reader which of the two binds first.
            texts = [_bracketed(text) for text in texts]
        return " and ".join(texts) or ALL_ROWS

    def __repr__(self) -> str:
        return f"<Rule: {self}>"

    def _repr_html_(self) -> str:
        return notebook.document([notebook.paragraph(str(self))])

    @property
    def is_empty(self) -> bool:
        """Whether no row can satisfy the rule."""
        return any(condition.is_empty for _, condition in self.conditions)

    def and_(self, name: str, condition: Condition) -> Rule:
        """Return the rule with one more condition, joined with the one it has on that column.

        Parameters
        ----------
        name : str
            Of the column.
        condition : Interval or Levels

        Examples
        --------
        >>> str(Rule().and_("x", Interval(high=3)).and_("x", Interval(high=1)))
        'x ≤ 1'
        """
        by_column = dict(self.conditions)
        if name in by_column:
            condition = by_column[name].intersect(condition)
        by_column[name] = condition
        return Rule(tuple(by_column.items()))

    def contains(self, X: Any, names: Sequence[str] = ()) -> BoolArray:
        """Tell which rows of a table satisfy the rule.

        Parameters
        ----------
        X : table
        names : sequence of str
            Columns of the fit, for tables without names.

        Examples
        --------
        >>> import numpy as np
        >>> Rule.parse("x1 > 0").contains(np.array([[1.0, 2.0], [3.0, -1.0]]))
        array([ True, False])
        """
        table = as_table(X)
        inside = np.ones(table.n_rows, dtype=np.bool_)
        for name, condition in self.conditions:
            inside &= satisfied(condition, find_column(table, name, names))
        return inside

    def to_sql(self, dialect: str | None = None) -> str:
        """Write the rule as a condition for WHERE or CASE.

        Parameters
        ----------
        dialect : "ansi", "duckdb", "postgres" or "sqlite", optional
            None: the standard. In DuckDB and Postgres NaN is taken for missing, as NULL is.

        Examples
        --------
        >>> Rule.parse("hr ≤ 6 or missing").to_sql()
        '("hr" <= 6 OR "hr" IS NULL)'
        """
        language = choose("dialect", dialect or "ansi", DIALECTS)
        return str(write_rule(self.conditions, language))

    def to_pandas(self) -> str:
        """Write the rule as an expression for ``DataFrame.query`` and ``DataFrame.eval``.

        Examples
        --------
        >>> Rule.parse("`hours per week` > 40 and w in {a, b}").to_pandas()
        "`hours per week` > 40 and w in ['a', 'b']"
        """
        return str(write_rule(self.conditions, PANDAS))

    def to_polars(self) -> Any:
        """Return the rule as an expression of polars, for ``filter`` and ``with_columns``."""
        return write_rule(self.conditions, Polars())

    def to_python(self, name: str = "rule") -> str:
        """Write the rule as a Python function of a row (a mapping) that needs no package.

        Parameters
        ----------
        name : str
            Of the function.

        Examples
        --------
        >>> module = {}
        >>> exec(Rule.parse("hr ≤ 6").to_python(), module)
        >>> module["rule"]({"hr": 5, "temp": 20.0}), module["rule"]({"hr": None})
        (True, False)
        """
        says = f"Tell whether a row, a mapping of columns to values, satisfies {str(self)!a}."
        body = f"    return bool({write_rule(self.conditions, PYTHON)})"
        return python_function(name, says, body)

    @classmethod
    def parse(cls, text: str, orders: Mapping[str, Sequence[Label]] | None = None) -> Rule:
        """Read a rule from its text; ``<=`` may stand for ``≤``.

        Parameters
        ----------
        text : str
            As ``str(rule)`` gives it.
        orders : mapping of column name to labels, optional
            Labels of ordered columns, lowest first; the text does not hold them. Without it the
            order is that of the table, and labels that are numbers must ascend.

        Examples
        --------
        >>> str(Rule.parse("`b<=c` <= 0.5 or missing and w is not mist"))
        '(`b<=c` ≤ 0.5 or missing) and w is not mist'
        """
        rule = cls()
        for name, condition in parse_conditions(text, orders or {}):
            rule = rule.and_(name, condition)
        return rule

    def to_dict(self) -> dict[str, Any]:
        """Return the rule in the types of JSON."""
        conditions = []
        for name, condition in self.conditions:
            fields = CONDITIONS.write(condition, Condition, name)
            conditions.append({"column": name, "condition": fields})
        return {"conditions": conditions}

    @classmethod
    def from_dict(cls, data: object, place: str = "rule") -> Rule:
        """Read what `to_dict` wrote; anything else is a FormatError that names the place.

        Parameters
        ----------
        data : dict
        place : str
            Where it stands in a file, for errors.

        Examples
        --------
        >>> rule = Rule.parse("x ≤ 1")
        >>> Rule.from_dict(rule.to_dict()) == rule
        True
        """
        conditions: dict[str, Condition] = {}
        for number, item in enumerate(entry(data, "conditions", list, place)):
            item_place = f"{place}.conditions[{number}]"
            name = entry(item, "column", str, item_place)
            if name in conditions:
                reason = f"is {name[:60]!r}, which has a condition already"
                raise broken(f"{item_place}.column", reason)
            fields = entry(item, "condition", dict, item_place)
            conditions[name] = CONDITIONS.read(fields, Condition, f"{item_place}.condition")
        return cls(tuple(conditions.items()))


def _bracketed(text: str) -> str:
    """The text of a condition, in brackets where missing values satisfy it."""
    if text.endswith(OR_MISSING):
        return f"({text})"
    return text


def as_table(X: Any) -> Table:
    """Return X as a table in which values may be missing."""
    if isinstance(X, Table):
        return X
    return read_table(X, missing="allow")


def satisfied(condition: Condition, column: Column) -> BoolArray:
    """Tell which rows of a column satisfy a condition.

    Parameters
    ----------
    condition : Interval or Levels
    column : Column

    Returns
    -------
    array of bool, of shape (n_rows,)
    """
    if column.values.dtype.kind != "O":
        return condition.contains(column.values, column.order)
    # Labels are compared once a level, not once a row; a missing row has the code -1: the last one.
    levels_and_missing = np.array([*column.levels, None], dtype=object)
    return condition.contains(levels_and_missing, column.order)[column.codes]


def find_column(table: Table, name: str, names: Sequence[str] = ()) -> Column:
    """Return a column by its name.

    Parameters
    ----------
    table : Table
    name : str
    names : sequence of str
        Columns of the fit: a table without names of its own is read by place.
    """
    if name in table.names:
        return table.columns[table.names.index(name)]
    if not table.container.named and len(names) == table.n_columns and name in names:
        return table.columns[list(names).index(name)]
    raise InputError(
        f"X has no column {name!r}; it has {listing(table.names)}.",
        code="D37",
        argument="X",
        columns=[name],
    )
