"""What the explained output is called: `predicted cnt`, `the probability of income = 1`."""

from __future__ import annotations

from typing import Any, NamedTuple

from granite_xai.base.numbers import OutputUnit
from granite_xai.base.text import plain, shortened


class OutputWords(NamedTuple):
    """Names of the explained output, and its unit.

    Attributes
    ----------
    name : str
        As the subject of a sentence.
    target : str
        What the first sentence says that the effects are on: the name for a classifier; otherwise empty.
    unit : OutputUnit
    """

    name: str
    target: str
    unit: OutputUnit


def output_words(predictor: Any, target: str = "", unit: str = "") -> OutputWords:
    """How an output is called.

    Parameters
    ----------
    predictor : Predictor
        Of the fit; that of a fit loaded without its model knows enough.
    target : str
        Name of the target, where the fit was given one.
    unit : str
        Of the target, where the user gave one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rentals = SimpleNamespace(is_probability=False, explained_class=None)
    >>> output_words(rentals, "cnt").name
    'predicted cnt'
    >>> income = SimpleNamespace(is_probability=True, explained_class=1)
    >>> output_words(income, "income").name
    'the probability of income = 1'
    """
    target_text = shortened(plain(target))
    label = predictor.explained_class
    if predictor.is_probability:
        name = _probability(target_text, label)
        return OutputWords(name=name, target=name, unit=OutputUnit(probability=True))
    if label is not None:
        name = f"the score of {_class_words(target_text, label)}"
        return OutputWords(name=name, target=name, unit=OutputUnit(unit=unit))
    name = "the prediction"
    if target_text:
        name = f"predicted {target_text}"
    return OutputWords(name=name, target="", unit=OutputUnit(unit=unit))


def _probability(target: str, label: Any) -> str:
    if label is None:
        return "the predicted probability"
    return f"the probability of {_class_words(target, label)}"


def _class_words(target: str, label: Any) -> str:
    label_text = shortened(plain(label))
    if target:
        return f"{target} = {label_text}"
    return f"class {label_text}"


def target_name(y: Any) -> str:
    """The name of a target: of a column, or of a series; empty where it has none.

    Parameters
    ----------
    y : str, series or array
        As the user passed it.

    Examples
    --------
    >>> import pandas as pd
    >>> target_name(pd.Series([1, 2], name="cnt")), target_name("cnt"), target_name([1, 2])
    ('cnt', 'cnt', '')
    """
    if isinstance(y, str):
        return y
    name = getattr(y, "name", None)
    if isinstance(name, str):
        return name
    return ""
