"""From the sums of the trees to the number that is explained, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.trees.refusal import RefusalError

Link = Callable[[Sequence[FloatArray]], FloatArray]
"""What is explained, from the sums of the outputs it depends on."""


def identity(sums: Sequence[FloatArray]) -> FloatArray:
    """The sum itself.

    Examples
    --------
    >>> identity([np.array([2.0])])
    array([2.])
    """
    return sums[0]


def opposite(sums: Sequence[FloatArray]) -> FloatArray:
    """The score of the first of two classes.

    Examples
    --------
    >>> opposite([np.array([2.0])])
    array([-2.])
    """
    return -sums[0]


def _logistic(sums: Sequence[FloatArray], alpha: float) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(alpha * sums[0]))


def _exponential(sums: Sequence[FloatArray]) -> FloatArray:
    return np.exp(sums[0])


def _signed_square(sums: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.copysign(np.square(sums[0]), sums[0]))


def _log_one_plus_exp(sums: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.logaddexp(0.0, sums[0]))


def _softmax(sums: Sequence[FloatArray], output: int) -> FloatArray:
    largest = np.maximum.reduce(list(sums))
    parts = [np.exp(total - largest) for total in sums]
    return np.asarray(parts[output] / np.sum(parts, axis=0))


def _complement(sums: Sequence[FloatArray], link: Link) -> FloatArray:
    return 1.0 - link(sums)


_SINGLE: dict[str, Link] = {
    "identity": identity,
    "identity_multiclass": identity,
    "exponential": _exponential,
    "signed_square": _signed_square,
    "logarithm_one_plus_exp": _log_one_plus_exp,
}


def link_of(name: str, alpha: float, outputs: int, output: int | None) -> tuple[Link, tuple[int, ...]]:
    """The link of one output, and the outputs whose sums it reads.

    Parameters
    ----------
    name : str
        Treelite's name of the function.
    alpha : float
        Slope of the logistic function.
    outputs : int
        Sums a row.
    output : int, optional
        The output (class) asked for; None where there is one. Of one sum for two classes, 0 is the complement.

    Examples
    --------
    >>> link, read = link_of("sigmoid", 1.0, 1, 0)
    >>> link([np.array([0.0])]), read
    (array([0.5]), (0,))
    """
    if name == "softmax" and output is not None and outputs > 1:
        return partial(_softmax, output=output), tuple(range(outputs))
    if name in ("sigmoid", "multiclass_ova"):
        logistic = partial(_logistic, alpha=alpha)
        if outputs > 1 and name == "multiclass_ova" and output is not None:
            return logistic, (output,)
        if outputs == 1:
            return (partial(_complement, link=logistic) if output == 0 else logistic), (0,)
    if name in _SINGLE and (outputs == 1 or output is not None):
        return _SINGLE[name], (output or 0,)
    raise RefusalError(f"the link {name!r} of {outputs} outputs is not applied by us", "M23")
