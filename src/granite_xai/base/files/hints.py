"""What a type hint says about values."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

_UNIONS = (Union, types.UnionType)
_ARRAYS = (np.ndarray, get_origin(NDArray[Any]))  # NDArray has a name of its own from NumPy 2.5
_NUMBER_KINDS = "fib"  # kinds of arrays whose hint says what they hold


def allows_none(hint: Any) -> bool:
    """Whether None is such a value."""
    if get_origin(hint) in _UNIONS:
        return type(None) in get_args(hint)
    return hint is type(None)


def without_none(hint: Any) -> Any:
    """The hint of the same values but None."""
    if get_origin(hint) not in _UNIONS or not allows_none(hint):
        return hint
    choices = tuple(choice for choice in get_args(hint) if choice is not type(None))
    return Union[choices]  # noqa: UP007


def item_hints(hint: Any, count: int) -> Sequence[Any]:
    """Hints of the items of a list, a set or a tuple.

    Parameters
    ----------
    hint : type hint
        Such as ``list[int]``, ``tuple[int, ...]`` or ``tuple[int, str]``.
    count : int
        Number of items.

    Returns
    -------
    sequence
        As many as there are items, but for a tuple of fixed length: as many as that says.
    """
    inner = get_args(hint)
    is_of_any_length = len(inner) == 2 and inner[1] is Ellipsis
    if get_origin(hint) is tuple and not is_of_any_length:
        return inner
    return [inner[0]] * count


def number_type_of(hint: Any) -> Any:
    """Which numbers an array of this hint holds; None: no array, or the hint does not say."""
    if get_origin(hint) not in _ARRAYS:
        return None
    # The innermost hint: NDArray[np.float64] is ndarray[shape, dtype[np.float64]].
    innermost = hint
    while get_args(innermost):
        innermost = get_args(innermost)[-1]
    if not isinstance(innermost, type) or innermost is np.generic:
        return None
    if np.dtype(innermost).kind not in _NUMBER_KINDS:
        return None
    return innermost


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what a hint says; truth values are not numbers.

    Hints that nothing can be checked against, such as a protocol, fit everything.
    """
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin in _UNIONS:
        return any(fits(value, choice) for choice in inner)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in inner)
    if isinstance(value, bool) and hint in (int, float):
        return False
    if origin in _ARRAYS:
        return isinstance(value, np.ndarray)
    if hint is float:
        return isinstance(value, int | float)
    try:
        return isinstance(value, origin or hint)
    except TypeError:  # isinstance does not take Any, nor most protocols
        return True
