"""Progress of long work, shown on screens only."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from granite_xai.compute.limits import Resources

Item = TypeVar("Item")


def progress(items: Iterable[Item], resources: Resources, desc: str, total: int | None = None) -> Iterator[Item]:
    """Pass the items on and show how far the work is, once it has taken longer than a second.

    Examples
    --------
    >>> from granite_xai.compute import Resources
    >>> list(progress([1, 2, 3], Resources(progress=False), "evaluations"))
    [1, 2, 3]
    """
    if not _shows(resources):
        yield from items
        return
    from tqdm.auto import tqdm

    with tqdm(items, desc=desc, total=total, delay=1.0, leave=False) as bar:
        yield from bar


def _shows(resources: Resources) -> bool:
    if resources.progress != "auto":
        return resources.progress
    # A log file is not a screen; a notebook is one although its stream is no terminal.
    stream = sys.stderr
    return "ipykernel" in sys.modules or (stream is not None and not stream.closed and stream.isatty())
