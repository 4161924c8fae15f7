"""A value that is computed when it is first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Deferred(Generic[T]):
    """A value that is computed now, or when it is first read.

    To pickle it, or to save it in a file, reads it, too: the function that computes it does not travel.

    Parameters
    ----------
    compute : callable without arguments
        Gives the value; called once.
    now : bool, default=False
        Whether to compute it at once.

    Examples
    --------
    >>> answer = Deferred(lambda: 42)
    >>> answer.is_computed
    False
    >>> answer.value, answer.is_computed
    (42, True)
    """

    def __init__(self, compute: Callable[[], T], now: bool = False) -> None:
        self._compute: Callable[[], T] | None = None if now else compute
        self._value: T | None = compute() if now else None

    @property
    def is_computed(self) -> bool:
        """Whether the value is there already."""
        return self._compute is None

    @property
    def value(self) -> T:
        """The value, computed if it is not there yet."""
        compute = self._compute  # another thread may compute it meanwhile: twice is no harm
        if compute is not None:
            self._value = compute()
            self._compute = None
        return cast(T, self._value)

    def __getstate__(self) -> dict[str, Any]:
        return {"_compute": None, "_value": self.value}
