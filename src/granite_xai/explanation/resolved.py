"""An explanation resolved on a table: which values of the game each set's effect is made of.

Every effect is a linear combination of values, so resolving means naming the terms. Partial effects are exact while
their coalitions can be paid for; otherwise they are the mean over pairs of opposite orders of arrival, drawn once and
used for every row, reference and region, so that the estimates are one linear function of the game and add up exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from granite_xai.base.errors import ResourceError
from granite_xai.base.typing import (
    AleColumn,
    AleDifference,
    Coalition,
    JansenTotal,
    PairwiseShapley,
    Term,
    Terms,
)
from granite_xai.evaluations.request import request_matrices
from granite_xai.explanation.behavior import Behavior
from granite_xai.explanation.influence import Influence, PlayersAndSets
from granite_xai.explanation.interaction import Additive, Interaction, Partial, Whole, add_terms
from granite_xai.explanation.masking import Masking
from granite_xai.explanation.masking.fitted import Reading
from granite_xai.explanation.masking.masking import Needed
from granite_xai.tables import Table

MAX_EXACT_PLAYERS, MIN_PATH_PLAYERS = 12, 4
MIN_PAIRS, MAX_PAIRS, MAX_ROWS = 8, 64, 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedExplainer:
    """One side of a question on one table."""

    masking: Masking  # the operators that make the game
    behavior: Behavior
    layout: PlayersAndSets  # players and compared sets
    terms: tuple[Terms, ...]  # for each set, the linear combination of values that is its effect
    draws: tuple[
        tuple[Terms, ...], ...
    ] = ()  # of sampled effects: the terms of each pair of orders and set
    by_paths: bool = (
        False  # whether attributions come from the paths of a tree ensemble instead of the terms
    )
    index: str = "partial"  # tells attributions of different indices apart

    @property
    def pairwise(self) -> bool:
        """Whether coalitions are summed up into one matrix for each set: local effects are linear in the game."""
        pairs_of_values = 2 ** (self.layout.order + 1)  # what pure and full effects read together
        many = self.by_paths or max(map(len, self.terms)) > pairs_of_values
        return many and self.masking.averages_rows and self.behavior.is_linear

    @property
    def combined(self) -> tuple[Terms, ...]:
        """The terms as the engine reads them."""
        return tuple({term: 1.0} for term in self.attributions) if self.pairwise else self.terms

    @property
    def attributions(self) -> dict[PairwiseShapley, Terms]:
        """The coalitions behind each attribution; none where it is read from paths."""
        if not self.pairwise:
            return {}
        named = (
            ("paths" if self.by_paths else self.index, own, self.layout.players)
            for own in self.layout.sets
        )
        told = zip(named, self.terms, strict=True)
        return {PairwiseShapley(*name): {} if self.by_paths else terms for name, terms in told}

    def changes(self) -> set[AleColumn]:
        """Columns whose changes across intervals are read, and the number of intervals."""
        return {
            term.column for terms in self.terms for term in terms if isinstance(term, AleDifference)
        }

    def readings(self) -> set[Reading]:
        """The masked models the engine reads."""
        if self.pairwise or self.changes():
            return set()
        everything = frozenset().union(*self.layout.players)
        start = (
            frozenset() if self.masking.n_references else everything
        )  # where effects are counted from
        visible = {_visible(term, everything) for terms in self.terms for term in terms}
        return {(self.masking, coalition) for coalition in visible | {start}}

    def needed(self) -> Needed:
        """The evaluations that the masked models take."""
        return self.masking.evaluations({visible for _, visible in self.readings()})


def _visible(term: Term, everything: Coalition) -> Coalition:
    if isinstance(term, JansenTotal):
        return everything - term.hidden
    if not isinstance(term, frozenset):
        raise TypeError(f"{term} is not one coalition")
    return term


def resolve(
    masking: Masking,
    behavior: Behavior,
    interaction: Interaction,
    influence: Influence,
    table: Table,
    *,
    max_evaluations: int
    | None = None,  # recombined rows that may be sent to the model; None: 20 million
    random_state: int = 0,
    by_paths: bool = False,  # whether the model is a tree ensemble, whose attributions are exact
    pairs: int
    | None = None,  # of orders of arrival to draw; 0: effects are exact; None: what can be paid for
) -> ResolvedExplainer:
    """Name the terms of each set's effect on a table, sampling partial effects that cost too much."""
    max_evaluations, layout = max_evaluations or MAX_ROWS, influence.layout(table)
    own = masking.terms((behavior.key, interaction.key, influence.key), layout)
    if own is None and isinstance(interaction, Whole | Additive):  # one set, all columns
        if isinstance(interaction, Additive):
            interaction = Additive(max(interaction.order, layout.order))
        own = (
            interaction.terms(
                layout.players if interaction.key == "whole" else layout.explained, ()
            ),
        )
        layout = replace(layout, sets=(layout.players,), labels=(table.names,))
    elif own is None:
        own = behavior.terms(interaction.key, layout, masking)
    special = isinstance(interaction, Partial) and (layout.order > 1 or not interaction.is_shapley)
    index = interaction.index if isinstance(interaction, Partial) and special else "partial"
    resolved = partial(ResolvedExplainer, masking, behavior, layout, index=index)
    if own is not None:
        return resolved(own)
    anchored = (
        masking.anchored(None) != masking
    )  # other rows of a region see another masking than its fitting rows
    # Shapley values of single players against single rows; for a few players their coalitions cost less.
    single = (
        isinstance(interaction, Partial)
        and not special
        and masking.averages_rows
        and behavior.is_linear
    )
    most = MAX_EXACT_PLAYERS if anchored else len(layout.players)
    by_paths = by_paths and single and MIN_PATH_PLAYERS <= len(layout.players) <= most
    if by_paths and not anchored:
        return resolved(({},) * len(layout.sets), by_paths=True)
    many = len(layout.players) > MAX_EXACT_PLAYERS if pairs is None else pairs > 0
    if by_paths or not many or not isinstance(interaction, Partial):
        # Paths need no coalitions, but for other rows a region's baseline is one fixed row, whose effects are terms.
        terms = tuple(interaction.terms(layout.players, members) for members in layout.sets)
        decided = by_paths or pairs is not None or not isinstance(interaction, Partial)
        if decided or _rows(masking, table, _coalitions(table, terms)) <= max_evaluations:
            return resolved(terms, by_paths=by_paths)
    draws = _drawn(masking, interaction, layout, table, max_evaluations, random_state, pairs)
    means = (
        add_terms((1 / len(draws), draw[i]) for draw in draws) for i in range(len(layout.sets))
    )
    return resolved(tuple(means), draws)


def _coalitions(table: Table, terms: Iterable[Terms]) -> set[Coalition]:
    everything = frozenset(range(table.n_columns))
    return {_visible(term, everything) for combination in terms for term in combination}


def _rows(masking: Masking, table: Table, coalitions: set[Coalition]) -> int:
    """Recombined rows that some coalitions need."""
    needed = masking.evaluations(coalitions)
    against = sum(len(table.distinct(sorted(visible))[1]) for visible in needed.against if visible)
    return (
        request_matrices(table, needed.pairs | needed.sampled).rows + masking.n_references * against
    )


def _drawn(
    masking: Masking,
    effect: Interaction,
    layout: PlayersAndSets,
    table: Table,
    most: int,
    seed: int,
    pairs: int | None,
) -> tuple[tuple[Terms, ...], ...]:
    """The terms of each pair of orders and set: so many pairs, or as many as can be paid for."""
    shapley = isinstance(effect, Partial) and effect.is_shapley
    if (
        not isinstance(effect, Partial)
        or not shapley
        or (layout.order > 1 and effect.index != "shapley-taylor")
    ):
        why = " (only Shapley values and Shapley-Taylor interactions can be sampled)"
        raise _too_expensive(layout, table, 0, most, why)
    generator, draws, seen = (
        np.random.default_rng(seed),
        list[tuple[Terms, ...]](),
        set[Coalition](),
    )
    spent, everything = 0, frozenset(range(table.n_columns))
    for _ in range(MAX_PAIRS if pairs is None else pairs):
        order = [layout.players[i] for i in generator.permutation(len(layout.players))]
        both = (order, order[::-1])
        draw = tuple(
            add_terms((0.5, effect.sampled(path, members)) for path in both)
            for members in layout.sets
        )
        if pairs is None:
            fresh = _coalitions(table, draw) - seen
            spent += _rows(masking, table, fresh)
            if spent > most:
                break
            seen |= fresh | {everything - coalition for coalition in fresh}
        draws.append(draw)
    if len(draws) < MIN_PAIRS:
        raise _too_expensive(layout, table, len(draws), most)
    if pairs is None:  # on a coarse ladder, so that a few rows more or less draw the same
        del draws[MIN_PAIRS * 2 ** int(np.log2(len(draws) / MIN_PAIRS)) :]
    return tuple(draws)


def _too_expensive(
    layout: PlayersAndSets, table: Table, pairs: int, limit: int, why: str = ""
) -> ResourceError:
    hint = "fewer rows (max_samples=), groups of columns (influence='joint'), or Resources(max_evaluations=...)"
    text = f"partial effects of {len(layout.players)} players on {table.n_rows} rows: max_evaluations={limit:,} "
    text += (
        f"pays for {pairs} pairs of orders, at least {MIN_PAIRS} are needed{why}. Remedies: {hint}."
    )
    return ResourceError(text, code="M13", argument="resources", hint=hint)
