"""The explanation of one row in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite_xai.base.numbers import OutputUnit
from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import FloatArray

MOST_NAMED = 3  # features that push a prediction in one direction and are named
SLIGHT = 0.1  # share of the largest contribution below which one is not mentioned
NAMES_WITH_A_CLASS = ("probability of ", "score of ")
WIDTH = 40  # characters of a feature's name


def prediction_sentence(
    row: object, output: str, prediction: float, mean: float, title: str, unit: OutputUnit
) -> str:
    """What is predicted for a row, beside the mean of its region.

    Parameters
    ----------
    row : object
        Its label; None: it has none.
    output : str
        What the output is called.
    prediction, mean : float
        Of the row, and of its region.
    title : str
        Of the region; empty where all rows are one.
    unit : OutputUnit

    Examples
    --------
    >>> prediction_sentence(17, "predicted cnt", 78.0, 246.0, "hr 7–23, workingday = 0", OutputUnit())
    'Row 17: predicted cnt 78; its region (hr 7–23, workingday = 0) averages 246.'
    """
    average = f"its region ({title}) averages" if title else "the average is"
    name = output.removeprefix("the ")
    if name.startswith(NAMES_WITH_A_CLASS):
        name += " is"  # the name may end in a number
    subject = "This row" if row is None else f"Row {plain(row)}"
    return f"{subject}: {name} {unit.level(prediction)}; {average} {unit.level(mean)}."


def reasons_sentence(
    features: Sequence[str],
    values: Sequence[str],
    contributions: FloatArray,
    difference: float,
    unit: OutputUnit,
) -> str:
    """Which features make a prediction lower or higher than the mean of its region.

    Parameters
    ----------
    features, values : sequences of str
        The features (or groups), and what the row has there.
    contributions : array of shape (n_features,)
    difference : float
        Prediction minus mean; its direction comes first.
    unit : OutputUnit

    Returns
    -------
    str
        Empty where no feature contributes.

    Examples
    --------
    >>> reasons_sentence(["yr", "hr"], ["0", "17"], np.array([-56.0, 51.0]), -168.0, OutputUnit())
    'Lower because of yr = 0 (−56); higher because of hr = 17 (+51).'
    """
    largest = float(np.abs(contributions).max(initial=0.0))
    if largest == 0.0:
        return ""
    lower = []
    higher = []
    for index in np.argsort(-np.abs(contributions), kind="stable"):
        contribution = float(contributions[index])
        is_mentioned = abs(contribution) >= SLIGHT * largest
        if not is_mentioned:
            continue
        name = shortened(plain(features[index]), WIDTH)
        effect = unit.signed_effect(contribution, bare=True)
        text = f"{name} = {plain(values[index])} ({effect})"
        if contribution < 0:
            lower.append(text)
        else:
            higher.append(text)
    reasons = []
    if lower:
        reasons.append(f"lower because of {', '.join(lower[:MOST_NAMED])}")
    if higher:
        reasons.append(f"higher because of {', '.join(higher[:MOST_NAMED])}")
    if difference >= 0:
        reasons.reverse()
    sentence = "; ".join(reasons)
    if unit.probability:
        sentence += " (in points)"
    return f"{sentence[:1].upper()}{sentence[1:]}."


def outweighs(rest: float, contributions: FloatArray) -> bool:
    """Whether interactions add more than any single feature.

    Parameters
    ----------
    rest : float
        What the contributions of single features leave.
    contributions : array of shape (n_features,)
    """
    return abs(rest) > float(np.abs(contributions).max(initial=0.0))


def interactions_sentence(rest: float, contributions: FloatArray, unit: OutputUnit) -> str:
    """What interactions add; empty where that is little.

    Where they add more than any feature, this stands before what single features do: a reader
    should know it first.

    Parameters
    ----------
    rest : float
        What the contributions of single features leave.
    contributions : array of shape (n_features,)
    unit : OutputUnit

    Examples
    --------
    >>> interactions_sentence(-86.0, np.array([-56.0, 51.0]), OutputUnit())
    'Interactions add −86, more than any single feature: single features alone do not explain this row.'
    >>> interactions_sentence(-20.0, np.array([-56.0, 51.0]), OutputUnit())
    'Interactions add −20.'
    """
    largest = float(np.abs(contributions).max(initial=0.0))
    if abs(rest) < SLIGHT * largest or rest == 0.0:
        return ""
    added = f"Interactions add {unit.signed_effect(rest)}"
    if outweighs(rest, contributions):
        compared = "more than any single feature"
        return f"{added}, {compared}: single features alone do not explain this row."
    return f"{added}."
