"""What is left of a table when its rows are not kept: names, kinds, orders, levels, and the library it came in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NoReturn

from granite_xai.base.errors import InputError
from granite_xai.tables.containers import Container
from granite_xai.tables.table import Table

BACKENDS = ("numpy", "pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class Outline(Container):
    """A container without rows: new tables can be compared with it, and whatever needs its rows is an F09 error.

    Parameters
    ----------
    fitted_labels : tuple
        Column labels; positions for arrays.
    backend : {"numpy", "pandas", "polars", "pyarrow"}
        The library that the table came in.
    """

    fitted_labels: tuple[Hashable, ...]
    backend: str

    @property
    def library(self) -> str:  # type: ignore[override]
        """The library that the table came in."""
        return self.backend

    @property
    def native(self) -> Any:
        """An empty table of the library; of pandas where that library is not installed."""
        from importlib import import_module

        if self.backend in ("polars", "pyarrow"):
            try:
                library = import_module(self.backend)
                return library.DataFrame() if self.backend == "polars" else library.table({})
            except ImportError:
                pass
        return import_module("pandas").DataFrame()

    @property
    def n_rows(self) -> int:
        """No rows."""
        return 0

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The column labels."""
        return self.fitted_labels

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: there are no rows."""
        raise rows_needed("this")

    cells = take = select = adopt = recombined = nudged = _refuse


def require_rows(table: Table, what: str) -> None:
    """Refuse work that needs the rows of a table that was loaded without them (F09).

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> require_rows(read_table([[1.0]], missing="error"), "this")
    """
    if isinstance(table.container, Outline):
        raise rows_needed(what)


def rows_needed(what: str) -> InputError:
    """Return the error for work that needs the fitting rows.

    Examples
    --------
    >>> str(rows_needed("exact=True"))
    'F09: exact=True needs the fitting rows, which the file did not hold. Save with gx.save(obj, path, include_data...'
    """
    return InputError(
        f"{what} needs the fitting rows, which the file did not hold.",
        code="F09",
        argument="include_data",
        hint="Save with gx.save(obj, path, include_data=True).",
    )
