"""Reading the text of a rule back into conditions."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.words import KEYWORDS, SIZES, UNITS, Bound, Label, as_number, instant, unquoted

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
