"""Reading the text of a rule back into conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.words import KEYWORDS, SIZES, UNITS, Bound, Label, as_number, duration_of, unquoted

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
Token = tuple[str, str]
Orders = Mapping[str, Sequence[Label]]


def parse_conditions(text: str, orders: Orders | None = None) -> list[tuple[str, Condition]]:
    """Read the conditions that a rule's text joins by "and"; `orders` are the labels of ordered columns, lowest first.

    >>> [(name, condition.text(name)) for name, condition in parse_conditions("6.5 < hr <= 20 and a is b")]
    [('hr', '6.5 < hr ≤ 20'), ('a', 'a is b')]
    """
    if text.strip() == "all rows":
        return []
    reader = _Reader(text, orders or {})
    found = [reader.clause()]
    while not reader.at_end():
        reader.expect("and")
        found.append(reader.clause())
    return found


def read_bound(text: str) -> np.datetime64 | np.timedelta64:
    """Read a date or a duration as a rule writes it.

    >>> str(read_bound("2012-03-01 06:00")), str(read_bound("2 hours"))
    ('2012-03-01T06:00', '2 hours')
    """
    reader = _Reader(text, {})
    found = reader.bound(reader.take())
    if not (reader.at_end() and isinstance(found, np.datetime64 | np.timedelta64)):
        raise reader.error()
    return found


class _Reader:
    """A place in a list of tokens; each method reads one piece of the grammar."""

    def __init__(self, text: str, orders: Orders) -> None:
        self.text = text
        self.orders = orders
        self.tokens = self._tokens()
        self.place = 0

    def _tokens(self) -> list[Token]:
        tokens, at = [], 0
        while self.text[at:].strip():
            match = _TOKENS.match(self.text, at)
            if match is None or match.lastgroup is None:
                raise self.error()
            tokens.append((match.lastgroup, match.group(match.lastgroup)))
            at = match.end()
        return tokens

    def error(self) -> InputError:
        hint = "Rules read like 'x ≤ 3 and 6.5 < hr ≤ 20 and w in {a, b}', with `names` and \"labels\" in marks."
        return InputError(f"{self.text!r} is not a rule.", code="P02", argument="rule", hint=hint)

    def at_end(self) -> bool:
        return self.place >= len(self.tokens)

    def take(self) -> Token:
        if self.at_end():
            raise self.error()
        self.place += 1
        return self.tokens[self.place - 1]

    def skip(self, *words: str) -> bool:
        """Step over a sequence of words if it comes next."""
        here = [text for kind, text in self.tokens[self.place : self.place + len(words)] if kind in ("word", "sign")]
        if here != list(words):
            return False
        self.place += len(words)
        return True

    def expect(self, *words: str) -> None:
        if not self.skip(*words):
            raise self.error()

    def at_most(self) -> bool:
        return self.skip("≤") or self.skip("<=")

    def clause(self) -> tuple[str, Condition]:
        """Read one condition with the name of its column, perhaps in parentheses."""
        if self.skip("("):
            found = self.clause()
            self.expect(")")
            return found
        start = self.place
        value = self.take()
        if self.skip("<"):
            name, low = self.name(self.take()), self.bound(value)
            if not self.at_most():
                raise self.error()
            return name, self.interval(name, low, self.bound(self.take()))
        self.place = start
        name = self.name(self.take())
        return name, self.about(name)

    def interval(self, name: str, low: Bound | None, high: Bound | None) -> Interval:
        found = Interval(low, high, self.orders.get(name), self.or_missing())
        if not found.has_values:
            # Never written by us: a slip, or labels whose order is not that of numbers.
            raise self.error()
        return found

    def about(self, name: str) -> Condition:
        """Read what follows the name of a column."""
        if self.at_most():
            return self.interval(name, None, self.bound(self.take()))
        if self.skip(">"):
            return self.interval(name, self.bound(self.take()), None)
        single = self.skip("is")
        if single and self.skip("missing"):
            return Interval.only_missing()
        if single and self.skip("impossible"):
            return Interval(0.0, 0.0)
        if single and self.skip("present"):
            return Interval(missing=self.or_missing())
        others = self.skip("not")
        levels = {self.label(self.take())} if single else self.levels()
        return Levels(levels, others, self.or_missing())

    def or_missing(self) -> bool:
        return self.skip("or", "missing")

    def levels(self) -> set[Label]:
        self.expect("in", "{")
        found: set[Label] = set()
        while not self.skip("}"):
            if found:
                self.expect(",")
            found.add(self.label(self.take()))
        return found

    def name(self, token: Token) -> str:
        kind, text = token
        if kind == "name":
            return unquoted(text)
        if kind != "word" or text in KEYWORDS:
            raise self.error()
        return text

    def label(self, token: Token) -> Label:
        kind, text = token
        if kind == "quote":
            return unquoted(text)
        if kind == "number":
            return int(text) if re.fullmatch(r"-?\d+", text) else as_number(text)
        if kind == "word" and text in ("True", "False"):
            return text == "True"
        if kind != "word" or text in KEYWORDS:
            raise self.error()
        return text

    def bound(self, token: Token) -> Bound:
        kind, text = token
        if kind == "date":
            return self.date(text)
        if kind == "duration":
            return self.duration(*text.split(" "))
        label = self.label(token)
        return as_number(label) if kind == "number" else label

    def date(self, text: str) -> np.datetime64:
        text = text.replace(" ", "T")
        try:
            found = np.datetime64(text)
        except ValueError:
            raise self.error() from None
        # NumPy wraps around silently when the date does not fit into 64 bits of the unit that the text implies.
        if not str(found).startswith(text):
            raise self.error()
        return found

    def duration(self, count: str, unit: str) -> np.timedelta64:
        try:
            return duration_of(int(count) * SIZES[UNITS[unit]])
        except (ValueError, OverflowError):
            raise self.error() from None
