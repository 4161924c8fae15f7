"""Naming the rows at which a model fails: smallest failing sets and the recombinations behind them (M04, M07, M20)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import ModelError, count_text, listing
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN = 5


class Raised(Exception):  # noqa: N818 - never leaves the room; the error for users is made from it
    """The model raised; ``cause`` is what."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


@dataclass(frozen=True)
class Rows:
    """Where the rows of a call come from: plain positions, or rows of one table with columns of rows of another."""

    count: int
    base: Table | None = None
    base_rows: IntArray | None = None
    donor: Table | None = None
    donor_rows: IntArray | None = None
    columns: tuple[int, ...] = ()

    @classmethod
    def of(cls, table: Table, positions: IntArray) -> Rows:
        """Rows of a table as they are."""
        return cls(len(positions), table, positions)

    def at(self, part: slice | IntArray) -> Rows:
        """The rows at some positions of these."""
        base = (np.arange(self.count) if self.base_rows is None else self.base_rows)[part]
        donor = None if self.donor_rows is None else self.donor_rows[part]
        return Rows(len(base), self.base, base, self.donor, donor, self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the replaced columns."""
        return tuple(self.donor.names[column] for column in self.columns) if self.donor is not None else ()

    def labels(self) -> list[Any]:
        """Labels of the first few rows: what the user calls them."""
        positions = np.arange(self.count) if self.base_rows is None else self.base_rows
        return _labels(self.base, positions[:_SHOWN])

    def text(self) -> str:
        """Name the first few rows, or the recombinations that made them."""
        if not self.columns or self.donor_rows is None:
            return count_text(self.count, "row" if self.count == 1 else "rows", self.labels())
        donors = _labels(self.donor, self.donor_rows[:_SHOWN])
        pairs = [
            f"row {there!r} on column{'s' if len(self.columns) > 1 else ''} {listing(self.names, _SHOWN)}, "
            f"row {here!r} elsewhere"
            for here, there in zip(self.labels(), donors, strict=True)
        ]
        more = "; …" if self.count > _SHOWN else ""
        return f"{self.count} recombined row{'' if self.count == 1 else 's'} ({'; '.join(pairs)}{more})"


def _labels(table: Table | None, positions: IntArray) -> list[Any]:
    return positions.tolist() if table is None else list(table.row_labels(positions))


def refused(code: str, what: str, values: FloatArray, wrong: BoolArray, rows: Rows, start: int) -> ModelError:
    """Phrase what is wrong with the values of a batch: the count, the first of them, the rows that produced them.

    >>> values = np.array([0.5, 2.0])
    >>> refused("T08", "probabilities outside [0, 1]", values, values > 1, Rows(2), 0).rows
    (1,)
    """
    at = np.flatnonzero(wrong)
    bad = rows.at(at + start)
    shown = ", ".join(f"{value:g}" for value in values[at[:_SHOWN]]) + (", …" if len(at) > _SHOWN else "")
    message = f"the model returned {len(at)} {what} among {len(values)} rows: {shown} for {bad.text()}."
    hint = "Check the model on these rows."
    return ModelError(message, code=code, argument="model", columns=bad.names, rows=bad.labels(), hint=hint)


def failure(raised: Raised, rows: Rows, once: bool = False) -> ModelError:
    """Phrase what the model raised, with the rows that it raised at; ``once``: asked again, it did not.

    >>> str(failure(Raised(ValueError("unknown level")), Rows(2)))
    'M07: the model raised ValueError (unknown level) at 2 rows (rows 0, 1). Check the model on these rows.'
    """
    from sklearn.exceptions import NotFittedError

    error = raised.cause
    if isinstance(error, NotFittedError):
        return ModelError(
            f"the model is not fitted ({first_line(error)}).", code="M20", argument="model", hint="Fit it first."
        )
    hint = "Check the model on these rows."
    if isinstance(error, MemoryError):
        hint = "Send fewer rows a call: Resources(batch_size=)."
    message = f"the model raised {type(error).__name__} ({first_line(error)}) at {rows.text()}"
    message += "; asked again, it did not: it fails at random." if once else "."
    return ModelError(message, code="M07", argument="model", columns=rows.names, rows=rows.labels(), hint=hint)


def first_line(error: Exception) -> str:
    """What an error says up to a stack trace, on one line, short, without characters that act on a terminal."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # the text of an error can fail as well
        lines = []
    told = takewhile(
        lambda line: not line.startswith(("Stack trace", "Traceback")), filter(None, map(str.strip, lines))
    )
    line = "".join(c if c.isprintable() else "�" for c in " ".join(told)) or "(no message)"
    return line if len(line) <= 300 else line[:299] + "…"


def smallest_failing(ask: Callable[[slice], Any], batch: slice, raised: Raised) -> tuple[slice, Raised, bool]:
    """Halve a failing batch until neither half fails alone; and whether the model fails at random, not at these rows.

    At most two calls a halving, and one more where no half has failed: smaller parts have failed by themselves.

    >>> def ask(part):
    ...     if part.start <= 5 < part.stop:
    ...         raise Raised(KeyError("level"))
    >>> smallest_failing(ask, slice(0, 64), Raised(KeyError("level")))[0]
    slice(5, 6, None)
    """
    from sklearn.exceptions import NotFittedError

    # Neither of these depends on the rows, so there is nothing to search for.
    if isinstance(raised.cause, NotFittedError | MemoryError):
        return batch, raised, False
    whole = batch
    while batch.stop - batch.start > 1:
        middle = (batch.start + batch.stop) // 2
        for half in (slice(batch.start, middle), slice(middle, batch.stop)):
            again = _raises(ask, half)
            if again is not None:
                batch, raised = half, again
                break
        else:
            break
    return batch, raised, batch == whole and _raises(ask, whole) is None


def _raises(ask: Callable[[slice], Any], part: slice) -> Raised | None:
    try:
        ask(part)
    except Raised as raised:
        return raised
    except ModelError:
        return None  # an answer of the wrong shape is not the failure that is looked for
    return None
