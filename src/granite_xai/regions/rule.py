"""A region's rule: conditions on columns that hold together, and how its text is read back."""

from __future__ import annotations

import re
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
from granite_xai.regions.code import DIALECTS, PANDAS, PYTHON, ROW, Polars, written
from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.values import KEYWORDS, SIZES, UNITS, Label, as_number, instant, unquoted
from granite_xai.tables import Column, Table, read_table

__all__ = ["Condition", "Interval", "Levels", "Rule", "as_table", "find_column", "satisfied"]
CONDITIONS = Structure(
    {"interval": Interval, "levels": Levels}
)  # how conditions are written in files
_WORD = r"[^\W\d]\w*\b"
_NAME = rf"(?:`(?:[^`\\]|\\.)*`|{_WORD})"
_VALUES = re.compile(
    rf"""(?P<quote>"(?:[^"\\]|\\.)*")
  | (?P<date>-?\d{{4,}}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?![\w.]))
  | (?P<duration>-?\d+\ (?:{"|".join(UNITS)})\b)
  | (?P<number>-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<word>{_WORD})""",
    re.VERBOSE | re.DOTALL,
)
_VALUE = "(?:" + re.sub(r"\?P<\w+>", "?:", _VALUES.pattern) + ")"
_CLAUSE = re.compile(
    rf"""\s* (?P<open>(?:\(\s*)*) (?:(?P<low>{_VALUE})\s*<\s*)? (?P<name>{_NAME}) \s* (?:
    (?:≤|<=)\s* (?P<high>{_VALUE})
  | > \s* (?P<above>{_VALUE})
  | is\b \s* (?P<state>missing|impossible|present)\b
  | is\b \s* (?P<isnt>not\b\s*)? (?P<label>{_VALUE})
  | (?P<others>not\b\s*)? in\b \s* \{{\s* (?P<labels>(?:{_VALUE}\s*(?:,\s*{_VALUE}\s*)*)?) \}}
) \s* (?P<gone>or\b\s*missing\b\s*)? (?P<close>(?:\)\s*)*) (?:(?P<more>and\b)|\Z)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, repr=False)
class Rule(Printable):
    """The rows that satisfy one condition on each of some columns.

    Membership, text and JSON derive from the same conditions; no rule is ever merged as text. Dates with a time zone
    are compared, and written, in UTC.

    Parameters
    ----------
    conditions : tuple of (column name, condition)
        At most one condition for each column; none: all rows.

    Examples
    --------
    >>> rule = Rule().and_("workingday", Interval(high=0)).and_("hr", Interval(6.5)).and_("hr", Interval(high=20))
    >>> str(rule)
    'workingday ≤ 0 and 6.5 < hr ≤ 20'
    >>> Rule.parse(str(rule)) == rule
    True
    >>> str(Rule())
    'all rows'
    """

    conditions: tuple[tuple[str, Condition], ...] = ()

    def __post_init__(self) -> None:
        pairs = tuple((str(name), condition) for name, condition in self.conditions)
        twice = sorted(
            name for name, count in Counter(name for name, _ in pairs).items() if count > 1
        )
        if twice:
            hint = "Join the conditions of a column with Rule.and_."
            raise InputError(
                f"{listing(twice)} has two conditions.", code="P03", columns=twice, hint=hint
            )
        object.__setattr__(self, "conditions", pairs)

    def __str__(self) -> str:
        texts = [condition.text(name) for name, condition in self.conditions]
        if len(texts) > 1:
            # "a or missing and b" would leave it to the reader which of the two binds first.
            texts = [f"({t})" if t.endswith(" or missing") else t for t in texts]
        return " and ".join(texts) or "all rows"

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

        Examples
        --------
        >>> str(Rule().and_("x", Interval(high=3)).and_("x", Interval(high=1)))
        'x ≤ 1'
        """
        known = dict(self.conditions)
        known[name] = known[name].intersect(condition) if name in known else condition
        return Rule(tuple(known.items()))

    def contains(self, X: Any, names: Sequence[str] = ()) -> BoolArray:
        """Tell which rows of a table satisfy the rule; `names` are those of the fit, for tables without names.

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
        return str(written(self.conditions, choose("dialect", dialect or "ansi", DIALECTS)))

    def to_pandas(self) -> str:
        """Write the rule as an expression for ``DataFrame.query`` and ``DataFrame.eval``.

        Examples
        --------
        >>> Rule.parse("`hours per week` > 40 and w in {a, b}").to_pandas()
        "`hours per week` > 40 and w in ['a', 'b']"
        """
        return str(written(self.conditions, PANDAS))

    def to_polars(self) -> Any:
        """Return the rule as an expression of polars, for ``filter``, ``with_columns`` and lazy frames."""
        return written(self.conditions, Polars())

    def to_python(self, name: str = "rule") -> str:
        """Write the rule as a Python function of a row (a mapping) that needs no package.

        Examples
        --------
        >>> made = {}
        >>> exec(Rule.parse("hr ≤ 6").to_python(), made)
        >>> made["rule"]({"hr": 5, "temp": 20.0}), made["rule"]({"hr": None})
        (True, False)
        """
        if not name.isidentifier():
            raise InputError(
                f"name={name!r} is no name of a function.", code="P02", argument="name"
            )
        return PYTHON.format(name=name, text=ascii(str(self)), code=written(self.conditions, ROW))

    @classmethod
    def parse(cls, text: str, orders: Mapping[str, Sequence[Label]] | None = None) -> Rule:
        """Read a rule from its text; ``<=`` may stand for ``≤``.

        `orders` gives the labels of ordered columns, lowest first; the text does not hold them. Without it the order is
        that of the table, and labels that are numbers must ascend.

        Examples
        --------
        >>> str(Rule.parse("`b<=c` <= 0.5 or missing and w is not mist"))
        '(`b<=c` ≤ 0.5 or missing) and w is not mist'
        """
        rule, more, at = cls(), text.strip() != "all rows", 0
        while more:
            found = _CLAUSE.match(text, at)
            if (
                found is None
                or found["open"].count("(") != found["close"].count(")")
                or found["name"] in KEYWORDS
            ):
                raise _no_rule(text)
            name = unquoted(found["name"]) if found["name"][0] == "`" else found["name"]
            rule = rule.and_(name, _condition(found, (orders or {}).get(name)))
            more, at = found["more"] is not None, found.end()
        return rule

    def to_dict(self) -> dict[str, Any]:
        """Return the rule in the types of JSON."""
        pairs = (
            (name, CONDITIONS.write(condition, Condition, name))
            for name, condition in self.conditions
        )
        return {"conditions": [{"column": name, "condition": written} for name, written in pairs]}

    @classmethod
    def from_dict(cls, data: object, place: str = "rule") -> Rule:
        """Read what `to_dict` wrote; anything else is a FormatError that names the place.

        Examples
        --------
        >>> rule = Rule.parse("x ≤ 1")
        >>> Rule.from_dict(rule.to_dict()) == rule
        True
        """
        known: dict[str, Condition] = {}
        for i, item in enumerate(entry(data, "conditions", list, place)):
            here = f"{place}.conditions[{i}]"
            name = entry(item, "column", str, here)
            if name in known:
                raise broken(f"{here}.column", f"is {name[:60]!r}, which has a condition already")
            known[name] = CONDITIONS.read(
                entry(item, "condition", dict, here), Condition, f"{here}.condition"
            )
        return cls(tuple(known.items()))


def as_table(X: Any) -> Table:
    """Return X as a table in which values may be missing."""
    return X if isinstance(X, Table) else read_table(X, missing="allow")


def satisfied(condition: Condition, column: Column) -> BoolArray:
    """Tell which rows of a column satisfy a condition."""
    if column.values.dtype.kind != "O":
        return condition.contains(column.values, column.order)
    # Labels are compared once a level, not once a row; a missing row has the code -1: the last cell.
    cells = np.array([*column.levels, None], dtype=object)
    return condition.contains(cells, column.order)[column.codes]


def find_column(table: Table, name: str, names: Sequence[str] = ()) -> Column:
    """Return a column by its name, or by its place among the names of the fit if the table has none of its own."""
    if name in table.names:
        return table.columns[table.names.index(name)]
    if not table.container.named and len(names) == table.n_columns and name in names:
        return table.columns[list(names).index(name)]
    words = f"X has no column {name!r}; it has {listing(table.names)}."
    raise InputError(words, code="D37", argument="X", columns=[name])


def _condition(found: re.Match[str], order: Sequence[Label] | None) -> Condition:
    """What is said of the column of a clause."""
    low, high, state, missing = (
        found["low"] or found["above"],
        found["high"],
        found["state"],
        found["gone"] is not None,
    )
    if (found["low"] and not high) or (missing and state in ("missing", "impossible")):
        raise _no_rule(found.string)
    if low or high:
        low_end, high_end = (
            end and _value(end, found.string, end=order is None) for end in (low, high)
        )
        interval = Interval(low_end, high_end, order, missing)
        if (
            not interval.has_values
        ):  # never written by us: a slip, or labels whose order is not that of numbers
            raise _no_rule(found.string)
        return interval
    if state:
        return (
            Interval(missing=missing)
            if state == "present"
            else Interval(0.0, 0.0, missing=state == "missing")
        )
    listed = (
        [found["label"]]
        if found["label"]
        else [each[0] for each in _VALUES.finditer(found["labels"])]
    )
    levels = {_value(each, found.string) for each in listed}
    return Levels(levels, bool(found["isnt"] or found["others"]), missing)


def _no_rule(text: str) -> InputError:
    hint = "Rules read like 'x ≤ 3 and 6.5 < hr ≤ 20 and w in {a, b}', with `names` and \"labels\" in marks."
    return InputError(f"{text!r} is not a rule.", code="P02", argument="rule", hint=hint)


def _value(word: str, text: str, end: bool = False) -> Any:
    """A label, or the end of an interval, which may also be a date or a duration."""
    found = _VALUES.fullmatch(word)
    kind = found and found.lastgroup
    try:
        if kind == "duration" and end:
            count, unit = word.split(" ")
            return instant(np.timedelta64, int(count) * SIZES[UNITS[unit]])
        if kind == "date" and end:
            iso = word.replace(" ", "T")
            # NumPy wraps around silently when the date does not fit into 64 bits of the unit that the text implies.
            if str(date := np.datetime64(iso)).startswith(iso):
                return date
    except (ValueError, OverflowError):
        raise _no_rule(text) from None
    if kind == "number":
        return int(word) if re.fullmatch(r"-?\d+", word) and not end else as_number(word)
    if word in ("True", "False"):
        return word == "True"
    if kind not in ("quote", "word") or word in KEYWORDS:
        raise _no_rule(text)
    return unquoted(word) if kind == "quote" else word
