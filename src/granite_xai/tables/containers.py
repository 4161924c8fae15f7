"""What a table can do in the library that it came in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray
from granite_xai.tables.cells import Cells
from granite_xai.tables.columns import Column


class Container(ABC):
    """A table in the library it came in; it is read and gathered, never written.

    Attributes
    ----------
    library : str
    native : object
        The user's own table.
    labels : tuple
        Labels of the columns as the library has them; positions where there are none.
    origin : array of shape (n_rows,), optional
        Positions of the rows in the table that the user passed; None: they are those rows.
    matrix : array of shape (n_rows, n_columns), optional
        All cells, where all columns have one NumPy dtype: it is gathered in one pass.
    """

    library: str
    native: Any
    labels: Any
    origin: IntArray | None = None
    matrix: Any = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.native)

    @property
    def names(self) -> tuple[str, ...]:
        """Column labels as text; positions are x0, x1 and so on."""
        if self.library == "numpy":
            return tuple(f"x{position}" for position in self.labels)
        return tuple(str(label) for label in self.labels)

    @property
    def named(self) -> bool:
        """Whether all columns have text as names (scikit-learn's feature names)."""
        return all(isinstance(label, str) for label in self.labels)

    def row_labels(self, rows: IntArray) -> list[Any]:
        """Labels of rows, for messages: their positions in the table the user passed."""
        return list(self._rows_of_user(rows).tolist())

    def _rows_of_user(self, rows: IntArray) -> IntArray:
        """Positions of rows in the table that the user passed."""
        if self.origin is None:
            return rows
        return self.origin[rows]

    @abstractmethod
    def cells(self, position: int) -> Cells:
        """Read one column."""

    @abstractmethod
    def take(self, rows: IntArray) -> Container:
        """Some rows, in the order given."""

    @abstractmethod
    def select(self, positions: Sequence[int]) -> Any:
        """A copy of some columns, in the library."""

    @abstractmethod
    def adopt(self, columns: Sequence[Column]) -> Container:
        """Columns of another library as a container of this one."""

    @abstractmethod
    def recombined(
        self, rows: IntArray, donor: Any, donor_rows: IntArray, columns: Sequence[int]
    ) -> Any:
        """Rows of this table with some columns from rows of a donor of the same library.

        Parameters
        ----------
        rows, donor_rows : arrays of shape (n_new,)
            Which row of this table, and which of the donor, each new row is made of.
        donor : Container
        columns : sequence of int
            Positions of the columns that come from the donor.
        """

    @abstractmethod
    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> Any:
        """Rows with every float of some columns moved to the next number of its dtype.

        Parameters
        ----------
        rows : array of shape (n_new,)
        direction : 1 or -1
            Up or down.
        columns : sequence of int
            Positions of the columns that are moved.
        """


@dataclass(frozen=True, eq=False)
class Outline(Container):
    """What is left of a table whose rows were not kept.

    New tables can be compared with it; anything that needs its rows is an F09 error.
    """

    labels: tuple[Hashable, ...]
    library: str

    @property
    def native(self) -> Any:
        """An empty table: results come in its library, or in pandas where that is not installed."""
        library = self.library
        if library == "numpy" or find_spec(library) is None:
            library = "pandas"
        if library == "pyarrow":
            return import_module("pyarrow").table({})
        return import_module(library).DataFrame()

    def refuse(self, what: str = "this") -> NoReturn:
        """Refuse what needs rows (F09)."""
        raise InputError(
            f"{what} needs the fitting rows, which the file did not hold.",
            code="F09",
            argument="X",
            hint="Load with gx.load(path, model=model, X=X), X being the table that was fitted on.",
        )

    def cells(self, position: int) -> NoReturn:
        """Refused: there are no rows."""
        self.refuse()

    def take(self, rows: IntArray) -> NoReturn:
        """Refused: there are no rows."""
        self.refuse()

    def select(self, positions: Sequence[int]) -> NoReturn:
        """Refused: there are no rows."""
        self.refuse()

    def adopt(self, columns: Sequence[Column]) -> NoReturn:
        """Refused: there are no rows."""
        self.refuse()

    def recombined(
        self, rows: IntArray, donor: Any, donor_rows: IntArray, columns: Sequence[int]
    ) -> NoReturn:
        """Refused: there are no rows."""
        self.refuse()

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> NoReturn:
        """Refused: there are no rows."""
        self.refuse()
