"""Memory within its limit: what does not fit is refused, what does is worked on in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from granite_xai.base.errors import ResourceError
from granite_xai.compute.resources import Resources

BLOCK = 2**26
"""Bytes of one working block where nobody sets a limit."""

FIXED = 2**20
"""Bytes of a run on any table: rules, plans, small arrays."""


def bytes_text(count: int) -> str:
    """Write a number of bytes as a person reads it."""
    if count >= 2**20:
        return f"{count / 2**20:,.1f} MiB"
    return f"{count:,} bytes"


def slices(count: int, line_bytes: int, block: int) -> Iterator[slice]:
    """Divide lines into neighbouring parts that fit a block.

    Parameters
    ----------
    count : int
        Lines in all.
    line_bytes : int
        Bytes of one line.
    block : int
        Bytes of a part; a part has one line at least.

    Yields
    ------
    slice
        The lines of each part, in order.
    """
    step = max(1, block // max(line_bytes, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


@dataclass(frozen=True, slots=True)
class MemoryNeeds:
    """Bytes that a run needs.

    Five eighths of the limit are for what stays (the table, the plan, the evaluations), a quarter
    for the candidates that are scored together, an eighth for a block of evaluations in work.

    Attributes
    ----------
    table : int
        The table, the codes of its rows, the plan.
    evaluations : int
        Matrices that are kept, what nodes cut out of them, the largest that is only summed up.
    candidate : int
        The search, for one candidate.
    """

    table: int
    evaluations: int
    candidate: int = 0

    @property
    def least_limit(self) -> int:
        """The smallest ``memory_limit`` that is enough."""
        staying = FIXED + self.table + self.evaluations
        for_what_stays = -(-8 * staying // 5)  # rounded up
        return max(for_what_stays, 4 * self.candidate)


def require_budget(
    resources: Resources, needs: MemoryNeeds, n_rows: int, remedies: Sequence[str] = ()
) -> None:
    """Refuse a plan that needs more memory than allowed.

    Parameters
    ----------
    resources : Resources
        What is allowed.
    needs : MemoryNeeds
        What the plan needs.
    n_rows : int
        Rows of the plan, for the message.
    remedies : sequence of str
        What would fit.

    Raises
    ------
    ResourceError
        D33, with the numbers and the remedies.
    """
    if needs.least_limit <= resources.memory_limit:
        return
    hint = f"a higher limit (Resources(memory_limit={needs.least_limit}))"
    if remedies:
        hint = ", ".join([*remedies, f"or {hint}"])
    message = (
        f"{n_rows:,} rows need {bytes_text(needs.least_limit)}; "
        f"memory_limit allows {bytes_text(resources.memory_limit)}. "
        f"Evaluations of the model take {bytes_text(needs.evaluations)}, "
        f"the table and the plan {bytes_text(FIXED + needs.table)}, "
        f"the search {bytes_text(needs.candidate)} for each candidate. Remedies: {hint}."
    )
    raise ResourceError(message, code="D33", argument="resources", hint=hint)
