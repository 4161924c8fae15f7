"""Functions compiled when first used, where the extra ``fast`` is installed; the primitives of the engine in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numpy as np

from granite_xai.base.errors import GraniteError, ResourceError
from granite_xai.base.typing import IntArray
from granite_xai.compute import kernels
from granite_xai.compute.primitives import (
    NUMPY,
    Array,
    ArrayNamespace,
    Families,
    Numpy,
    Pairs,
    Part,
    as_part,
)

WORTHWHILE = (
    2**15
)  # cells of a batch from which compiled loops are used; smaller ones are not worth building them for
_NONE = np.zeros(0, dtype=np.intp)
Kernel = TypeVar("Kernel", bound=Callable[..., None])


def available() -> bool:
    """Whether the compiler is installed (the extra ``fast``); it is not loaded to find out."""
    return find_spec("numba") is not None


@cache
def compiled(function: Kernel) -> Kernel:
    """The machine code of a function of arrays, which releases the interpreter's lock while it runs."""
    # Never ``parallel=True``: its work queue aborts the process when two threads call it.
    import numba

    build = partial(numba.njit, nogil=True, error_model="numpy")
    try:
        return cast("Kernel", build(cache=True)(function))
    except RuntimeError:  # no folder where the machine code could be kept
        return cast("Kernel", build()(function))


class Compiled(Numpy):
    """The primitives of NumPy arrays in compiled loops."""

    def order(self, segments: IntArray, families: Families) -> Any:
        """The rows of each column sorted by segment."""
        starts, rows = families.starts, np.empty(segments.shape, dtype=np.intp)
        ends = np.zeros(int(starts[-1]) + len(families.sizes), dtype=np.intp)
        compiled(kernels.order)(segments, starts, rows, ends)
        return rows, ends, starts

    def segment_sum(self, block: Array, order: Any) -> Array:
        """Sums of the lines of a block (n, c) by segment, (G, c)."""
        out = np.zeros((int(order[2][-1]), block.shape[1]))
        compiled(kernels.segment_sum)(np.ascontiguousarray(block), *order, out)
        return out

    def segment_share(
        self, mass: Array, codes: IntArray, count: int, segments: IntArray, families: Families
    ) -> Array:
        """Weight of the rows of each segment that carry each of ``count`` codes, (G, count)."""
        out = np.zeros((int(families.starts[-1]), count))
        compiled(kernels.segment_share)(mass, codes, segments, out)
        return out

    line_share = ArrayNamespace.line_share

    def left_sums(self, by_segment: Array, families: Families) -> Array:
        """Sums over the left side of each candidate from sums over segments, (G, c) to (c, K)."""
        fresh, ends, added = families.additions
        out = np.empty((by_segment.shape[1], len(fresh)))
        compiled(kernels.left_sums)(by_segment, fresh, ends, added, out)
        return out

    def pair_block(
        self, E: Array, references: Pairs, rows: Pairs, hidden: float, shown: float
    ) -> Array:
        """``hidden * E[line(m), i] + shown * E[line(i), m]`` of references m and rows i, (n, c)."""
        out = np.empty((len(references.lines), len(rows.lines)))
        E = np.ascontiguousarray(E)  # one layout: otherwise each would be compiled by itself
        compiled(kernels.pair_block)(E, *references, *rows, float(hidden), float(shown), out)
        return out

    def own_side(self, part: Part, inside: Array) -> Array:
        """The mean of each row's own side, (c, K)."""
        out = np.zeros(inside.shape)
        compiled(kernels.add_own_side)(*_plain(part), inside, out)
        return out

    def side_sums(
        self,
        mode: int,
        own: Array,
        at: Array | None,
        parts: Sequence[Part],
        inside: Array,
        weights: Array,
        out: Array,
    ) -> Array:
        """Weighted sums over both sides of what each row has, in one pass; see `ArrayNamespace.side_sums`."""
        if len(parts) > 2:
            rest = sum(self.own_side(part, inside) for part in parts[1:])
            parts = (parts[0], as_part(self, rest))
        parts = parts or (as_part(self, np.zeros(inside.shape)),)
        at = np.zeros((2, inside.shape[1])) if at is None else at
        own, inside, weights = (np.ascontiguousarray(each) for each in (own, inside, weights))
        both = _plain(parts[0]), _plain(parts[-1]), len(parts) > 1
        compiled(kernels.side_sums)(mode, own, at, *both, inside, weights, out)
        return out


COMPILED = Compiled()


def _plain(part: Part) -> tuple[Array, ...]:
    """A part as arrays of one layout; no index is an empty one."""
    return tuple(_NONE if found is None else np.ascontiguousarray(found) for found in part)


_LOOPS_ALLOWED: ContextVar[bool] = ContextVar("compiled loops allowed", default=True)


@contextmanager
def compiled_loops(*, allowed: bool) -> Iterator[None]:
    """Whether sums may be formed in compiled loops in what is enclosed.

    They pay for exact predictions of all pairs of rows. A fit on a few values of each column is as
    fast without them, and does not wait until they are compiled.
    """
    token = _LOOPS_ALLOWED.set(allowed)
    try:
        yield
    finally:
        _LOOPS_ALLOWED.reset(token)


def primitives_for(cells: int) -> ArrayNamespace:
    """The primitives on the processor for a batch of so many cells."""
    worthwhile = cells >= WORTHWHILE and _LOOPS_ALLOWED.get()
    return COMPILED if worthwhile and available() else NUMPY


@contextmanager
def device_faults(primitives: ArrayNamespace | None) -> Iterator[None]:
    """Name what fails on a device: lost, or out of memory (R08)."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if primitives is None or isinstance(error, GraniteError):
            raise
        reason = str(error).partition("\n")[0] or "out of memory"
        hint = "Leave Resources(device=) at its default, or ask about fewer rows (max_samples=)."
        text = f"the device failed: {reason}. {hint}"
        raise ResourceError(text, code="R08", argument="resources", hint=hint) from error


def primitives_on(device: str) -> ArrayNamespace | None:
    """The primitives of a device; None: those of the processor, chosen for each batch."""
    if device == "cpu":
        return None
    import torch
    from array_api_compat import torch as namespace

    return ArrayNamespace(namespace, torch.device(device))
