"""Masking: what stands in for the columns that are hidden.

A masking says what it learns from the fitting rows (`Masking.learn`), which evaluations a coalition needs
(`Masking.evaluations`), and what ``F_T`` is for a batch of regions (`Masking.masked`); what it cannot do it says
itself. The engine never asks which masking it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.engine.masked import Masked
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.masking.bins import BinFunction
from granite_xai.explanation.masking.choice import SamplerChoice, WideBins
from granite_xai.explanation.masking.copula import Copula
from granite_xai.tables import Table


class Needed(NamedTuple):
    """The evaluations that some coalitions need.

    Parameters
    ----------
    pairs : set of coalitions
        T whose ``F(x_T, x'_{-T})`` is needed for all pairs of rows.
    against : set of coalitions
        T whose ``F(x_T, b_{-T})`` is needed for the reference rows b that were learned.
    bins : set of coalitions
        Coalitions whose bins are needed.
    """

    pairs: AbstractSet[Coalition] = frozenset()
    against: AbstractSet[Coalition] = frozenset()
    bins: AbstractSet[Coalition] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What a masking learned from the fitting rows.

    Parameters
    ----------
    bins : mapping of coalition to BinFunction
    references : Table, optional
        Rows that hidden columns are set to.
    copula : Copula, optional
    choice : SamplerChoice, optional
        Between bins and a copula, where the rows made it.
    wide_bins : WideBins, optional
        Where bins are known to be too wide.
    """

    bins: Mapping[Coalition, BinFunction] = field(default_factory=dict)
    references: Table | None = None
    copula: Copula | None = None
    choice: SamplerChoice | None = None
    wide_bins: WideBins | None = None


class Masking(ABC):
    """What stands in for the columns that are hidden.

    Attributes
    ----------
    key : str
        Its name in the catalog.
    hides : bool
        Whether columns are hidden at all, so that every coalition has a masked model.
    redraws : bool
        Whether hidden columns are drawn from the region, so that Jansen's variance is defined.
    averages_rows : bool
        Whether ``F_T`` is a mean over single rows of the region, so that local effects are means over pairs of rows.
    n_references : int
        Reference rows that are learned and the same in every region.
    """

    __slots__ = ()
    key: ClassVar[str]
    hides: ClassVar[bool] = True
    redraws: ClassVar[bool] = False
    averages_rows: ClassVar[bool] = False
    n_references: ClassVar[int] = 0

    def learn(
        self, table: Table, coalitions: AbstractSet[Coalition], weights: FloatArray, seed: int
    ) -> Learned:
        """Learn from the fitting rows.

        Parameters
        ----------
        table : Table
            The fitting rows.
        coalitions : set of coalitions
            Sets of visible columns whose masked models are read.
        weights : array of shape (n,)
            Of the rows.
        seed : int
            For whatever is drawn.
        """
        return Learned()

    @abstractmethod
    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """The evaluations that some sets of visible columns need, before the model is asked."""

    @abstractmethod
    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """``F_T`` in every region of a batch.

        Parameters
        ----------
        evaluations : Evaluations
            What the model answered about the rows of a node.
        splits : Splits
            K ways to divide these rows into two regions.
        """

    def cell_sizes(self, evaluations: Evaluations, term: Term) -> IntArray | None:
        """Rows that each row's masked model averages over, (n,); None: all rows of the region.

        Parameters
        ----------
        evaluations : Evaluations
            Of the n rows of a region.
        term : Term
            Which masked model.
        """
        return None

    def may_weigh_rows(self) -> bool:
        """Whether rows may be weighed by density ratios, which the rows of a fit decide."""
        return False

    def chosen_by_rows(self) -> Masking:
        """The masking everywhere but in the paper's algorithm: the rows choose what it learns of them."""
        return self

    def terms(self, keys: tuple[str, str, str], sets: PlayersAndSets) -> tuple[Terms, ...] | None:
        """The terms of the effect of each set, where this masking defines them itself.

        Parameters
        ----------
        keys : tuple of str
            Of behavior, interaction and influence.
        sets : PlayersAndSets
            The players of the game, and the sets whose effects are compared.

        Returns
        -------
        tuple of Terms or None
            None: the behavior or the interaction operator defines the terms.
        """
        return None


def smallest_cells(read: Mapping[Masking, Terms], evaluations: Evaluations) -> IntArray:
    """Rows of the smallest cell that masked models average over, at every row, (n,).

    Parameters
    ----------
    read : mapping of masking to terms
        The masked models that are read.
    evaluations : Evaluations
        Of the n rows of a region.
    """
    smallest = np.full(evaluations.n_rows, evaluations.n_rows)
    for masking, terms in read.items():
        for term in terms:
            sizes = masking.cell_sizes(evaluations, term)
            if sizes is not None:
                smallest = np.minimum(smallest, sizes)
    return smallest
