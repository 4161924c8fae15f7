"""The error about a value that no file can hold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError


def unwritable_value(value: Any, place: str) -> InputError:
    """Phrase the error for a value that no file can hold (F08).

    Parameters
    ----------
    value : object
        A function, a model, an array of objects, …
    place : str
        Where it stands, such as ``"options.question"``.
    """
    if callable(value) and hasattr(value, "__qualname__"):
        what = f"the function {value.__qualname__}"
    else:
        what = f"a {getattr(value, '__qualname__', type(value).__qualname__)}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        hint = "Set random_state to diagnostics_['seed'], the seed that was drawn from it."
    else:
        hint = (
            "Use an option that has a name or is a number, or pickle the object: "
            "that keeps functions and the model."
        )
    return InputError(
        f"{place} is {what}, which a file cannot hold: a loaded file never runs code.",
        code="F08",
        argument=re.split(r"[.\[]", place)[0],
        hint=hint,
    )
