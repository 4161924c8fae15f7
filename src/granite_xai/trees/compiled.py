"""Functions of arrays as machine code, where the extra ``fast`` is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., None])


def available() -> bool:
    """Whether the compiler is installed (the extra ``fast``); it is not loaded to find out."""
    return find_spec("numba") is not None


@cache
def compiled(function: Kernel) -> Kernel:
    """Compile a function of arrays, once.

    Parameters
    ----------
    function : callable
        Plain loops over its arguments; it writes into one of them.

    Returns
    -------
    callable
        Does the same, and releases the interpreter's lock while it runs.
    """
    # Never ``parallel=True``: its work queue aborts the process when two threads call it.
    import numba

    build = partial(numba.njit, nogil=True, error_model="numpy")
    try:
        return cast("Kernel", build(cache=True)(function))
    except RuntimeError:  # no folder where the machine code could be kept
        return cast("Kernel", build()(function))
