"""Why the model predicts this for one row, told against the search rows of its region."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.conditional import level_codes
from granite_xai.algebra.masking import Marginal
from granite_xai.base.document import Bar, Document, Paragraph, Printable, Table as TableBlock
from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.numbers import OutputUnit, count, share, table_number
from granite_xai.base.text import MISSING, capitalized, column_text, listing, plain, shortened
from granite_xai.base.typing import Coalition, FloatArray, IntArray, union
from granite_xai.curves.curves import ascending
from granite_xai.curves.shared import SharedCurve
from granite_xai.fitting.fit_result import FitResult, FittedGranite
from granite_xai.regions import Condition, Rule, rule_words, satisfied
from granite_xai.results.other_rows import AgainstFit, by_coalitions, rows_of_region
from granite_xai.results.sentences import output_words
from granite_xai.results.shapes import level_text
from granite_xai.tables import Column, Outline, Rows, Table, frame, row_like, sorted_labels

MOST_SETS = 12  # sets in a text; what the others add is summed up
MOST_NAMED = 3  # features that push a prediction in one direction and are named
MOST_LEVELS = 10  # that a hint lists
SLIGHT = 0.1  # share of the largest contribution below which one is not mentioned
UNUSUAL = 0.01  # share of a region's rows that a value is unusual among, divided by the number of values looked at
SHOWN_AS_NOTHING = 1e-3  # share of the largest contribution below which the table says 0
ROUNDING = 1e-12  # share of the largest contribution, or of the mean, that is rounding
LONGEST_NAME = 40
NAMES_WITH_A_CLASS = ("probability of ", "score of ")


class RuleChange(NamedTuple):
    """What would bring a row into another region."""

    region: int
    condition: str  # what would have to hold
    distance: float  # in shares of the fitting rows, and 1 for every condition
    words: str = ""  # the condition as a person says it


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowExplanation(Printable):
    """Why the model says this about one row, told against the fitting rows of its region.

    Contributions and ``rest`` add up: ``prediction = mean + sum of contributions + rest``.

    Attributes
    ----------
    row : object
        Its label in the frame that it comes from; None: it has none.
    region : int
    rule : str
        Of the region.
    n_samples : int
        Search rows of the region.
    prediction, mean : float
        Of the row; and of the region's search rows, as in the printed tree. On another scale (``scale=``) these, the
        contributions and their errors (not known there) are numbers on it.
    explanation : str
        Name of the explanation that gives the contributions.
    sets : tuple of str
        Columns, or groups of them.
    values : tuple of str
        What the row has there.
    percentiles : array of shape (n_sets,)
        Where the row's value stands among those of the region, from 0 to 1; NaN where there is no order.
    shares : array of shape (n_sets,)
        Share of the region's rows that have an equal value; NaN for groups.
    contributions, errors : arrays of shape (n_sets,)
        What each set adds to the mean, and its standard error; NaN where it is not known (of groups). By the curves of
        the region, which `Granite.predict` adds up; or by the other explanation of the question, where that adds up to
        the prediction (Shapley values, say), against the fitting rows of the region: of more than 1,000, against a
        random sample of 1,000 (against all of them without a confidence level).
    changes : tuple of (region, condition, distance, words)
        What would bring the row into another region, the nearest first.
    curves : tuple of SharedCurve or None
        Of each set in the region, less its mean there; None of groups.
    table, references : Table
        The row; and the fitting rows of its region.
    title : str
        Name of the region or its rule in words; empty where all rows are one region.
    output : str
        What the explained output is called.
    unit : OutputUnit
        How its values are written.
    beyond : bool
        Whether some value lies beyond those of the search rows, where curves end.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> g = gx.Granite(toy.model).fit(toy.X)
    >>> explanation = g.explain_row(toy.X.iloc[[0]])
    >>> explanation.region, explanation.changes[0].condition
    (1, 'x2 ≤ 0')
    >>> list(explanation.frame())
    ['row', 'region', 'set', 'value', 'percentile', 'share', 'contribution', 'standard_error']
    """

    row: Any
    region: int
    rule: str
    n_samples: int
    prediction: float
    mean: float
    explanation: str
    sets: tuple[str, ...]
    values: tuple[str, ...]
    percentiles: FloatArray
    shares: FloatArray
    contributions: FloatArray
    errors: FloatArray
    changes: tuple[RuleChange, ...]
    curves: tuple[SharedCurve | None, ...]
    table: Table
    references: Table
    title: str = ""
    output: str = "the prediction"
    unit: OutputUnit = field(default_factory=OutputUnit)
    beyond: bool = False

    @property
    def rest(self) -> float:
        """What the columns do only together."""
        rest = self.prediction - self.mean - float(self.contributions.sum())
        rounding = ROUNDING * max(abs(self.prediction), abs(self.mean))
        return 0.0 if abs(rest) <= rounding else rest

    @property
    def order(self) -> IntArray:
        """The sets by the size of their contribution."""
        return np.argsort(-np.abs(self.contributions), kind="stable")

    @property
    def unusual(self) -> tuple[str, ...]:
        """The sets whose value next to none of the region's rows has, or exceeds on its side."""
        with np.errstate(invalid="ignore"):
            as_extreme = np.minimum(self.percentiles, 1.0 - self.percentiles) + self.shares / 2
            as_extreme = np.where(np.isnan(self.percentiles), self.shares, as_extreme)
            is_unusual = as_extreme < UNUSUAL / len(self.sets)
        return tuple(self.sets[number] for number in np.flatnonzero(is_unusual))

    def frame(self) -> Any:
        """One line a set, in the library of the fit, and one for what they do only together; they add up."""
        n_lines = len(self.sets) + 1
        columns = {
            "row": [self.row] * n_lines,
            "region": [self.region] * n_lines,
            "set": [*self.sets, "together"],
            "value": [*self.values, ""],
            "percentile": [*_without_nan(self.percentiles), None],
            "share": [*_without_nan(self.shares), None],
            "contribution": [*self.contributions.tolist(), self.rest],
            "standard_error": [*_without_nan(self.errors), 0.0],
        }
        return frame(columns, like=self.table)

    def sentences(self) -> list[str]:
        """What a reader needs in words: prediction, reasons, the nearest change, and what is unusual."""
        sentences = [self._prediction(), self._reasons()]
        # What is more than any single feature a reader should know before these.
        sentences.insert(1 if abs(self.rest) > self._largest else 2, self._interactions())
        if self.changes:
            nearest = self.changes[0]
            condition = nearest.words or nearest.condition
            sentences.append(f"With {condition} it would be in region {nearest.region}.")
        if self.unusual:
            value_of = dict(zip(self.sets, self.values, strict=True))
            named = [
                f"{shortened(plain(name), LONGEST_NAME)} = {plain(value_of[name])}"
                for name in self.unusual[:MOST_NAMED]
            ]
            sentences.append(f"Few rows there are like it ({', '.join(named)}).")
        return [sentence for sentence in sentences if sentence]

    @property
    def _largest(self) -> float:
        """Size of the largest contribution."""
        return float(np.abs(self.contributions).max(initial=0.0))

    def _prediction(self) -> str:
        """What is predicted, beside the mean of the region."""
        average = f"its region ({self.title}) averages" if self.title else "the average is"
        name = self.output.removeprefix("the ")
        if name.startswith(NAMES_WITH_A_CLASS):
            name += " is"  # the name may end in a number
        subject = "This row" if self.row is None else f"Row {plain(self.row)}"
        level = self.unit.level
        return f"{subject}: {name} {level(self.prediction)}; {average} {level(self.mean)}."

    def _reasons(self) -> str:
        """Which features make the prediction lower or higher than the mean; its own direction comes first."""
        directions = [("lower", -1.0), ("higher", 1.0)]
        if self.prediction >= self.mean:
            directions.reverse()
        sides = []
        for direction, sign in directions:
            reasons = []
            for number in self.order:
                contribution = float(self.contributions[number])
                if sign * contribution > 0 and abs(contribution) >= SLIGHT * self._largest:
                    name = shortened(plain(self.sets[number]), LONGEST_NAME)
                    effect = self.unit.signed_effect(contribution, bare=True)
                    reasons.append(f"{name} = {plain(self.values[number])} ({effect})")
            if reasons:
                sides.append(f"{direction} because of {', '.join(reasons[:MOST_NAMED])}")
        if not sides:
            return ""
        in_points = " (in points)" if self.unit.probability else ""
        sentence = "; ".join(sides)
        return f"{capitalized(sentence)}{in_points}."

    def _interactions(self) -> str:
        """What interactions add; empty where that is little."""
        rest = self.rest
        if abs(rest) < SLIGHT * self._largest or rest == 0.0:
            return ""
        beyond = ", and values beyond those of the search rows," if self.beyond else ""
        text = f"Interactions{beyond} add {self.unit.signed_effect(rest)}"
        if abs(rest) > self._largest:
            text += ", more than any single feature: single features alone do not explain this row"
        return f"{text}."

    def _document(self) -> Document:
        """Sentences; the strongest sets, what the others add, and what interactions add."""
        lines: list[tuple[object, ...]] = []
        for place in self.order[:MOST_SETS]:
            name = shortened(self.sets[place], LONGEST_NAME)
            bar = self._bar(float(self.contributions[place]))
            lines.append((name, self.values[place], self._percentile(place), bar))
        summed_up = self.order[MOST_SETS:]
        if len(summed_up):
            bar = self._bar(float(self.contributions[summed_up].sum()))
            lines.append((count(len(summed_up), "other"), "", "", bar))
        lines.append(("interactions", "", "", self._bar(self.rest)))
        adds = f"adds ({self.unit.noun})" if self.unit.noun else "adds"
        head: tuple[object, ...] = ("", "value", "percentile in its region", adds)
        if not any(percentile for _, _, percentile, _ in lines):
            head = ("", "value", adds)
            lines = [(name, value, bar) for name, value, _, bar in lines]
        return Document([*map(Paragraph, self.sentences()), TableBlock(head, lines, left=(0, 1))])

    def _percentile(self, number: int) -> str:
        """Where the row's value stands in its region; empty where that has one or two values."""
        curve = self.curves[number]
        if curve is None or curve.column is None or np.isnan(self.percentiles[number]):
            return ""
        levels = self.references.columns[curve.column.position].levels
        return "" if len(levels) <= 2 else share(self.percentiles[number])

    def _bar(self, contribution: float) -> Bar:
        length = abs(contribution) / self._largest if self._largest > 0 else 0.0
        if length < SHOWN_AS_NOTHING:
            contribution = 0.0
        return Bar(self.unit.signed_effect(contribution, bare=True), length)

    def __repr__(self) -> str:
        numbers = f"prediction {table_number(self.prediction)}, mean of the region {table_number(self.mean)}"
        row = "this row" if self.row is None else f"row {plain(self.row)}"
        return f"<RowExplanation of {row}: region {self.region}, {numbers}>"


def _without_nan(numbers: FloatArray) -> list[float | None]:
    """Numbers as cells of a table, None for those that are not known."""
    return [None if np.isnan(value) else value for value in numbers.tolist()]


# How it is found -------------------------------------------------------------------------------------------


class _Added(NamedTuple):
    """What is added to the mean of a region at one row."""

    name: str  # of the explanation
    players: list[Coalition]  # the columns of each set
    labels: list[str]
    values: FloatArray  # (n_sets,)
    errors: FloatArray  # (n_sets,)


def explain_one(view: FittedGranite, x: Any, target: str = "") -> RowExplanation:
    """Explain one row.

    Parameters
    ----------
    view : FittedGranite
    x : table of one row, mapping, Series or list
    target : str
        Name of the target, where it is known.
    """
    fitted = view.result
    table = view.read(_as_table(fitted.table, x))
    if table.n_rows != 1:
        raise InputError(
            f"x has {table.n_rows} rows; explain_row is about one.",
            code="P03",
            argument="x",
            hint="Pass X.iloc[[i]], X[[i]] or a mapping; explain(X) has the effects of many rows in one table.",
        )
    region = fitted.partition[int(view.regions(table)[0])]
    shared = fitted.shared_curves.value
    mean = float(shared.means[region.index])
    with _naming_new_levels(table, fitted.table):
        added = _added(fitted, table, region.index)
        prediction = float(fitted.model.on_rows(table)[0])
    largest = np.abs([mean, *added.values]).max()
    curve_of = {}
    in_region = zip(shared.in_region(region.index), shared.centres[region.index], strict=True)
    for curve, centre in in_region:
        if curve.column is not None:
            effects = _without_rounding(curve.added - centre, largest)
            centred = replace(curve, effects=effects, added=effects)
            curve_of[frozenset({curve.column.position})] = centred
    references = fitted.table
    percentiles = np.full(len(added.players), np.nan)
    shares = np.full(len(added.players), np.nan)
    if not isinstance(fitted.table.container, Outline):
        references = fitted.table.take(rows_of_region(fitted, region.index))
        for number, player in enumerate(added.players):
            if len(player) == 1:
                column, among = (rows.columns[min(player)] for rows in (table, references))
                percentiles[number] = _ranks(column, among)[0]
                shares[number] = np.mean(level_codes(among, among) == level_codes(column, among))
    output = output_words(fitted.model, target)
    return RowExplanation(
        row=_label_of(x),
        region=region.index,
        rule=str(region.rule),
        n_samples=region.n_samples,
        prediction=prediction,
        mean=mean,
        explanation=added.name,
        sets=tuple(added.labels),
        values=tuple(_values_text(table, player) for player in added.players),
        percentiles=percentiles,
        shares=shares,
        contributions=_without_rounding(added.values, largest),
        # A value that all rows have adds nothing.
        errors=np.where(shares == 1.0, 0.0, added.errors),
        changes=tuple(_changes(fitted, table, region.index)),
        curves=tuple(curve_of.get(player) for player in added.players),
        table=table,
        references=references,
        title=fitted.partition.titles[region.index] if len(fitted.partition) > 1 else "",
        output=output.name if shared.scale.is_response else f"{output.target}:",
        unit=output.unit if shared.scale.is_response else OutputUnit(),
        beyond=added.name == "pdp" and any(map(_is_beyond, table.columns, fitted.table.columns)),
    )


def _added(fitted: FitResult, table: Table, region: int) -> _Added:
    """What is added to the region's mean: what the curves say, or the second explanation of the question.

    That one where the fitting rows are there and ``mean + sum of its values`` says something about the prediction of
    a row: it is local, starts from the mean of the region (hidden values are drawn from there), and has one value for
    every player, which is its own effect or its Shapley value.
    """
    question = fitted.questions[0]
    side, effect = question.question.second, question.second
    layout = effect.layout
    starts_from_mean = effect.behavior.is_linear and effect.masking.redraws
    is_described = side.interaction.key == "pure" and isinstance(effect.masking, Marginal)
    adds_up = starts_from_mean and side.interaction.key in ("pure", "partial")
    has_rows = not isinstance(fitted.table.container, Outline)
    single_players = tuple((player,) for player in layout.explained)
    if has_rows and adds_up and not is_described and layout.sets == single_players:
        against = AgainstFit(fitted, Rows.of(table, in_fixed_order=False), region)
        effect = by_coalitions(fitted, side, effect, table)
        part = against.part("", np.zeros(1, dtype=np.intp), effect)
        labels = [":".join(names) for names in layout.labels]
        players = list(layout.explained)
        return _Added(side.name or "second", players, labels, part.values[0], part.errors[0])
    shared = fitted.shared_curves.value
    by_piece = shared.contributions(table, np.array([region]), fitted.model)[0]
    # What pairs add is among the interactions.
    singles = [number for number, piece in enumerate(shared.pieces) if len(piece) == 1]
    label_of_set = dict(zip(layout.sets, layout.labels, strict=True))
    labels = []
    errors = np.full(len(singles), 0.0 if fitted.level is None else np.nan)
    for place, number in enumerate(singles):
        curve = shared.in_region(region)[number]
        names = label_of_set.get(shared.pieces[number], (", ".join(curve.features),))
        labels.append(":".join(names))
        if curve.column is not None and fitted.level is not None and shared.scale.is_response:
            around = replace(curve, added=curve.errors)
            error = around.at(table.columns[curve.column.position])[0]
            # That of the curve's own mean, from which it is counted: values of the feature are a sample, too.
            spread = curve.effects - curve.shares @ curve.effects
            error_of_mean = np.sqrt(curve.shares @ np.square(spread) / curve.n_rows)
            errors[place] = np.hypot(error, error_of_mean)
    players = [union(shared.pieces[number]) for number in singles]
    return _Added("pdp", players, labels, by_piece[singles], errors)


def _without_rounding(values: FloatArray, largest: float) -> FloatArray:
    return np.where(np.abs(values) > ROUNDING * largest, values, 0.0)


def _is_beyond(column: Column, fitted: Column) -> bool:
    """Whether the value of a row lies beyond those of the search rows, where a curve ends."""
    if column.missing[0]:
        return not np.any(fitted.codes < 0)
    if not fitted.is_ordered:
        return column.values[0] not in fitted.levels.tolist()
    levels = ascending(fitted.levels, fitted)
    level = ascending(column.levels, fitted)[column.codes[0]]
    return len(levels) == 0 or not levels[0] <= level <= levels[-1]


def _values_text(table: Table, player: Coalition) -> str:
    """What the first row has in the columns of a player."""
    columns = [table.columns[place] for place in sorted(player)]
    texts = [
        MISSING if column.missing[0] else level_text(column, column.values[0]) for column in columns
    ]
    return ", ".join(texts)


def _ranks(column: Column, among: Column) -> FloatArray:
    """The place of each row's value among the values of a column: mid-ranks from 0 to 1; NaN without an order."""
    if not among.is_ordered or len(among.levels) == 0:
        return np.full(len(column.values), np.nan)
    levels = ascending(column.levels, among)
    levels_among = ascending(among.levels, among)
    counts = np.bincount(among.codes[among.codes >= 0], minlength=len(levels_among))
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
                distance += 1.0 + _distance(condition, column, fitted.table.columns[position])
        if region.index != region_of_row and lacking:
            texts = [condition.text(name) for name, condition in lacking]
            words = rule_words(Rule(tuple(lacking)), fitted.partition.vocabulary)
            changes.append(RuleChange(region.index, " and ".join(texts), distance, words))
    return sorted(changes, key=lambda change: (change.distance, change.region))


def _distance(condition: Condition, column: Column, fitted: Column) -> float:
    """How far a value is from one that satisfies a condition, in ranks among the fitting rows; 1 at most."""
    distances = np.abs(_ranks(fitted, fitted) - _ranks(column, fitted)[0])
    distances = np.nan_to_num(distances, nan=1.0)
    return float(distances[satisfied(condition, fitted)].min(initial=1.0))


# One row as a user gives it --------------------------------------------------------------------------------


def _as_table(fitted: Table, x: Any) -> Any:
    """A row given by its cells as a table of one row, as the fitting rows are; anything else as it is."""
    if isinstance(x, Real):
        raise InputError(
            f"x={x!r} is a number, not a row.",
            code="D25",
            argument="x",
            hint=f"Pass a row of X: X.iloc[[{x!r}]] of a frame, X[[{x!r}]] of an array, or its cells.",
        )
    cells = x.to_dict() if _is_series(x) else x
    is_row = isinstance(cells, Mapping)
    if isinstance(cells, np.ndarray):
        is_row = cells.ndim == 1
    elif isinstance(cells, list | tuple):  # of cells, and not of rows
        is_row = len(cells) == 0 or np.ndim(cells[0]) == 0
    return row_like(fitted, cells, "x").native if is_row else x


def _is_series(x: Any) -> bool:
    return type(x).__name__ == "Series" and hasattr(x, "to_dict")


def _label_of(x: Any) -> Any:
    """The label of one row of a pandas frame; None: it has none."""
    label = None
    if _is_series(x):
        label = x.name
    elif type(x).__name__ == "DataFrame" and hasattr(x, "iloc") and len(x) == 1:
        label = x.index[0]
    return label.item() if isinstance(label, np.generic) else label


@contextmanager
def _naming_new_levels(table: Table, fitted: Table) -> Iterator[None]:
    """Where the model refuses a row inside this context, name the level that the fit has not seen (D15)."""
    try:
        yield
    except ModelError as error:
        for column, fitted_column in zip(table.columns, fitted.columns, strict=True):
            if column.kind not in ("nominal", "ordinal"):
                continue
            seen = {*fitted_column.levels, *(fitted_column.order or ())}
            new_levels = sorted_labels({*column.levels} - seen)
            if new_levels:
                where = column_text(column.name, column.position)
                raise ModelError(
                    f"x {where} is {new_levels[0]!r}, which the fit has not seen, and the model refuses it: "
                    f"{error.message}",
                    code="D15",
                    argument="x",
                    columns=[column.name],
                    hint=f"Pass a level that the model knows: {listing(fitted_column.levels, MOST_LEVELS)}.",
                ) from error
        raise
