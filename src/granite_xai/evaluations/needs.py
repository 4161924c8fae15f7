"""What explanations need to know of the model on some rows: the seam between the algebra and the asking.

The algebra says what it needs (`Needs`); its maskings say what they learned of the fitting rows
(`Learned`). Whoever asks the model answers with `Evaluations`: matrices for the coalitions, and a
fact for everything learned, under the same key.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.tables import Table

Weighted = Mapping[Coalition, float]
"""A linear combination of the masked models of some coalitions of visible columns."""


class Recombined(NamedTuple):
    """Rows that the model is asked about: those of a table with some columns from another one.

    Parameters
    ----------
    base, donor : Table
    base_rows, donor_rows : arrays of shape (n_asked,)
        Which row of the base, and which of the donor, each asked row is made of.
    columns : sequence of int
        The columns that come from the donor.
    """

    base: Table
    base_rows: IntArray
    donor: Table
    donor_rows: IntArray
    columns: Sequence[int]


class Learned(Protocol):
    """What a masking learned of the fitting rows about one masked model.

    Attributes
    ----------
    follows_values : bool
        Whether it says what holds at the row's value of the visible columns: where the model says it, it
        follows the values that stand for a column in that column's own gap (C22).
    """

    follows_values: ClassVar[bool]

    def asks(self, table: Table) -> Recombined | None:
        """What the model is asked beside `Needs.coalitions` about the rows of a table; None: nothing."""

    def fact(self, table: Table, predictions: FloatArray | None) -> Any:
        """What is known of the rows of a table, an object with ``take(places)``.

        Parameters
        ----------
        table : Table
            Any rows with the columns of the fit.
        predictions : array of shape (n_asked,), optional
            The answers to `asks`, less the mean prediction of the rows.
        """


@dataclass(frozen=True)
class Summed:
    """An effect of a set on row n against the single reference row m, summed over coalitions.

    ``Phi[n, m] = sum over T of terms[T] * F(row n on T, row m elsewhere)``

    Parameters
    ----------
    terms : mapping of coalition to float
    draws : tuple of mappings of coalition to float
        Where coalitions are drawn: those of each draw, of which `terms` are the mean.
    players : tuple of coalitions
        Not empty: Shapley values, which the paths of a tree ensemble give too; `terms` may then be
        empty and the model must be such an ensemble.
    place : int
        Whose value, among the players.
    """

    terms: Weighted
    draws: tuple[Weighted, ...] = ()
    players: tuple[Coalition, ...] = ()
    place: int = 0


@dataclass(frozen=True)
class Needs:
    """What some effects read of the model.

    Parameters
    ----------
    coalitions : set of coalitions
        Visible columns T whose ``F(row n on T, row m elsewhere)`` is read for all n and m: E of T or
        of the other columns, whichever is cheaper.
    compared : set of coalitions
        The sets whose effects are compared: their own matrix serves their own gap (C22).
    facts : set of keys (masking, coalition)
        What maskings learn: its `Learned` gives the fact under the same key.
    attributions : mapping of key to Summed
        Effects for all pairs of rows; each is a fact (`evaluations.Attribution`) under its key.
    """

    coalitions: frozenset[Coalition] = frozenset()
    compared: frozenset[Coalition] = frozenset()
    facts: frozenset[tuple[Any, Any]] = frozenset()
    attributions: Mapping[Hashable, Summed] = field(default_factory=dict)

    def __or__(self, other: Needs) -> Needs:
        """What both need."""
        return Needs(
            coalitions=self.coalitions | other.coalitions,
            compared=self.compared | other.compared,
            facts=self.facts | other.facts,
            attributions={**self.attributions, **other.attributions},
        )
