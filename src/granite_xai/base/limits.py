"""The limits of a run: memory, model rows, device; work in blocks that fit."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from granite_xai.base.errors import ResourceError
from granite_xai.base.options import choose, whole_number

BLOCK = 2**26
"""Bytes of one working block where nobody sets a limit."""

FIXED = 2**20
"""Bytes of a run on any table: rules, plans, small arrays."""

MODEL_ROWS = 1_000_000
"""Rows that a fit sends to the model where nobody says how many."""

_SMALLER_WORK = (
    "fewer rows (max_samples=), fewer features (features=), fewer values (Resources(max_grid=8))"
)


@dataclass(frozen=True)
class Resources:
    """The limits of a run; fixed numbers, so that a repeat is equal bit by bit.

    Parameters
    ----------
    memory_limit : int
        Bytes that our own arrays may take. A plan that needs more is refused before the model is asked, with what
        would fit.
    max_evaluations : int, optional
        Rows that may be sent to the model: fewer of the table's rows are used where more would be needed. None: a
        million, which explicit ``max_samples`` or ``max_grid`` may exceed. Not counted: a model that jumps between
        neighbouring numbers is probed column by column, with up to 128 rows each.
    max_grid : int, "auto" or None
        Values of a column at which the model is asked, chosen by what it does for a few rows; one of them stands for
        each of the others in every term of the column's own gap, and the cost is linear in the rows. For pure and full
        effects of single columns. "auto": 16. None: all values, as in the paper.
    batch_size : int, optional
        Rows of one call of the model; the last batch is shorter. None: a fixed default.
    device : {"cpu", "cuda"}
        ``"cuda"`` (with the extra ``gpu``): a torch module with its parameters there is asked about rows that are
        recombined there. Any other model is asked about rows of the host, where everything else is computed.
    progress : {"auto", True, False}
        Show progress of work longer than a second: in terminals and notebooks, always, never.

    Examples
    --------
    >>> Resources(batch_size=32).memory_limit == 2**31
    True
    """

    memory_limit: int = 2**31
    max_evaluations: int | None = None
    max_grid: int | Literal["auto"] | None = "auto"
    batch_size: int | None = None
    device: Literal["cpu", "cuda"] = "cpu"
    progress: bool | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        whole_number("memory_limit", self.memory_limit, at_least=1)
        if self.max_evaluations is not None:
            whole_number("max_evaluations", self.max_evaluations, at_least=1)
        if self.max_grid is not None and self.max_grid != "auto":
            whole_number("max_grid", self.max_grid, at_least=2)
        if self.batch_size is not None:
            whole_number("batch_size", self.batch_size, at_least=1)
        choose("device", self.device, {"cpu": "cpu", "cuda": "cuda"})
        choose("progress", self.progress, {"auto": "auto"}, accept=bool)

    @property
    def grid(self) -> int | None:
        """Values of a grid; None: exact, as "auto" is until a plan says otherwise."""
        if isinstance(self.max_grid, str):
            return None
        return self.max_grid

    @property
    def block(self) -> int:
        """Bytes of what is computed at a time on the way to evaluations and sums."""
        return self.memory_limit // 8


def model_row_budget(resources: Resources) -> int:
    """Rows that a fit may send to the model."""
    if resources.max_evaluations is None:
        return MODEL_ROWS
    return resources.max_evaluations


def require_evaluations(resources: Resources, rows: int) -> None:
    """Refuse a plan that sends more rows to the model than allowed.

    Parameters
    ----------
    resources : Resources
        What is allowed.
    rows : int
        Rows that would be sent.

    Raises
    ------
    ResourceError
        M13, with the numbers and the remedies.
    """
    limit = resources.max_evaluations
    if limit is not None and rows > limit:
        raise too_much_work(
            f"the plan sends {rows:,} rows to the model; max_evaluations allows {limit:,}.",
            f"max_evaluations={rows}",
            code="M13",
        )


def too_much_work(message: str, higher_limit: str, code: str = "D33") -> ResourceError:
    """Phrase the refusal of work for which there is no room, with the remedies.

    Parameters
    ----------
    message : str
        What is too much.
    higher_limit : str
        Option of `Resources` that would allow it.
    code : str, default="D33"
        Code of the error.
    """
    hint = f"{_SMALLER_WORK}, or a higher limit (Resources({higher_limit}))"
    return ResourceError(f"{message} Remedies: {hint}.", code=code, argument="resources", hint=hint)


def require_supported(resources: Resources) -> None:
    """Refuse a device that is not there, before the model is asked.

    Raises
    ------
    ResourceError
        R08, with what is missing.
    """
    if resources.device == "cpu":
        return
    missing = _missing_for_cuda()
    if missing is not None:
        raise ResourceError(
            f"Resources(device={resources.device!r}): {missing}.",
            code="R08",
            argument="device",
            hint='Install granite-xai[gpu] on a machine with a CUDA device, or leave device="cpu".',
        )


def _missing_for_cuda() -> str | None:
    """What work on a CUDA device lacks here; None: nothing."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    import torch

    if torch.cuda.is_available():
        return None
    if torch.version.cuda is None:
        return "this torch was built without CUDA"
    return "torch finds no CUDA device"


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
