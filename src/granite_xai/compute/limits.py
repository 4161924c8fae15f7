"""Limits of a run, and the refusal of what exceeds them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from granite_xai.base.errors import ResourceError
from granite_xai.base.validation import choose, real_number, whole_number

_FEWER = (
    "fewer rows (max_samples=), fewer columns (features=), fewer values (Resources(max_grid=8))"
)


@dataclass(frozen=True)
class Resources:
    """The limits of a run; fixed numbers, so that a repeat is equal bit by bit.

    Parameters
    ----------
    memory_limit : int
        Bytes that our own arrays may take. A plan that needs more is refused before the model is asked, with what
        would fit.
    max_seconds : float, optional
        Time that a fit may take, about. The fit begins with 250 rows and doubles them while there is time; the last
        complete step is the answer, and the first note says so. None: any time; the result never depends on the clock.
    max_evaluations : int, optional
        Rows that may be sent to the model: fewer of the table's rows are used where more would be needed. None: a
        million, which explicit ``max_samples`` or ``max_grid`` may exceed.
    max_grid : int, "auto" or None
        Values of a column at which the model is asked, chosen by what it does for a few rows; one of them stands for
        each of the others in every term of the column's own gap, and the cost is linear in the rows. For pure and full
        effects of single columns. "auto": 16. None: all values, as in the paper.
    batch_size : int, optional
        Rows of one call of the model; the last batch is shorter. None: a fixed default.
    dtype : "float64"
        Numbers in which the split search decides, on the processor and on a device. Single precision is refused: on the
        processor it was never faster, and it cannot decide.
    device : {"cpu", "cuda"}
        Where sums are formed; ``"cuda"`` needs the extra ``gpu``. The regions are the same. A torch module with its
        parameters there, or a function that takes and returns arrays of torch, CuPy or JAX there, is also asked there:
        recombined rows are made on the device, and their predictions stay on it. Any other model is asked on the host.
    progress : {"auto", True, False}
        Show progress of work longer than a second: in terminals and notebooks, always, never.

    Examples
    --------
    >>> Resources(batch_size=32).memory_limit == 2**29
    True
    """

    memory_limit: int = 2**29
    max_seconds: float | None = None
    max_evaluations: int | None = None
    max_grid: int | Literal["auto"] | None = "auto"
    batch_size: int | None = None
    dtype: Literal["float64"] = "float64"
    device: Literal["cpu", "cuda"] = "cpu"
    progress: bool | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        whole_number("memory_limit", self.memory_limit, at_least=1)
        if self.max_seconds is not None:
            real_number("max_seconds", self.max_seconds, above=0)
        grid = None if self.max_grid == "auto" else self.max_grid
        own = (
            ("max_evaluations", self.max_evaluations, 1),
            ("max_grid", grid, 2),
            ("batch_size", self.batch_size, 1),
        )
        for name, value, least in own:
            if value is not None:
                whole_number(name, value, at_least=least)
        choose("dtype", self.dtype, {"float64": "float64"})
        choose("device", self.device, {"cpu": "cpu", "cuda": "cuda"})
        choose("progress", self.progress, {"auto": "auto"}, accept=bool)

    @property
    def grid(self) -> int | None:
        """Values of a grid; None: exact, as "auto" is until a plan says otherwise."""
        return None if isinstance(self.max_grid, str) else self.max_grid

    @property
    def block(self) -> int:
        """Bytes of what is computed at a time on the way to evaluations and sums."""
        return self.memory_limit // 8


MODEL_ROWS = 1_000_000  # that a fit sends to the model where nobody says how many


def model_row_budget(resources: Resources) -> int:
    """Rows that a fit may send to the model."""
    return MODEL_ROWS if resources.max_evaluations is None else resources.max_evaluations


def require_supported(resources: Resources) -> None:
    """Refuse a device that is not there, naming what is missing, before the model is asked (R08)."""
    missing = None if resources.device == "cpu" else _missing_for_cuda()
    if missing:
        hint = 'Install granite-xai[gpu] on a machine with a CUDA device, or leave device="cpu".'
        text = f"Resources(device={resources.device!r}): {missing}."
        raise ResourceError(text, code="R08", argument="device", hint=hint)


def _missing_for_cuda() -> str | None:
    """What a search on a CUDA device lacks here; None: nothing."""
    for package in ("torch", "array_api_compat"):
        if importlib.util.find_spec(package) is None:
            return f"{package.replace('_', '-')} is not installed"
    import torch

    if torch.cuda.is_available():
        return None
    return (
        "this torch was built without CUDA"
        if torch.version.cuda is None
        else "torch finds no CUDA device"
    )


def require_evaluations(resources: Resources, rows: int) -> None:
    """Refuse a plan that sends more rows to the model than allowed, with the numbers and the remedies (M13)."""
    if resources.max_evaluations is None or rows <= resources.max_evaluations:
        return
    message = f"the plan sends {rows:,} rows to the model; max_evaluations allows {resources.max_evaluations:,}."
    raise too_little(message, f"max_evaluations={rows}", "M13")


def require_free(free: int | None, needed: int) -> None:
    """Refuse evaluations that a device has no room for, with the numbers (D33); a fifth is left to the search."""
    if free is not None and 5 * needed > 4 * free:
        text = f"the model's evaluations need {size(needed)} on the device, which has {size(free)} left."
        raise too_little(text, 'device="cpu"')


def too_little(message: str, limit: str, code: str = "D33") -> ResourceError:
    """The refusal of work for which there is no room, with the remedies (D33)."""
    hint = f"{_FEWER}, or a higher limit (Resources({limit}))"
    return ResourceError(f"{message} Remedies: {hint}.", code=code, argument="resources", hint=hint)


def size(count: int) -> str:
    """Bytes as a person reads them."""
    return f"{count / 2**20:,.1f} MiB" if count >= 2**20 else f"{count:,} bytes"


BLOCK = 2**26  # bytes of one working block where nobody sets a limit
OWN = 2**20  # bytes of a run on any table: rules, plans, small arrays


def slices(count: int, line_bytes: int, block: int) -> Iterator[slice]:
    """Neighbouring parts of ``count`` lines that fit a block of so many bytes each; one line at least."""
    step = max(1, block // max(line_bytes, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


@dataclass(frozen=True, slots=True)
class MemoryNeeds:
    """Bytes that a run needs.

    Five eighths of the limit are for what stays (the table, the plan, the evaluations), a quarter for the candidates
    that are scored together, an eighth for a block of evaluations in work.
    """

    table: int  # the table, the codes of its rows, the plan
    evaluations: int  # matrices that are kept, what nodes cut out of them, the largest that is only summed up
    candidate: int = 0  # the search, for one candidate

    @property
    def least_limit(self) -> int:
        """The smallest ``memory_limit`` that is enough."""
        staying = OWN + self.table + self.evaluations
        return max(-(-8 * staying // 5), 4 * self.candidate)


def require_budget(
    resources: Resources, needs: MemoryNeeds, n_rows: int, remedies: Sequence[str] = ()
) -> None:
    """Refuse a plan that needs more memory than allowed, with the numbers and with what would fit (D33)."""
    if needs.least_limit <= resources.memory_limit:
        return
    higher = f"a higher limit (Resources(memory_limit={needs.least_limit}))"
    hint = ", ".join([*remedies, f"or {higher}" if remedies else higher])
    text = (
        f"{n_rows:,} rows need {size(needs.least_limit)}; memory_limit allows {size(resources.memory_limit)}. "
        f"Evaluations of the model take {size(needs.evaluations)}, the table and the plan "
        f"{size(OWN + needs.table)}, the search {size(needs.candidate)} for each candidate. Remedies: {hint}."
    )
    raise ResourceError(text, code="D33", argument="resources", hint=hint)
