"""The evaluations of a fit, while the object that was fitted keeps them."""

from __future__ import annotations

from typing import Any

from granite_xai.base.errors import InputError
from granite_xai.fitting.fit_result import FitRun


def kept_run(g: Any, what: str, argument: str, hint: str) -> FitRun:
    """The run of a fit, with its evaluations.

    Parameters
    ----------
    g : Granite
    what : str
        What needs the evaluations, for the error.
    argument, hint : str
        Of the error.

    Raises
    ------
    InputError
        P03, where this object was loaded or copied: files and copies keep no evaluations.
    """
    run: FitRun | None = vars(g).get("_run")
    if run is None:
        raise InputError(
            f"{what} needs the evaluations of the fit, which only the object that was fitted keeps.",
            code="P03",
            argument=argument,
            hint=hint,
        )
    return run
