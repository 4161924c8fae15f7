"""Effects on a table: which values of which games the effect of each set is made of.

Every effect is a linear combination of values ``nu(T)``, so resolving an explanation means naming the
coalitions and their coefficients. Partial effects are exact while their coalitions can be paid for;
otherwise they are the mean over pairs of opposite orders of arrival, drawn once and used for every row,
reference and region, so that the estimates are one linear function of the game and add up exactly
(docs/method.rst, C19). Where local effects are means over all rows of a region, many coalitions are
summed up once, for every pair of rows (attributions).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np

from granite_xai.algebra.behavior import Behavior
from granite_xai.algebra.influence import Influence, PlayersAndSets
from granite_xai.algebra.interaction import (
    Additive,
    Interaction,
    Partial,
    Weighted,
    Whole,
    weighted_sum,
)
from granite_xai.algebra.masked_model import Averaged, MaskedModel
from granite_xai.algebra.masking import Masking
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import InputError, ResourceError
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Players, union
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.request import Needs, Summed, request
from granite_xai.tables import Table

MAX_EXACT_PLAYERS = 12  # players whose 2^p coalitions are all asked about (C19)
MIN_PATH_PLAYERS = 4  # players from which the paths of trees cost less than coalitions
MIN_PAIRS = 8  # pairs of orders of arrival, below which there is no standard error to speak of
MAX_PAIRS = 64
MAX_ROWS = 20_000_000  # recombined rows sent to the model, unless the user says otherwise


class Attributed(NamedTuple):
    """In the place of a coalition: the effect of a set, summed over coalitions for all pairs of rows."""

    kind: str
    members: tuple[Coalition, ...]
    players: tuple[Coalition, ...]


class Term(NamedTuple):
    """One value of one game.

    Parameters
    ----------
    masking : Masking
    behavior : Behavior
    visible : coalition
        T; or what the masking reads instead of it (`Attributed`, `accumulated.Change`).
    """

    masking: Masking
    behavior: Behavior
    visible: Hashable

    def masked(self, evaluations: Evaluations) -> Averaged:
        """The masked model behind it."""
        if isinstance(self.visible, frozenset) and len(self.visible) == evaluations.n_columns:
            return MaskedModel.of_rows(evaluations.f)
        if isinstance(self.visible, Attributed):
            return MaskedModel(evaluations.facts[self.visible].values)
        return self.masking.masked_model(evaluations, self.visible)

    def value(self, evaluations: Evaluations, regions: RegionWeights) -> FloatArray:
        """``nu(T)``: (n, K) where there is a value for each row, otherwise (sides, K)."""
        return self.behavior.value(self.masked(evaluations), evaluations, regions)


Terms = Mapping[Term, float]
"""An effect, or a gap between two: a linear combination of values."""


@dataclass(frozen=True, eq=False)
class Effect:
    """One explanation on one table.

    Parameters
    ----------
    masking, behavior : Masking, Behavior
    layout : PlayersAndSets
    terms : tuple of Terms
        For each set, what its effect is made of.
    draws : tuple of tuples of Terms
        Of sampled effects: the terms of each pair of orders and set.
    attributions : mapping of Attributed to Summed
        The coalitions behind attributions.
    """

    masking: Masking
    behavior: Behavior
    layout: PlayersAndSets
    terms: tuple[Terms, ...]
    draws: tuple[tuple[Terms, ...], ...] = ()
    attributions: Mapping[Hashable, Summed] = field(default_factory=dict)

    @property
    def is_sampled(self) -> bool:
        """Whether effects are means over drawn orders of arrival."""
        return bool(self.draws) or any(summed.draws for summed in self.attributions.values())

    @property
    def sets(self) -> list[Coalition]:
        """The columns of each set."""
        return [union(members) for members in self.layout.sets]

    @property
    def needs(self) -> Needs:
        """What is read of the model, with the masked model that effects are counted from."""
        read = {term.visible for terms in self.terms for term in terms} | {Coalition()}
        by_masking = read - {union(self.layout.players)} - self.attributions.keys()
        return replace(
            self.masking.needs(by_masking),
            compared=frozenset(self.sets),
            attributions=self.attributions,
        )

    @property
    def reads(self) -> list[frozenset[Coalition]]:
        """Coalitions whose predictions for pairs of rows the effect of each set reads."""
        by_set = []
        for terms in self.terms:
            read = set[Coalition]()
            for term in terms:
                if isinstance(term.visible, Attributed):
                    read |= set(term.visible.players)
                elif isinstance(term.visible, frozenset):
                    read.add(term.visible)
            by_set.append(frozenset(read))
        return by_set

    def values(self, evaluations: Evaluations, regions: RegionWeights) -> Iterator[FloatArray]:
        """The effect of each set in turn: (n, K) at every row, or one a region on the left, (1, K)."""
        for members, terms in zip(self.sets, self.terms, strict=True):
            values = combination(terms, evaluations.in_gap_of(members), regions)
            if not self.behavior.per_row:
                yield values[:1]
                continue
            # Predictions are centred by the offset; attributions and changes are differences already.
            are_predictions = all(isinstance(term.visible, frozenset) for term in terms)
            if self.behavior.is_linear and are_predictions:
                values = values + evaluations.offset * sum(terms.values())
            yield values

    def errors_of_draws(self, evaluations: Evaluations) -> FloatArray:
        """Standard errors of sampled effects, over the draws, (n or 1, sets); 0 of exact ones."""
        n_rows = len(evaluations) if self.behavior.per_row else 1
        errors = np.zeros((n_rows, len(self.terms)))
        for place, terms in enumerate(self.terms):
            for term in terms:
                if isinstance(term.visible, Attributed):
                    of_set = evaluations.facts[term.visible].errors
                    errors[:, place] = 0.0 if of_set is None else of_set
        if self.draws:
            whole = RegionWeights.whole(evaluations.weights)
            by_draw = []
            for draw in self.draws:
                of_draw = replace(self, terms=draw, draws=()).values(evaluations, whole)
                by_draw.append(np.concatenate(list(of_draw), axis=1))
            errors = np.std(by_draw, axis=0, ddof=1) / np.sqrt(len(by_draw))
        return errors

    def cell_sizes(self, evaluations: Evaluations) -> Iterator[IntArray]:
        """For each set how many rows its effect averages over at each row, at least, (n,)."""
        return cell_sizes(self.sets, self.terms, evaluations)


def masked_sum(terms: Terms, evaluations: Evaluations, regions: RegionWeights) -> FloatArray:
    """A combination of masked models at every row, (n, K): those of one kind add up first."""
    by_kind: dict[type, list[tuple[float, Averaged]]] = {}
    for term, coefficient in terms.items():
        masked = term.masked(evaluations)
        by_kind.setdefault(type(masked), []).append((coefficient, masked))
    total: FloatArray | None = None
    for kind, weighted in by_kind.items():
        for masked in kind.combined(weighted):  # type: ignore[attr-defined]
            values = masked.values(regions)
            total = values if total is None else total + values
    if total is None:
        return np.zeros(regions.weights.shape)
    return total


def masked_sum_of_rows(terms: Terms, evaluations: Evaluations) -> MaskedModel:
    """A combination of masked models that all average over all rows, as one."""
    weighted = [(coefficient, term.masked(evaluations)) for term, coefficient in terms.items()]
    sums = MaskedModel.combined(cast(Sequence[tuple[float, MaskedModel]], weighted))
    sums = sums or [MaskedModel.of_rows(np.zeros(len(evaluations)))]
    first = sums[0]
    for other in sums[1:]:  # pairs of rows come first
        first = MaskedModel(first.row_part + other.of_pairs())
    return first


def combination(terms: Terms, evaluations: Evaluations, regions: RegionWeights) -> FloatArray:
    """A combination of values: (n, K) where there is one for each row, otherwise (sides, K)."""
    if all(term.behavior.is_linear for term in terms):
        return masked_sum(terms, evaluations, regions)
    total = sum(
        coefficient * term.value(evaluations, regions) for term, coefficient in terms.items()
    )
    return np.asarray(total)


def cell_sizes(
    sets: Sequence[Coalition], combinations: Sequence[Terms], evaluations: Evaluations
) -> Iterator[IntArray]:
    """For each set how many rows of the region the masked models of its combination average over, at least, (n,)."""
    of_terms: dict[Term, IntArray | None] = {}
    for members, terms in zip(sets, combinations, strict=True):
        view = evaluations.in_gap_of(members)
        known = of_terms if view is evaluations else {}
        smallest = np.full(len(evaluations), len(evaluations))
        for term in terms:
            if term not in known:
                known[term] = term.masked(view).cell_sizes()
            sizes = known[term]
            if sizes is not None:
                smallest = np.minimum(smallest, sizes)
        yield smallest


# Resolving --------------------------------------------------------------------------------------


def resolve(
    masking: Masking,
    behavior: Behavior,
    interaction: Interaction,
    influence: Influence,
    table: Table,
    *,
    max_evaluations: int | None = None,
    seed: int = 0,
    by_paths: bool = False,
    pairs: int | None = None,
    used: Coalition | None = None,
) -> Effect:
    """Name the terms of each set's effect on a table, sampling partial effects that cost too much.

    Parameters
    ----------
    masking, behavior, interaction, influence
        The four axes.
    table : Table
        Rows on which costs are counted; the effect itself is that of any rows with these columns.
    max_evaluations : int, optional
        Recombined rows that may be sent to the model; None: 20 million.
    seed : int
        For orders of arrival.
    by_paths : bool
        Whether the model is a tree ensemble, whose attributions are exact.
    pairs : int, optional
        Pairs of orders of arrival to draw; 0: effects are exact; None: what can be paid for.
    used : coalition, optional
        Columns that the model reads; None: it may read all. Where masking depends on nothing else, the
        others need no coalitions.

    Raises
    ------
    InputError
        P03 where the operators do not go together.
    ResourceError
        M13 where neither exact nor sampled effects can be paid for.
    """
    layout = influence.layout(table)

    def effect(
        terms: Sequence[Mapping[Any, float]],
        draws: Sequence[Sequence[Weighted]] = (),
        behavior: Behavior = behavior,
    ) -> Effect:
        """Coalitions and coefficients as values of the game."""

        def values(weighted: Mapping[Any, float]) -> Terms:
            return {Term(masking, behavior, read): factor for read, factor in weighted.items()}

        return Effect(
            masking=masking,
            behavior=behavior,
            layout=layout,
            terms=tuple(map(values, terms)),
            draws=tuple(tuple(map(values, draw)) for draw in draws),
        )

    own_terms = masking.terms(behavior, interaction, layout)
    if own_terms is not None:
        return effect(own_terms)
    if isinstance(interaction, Whole | Additive):
        if isinstance(interaction, Additive):
            order = max(interaction.order, layout.order)
            terms = Additive(order).terms(layout.explained, ())
        else:
            terms = interaction.terms(layout.players, ())
        layout = replace(layout, sets=(layout.players,), labels=(table.names,))
        return effect([terms])
    redrawn = behavior.of_hidden(interaction)
    if redrawn is not None:
        if layout.order > 1 or not masking.redraws:
            raise InputError(
                "Sensitivity(total='jansen') is defined for full effects of features and groups under marginal or "
                "conditional masking.",
                code="P03",
                argument="total",
                hint="Use total='difference' for interactions and for baseline masking.",
            )
        everything = union(layout.players)
        hidden = [{everything - member: 1.0} for (member,) in layout.sets]
        return replace(effect(hidden, behavior=redrawn), behavior=behavior)
    if not isinstance(interaction, Partial):
        return effect([interaction.terms(layout.players, members) for members in layout.sets])

    is_summed = masking.averages_rows and behavior.is_linear
    is_value = layout.order == 1 and interaction.is_shapley
    by_paths = by_paths and is_summed and is_value and len(layout.players) >= MIN_PATH_PLAYERS
    if by_paths:
        by_set: list[Weighted] = [{} for _ in layout.sets]
        draws: list[list[Weighted]] = []
    else:
        by_set, draws = _partial_terms(
            interaction,
            layout,
            masking,
            table,
            most_rows=max_evaluations or MAX_ROWS,
            seed=seed,
            pairs=pairs,
            used=used if masking.ignores_unused else None,
        )
        n_terms_of_pure_and_full = 2 ** (layout.order + 1)
        if not is_summed or max(map(len, by_set)) <= n_terms_of_pure_and_full:
            return effect(by_set, draws)
    # Coalitions are summed up for every pair of rows: so many that this is worth it.
    kind = "partial" if is_value else interaction.index
    attributions: dict[Hashable, Summed] = {}
    for place, members in enumerate(layout.sets):
        key = Attributed("paths" if by_paths else kind, members, layout.players)
        attributions[key] = Summed(
            terms=by_set[place],
            draws=tuple(draw[place] for draw in draws),
            players=layout.players if by_paths else (),
            place=layout.players.index(members[0]) if by_paths else 0,
        )
    return replace(effect([{key: 1.0} for key in attributions]), attributions=attributions)


def _partial_terms(
    interaction: Partial,
    layout: PlayersAndSets,
    masking: Masking,
    table: Table,
    *,
    most_rows: int,
    seed: int,
    pairs: int | None,
    used: Coalition | None,
) -> tuple[list[Weighted], list[list[Weighted]]]:
    """The coalitions of each set, and where they are drawn (C19) those of each draw and set.

    Players of which the model reads no column add nothing to any coalition: without them the effects of
    the others are the same.

    Parameters
    ----------
    interaction, layout, masking, table, seed, pairs
        As in `resolve`.
    most_rows : int
        Recombined rows that may be sent to the model.
    used : coalition, optional
        Columns that matter; None: all.
    """
    everything = union(layout.players)
    players = list(layout.players)
    if used is not None and interaction.is_shapley and layout.order == 1:
        players = [player for player in players if player & used] or players[:1]
    matter = union(players)

    def of_sets(terms: Callable[[Players, Players], Weighted], ordered: Players) -> list[Weighted]:
        """The coalitions of each set; with all players that matter visible, everything is."""
        by_set: list[Weighted] = []
        for members in layout.sets:
            of_set = terms(ordered, members) if all(m in players for m in members) else {}
            by_set.append({everything if read == matter else read: c for read, c in of_set.items()})
        return by_set

    def n_rows(coalitions: set[Coalition]) -> int:
        """Recombined rows that some coalitions need."""
        needs = masking.needs(coalitions - {everything})
        against_references = 0
        for _, visible in needs.facts:
            if visible and visible not in needs.coalitions:
                against_references += len(table.distinct(visible)[1])
        return request(needs, table).n_recombined + against_references

    def too_expensive(n_pairs: int, reason: str = "") -> ResourceError:
        hint = (
            "fewer rows (max_samples=), groups of features (influence=gx.Joint({name: features})), or "
            "Resources(max_evaluations=...)"
        )
        return ResourceError(
            f"partial effects of {len(players)} players on {table.n_rows} rows: max_evaluations={most_rows:,} pays "
            f"for {n_pairs} pairs of orders, at least {MIN_PAIRS} are needed{reason}. Remedies: {hint}.",
            code="M13",
            argument="resources",
            hint=hint,
        )

    if pairs == 0 or (pairs is None and len(players) <= MAX_EXACT_PLAYERS):
        exact = of_sets(interaction.terms, players)
        if pairs == 0 or n_rows(set().union(*exact)) <= most_rows:
            return exact, []
    is_mean_over_orders = interaction.is_shapley and (
        layout.order == 1 or interaction.index == "shapley-taylor"
    )
    if not is_mean_over_orders:
        reason = " (only Shapley values and Shapley-Taylor interactions can be sampled)"
        raise too_expensive(0, reason)
    generator = np.random.default_rng(seed)
    draws: list[list[Weighted]] = []
    paid: set[Coalition] = set()  # a matrix read the other way round is that of the complement
    n_paid = 0
    for _ in range(MAX_PAIRS if pairs is None else pairs):
        order = [players[i] for i in generator.permutation(len(players))]
        forward = of_sets(interaction.sampled, order)
        backward = of_sets(interaction.sampled, order[::-1])
        draw: list[Weighted] = [
            weighted_sum([(0.5, there), (0.5, back)])
            for there, back in zip(forward, backward, strict=True)
        ]
        if pairs is None:
            unpaid = set[Coalition]().union(*draw) - paid
            n_paid += n_rows(unpaid)
            if n_paid > most_rows:
                break
            paid |= unpaid | {everything - coalition for coalition in unpaid}
        draws.append(draw)
    if len(draws) < MIN_PAIRS:
        raise too_expensive(len(draws))
    if pairs is None:
        # The smallest number times a power of two, so that a few rows more or less draw the same.
        n_doublings = int(np.log2(len(draws) / MIN_PAIRS))
        draws = draws[: MIN_PAIRS * 2**n_doublings]
    means: list[Weighted] = [
        weighted_sum((1 / len(draws), of_set) for of_set in sets)
        for sets in zip(*draws, strict=True)
    ]
    return means, draws
