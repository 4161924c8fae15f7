"""Links: from the sums of a model's parts to what is explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from granite_xai.base.typing import FloatArray
from granite_xai.models.output import OutputChoice
from granite_xai.trees.refusal import RefusalError

# What is explained, from the sums of the outputs it depends on, each of the same shape.
Link = Callable[[Sequence[FloatArray]], FloatArray]


def identity(sums: Sequence[FloatArray]) -> FloatArray:
    """The sum itself."""
    return sums[0]


def opposite(sums: Sequence[FloatArray]) -> FloatArray:
    """The score of the first of two classes."""
    return -sums[0]


def _logistic(sums: Sequence[FloatArray], slope: float, complement: bool = False) -> FloatArray:
    probability = np.asarray(expit(slope * sums[0]))
    if complement:
        return 1.0 - probability
    return probability


def _softmax(sums: Sequence[FloatArray], output: int) -> FloatArray:
    largest = np.maximum.reduce(list(sums))
    parts = [np.exp(total - largest) for total in sums]
    return np.asarray(parts[output] / np.sum(parts, axis=0))


def _exponential(sums: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.exp(sums[0]))


def _signed_square(sums: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.copysign(np.square(sums[0]), sums[0]))


def _softplus(sums: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.logaddexp(0.0, sums[0]))


# By treelite's names.
_ELEMENTWISE: dict[str, Link] = {
    "exponential": _exponential,
    "signed_square": _signed_square,
    "logarithm_one_plus_exp": _softplus,
}


class LinkedOutputs(NamedTuple):
    """A link, and the outputs of the model whose sums it reads."""

    link: Link
    outputs: tuple[int, ...]


def link_of(
    choice: OutputChoice, raw: bool, has_classes: bool, name: str, slope: float, n_outputs: int
) -> LinkedOutputs:
    """The link of what is explained; a RefusalError says why there is none.

    Parameters
    ----------
    choice : OutputChoice
        Which output is explained, on which scale.
    raw : bool
        Whether the score before the link is explained.
    has_classes : bool
        Whether the model names its classes.
    name : str
        Of the link, by treelite.
    slope : float
        Of a logistic link.
    n_outputs : int
        Sums that the model forms for a row.
    """
    output = choice.column
    if output is None and n_outputs == 2:
        output = choice.default
    if n_outputs > 1 and output is None:
        raise RefusalError(f"the trees have {n_outputs} outputs")
    if choice.scale == "predict" and has_classes:
        raise RefusalError("labels are explained as numbers")
    two_classes = choice.classes is not None and len(choice.classes) == 2
    one_sum_for_two = n_outputs == 1 and two_classes  # it is the score of the second class
    first_of_two = one_sum_for_two and output == 0
    chosen = 0  # number of the explained output, where there is a choice
    if output is not None and (n_outputs > 1 or one_sum_for_two):
        chosen = int(output)
    if raw or name.startswith("identity"):
        link = opposite if first_of_two else identity
        return LinkedOutputs(link, (0 if n_outputs == 1 else chosen,))
    if name == "softmax" and n_outputs > 1:
        return LinkedOutputs(partial(_softmax, output=chosen), tuple(range(n_outputs)))
    if name == "multiclass_ova" and n_outputs > 1:
        return LinkedOutputs(partial(_logistic, slope=slope), (chosen,))
    if name in ("sigmoid", "multiclass_ova") and n_outputs == 1:
        return LinkedOutputs(partial(_logistic, slope=slope, complement=first_of_two), (0,))
    if name in _ELEMENTWISE:
        return LinkedOutputs(_ELEMENTWISE[name], (chosen,))
    raise RefusalError(f"the link {name!r} of {n_outputs} outputs is not applied by us", "M23")
