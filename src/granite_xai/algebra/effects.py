"""Effects on a table: which values of which games the effect of each set is made of.

Every effect is a linear combination of values ``nu(T)``, so resolving an explanation means naming the
coalitions and their coefficients. Partial effects are exact while their coalitions can be paid for;
otherwise they are the mean over pairs of opposite orders of arrival, drawn once and used for every row,
reference and region, so that the estimates are one linear function of the game and add up exactly
(docs/method.rst, C19). Where local effects are means over all rows of a region, many coalitions are
summed up once, for every pair of rows (attributions).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
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
        needs = self.masking.needs(self._read_by_masking() | {Coalition()})
        return replace(needs, compared=frozenset(self.sets), attributions=self.attributions)

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

    def _read_by_masking(self) -> set[Hashable]:
        everything = union(self.layout.players)
        read = {term.visible for terms in self.terms for term in terms}
        return {visible for visible in read if visible != everything} - self.attributions.keys()


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
    if not sums:
        return MaskedModel.of_rows(np.zeros(len(evaluations)))
    first, *others = sums
    for other in others:  # pairs of rows come first
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
    game = _Game(
        layout=layout,
        interaction=interaction,
        used=used if masking.ignores_unused else None,
        masking=masking,
        table=table,
        most_rows=max_evaluations or MAX_ROWS,
    )
    is_summed = masking.averages_rows and behavior.is_linear
    if is_summed and by_paths and game.has_paths:
        return _attributed(effect([{}] * len(layout.sets)), interaction, by_paths=True)
    partial = effect(*game.terms(seed, pairs))
    return _attributed(partial, interaction) if is_summed else partial


def _attributed(effect: Effect, interaction: Partial, by_paths: bool = False) -> Effect:
    """The same effect, summed over coalitions for every pair of rows, where that is worth it."""
    layout = effect.layout
    n_terms_of_pure_and_full = 2 ** (layout.order + 1)
    n_terms = max(len(terms) for terms in effect.terms)
    if not by_paths and n_terms <= n_terms_of_pure_and_full:
        return effect
    index = "partial" if layout.order == 1 and interaction.is_shapley else interaction.index
    attributions: dict[Hashable, Summed] = {}
    terms: list[Terms] = []
    for place, (members, of_set) in enumerate(zip(layout.sets, effect.terms, strict=True)):
        key = Attributed("paths" if by_paths else index, members, layout.players)
        attributions[key] = Summed(
            terms=_weighted(of_set),
            draws=tuple(_weighted(draw[place]) for draw in effect.draws),
            players=layout.players if by_paths else (),
            place=layout.players.index(members[0]) if by_paths else 0,
        )
        terms.append({Term(effect.masking, effect.behavior, key): 1.0})
    return replace(effect, terms=tuple(terms), draws=(), attributions=attributions)


def _weighted(terms: Terms) -> Weighted:
    return {
        term.visible: coefficient
        for term, coefficient in terms.items()
        if isinstance(term.visible, frozenset)
    }


@dataclass(frozen=True, eq=False)
class _Game:
    """The coalitions of partial effects, of the players that matter.

    Players of which the model reads no column add nothing to any coalition: without them the effects of
    the others are the same.

    Parameters
    ----------
    layout : PlayersAndSets
    interaction : Partial
    used : coalition, optional
        Columns that matter; None: all.
    masking : Masking
    table : Table
        Rows on which costs are counted.
    most_rows : int
        Recombined rows that may be sent to the model.
    """

    layout: PlayersAndSets
    interaction: Partial
    used: Coalition | None
    masking: Masking
    table: Table
    most_rows: int

    @property
    def has_paths(self) -> bool:
        """Whether paths of trees give these effects, and cost less than coalitions."""
        is_of_players = self.layout.order == 1 and self.interaction.is_shapley
        return is_of_players and len(self.layout.players) >= MIN_PATH_PLAYERS

    @cached_property
    def players(self) -> list[Coalition]:
        """Those that matter."""
        every = list(self.layout.players)
        if self.used is None or not self.interaction.is_shapley or self.layout.order > 1:
            return every
        return [player for player in every if player & self.used] or every[:1]

    def terms(
        self, seed: int, pairs: int | None
    ) -> tuple[list[Weighted], Sequence[Sequence[Weighted]]]:
        """The coalitions of each set, and where they are drawn those of each draw."""
        if pairs == 0 or (pairs is None and len(self.players) <= MAX_EXACT_PLAYERS):
            exact = [self._of_set(self.interaction.terms, members) for members in self.layout.sets]
            if pairs == 0 or self._n_rows(_coalitions(exact)) <= self.most_rows:
                return exact, ()
        draws = self._draws(np.random.default_rng(seed), pairs)
        means: list[Weighted] = [
            weighted_sum((1 / len(draws), of_set) for of_set in sets)
            for sets in zip(*draws, strict=True)
        ]
        return means, draws

    def _of_set(self, terms: Callable[[Players, Players], Weighted], members: Players) -> Weighted:
        """The coalitions of one set; with all players that matter visible, everything is."""
        if any(member not in self.players for member in members):
            return {}
        everything = union(self.layout.players)
        matter = union(self.players)
        return {
            everything if coalition == matter else coalition: coefficient
            for coalition, coefficient in terms(self.players, members).items()
        }

    def _draws(self, generator: np.random.Generator, pairs: int | None) -> list[list[Weighted]]:
        """The coalitions of each pair of orders and set: so many pairs, or as many as can be paid for."""
        is_mean_over_orders = self.interaction.is_shapley and (
            self.layout.order == 1 or self.interaction.index == "shapley-taylor"
        )
        if not is_mean_over_orders:
            reason = " (only Shapley values and Shapley-Taylor interactions can be sampled)"
            raise self._too_expensive(0, reason)
        if pairs is not None:
            draws = [self._draw(generator) for _ in range(pairs)]
        else:
            draws = self._affordable_draws(generator)
        if len(draws) < MIN_PAIRS:
            raise self._too_expensive(len(draws))
        if pairs is None:
            # The smallest number times a power of two, so that a few rows more or less draw the same.
            n_doublings = int(np.log2(len(draws) / MIN_PAIRS))
            draws = draws[: MIN_PAIRS * 2**n_doublings]
        return draws

    def _draw(self, generator: np.random.Generator) -> list[Weighted]:
        """For each set the mean over one random order of arrival and its reverse."""
        order = [self.players[i] for i in generator.permutation(len(self.players))]

        def mean(players: Players, members: Players) -> Weighted:
            forward = self.interaction.sampled(order, members)
            backward = self.interaction.sampled(order[::-1], members)
            return weighted_sum([(0.5, forward), (0.5, backward)])

        return [self._of_set(mean, members) for members in self.layout.sets]

    def _affordable_draws(self, generator: np.random.Generator) -> list[list[Weighted]]:
        """As many draws as the rows that may be sent to the model pay for."""
        everything = union(self.layout.players)
        draws: list[list[Weighted]] = []
        paid: set[Coalition] = set()  # a matrix read the other way round is that of the complement
        n_rows = 0
        for _ in range(MAX_PAIRS):
            draw = self._draw(generator)
            unpaid = _coalitions(draw) - paid
            n_rows += self._n_rows(unpaid)
            if n_rows > self.most_rows:
                break
            paid |= unpaid | {everything - coalition for coalition in unpaid}
            draws.append(draw)
        return draws

    def _n_rows(self, coalitions: set[Coalition]) -> int:
        """Recombined rows that some coalitions need."""
        everything = Coalition(range(self.table.n_columns))
        needs = self.masking.needs(coalitions - {everything})
        against_references = 0
        for _, visible in needs.facts:
            if visible and visible not in needs.coalitions:
                against_references += len(self.table.distinct(visible)[1])
        return request(needs, self.table).n_recombined + against_references

    def _too_expensive(self, n_pairs: int, reason: str = "") -> ResourceError:
        hint = (
            "fewer rows (max_samples=), groups of features (influence=gx.Joint({name: features})), or "
            "Resources(max_evaluations=...)"
        )
        return ResourceError(
            f"partial effects of {len(self.layout.players)} players on {self.table.n_rows} rows: "
            f"max_evaluations={self.most_rows:,} pays for {n_pairs} pairs of orders, at least {MIN_PAIRS} are "
            f"needed{reason}. Remedies: {hint}.",
            code="M13",
            argument="resources",
            hint=hint,
        )


def _coalitions(weighted: Iterable[Weighted]) -> set[Coalition]:
    """All coalitions that some combinations have."""
    return {coalition for terms in weighted for coalition in terms}
