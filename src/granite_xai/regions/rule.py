"""A region's rule: at most one condition on each of some columns, all of which hold together.

Membership, text, JSON and code derive from the same conditions; no rule is ever merged as text.

A condition is an `Interval` or a set of `Levels`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.document import Document, Paragraph, Printable
from granite_xai.base.errors import InputError
from granite_xai.base.files import broken, entry
from granite_xai.base.options import choose
from granite_xai.base.text import ALL_ROWS, listing
from granite_xai.base.typing import BoolArray
from granite_xai.regions.code import (
    DIALECTS,
    PANDAS,
    PYTHON,
    Language,
    Polars,
    python_function,
)
from granite_xai.regions.values import (
    KEYWORDS,
    NANOSECONDS,
    NOT_LISTED,
    UNIT_WORDS,
    Bound,
    End,
    Label,
    as_end,
    as_label,
    as_number,
    comparable,
    instant,
    is_at_least,
    is_missing,
    label_sort_key,
    name_text,
    places_among,
    tighter_end,
    value_text,
)
from granite_xai.tables import Column, Table, read_table

Side = Literal["left", "right"]

OR_MISSING = " or missing"
NO_VALUE = 0.0  # both ends of an interval without present values, for columns of every kind


# Conditions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """Rows with ``low < x <= high`` of a numeric, ordered or date column.

    ``Interval()`` is every present value, ``Interval.without_values(missing=True)`` the opposite: these two
    serve columns of any kind.

    Parameters
    ----------
    low, high : number, date, duration or label, optional
        An end that is None is open.
    order : sequence of labels, optional
        All labels of an ordered column, lowest first.
    missing : bool
        Whether missing values belong, too.
    others : bool
        Whether labels outside the order belong, too.

    Notes
    -----
    Neither `order` nor `others` is part of the text, nor of equality: they are knowledge about the
    column.

    Examples
    --------
    >>> Interval(6.5, 20, missing=True).text("hr")
    '6.5 < hr ≤ 20 or missing'
    """

    low: Bound | None = None
    high: Bound | None = None
    order: Sequence[Label] | None = field(default=None, compare=False)
    missing: bool = False
    others: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        order = self.order
        if order is not None:
            order = tuple(as_label(label) for label in order)
        low = as_end(self.low, order)
        high = as_end(self.high, order)
        # Equal ends mean that no value lies between them: see `has_values`.
        if low is not None and high is not None and is_at_least(low, high, order):
            if self.others and order:  # labels that are not in the order: it is still needed
                low = high = order[0]
            else:
                low = high = NO_VALUE
                order = None
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "order", order)

    @classmethod
    def without_values(cls, *, missing: bool = False) -> Interval:
        """Rows whose value is missing, or no row."""
        return cls(low=NO_VALUE, high=NO_VALUE, missing=missing)

    @property
    def has_values(self) -> bool:
        """Whether some value between the ends can belong; new labels are `takes_new_labels`."""
        # By their texts: NumPy cannot compare all units.
        return self.low is None or repr(self.low) != repr(self.high)

    @property
    def has_ends(self) -> bool:
        """Whether it is bounded, on one side at least."""
        return self.low is not None or self.high is not None

    @property
    def takes_new_labels(self) -> bool:
        """Whether labels outside the order belong."""
        return self.others and bool(self.order)

    @property
    def is_empty(self) -> bool:
        """Whether no value can belong, missing included."""
        return not (self.has_values or self.missing or self.takes_new_labels)

    def contains(self, values: NDArray[Any], order: Sequence[Label] | None = None) -> BoolArray:
        """Tell which values belong.

        Parameters
        ----------
        values : array of shape (n,)
        order : sequence of labels, optional
            Of the column, for an interval of labels that has none.
        """
        missing = is_missing(values)
        if not self.has_values and not self.takes_new_labels:
            inside = np.zeros(len(values), dtype=np.bool_)
        elif not self.has_ends:
            inside = ~missing
        else:
            inside = self._between(values, order if self.order is None else self.order) & ~missing
        return inside | missing if self.missing else inside

    def _between(self, values: NDArray[Any], order: Sequence[Label] | None) -> BoolArray:
        """Which values lie between the ends; what a missing value gives has no meaning."""
        numbers, low, high = comparable(values, self.low, self.high, order)
        inside = np.ones(len(values), dtype=np.bool_)
        if low is not None:
            inside &= numbers > low
        if high is not None:
            inside &= numbers <= high
        if order is None:
            return inside
        return np.where(numbers == NOT_LISTED, self.others, inside)

    def intersect(self, other: Condition) -> Condition:
        """Return the values that belong to both.

        Parameters
        ----------
        other : Interval or Levels
            On the same column.
        """
        if isinstance(other, Levels):
            return other.intersect(self)
        missing = self.missing and other.missing
        # An interval without ends holds every present value, new labels included: it excludes none.
        bounded = [condition for condition in (self, other) if condition.has_ends]
        others = bool(bounded) and all(condition.others for condition in bounded)
        order = other.order if self.order is None else self.order
        if self.has_values and other.has_values:
            low = tighter_end(self.low, other.low, order, are_low=True)
            high = tighter_end(self.high, other.high, order, are_low=False)
            return Interval(low, high, order, missing=missing, others=others)
        if others and order:  # labels outside the order only
            return Interval(order[0], order[0], order, missing=missing, others=True)
        return Interval.without_values(missing=missing)

    def text(self, name: str) -> str:
        """Write the condition on a column as a person would."""
        column = name_text(name)
        if not self.has_values:
            return f"{column} is missing" if self.missing else f"{column} is impossible"
        if self.low is not None and self.high is not None:
            text = f"{value_text(self.low)} < {column} ≤ {value_text(self.high)}"
        elif self.low is not None:
            text = f"{column} > {value_text(self.low)}"
        elif self.high is not None:
            text = f"{column} ≤ {value_text(self.high)}"
        else:
            text = f"{column} is present"
        return text + OR_MISSING * self.missing

    def write(self, name: str, language: Language) -> Any:
        """Write the condition on a column as a statement of a language."""
        signs = {">": self.low, "<=": self.high}
        bounds = {sign: end for sign, end in signs.items() if end is not None}
        ends = list(bounds.values())
        is_of_labels = self.order is not None or any(isinstance(end, str) for end in ends)
        if ends and is_of_labels:
            order = self.order or language.order_of(name, ends)
            labels = np.fromiter(order, dtype=object, count=len(order))
            # Where new labels belong, those of the order that do not are listed.
            is_listed = self._between(labels, order) != self.others
            return Levels(set(labels[is_listed]), self.others, self.missing).write(name, language)
        if not self.has_values:
            return _no_value(name, self.missing, language)
        if not ends:
            statement = language.present(name)
        else:
            compared = [language.compare(name, sign, end) for sign, end in bounds.items()]
            statement = language.all_of(compared)
        if not self.missing:
            return statement
        is_of_numbers = bool(ends) and not isinstance(ends[0], np.generic)
        return language.any_of(statement, language.missing(name, is_of_numbers))

    def to_dict(self) -> dict[str, Any]:
        """Return the condition in the types of JSON."""
        return {
            "type": "interval",
            "low": _end_in_json(self.low),
            "high": _end_in_json(self.high),
            "order": None if self.order is None else list(self.order),
            "missing": self.missing,
            "others": self.others,
        }


@dataclass(frozen=True)
class Levels:
    """Rows whose level of a nominal or boolean column is one of some.

    Parameters
    ----------
    levels : set of labels
    others : bool
        Every level but these, including those that no fitting row had, so that a new level has its
        place.
    missing : bool
        Whether missing values belong, too.

    Examples
    --------
    >>> Levels({"mist", "clear"}, others=True).text("weather")
    'weather not in {clear, mist}'
    """

    levels: Set[Label]
    others: bool = False
    missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", frozenset(as_label(level) for level in self.levels))

    @property
    def labels(self) -> list[Label]:
        """The levels in the order of their text."""
        return sorted(self.levels, key=label_sort_key)

    @property
    def has_values(self) -> bool:
        """Whether any present value can belong."""
        return bool(self.levels) or self.others

    @property
    def is_empty(self) -> bool:
        """Whether no value can belong, missing included."""
        return not (self.has_values or self.missing)

    def contains(self, values: NDArray[Any], order: Sequence[Label] | None = None) -> BoolArray:
        """Tell which values belong; levels are matched by label, and need no order."""
        missing = is_missing(values)
        inside: BoolArray = places_among(values, self.levels) != NOT_LISTED
        if self.others:
            inside = ~inside & ~missing
        return inside | missing if self.missing else inside

    def intersect(self, other: Condition) -> Condition:
        """Return the levels that belong to both; parameters as of `Interval.intersect`."""
        missing = self.missing and other.missing
        no_value = Interval.without_values(missing=missing)
        if isinstance(other, Interval):
            if not other.has_values:
                return no_value
            if other.has_ends:
                raise InputError(
                    "an interval and a set of levels cannot describe one column.", code="P03"
                )
            return replace(self, missing=missing)
        if self.others and other.others:
            return Levels(self.levels | other.levels, others=True, missing=missing)
        if self.others:
            levels = other.levels - self.levels
        elif other.others:
            levels = self.levels - other.levels
        else:
            levels = self.levels & other.levels
        return Levels(levels, missing=missing) if levels else no_value

    def text(self, name: str) -> str:
        """Write the condition on a column as a person would."""
        labels = ", ".join(value_text(label) for label in self.labels)
        negation = "not " * self.others
        if len(self.levels) == 1:
            text = f"{name_text(name)} is {negation}{labels}"
        else:
            text = f"{name_text(name)} {negation}in {{{labels}}}"
        return text + OR_MISSING * self.missing

    def write(self, name: str, language: Language) -> Any:
        """Write the condition on a column as a statement of a language."""
        if not self.has_values:
            return _no_value(name, self.missing, language)
        if self.levels:
            statement = language.listed(name, self.labels, negated=self.others)
        else:  # every value but none
            statement = language.present(name)
        return language.any_of(statement, language.missing(name)) if self.missing else statement

    def to_dict(self) -> dict[str, Any]:
        """Return the condition in the types of JSON."""
        return {
            "type": "levels",
            "levels": self.labels,
            "others": self.others,
            "missing": self.missing,
        }


Condition = Interval | Levels


def _no_value(name: str, missing: bool, language: Language) -> Any:
    """A statement that holds for missing values, or for no row."""
    if missing:
        return language.missing(name)
    return language.all_of([language.present(name), language.missing(name)])


def _end_in_json(end: End) -> Any:
    if isinstance(end, np.datetime64):
        return {"date": value_text(end)}
    if isinstance(end, np.timedelta64):
        return {"duration": value_text(end)}
    return end


def _end_from_json(data: Any, place: str) -> Any:
    """An end as `_end_in_json` writes it; the text of a date or duration is that of rules."""
    is_label = isinstance(data, str | int | float) and not isinstance(data, bool)
    if data is None or is_label:
        return data
    for kind in ("date", "duration"):
        text = data.get(kind) if isinstance(data, dict) and len(data) == 1 else None
        if isinstance(text, str) and _kind_of(text) == kind:
            return _end(text, text)
    raise broken(place, "is not a number, label, date or duration")


def condition_from_dict(data: Any, place: str) -> Condition:
    """Read what ``to_dict`` of a condition wrote; anything else is a FormatError with its place."""
    kind = entry(data, "type", str, place)
    others = entry(data, "others", bool, place)
    missing = entry(data, "missing", bool, place)
    try:
        if kind == "levels":
            levels = _labels_from_json(entry(data, "levels", list, place), f"{place}.levels")
            return Levels(frozenset(levels), others, missing)
        if kind != "interval":
            raise broken(f"{place}.type", f"is {kind[:60]!r}, which is not known")
        order = None
        if data.get("order") is not None:
            order = _labels_from_json(entry(data, "order", list, place), f"{place}.order")
            low, high = data.get("low"), data.get("high")
        else:
            low = _end_from_json(data.get("low"), f"{place}.low")
            high = _end_from_json(data.get("high"), f"{place}.high")
        return Interval(low, high, order, missing, others)
    except InputError as error:
        raise broken(place, f"is no condition: {error.message}") from error


def _labels_from_json(labels: list[Any], place: str) -> list[Label]:
    if not all(isinstance(label, str | int | float) for label in labels):
        raise broken(place, "has labels that are neither texts nor numbers")
    return labels


# Both sides of a split ----------------------------------------------------------------------------


def cut(
    threshold: Bound,
    *,
    order: Sequence[Label] | None = None,
    missing: Side | None = None,
    larger: Side = "right",
) -> tuple[Interval, Interval]:
    """Split a column into ``x <= threshold`` and ``x > threshold``.

    Parameters
    ----------
    threshold : number, date, duration or label
    order : sequence of labels, optional
        All labels of an ordered column.
    missing : "left", "right" or None
        Where missing values go; None: there are none.
    larger : "left" or "right"
        The child of more rows, which labels outside the order go to.

    Examples
    --------
    >>> [side.text("temp") for side in cut(14.8, missing="left")]
    ['temp ≤ 14.8 or missing', 'temp > 14.8']
    """
    is_of_labels = order is not None
    left = Interval(None, threshold, order, missing == "left", is_of_labels and larger == "left")
    right = Interval(threshold, None, order, missing == "right", is_of_labels and larger == "right")
    return left, right


def grouping(
    left: Iterable[Label], right: Iterable[Label], *, larger: Side, missing: Side | None = None
) -> tuple[Levels, Levels]:
    """Split a column into two groups of levels.

    The smaller child lists its levels, and the larger one has every level but these, so that new
    levels have a place. Truth values, of which there are no new ones, are listed on both sides.

    Parameters
    ----------
    left, right : iterables of labels
    larger : "left" or "right"
        The child of more rows.
    missing : "left", "right" or None
        Where missing values go; None: there are none.

    Examples
    --------
    >>> [side.text("w") for side in grouping({"a"}, {"b", "c"}, larger="right")]
    ['w is a', 'w is not a']
    """
    listed_left = Levels(set(left), missing=missing == "left")
    listed_right = Levels(set(right), missing=missing == "right")
    if _are_truth_values(listed_left.levels | listed_right.levels):
        return listed_left, listed_right
    if larger == "right":
        return listed_left, replace(listed_right, levels=listed_left.levels, others=True)
    return replace(listed_left, levels=listed_right.levels, others=True), listed_right


def missing_or_present() -> tuple[Interval, Interval]:
    """Split a column of any kind into missing and present values."""
    return Interval.without_values(missing=True), Interval()


def complementary(left: Condition, right: Condition) -> bool:
    """Whether every present value satisfies exactly one of two conditions on a column.

    A missing value, and a label outside the order of the column, satisfies at most one. Of intervals
    the left one is the lower one.
    """
    if left.missing and right.missing:
        return False
    if isinstance(left, Levels) and isinstance(right, Levels):
        lists_both_sides = not (left.others or right.others)
        if lists_both_sides and _are_truth_values(left.levels | right.levels):
            return {left.levels, right.levels} == {frozenset({False}), frozenset({True})}
        return left.levels == right.levels and left.others != right.others
    if isinstance(left, Interval) and isinstance(right, Interval):
        if {left, right} == {Interval.without_values(missing=True), Interval()}:
            return True
        is_lower_part = left.low is None and left.high is not None and left.has_values
        is_upper_part = right.high is None
        is_same_cut = left.high == right.low and left.order == right.order
        return (
            is_lower_part and is_upper_part and is_same_cut and not (left.others and right.others)
        )
    return False


def _are_truth_values(labels: Iterable[Label]) -> bool:
    return all(isinstance(label, bool) for label in labels)


# Rules --------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Rule(Printable):
    """The rows that satisfy one condition on each of some columns.

    Dates with a time zone are compared, and written, in UTC.

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
            texts = [f"({text})" if text.endswith(OR_MISSING) else text for text in texts]
        return " and ".join(texts) or ALL_ROWS

    def __repr__(self) -> str:
        return f"<Rule: {self}>"

    def _document(self) -> Document:
        return Document([Paragraph(str(self))])

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

    def write(self, language: Language) -> Any:
        """Write the rule as a statement of a language; without conditions it holds for every row."""
        statements = [condition.write(name, language) for name, condition in self.conditions]
        return language.all_of(statements) if statements else language.everything

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
        return str(self.write(choose("dialect", dialect or "ansi", DIALECTS)))

    def to_pandas(self) -> str:
        """Write the rule as an expression for ``DataFrame.query`` and ``DataFrame.eval``.

        Examples
        --------
        >>> Rule.parse("`hours per week` > 40 and w in {a, b}").to_pandas()
        "`hours per week` > 40 and w in ['a', 'b']"
        """
        return str(self.write(PANDAS))

    def to_polars(self) -> Any:
        """Return the rule as an expression of polars, for ``filter`` and ``with_columns``."""
        return self.write(Polars())

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
        return python_function(name, says, f"    return bool({self.write(PYTHON)})")

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
        for name, condition in _parsed_conditions(text, orders or {}):
            rule = rule.and_(name, condition)
        return rule

    def to_dict(self) -> dict[str, Any]:
        """Return the rule in the types of JSON."""
        conditions = [
            {"column": name, "condition": condition.to_dict()}
            for name, condition in self.conditions
        ]
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
                raise broken(
                    f"{item_place}.column", f"is {name[:60]!r}, which has a condition already"
                )
            fields = entry(item, "condition", dict, item_place)
            conditions[name] = condition_from_dict(fields, f"{item_place}.condition")
        return cls(tuple(conditions.items()))


def as_table(X: Any) -> Table:
    """Return X as a table in which values may be missing."""
    if isinstance(X, Table):
        return X
    return read_table(X, missing="allow")


def satisfied(condition: Condition, column: Column) -> BoolArray:
    """Tell which rows of a column satisfy a condition."""
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


# Reading the text of a rule -----------------------------------------------------------------------

_WORD = r"[^\W\d]\w*\b"
_NAME = rf"(?:`(?:[^`\\]|\\.)*`|{_WORD})"
_VALUES = re.compile(
    rf"""(?P<quote>"(?:[^"\\]|\\.)*")
  | (?P<date>-?\d{{4,}}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?![\w.]))
  | (?P<duration>-?\d+\ (?:{"|".join(UNIT_WORDS.values())})\b)
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
  | is\b \s* (?P<is_not>not\b\s*)? (?P<label>{_VALUE})
  | (?P<not_in>not\b\s*)? in\b \s* \{{\s* (?P<labels>(?:{_VALUE}\s*(?:,\s*{_VALUE}\s*)*)?) \}}
) \s* (?P<or_missing>or\b\s*missing\b\s*)? (?P<close>(?:\)\s*)*) (?:(?P<and>and\b)|\Z)""",
    re.VERBOSE | re.DOTALL,
)
"""One condition on one column, up to the next "and" or the end of the text.

Of the groups high, above, state, label and labels exactly one is there; low may stand before any of them.
is_not stands before a label ("w is not mist"), not_in before labels ("w not in {a, b}").
"""


def _parsed_conditions(
    text: str, orders: Mapping[str, Sequence[Label]]
) -> Iterator[tuple[str, Condition]]:
    """The conditions of a rule in the order of its text; a column may have several."""
    if text.strip() == ALL_ROWS:
        return
    position = 0
    while True:
        clause = _CLAUSE.match(text, position)
        if clause is None or clause["name"] in KEYWORDS:
            raise _not_a_rule(text)
        has_pairs = clause["open"].count("(") == clause["close"].count(")")
        has_two_lower_ends = clause["low"] and not clause["high"]  # "3 < x > 5"
        if not has_pairs or has_two_lower_ends:
            raise _not_a_rule(text)
        name = clause["name"]
        if name.startswith("`"):
            name = _unquoted(name)
        yield name, _parsed_condition(clause, orders.get(name))
        if clause["and"] is None:
            return
        position = clause.end()


def _parsed_condition(clause: re.Match[str], order: Sequence[Label] | None) -> Condition:
    """What a clause says of its column."""
    text = clause.string
    or_missing = clause["or_missing"] is not None
    words = [clause["low"] or clause["above"], clause["high"]]
    if any(words):
        read = _end if order is None else _label
        low, high = (None if word is None else read(word, text) for word in words)
        interval = Interval(low, high, order, missing=or_missing)
        if not interval.has_values:  # a slip, or labels whose order is not that of numbers
            raise _not_a_rule(text)
        return interval
    if clause["state"] == "present":
        return Interval(missing=or_missing)
    if clause["state"]:
        if or_missing:  # "x is missing or missing"
            raise _not_a_rule(text)
        return Interval.without_values(missing=clause["state"] == "missing")
    listed = _VALUES.finditer(clause["label"] or clause["labels"] or "")
    is_negated = bool(clause["is_not"] or clause["not_in"])
    levels = {_label(match[0], text) for match in listed}
    return Levels(levels, others=is_negated, missing=or_missing)


def _label(word: str, text: str) -> Label:
    """A label: text in quotes or a plain word, a number or a truth value."""
    kind = _kind_of(word)
    if kind == "number":
        return int(word) if re.fullmatch(r"-?\d+", word) else as_number(word)
    if word in ("True", "False"):
        return word == "True"
    if kind == "quote":
        return _unquoted(word)
    if kind != "word" or word in KEYWORDS:
        raise _not_a_rule(text)
    return word


def _end(word: str, text: str) -> Any:
    """An end of an interval: a number, date or duration, or a label."""
    kind = _kind_of(word)
    if kind == "number":
        return as_number(word)
    try:
        if kind == "duration":
            count, unit_word = word.split(" ")
            unit = next(unit for unit, name in UNIT_WORDS.items() if name == unit_word)
            return instant(np.timedelta64, int(count) * NANOSECONDS[unit])
        if kind == "date":
            iso_text = word.replace(" ", "T")
            value = np.datetime64(iso_text)
            # NumPy wraps around silently where a date does not fit into 64 bits of the unit of its text.
            if not str(value).startswith(iso_text):
                raise _not_a_rule(text)
            return value
    except (ValueError, OverflowError):
        raise _not_a_rule(text) from None
    return _label(word, text)


def _kind_of(word: str) -> str | None:
    """Which kind of value a word is: quote, date, duration, number or word."""
    match = _VALUES.fullmatch(word)
    return None if match is None else match.lastgroup


_ESCAPE = re.compile(r"\\(x..|u.{4}|U.{8}|.)", re.DOTALL)
_LETTER_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def _unquoted(text: str) -> str:
    """Undo `quoted`: take the marks off, and escapes back."""
    return _ESCAPE.sub(_unescaped, text[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    body = match.group(1)
    if len(body) == 1:
        return _LETTER_ESCAPES.get(body, body)
    try:
        return chr(int(body[1:], 16))
    except (ValueError, OverflowError):
        raise InputError(
            f"{match.group(0)!r} is not an escape.", code="P02", argument="text"
        ) from None


def _not_a_rule(text: str) -> InputError:
    return InputError(
        f"{text!r} is not a rule.",
        code="P02",
        argument="rule",
        hint="Rules read like 'x ≤ 3 and 6.5 < hr ≤ 20 and w in {a, b}', "
        'with `names` and "labels" in marks.',
    )
