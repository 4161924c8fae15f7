"""What a model raises, as an error for users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.exceptions import NotFittedError

from granite_xai.base.errors import ModelError
from granite_xai.models.error_text import error_text
from granite_xai.models.sent_rows import SentRows

CHECK_ROWS = "Check the model on these rows."


class Raised(Exception):  # noqa: N818 - never leaves the room; the error for users is made from it
    """The model raised; ``cause`` is what."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


class Failure(NamedTuple):
    """The smallest part of a batch at which the model raised."""

    part: slice
    raised: Raised
    at_random: bool = False  # asked again about the whole batch, it did not raise


def smallest_failing(ask: Callable[[slice], Any], batch: slice, raised: Raised) -> Failure:
    """Halve a failing batch until neither half fails alone.

    Parameters
    ----------
    ask : callable
        Asks the model about a part of the rows.
    batch : slice
        Where it raised.
    raised : Raised
        What it raised there.
    """
    # Neither of these depends on the rows, so there is nothing to search for.
    if isinstance(raised.cause, NotFittedError | MemoryError):
        return Failure(batch, raised)
    part = batch
    while (smaller := _failing_half(ask, part)) is not None:
        part = smaller.part
        raised = smaller.raised
    at_random = part == batch and _what_is_raised(ask, batch) is None
    return Failure(part, raised, at_random)


def _failing_half(ask: Callable[[slice], Any], part: slice) -> Failure | None:
    if part.stop - part.start < 2:
        return None
    middle = (part.start + part.stop) // 2
    for half in (slice(part.start, middle), slice(middle, part.stop)):
        raised = _what_is_raised(ask, half)
        if raised is not None:
            return Failure(half, raised)
    return None


def _what_is_raised(ask: Callable[[slice], Any], part: slice) -> Raised | None:
    try:
        ask(part)
    except Raised as raised:
        return raised
    except ModelError:
        pass  # an answer of the wrong shape is not the failure that is looked for
    return None


def failure_error(raised: Raised, rows: SentRows, at_random: bool = False) -> ModelError:
    """The error for users about what the model raised (M07; M20 where it is not fitted).

    Parameters
    ----------
    raised : Raised
    rows : SentRows
        At which rows.
    at_random : bool
        Whether it did not raise when it was asked again.
    """
    error = raised.cause
    if isinstance(error, NotFittedError):
        message = f"the model is not fitted ({error_text(error)})."
        return ModelError(message, code="M20", argument="model", hint="Fit it first.")
    hint = CHECK_ROWS
    if isinstance(error, MemoryError):
        hint = "Send fewer rows a call: Resources(batch_size=)."
    message = f"the model raised {type(error).__name__} ({error_text(error)}) at {rows.text()}"
    if at_random:
        message += "; asked again, it did not: it fails at random."
    else:
        message += "."
    return ModelError(
        message, code="M07", argument="model", columns=rows.names, rows=rows.labels(), hint=hint
    )
