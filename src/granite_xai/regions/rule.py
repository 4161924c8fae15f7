"""A region's rule: conditions on columns that hold together, and how its text is read back."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError, listing
from granite_xai.base.files import Structure, broken, entry
from granite_xai.base.options import choose
from granite_xai.base.typing import BoolArray
from granite_xai.base.wording import Told
from granite_xai.regions.code import DIALECTS, PANDAS, PYTHON, ROW, Polars, written
from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.words import KEYWORDS, SIZES, UNITS, Bound, Label, as_number, instant, unquoted
from granite_xai.tables import Column, Table, read_table

__all__ = ["Condition", "Interval", "Levels", "Rule", "as_table", "find_column", "satisfied"]
CONDITIONS = Structure({"interval": Interval, "levels": Levels})
"""How conditions are written in files."""
_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_TOKENS = re.compile(
    rf"""\s*(?:
    (?P<name>`(?:[^`\\]|\\.)*`)
  | (?P<quote>"(?:[^"\\]|\\.)*")
  | (?P<date>-?\d{{4,}}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?![\w.]))
  | (?P<duration>-?\d+\ (?:{"|".join(UNITS)})\b)
  | (?P<number>{_NUMBER}(?![\w.]))
  | (?P<sign>≤|<=|<|>|\{{|\}}|,|\(|\))
  | (?P<word>[^\W\d]\w*)
)""",
    re.VERBOSE | re.DOTALL,
)
_SPELLED = {"<=": "≤"}
_TRUTHS = {("word", "True"), ("word", "False")}
Orders = Mapping[str, Sequence[Label]]


@dataclass(frozen=True, repr=False)
class Rule(Told):
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
        names = [name for name, _ in pairs]
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            hint = "Join the conditions of a column with Rule.and_."
            raise InputError(f"{listing(twice)} has two conditions.", code="P03", columns=twice, hint=hint)
        object.__setattr__(self, "conditions", pairs)

    def __str__(self) -> str:
        """Return the rule as a person would write it; `parse` reads it back."""
        texts = [condition.text(name) for name, condition in self.conditions]
        if len(texts) > 1:
            # "a or missing and b" would leave it to the reader which of the two binds first.
            texts = [f"({t})" if t.endswith(" or missing") else t for t in texts]
        return " and ".join(texts) or "all rows"

    def __repr__(self) -> str:
        return f"<Rule: {self}>"

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
            raise InputError(f"name={name!r} is no name of a function.", code="P02", argument="name")
        return PYTHON.format(name=name, text=ascii(str(self)), code=written(self.conditions, ROW))

    @classmethod
    def parse(cls, text: str, orders: Orders | None = None) -> Rule:
        """Read a rule from its text; ``<=`` may stand for ``≤``.

        `orders` gives the labels of ordered columns, lowest first; the text does not hold them. Without it the order is
        that of the table, and labels that are numbers must ascend.

        Examples
        --------
        >>> str(Rule.parse("`b<=c` <= 0.5 or missing and w is not mist"))
        '(`b<=c` ≤ 0.5 or missing) and w is not mist'
        """
        rule = cls()
        for name, condition in parse_conditions(text, orders):
            rule = rule.and_(name, condition)
        return rule

    def to_dict(self) -> dict[str, Any]:
        """Return the rule in the types of JSON."""
        pairs = ((name, CONDITIONS.write(condition, Condition, name)) for name, condition in self.conditions)
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
            known[name] = CONDITIONS.read(entry(item, "condition", dict, here), Condition, f"{here}.condition")
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


def parse_conditions(text: str, orders: Orders | None = None) -> list[tuple[str, Condition]]:
    """Read the conditions that a rule's text joins by "and"; `orders` are labels of ordered columns, lowest first."""
    if text.strip() == "all rows":
        return []
    reader = _Reader(text, orders or {})
    found = [reader.clause()]
    while reader.tokens:
        reader.expect("and")
        found.append(reader.clause())
    return found


class _Reader:
    """The tokens still to be read; each method reads one piece of the grammar."""

    def __init__(self, text: str, orders: Orders) -> None:
        self.text, self.orders = text, orders
        self.tokens: deque[tuple[str, str]] = deque()
        at = 0
        while text[at:].strip():
            match = _TOKENS.match(text, at)
            if match is None or match.lastgroup is None:
                raise self.error()
            self.tokens.append((match.lastgroup, _SPELLED.get(match[match.lastgroup], match[match.lastgroup])))
            at = match.end()

    def error(self) -> InputError:
        hint = "Rules read like 'x ≤ 3 and 6.5 < hr ≤ 20 and w in {a, b}', with `names` and \"labels\" in marks."
        return InputError(f"{self.text!r} is not a rule.", code="P02", argument="rule", hint=hint)

    def take(self) -> tuple[str, str]:
        if not self.tokens:
            raise self.error()
        return self.tokens.popleft()

    def skip(self, *words: str) -> bool:
        """Step over a sequence of words if it comes next."""
        if [text for kind, text in islice(self.tokens, len(words)) if kind in ("word", "sign")] != list(words):
            return False
        for _ in words:
            self.tokens.popleft()
        return True

    def expect(self, *words: str) -> None:
        if not self.skip(*words):
            raise self.error()

    def clause(self) -> tuple[str, Condition]:
        """Read one condition with the name of its column, perhaps in parentheses."""
        if self.skip("("):
            found = self.clause()
            self.expect(")")
            return found
        if list(islice(self.tokens, 1, 2)) != [("sign", "<")]:
            name = self.name()
            return name, self.about(name)
        low = self.bound()
        self.expect("<")
        name = self.name()
        self.expect("≤")
        return name, self.interval(name, low, self.bound())

    def interval(self, name: str, low: Bound | None, high: Bound | None) -> Interval:
        found = Interval(low, high, self.orders.get(name), self.or_missing())
        if not found.has_values:
            # Never written by us: a slip, or labels whose order is not that of numbers.
            raise self.error()
        return found

    def about(self, name: str) -> Condition:
        """Read what follows the name of a column."""
        if self.skip("≤"):
            return self.interval(name, None, self.bound())
        if self.skip(">"):
            return self.interval(name, self.bound(), None)
        single = self.skip("is")
        if single and self.skip("missing"):
            return Interval.only_missing()
        if single and self.skip("impossible"):
            return Interval(0.0, 0.0)
        if single and self.skip("present"):
            return Interval(missing=self.or_missing())
        others = self.skip("not")
        levels = {self.label()} if single else self.levels()
        return Levels(levels, others, self.or_missing())

    def or_missing(self) -> bool:
        return self.skip("or", "missing")

    def levels(self) -> set[Label]:
        self.expect("in", "{")
        found: set[Label] = set()
        while not self.skip("}"):
            if found:
                self.expect(",")
            found.add(self.label())
        return found

    def name(self) -> str:
        kind, text = self.take()
        return unquoted(text) if kind == "name" else self.word(kind, text)

    def word(self, kind: str, text: str) -> str:
        if kind != "word" or text in KEYWORDS:
            raise self.error()
        return text

    def label(self) -> Label:
        kind, text = self.take()
        if kind == "quote":
            return unquoted(text)
        if kind == "number":
            return int(text) if re.fullmatch(r"-?\d+", text) else as_number(text)
        return text == "True" if (kind, text) in _TRUTHS else self.word(kind, text)

    def bound(self) -> Bound:
        kind, text = self.take()
        try:
            if kind == "duration":
                count, unit = text.split(" ")
                return instant(np.timedelta64, int(count) * SIZES[UNITS[unit]])
            if kind == "date":
                text = text.replace(" ", "T")
                found = np.datetime64(text)
                # NumPy wraps around silently when the date does not fit into 64 bits of the unit that the text implies.
                if not str(found).startswith(text):
                    raise self.error()
                return found
        except (ValueError, OverflowError):
            raise self.error() from None
        self.tokens.appendleft((kind, text))
        label = self.label()
        return as_number(label) if kind == "number" else label
