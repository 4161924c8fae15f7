"""What a run notices about itself: warnings, findings and seconds."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PACKAGE = __name__.partition(".")[0]


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the caller's line, not at a line of this package.

    Parameters
    ----------
    message : str
        Text of the warning, with its code.
    category : type of Warning
        One of the classes of `granite_xai.base.errors`.
    """
    # The argument `skip_file_prefixes` of `warnings.warn` does this, from Python 3.12 on.
    frame = sys._getframe()
    level = 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE


class Diagnostics:
    """A recorder that travels through a run; `as_dict` is what users read in ``diagnostics_``."""

    def __init__(self) -> None:
        self._warnings: dict[str, None] = {}  # an ordered set of texts
        self._findings: dict[str, Any] = {}
        self._seconds: dict[str, float] = {}

    def warn(self, message: str, category: type[Warning]) -> None:
        """Warn the caller and remember the text; the same text is issued once a run."""
        if message in self._warnings:
            return
        # Remembered first: where warnings are errors the next line does not return.
        self.remember(message)
        warn(message, category)

    def remember(self, message: str) -> None:
        """Remember a warning that was issued elsewhere."""
        self._warnings[message] = None

    def count(self, key: str) -> None:
        """Add one to a finding that is a number."""
        self._findings[key] = self._findings.get(key, 0) + 1

    def note(self, key: str, value: Any) -> None:
        """Keep a finding under its name; a later one replaces it."""
        self._findings[key] = value

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the seconds of the enclosed work to a stage, also when the work fails."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - begin

    @property
    def warnings(self) -> tuple[str, ...]:
        """Texts of the warnings so far, in order."""
        return tuple(self._warnings)

    def as_dict(self) -> dict[str, Any]:
        """Everything noticed so far, as a new dict of plain values."""
        return {
            **self._findings,
            "seconds": dict(self._seconds),
            "warnings": list(self._warnings),
        }
