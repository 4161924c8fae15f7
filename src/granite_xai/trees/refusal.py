"""Why a model is not read as a sum of its own parts."""

from __future__ import annotations


class RefusalError(Exception):
    """Why a model is evaluated by its own ``predict``.

    Parameters
    ----------
    reason : str
        As ``diagnostics_`` tells it.
    code : str, optional
        Of the warning, where users may expect that we read such a model.
    """

    def __init__(self, reason: str, code: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
