"""Why a model is not read as a sum of trees."""

from __future__ import annotations


class RefusalError(Exception):
    """A model that is evaluated by its own ``predict``.

    Parameters
    ----------
    reason : str
        What stands in the way, for ``diagnostics_``.
    code : str, optional
        The case of a tree ensemble that we ought to read but do not recognise: worth a warning.

    Examples
    --------
    >>> str(RefusalError("the model is no tree ensemble"))
    'the model is no tree ensemble'
    """

    def __init__(self, reason: str, code: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
