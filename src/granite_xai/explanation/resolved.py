"""An explanation resolved on a table: which values of the game each set's effect is made of.

Every effect is a linear combination of values, so resolving means naming the terms. Partial effects are exact while
their coalitions can be paid for; otherwise they are the mean over pairs of opposite orders of arrival, drawn once and
used for every row, reference and region, so that the estimates are one linear function of the game and add up exactly
(docs/method.rst, C19).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.errors import ResourceError
from granite_xai.base.typing import (
    AleColumn,
    AleDifference,
    Coalition,
    JansenTotal,
    PairwiseShapley,
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

MAX_EXACT_PLAYERS = 12  # players whose 2^p coalitions are all asked about (C19)
MIN_PATH_PLAYERS = 4  # players from which the paths of trees cost less than coalitions
MIN_PAIRS = 8  # pairs of orders of arrival, below which there is no standard error to speak of
MAX_PAIRS = 64
MAX_ROWS = 20_000_000  # recombined rows sent to the model, unless the user says otherwise

Draw = tuple[Terms, ...]  # the terms of each set, from one pair of opposite orders of arrival


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedExplainer:
    """One side of a question on one table.

    Parameters
    ----------
    masking, behavior : Masking, Behavior
        The operators that make the game.
    layout : PlayersAndSets
    terms : tuple of Terms
        For each set, the linear combination of values that is its effect.
    draws : tuple of tuples of Terms
        Of sampled effects: the terms of each pair of orders and set.
    by_paths : bool
        Whether attributions come from the paths of a tree ensemble instead of the terms.
    index : str
        Tells attributions of different indices apart.
    """

    masking: Masking
    behavior: Behavior
    layout: PlayersAndSets
    terms: tuple[Terms, ...]
    draws: tuple[Draw, ...] = ()
    by_paths: bool = False
    index: str = "partial"

    @property
    def pairwise(self) -> bool:
        """Whether coalitions are summed up into one matrix for each set: local effects are linear in the game."""
        if not self.masking.averages_rows or not self.behavior.is_linear:
            return False
        n_terms_of_pure_and_full = 2 ** (self.layout.order + 1)
        n_terms = max(len(terms) for terms in self.terms)
        return self.by_paths or n_terms > n_terms_of_pure_and_full

    @property
    def combined(self) -> tuple[Terms, ...]:
        """The terms as the engine reads them."""
        if self.pairwise:
            return tuple({attribution: 1.0} for attribution in self.attributions)
        return self.terms

    @property
    def attributions(self) -> dict[PairwiseShapley, Terms]:
        """The coalitions behind each attribution; none where it is read from paths."""
        if not self.pairwise:
            return {}
        kind = "paths" if self.by_paths else self.index
        attributions: dict[PairwiseShapley, Terms] = {}
        for members, terms in zip(self.layout.sets, self.terms, strict=True):
            attribution = PairwiseShapley(kind, members, self.layout.players)
            attributions[attribution] = {} if self.by_paths else terms
        return attributions

    def changes(self) -> set[AleColumn]:
        """Columns whose changes across intervals are read, and the number of intervals."""
        columns = set()
        for terms in self.terms:
            columns |= {term.column for term in terms if isinstance(term, AleDifference)}
        return columns

    def readings(self) -> set[Reading]:
        """The masked models the engine reads, with the one that effects are counted from.

        That is the model without visible columns. Against reference rows it has to be evaluated; otherwise it is the
        mean prediction, for which the predictions (everything visible) are enough.
        """
        if self.pairwise or self.changes():
            return set()
        everything = union(self.layout.players)
        start = frozenset() if self.masking.n_references else everything
        coalitions = _visible_coalitions(self.terms, everything) | {start}
        return {(self.masking, coalition) for coalition in coalitions}

    def needed(self) -> Needed:
        """The evaluations that the masked models take."""
        return self.masking.evaluations({visible for _, visible in self.readings()})


def _visible_coalitions(combinations: Iterable[Terms], everything: Coalition) -> set[Coalition]:
    """The visible columns of every masked model that some combinations read."""
    coalitions = set()
    for terms in combinations:
        for term in terms:
            if isinstance(term, JansenTotal):
                coalitions.add(everything - term.hidden)
            elif isinstance(term, frozenset):
                coalitions.add(term)
            else:
                raise TypeError(f"{term} is not one coalition")
    return coalitions


def resolve(
    masking: Masking,
    behavior: Behavior,
    interaction: Interaction,
    influence: Influence,
    table: Table,
    *,
    max_evaluations: int | None = None,
    random_state: int = 0,
    by_paths: bool = False,
    order_pairs: int | None = None,
) -> ResolvedExplainer:
    """Name the terms of each set's effect on a table, sampling partial effects that cost too much.

    Parameters
    ----------
    masking, behavior, interaction, influence
        The four axes.
    table : Table
    max_evaluations : int, optional
        Recombined rows that may be sent to the model; None: 20 million.
    random_state : int
        For orders of arrival.
    by_paths : bool
        Whether the model is a tree ensemble, whose attributions are exact.
    order_pairs : int, optional
        Pairs of orders of arrival to draw; 0: effects are exact; None: what can be paid for.

    Returns
    -------
    ResolvedExplainer

    Raises
    ------
    ResourceError
        M13 where neither exact nor sampled effects can be paid for.
    """
    layout = influence.layout(table)
    defined = masking.terms((behavior.key, interaction.key, influence.key), layout)
    if defined is None and isinstance(interaction, Whole | Additive):
        return _resolve_one_set(masking, behavior, interaction, layout, table)
    if defined is None:
        defined = behavior.terms(interaction.key, layout, masking)
    if defined is None and isinstance(interaction, Partial):
        effects = _PartialEffects(
            masking=masking,
            behavior=behavior,
            interaction=interaction,
            layout=layout,
            table=table,
            max_evaluations=max_evaluations or MAX_ROWS,
        )
        return effects.resolve(
            random_state=random_state, by_paths=by_paths, order_pairs=order_pairs
        )
    if defined is None:
        defined = _exact_terms(interaction, layout)
    return ResolvedExplainer(
        masking=masking,
        behavior=behavior,
        layout=layout,
        terms=defined,
        index=_index(interaction, layout),
    )


def _resolve_one_set(
    masking: Masking,
    behavior: Behavior,
    interaction: Whole | Additive,
    layout: PlayersAndSets,
    table: Table,
) -> ResolvedExplainer:
    """A side of ``coe``: one set, all columns, whose effect is the prediction or the surrogate."""
    if isinstance(interaction, Additive):
        surrogate = Additive(max(interaction.order, layout.order))
        terms = surrogate.terms(layout.explained, ())
    else:
        terms = interaction.terms(layout.players, ())
    all_columns = replace(layout, sets=(layout.players,), labels=(table.names,))
    return ResolvedExplainer(masking=masking, behavior=behavior, layout=all_columns, terms=(terms,))


def _exact_terms(interaction: Interaction, layout: PlayersAndSets) -> tuple[Terms, ...]:
    return tuple(interaction.terms(layout.players, members) for members in layout.sets)


def _index(interaction: Interaction, layout: PlayersAndSets) -> str:
    """The name of an interaction index; "partial" for the Shapley value of single players."""
    if not isinstance(interaction, Partial):
        return "partial"
    if layout.order == 1 and interaction.is_shapley:
        return "partial"
    return interaction.index


def _mean_terms(draws: tuple[Draw, ...], place: int) -> Terms:
    """The mean over all draws of the terms of one set."""
    return add_terms((1 / len(draws), draw[place]) for draw in draws)


@dataclass(frozen=True, slots=True, eq=False)
class _PartialEffects:
    """Partial effects of the sets of a table: by paths, exact or sampled."""

    masking: Masking
    behavior: Behavior
    interaction: Partial
    layout: PlayersAndSets
    table: Table
    max_evaluations: int

    def resolve(
        self, random_state: int, by_paths: bool, order_pairs: int | None
    ) -> ResolvedExplainer:
        """Their terms; the parameters are those of `resolve`."""
        n_players = len(self.layout.players)
        if by_paths and self._has_paths():
            no_terms: tuple[Terms, ...] = ({},) * len(self.layout.sets)
            return self._resolved(no_terms, by_paths=True)
        if order_pairs == 0:
            return self._resolved(_exact_terms(self.interaction, self.layout))
        if order_pairs is None and n_players <= MAX_EXACT_PLAYERS:
            terms = _exact_terms(self.interaction, self.layout)
            if self._n_rows(self._coalitions(terms)) <= self.max_evaluations:
                return self._resolved(terms)
        draws = self._draws(random_state, order_pairs)
        means = tuple(_mean_terms(draws, place) for place in range(len(self.layout.sets)))
        return self._resolved(means, draws=draws)

    def _resolved(
        self, terms: tuple[Terms, ...], draws: tuple[Draw, ...] = (), by_paths: bool = False
    ) -> ResolvedExplainer:
        return ResolvedExplainer(
            masking=self.masking,
            behavior=self.behavior,
            layout=self.layout,
            terms=terms,
            draws=draws,
            by_paths=by_paths,
            index=_index(self.interaction, self.layout),
        )

    def _has_paths(self) -> bool:
        """Whether paths of trees give these effects, and cost less than coalitions.

        They give Shapley values of single players against single rows.
        """
        if self.layout.order > 1 or not self.interaction.is_shapley:
            return False
        if not self.masking.averages_rows or not self.behavior.is_linear:
            return False
        return len(self.layout.players) >= MIN_PATH_PLAYERS

    def _coalitions(self, combinations: Iterable[Terms]) -> set[Coalition]:
        everything = frozenset(range(self.table.n_columns))
        return _visible_coalitions(combinations, everything)

    def _n_rows(self, coalitions: set[Coalition]) -> int:
        """Recombined rows that some coalitions need."""
        needed = self.masking.evaluations(coalitions)
        against_references = 0
        for visible in needed.against:
            if visible:
                _, distinct = self.table.distinct(sorted(visible))
                against_references += self.masking.n_references * len(distinct)
        matrices = request_matrices(self.table, needed.pairs)
        return matrices.n_model_rows + against_references

    def _draws(self, seed: int, order_pairs: int | None) -> tuple[Draw, ...]:
        """The terms of each pair of orders and set: so many pairs, or as many as can be paid for."""
        if not self._can_be_sampled:
            raise self._too_expensive(
                0, " (only Shapley values and Shapley-Taylor interactions can be sampled)"
            )
        generator = np.random.default_rng(seed)
        if order_pairs is None:
            draws = self._affordable_draws(generator)
        else:
            draws = [self._draw(generator) for _ in range(order_pairs)]
        if len(draws) < MIN_PAIRS:
            raise self._too_expensive(len(draws))
        if order_pairs is None:
            # The smallest number times a power of two, so that a few rows more or less draw the same.
            n_doublings = int(np.log2(len(draws) / MIN_PAIRS))
            draws = draws[: MIN_PAIRS * 2**n_doublings]
        return tuple(draws)

    @property
    def _can_be_sampled(self) -> bool:
        """Whether the effect of a set is a mean over orders of arrival (C19)."""
        if not self.interaction.is_shapley:
            return False
        return self.layout.order == 1 or self.interaction.index == "shapley-taylor"

    def _draw(self, generator: np.random.Generator) -> Draw:
        """The terms of each set, as a mean over one random order of arrival and its reverse."""
        players = self.layout.players
        order = [players[i] for i in generator.permutation(len(players))]
        reverse = order[::-1]
        means = []
        for members in self.layout.sets:
            forward = self.interaction.sampled(order, members)
            backward = self.interaction.sampled(reverse, members)
            means.append(add_terms([(0.5, forward), (0.5, backward)]))
        return tuple(means)

    def _affordable_draws(self, generator: np.random.Generator) -> list[Draw]:
        """As many draws as the rows that may be sent to the model pay for."""
        everything = frozenset(range(self.table.n_columns))
        draws: list[Draw] = []
        paid: set[Coalition] = set()  # a matrix read the other way round is that of the complement
        n_rows = 0
        for _ in range(MAX_PAIRS):
            draw = self._draw(generator)
            unpaid = self._coalitions(draw) - paid
            n_rows += self._n_rows(unpaid)
            if n_rows > self.max_evaluations:
                break
            paid |= unpaid | {everything - coalition for coalition in unpaid}
            draws.append(draw)
        return draws

    def _too_expensive(self, n_pairs: int, reason: str = "") -> ResourceError:
        hint = (
            "fewer rows (max_samples=), groups of features (influence=gx.Joint({name: features})), or "
            "Resources(max_evaluations=...)"
        )
        return ResourceError(
            f"partial effects of {len(self.layout.players)} players on {self.table.n_rows} rows: "
            f"max_evaluations={self.max_evaluations:,} pays for {n_pairs} pairs of orders, at least {MIN_PAIRS} are "
            f"needed{reason}. Remedies: {hint}.",
            code="M13",
            argument="resources",
            hint=hint,
        )
