"""Bars that show how far long work is."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from granite_xai.base.numbers import duration
from granite_xai.compute.resources import Resources

Item = TypeVar("Item")

LONG = 60.0
"""Seconds from which a fit says at once that it will take long."""

DELAY = 1.0
"""Seconds of work that shows no bar."""

SOON = 1.5
"""Seconds after which the bar is there, also where the first of the items takes long."""


def progress(
    items: Iterable[Item], resources: Resources, desc: str, total: int | None = None
) -> Iterator[Item]:
    """Pass the items on and show how far the work is, once it has taken longer than a second.

    Parameters
    ----------
    items : iterable
        The work.
    resources : Resources
        Whether to show anything.
    desc : str
        What is done.
    total : int, optional
        How many items there are, where ``items`` has no length.
    """
    if not _is_shown(resources):
        yield from items
        return
    with _bar(items, desc=desc, total=total) as bar:
        yield from bar


class Meter:
    """Shows how many rows a model has answered, or how many steps of other work are done.

    Parameters
    ----------
    resources : Resources
        Whether to show anything.
    total : int
        How many there will be; 0: not known.
    desc, unit : str
        What is done, and what is counted.
    """

    def __init__(
        self, resources: Resources, total: int, desc: str = "evaluations", unit: str = "rows"
    ) -> None:
        self._total = total
        self._bar: Any = None
        if _is_shown(resources):
            self._bar = _bar(desc=desc, total=total or None, unit=f" {unit}", unit_scale=True)

    def __call__(self, rows: float) -> None:
        """Take note of so many more rows."""
        if self._bar is not None:
            self._bar.update(rows)

    def announce(self, seconds_per_row: float) -> None:
        """Say at once what will take long, and what takes a minute; only where a bar is shown."""
        seconds = self._total * seconds_per_row
        if self._bar is None or seconds <= LONG:
            return
        rows_in_a_minute = round_down(LONG / seconds_per_row)
        self._bar.write(
            f"The model is asked about {self._total:,} rows, "
            f"which takes about {duration(seconds)}. "
            f"Resources(max_evaluations={rows_in_a_minute}) takes about a minute, "
            "with fewer rows of the table.",
            file=sys.stderr,
        )

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def _is_shown(resources: Resources) -> bool:
    if resources.progress != "auto":
        return resources.progress
    if "ipykernel" in sys.modules:  # a notebook is a screen although its stream is no terminal
        return True
    stream = sys.stderr
    return stream is not None and not stream.closed and stream.isatty()


def _bar(items: Iterable[Any] | None = None, **options: Any) -> Any:
    from tqdm.auto import tqdm

    bar = tqdm(items, delay=DELAY, leave=False, **options)
    timer = threading.Timer(SOON, bar.refresh)  # a bar that was closed stays away
    timer.daemon = True
    timer.start()
    return bar


def round_down(count: float) -> int:
    """A number of one digit and zeros that is not larger, at least 1,000."""
    if count < 1000:
        return 1000
    power = 10 ** int(math.log10(count))
    return int(count // power * power)
