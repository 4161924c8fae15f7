"""Why the model predicts this for one row, against the fitting rows of its region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.behavior import Local
from granite_xai.algebra.conditional import level_codes
from granite_xai.algebra.effects import Effect, Term
from granite_xai.algebra.influence import PlayersAndSets
from granite_xai.algebra.interaction import Pure
from granite_xai.algebra.masking import Marginal
from granite_xai.base.coalitions import union
from granite_xai.base.errors import InputError
from granite_xai.base.text import MISSING
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.curves.curves import Curve, RegionSurrogate, Surrogate, sortable_levels
from granite_xai.fitting.fit_result import FitResult
from granite_xai.regions import Condition, Partition, Rule, rule_words, satisfied
from granite_xai.results.level_text import level_text
from granite_xai.results.other_rows import AgainstFit, by_coalitions, rows_of_region
from granite_xai.results.output_words import output_words
from granite_xai.results.row import RowExplanation, RuleChange
from granite_xai.tables import Column, Outline, Table
from granite_xai.tables.rows import Rows

ROUNDING = 1e-12  # share of the largest contribution that is rounding


class Contributions(NamedTuple):
    """What each set adds to the mean of the region, and its standard error; arrays of shape (n_sets,)."""

    values: FloatArray
    errors: FloatArray


class Standing(NamedTuple):
    """Where the value of a row stands among those of its region."""

    text: str  # the value
    percentile: float  # NaN without an order
    share: float  # of rows with an equal value; NaN where several columns are one set


class RowInRegion(NamedTuple):
    """A row among the fitting rows of its region."""

    references: Table  # the rows of the region; without rows where a file has none
    contributions: Contributions
    standings: list[Standing]  # of each set


class NamedEffect(NamedTuple):
    """An explanation with its name."""

    name: str
    effect: Effect


def explain_one(
    fitted: FitResult,
    table: Table,
    regions: IntArray,
    target: str = "",
    label: Any = None,
) -> RowExplanation:
    """Explain the one row of a table; without the fitting rows, by what the curves of the fit know of it.

    Parameters
    ----------
    fitted : FitResult
    table : Table
        Of one row.
    regions : array of shape (1,)
        Its region.
    target : str
        Name of the target, where it is known.
    label : object
        Of the row in the user's frame; None: it has none.
    """
    if table.n_rows != 1:
        raise InputError(
            f"x has {table.n_rows} rows; explain_row is about one.",
            code="P03",
            argument="x",
            hint="Pass X.iloc[[i]], X[[i]] or a mapping; explain(X) has the effects of many rows in one table.",
        )
    region = fitted.partition[int(regions[0])]
    of_all_regions = fitted.curves.value.surrogate
    surrogate = of_all_regions.regions[region.index]
    name, effect = _additive_effect(fitted, table)
    curve_of_player = {frozenset({curve.column.position}): curve for curve in surrogate.curves}
    curves = tuple(curve_of_player.get(player) for player in _players(effect))
    row = _row_in_region(fitted, table, region.index, effect, curves)
    contributions = row.contributions.values
    if _has_rows(fitted) and _is_described(effect):
        contributions = contributions - _centres(of_all_regions, surrogate, _players(effect))
    output = output_words(fitted.model, target)
    return RowExplanation(
        row=label,
        region=region.index,
        rule=str(region.rule),
        n_samples=region.n_samples,
        prediction=float(fitted.model.on_rows(table)[0]),
        mean=surrogate.mean,  # that of the tree; the references are a sample of the same rows
        explanation=name,
        sets=tuple(":".join(names) for names in effect.layout.labels),
        values=tuple(standing.text for standing in row.standings),
        percentiles=np.array([standing.percentile for standing in row.standings]),
        shares=np.array([standing.share for standing in row.standings]),
        contributions=_without_rounding(contributions, surrogate.mean),
        errors=row.contributions.errors,
        changes=tuple(_changes(fitted, table, region.index)),
        curves=curves,
        table=table,
        references=row.references,
        title=_title_of_region(fitted.partition, region.index),
        output=output.name,
        unit=output.unit,
    )


def _title_of_region(partition: Partition, region: int) -> str:
    """The name or rule of a region; empty where all rows are one region."""
    if len(partition) == 1:
        return ""
    return partition.titles[region]


def _players(effect: Effect) -> list[Coalition]:
    """The columns of each set."""
    return [union(members) for members in effect.layout.sets]


def _row_in_region(
    fitted: FitResult,
    table: Table,
    region: int,
    effect: Effect,
    curves: tuple[Curve | None, ...],
) -> RowInRegion:
    """A row among the fitting rows of its region; as its curves know it where these rows are not there.

    Parameters
    ----------
    fitted, table
        As in `explain_one`.
    region : int
    effect : Effect
        Whose values are added to the region's mean.
    curves : tuple of Curve or None
        Of each set in the region.
    """
    players = _players(effect)
    if not _has_rows(fitted):
        return RowInRegion(
            references=fitted.table,
            contributions=_contributions_of_curves(curves, table),
            standings=[_standing(table, player, None) for player in players],
        )
    inside = fitted.table.take(rows_of_region(fitted, region))
    rows = Rows.of(table, in_fixed_order=False)
    part = AgainstFit(fitted, rows, region).part("", np.zeros(1, dtype=np.intp), effect)
    return RowInRegion(
        references=inside,
        contributions=Contributions(part.values[0], part.errors[0]),
        standings=[_standing(table, player, inside) for player in players],
    )


def _has_rows(fitted: FitResult) -> bool:
    """Whether the fit has its rows; a file may have been written without them."""
    return not isinstance(fitted.table.container, Outline)


def _additive_effect(fitted: FitResult, table: Table) -> NamedEffect:
    """The explanation whose values are added to the region's mean.

    The second one of the question, where the fitting rows are there and ``mean + sum of its values`` says something
    about the prediction of a row: it is local, starts from the mean of the region (hidden values are drawn from
    there), and has one value for every player, which is its own effect or its Shapley value. Otherwise PDP.
    """
    question = fitted.questions[0]
    side = question.question.second
    effect = question.second
    single_players = tuple((player,) for player in effect.layout.explained)
    starts_from_mean = effect.behavior.is_linear and effect.masking.redraws
    adds_up = starts_from_mean and side.interaction.key in ("pure", "partial")
    if _has_rows(fitted) and adds_up and effect.layout.sets == single_players:
        return NamedEffect(side.name or "second", by_coalitions(fitted, side, effect, table))
    return NamedEffect("pdp", _pdp(effect.layout, table))


def _pdp(layout: PlayersAndSets, table: Table) -> Effect:
    """PDP of every explained player, labelled as in a layout where that has the player as a set."""
    label_of_set = dict(zip(layout.sets, layout.labels, strict=True))
    sets = []
    labels = []
    for player in layout.explained:
        names = ", ".join(table.names[position] for position in sorted(player))
        sets.append((player,))
        labels.append(label_of_set.get((player,)) or (names,))
    pdp_layout = PlayersAndSets(layout.players, tuple(sets), tuple(labels), layout.passing)
    terms = []
    for members in sets:
        pure = Pure().terms(layout.players, members)
        terms.append({Term(Marginal(), Local(), read): factor for read, factor in pure.items()})
    return Effect(Marginal(), Local(), pdp_layout, tuple(terms))


def _is_described(effect: Effect) -> bool:
    """Whether the values are those that the description of the fit adds up: average effects, not Shapley values."""
    first_set = effect.layout.sets[0]
    coefficients = {term.visible: factor for term, factor in effect.terms[0].items()}
    is_pure = coefficients == Pure().terms(effect.layout.players, first_set)
    return is_pure and isinstance(effect.masking, Marginal)


def _centres(
    surrogate: Surrogate, of_region: RegionSurrogate, players: Sequence[Coalition]
) -> FloatArray:
    """The mean of each player's effect over the search rows of a region, from which it is counted, (n_players,)."""
    centre_of = {frozenset({curve.column.position}): curve.centre for curve in of_region.curves}
    for members, centre in zip(surrogate.joint_effects, of_region.joint_centres, strict=False):
        if len(members) == 1:  # a group
            centre_of[members[0]] = centre
    return np.array([centre_of.get(player, 0.0) for player in players])


def _contributions_of_curves(curves: tuple[Curve | None, ...], table: Table) -> Contributions:
    """What the curves of the fit say of the row; 0 for a player without a curve."""
    values = np.zeros(len(curves))
    for number, curve in enumerate(curves):
        if curve is not None:
            values[number] = curve.at(table.columns[curve.column.position])[0]
    return Contributions(values=values, errors=np.zeros(len(curves)))


def _without_rounding(contributions: FloatArray, mean: float) -> FloatArray:
    largest = np.abs([mean, *contributions]).max()
    return np.where(np.abs(contributions) > ROUNDING * largest, contributions, 0.0)


def _standing(table: Table, player: Coalition, inside: Table | None) -> Standing:
    """Where the values of a row stand among the rows of its region; None: these are not there."""
    columns = [table.columns[position] for position in sorted(player)]
    text = ", ".join(_value_text(column) for column in columns)
    if inside is None or len(columns) > 1:
        return Standing(text=text, percentile=np.nan, share=np.nan)
    column = columns[0]
    column_inside = inside.columns[column.position]
    is_equal = level_codes(column_inside, column_inside) == level_codes(column, column_inside)
    return Standing(
        text=text,
        percentile=float(_ranks(column, column_inside)[0]),
        share=float(np.mean(is_equal)),
    )


def _value_text(column: Column) -> str:
    """The value of the first row."""
    if column.missing[0]:
        return MISSING
    return level_text(column, column.values[0])


def _ranks(column: Column, among: Column) -> FloatArray:
    """The place of each row's value among the values of a column: mid-ranks from 0 to 1; NaN without an order."""
    if not among.is_ordered or len(among.levels) == 0:
        return np.full(len(column.values), np.nan)
    levels_among, levels = sortable_levels(column, among)
    present = among.codes[among.codes >= 0]
    counts = np.bincount(present, minlength=len(levels_among))
    n_below = np.append(0.0, np.cumsum(counts))
    below = n_below[np.searchsorted(levels_among, levels, "left")]
    up_to = n_below[np.searchsorted(levels_among, levels, "right")]
    mid_ranks = (below + up_to) / 2 / n_below[-1]
    return np.append(mid_ranks, np.nan)[column.codes]  # the code of a missing value is -1


def _changes(fitted: FitResult, table: Table, region_of_row: int) -> list[RuleChange]:
    """For every other region the conditions of its rule that the row lacks, the nearest region first."""
    changes = []
    for region in fitted.partition:
        lacking = []
        distance = 0.0
        for name, condition in region.rule.conditions:
            position = fitted.table.names.index(name)
            column = table.columns[position]
            if not satisfied(condition, column)[0]:
                lacking.append((name, condition))
                fitted_column = fitted.table.columns[position]
                distance += 1.0 + _distance_to_condition(condition, column, fitted_column)
        if region.index != region_of_row and lacking:
            texts = [condition.text(name) for name, condition in lacking]
            change = RuleChange(
                region=region.index,
                condition=" and ".join(texts),
                distance=distance,
                words=rule_words(Rule(tuple(lacking)), fitted.partition.vocabulary),
            )
            changes.append(change)
    return sorted(changes, key=lambda change: (change.distance, change.region))


def _distance_to_condition(condition: Condition, column: Column, fitted: Column) -> float:
    """How far a value is from the nearest one that satisfies a condition; 1 at most.

    Parameters
    ----------
    condition : Condition
    column : Column
        Of the row.
    fitted : Column
        Of the fitting rows: distances are differences of ranks among them.
    """
    distances = np.abs(_ranks(fitted, fitted) - _ranks(column, fitted)[0])
    distances = np.nan_to_num(distances, nan=1.0)
    return float(distances[satisfied(condition, fitted)].min(initial=1.0))
