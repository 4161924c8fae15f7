"""What a fit asks its model: which rows search and judge, at which values, and how much that costs.

Counts decide, never the clock: the same table, model, options and seed give the same plan on any
machine. Prices are rows sent to the model; those that its own trees answer count like them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.effects import Effect
from granite_xai.algebra.masking import learn
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import DataWarning, Diagnostics, ResourceError
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.asking import ask
from granite_xai.evaluations.ensembles import Reading
from granite_xai.evaluations.evaluations import Sample
from granite_xai.evaluations.pilot import (
    CELLS,
    COARSE,
    GRIDS,
    SCREEN_GRID,
    SCREEN_ROWS,
    combined_cells,
    learn_cells,
    n_values,
    placeholder_cells,
    plan_pilot,
)
from granite_xai.evaluations.probe import (
    PROBED_ROWS,
    Probed,
    error_of_prediction,
    probe,
    require_sizeable,
)
from granite_xai.evaluations.request import (
    COARSE_GRID,
    NUMBER_BYTES,
    Learned,
    Needs,
    Request,
    bytes_kept,
    n_checked_rows,
    reads_parts_of_sets,
    reads_single_columns,
    request,
    require_few_values,
    require_room,
    require_table_room,
)
from granite_xai.evaluations.values import (
    Cells,
    every_level,
    stand_ins,
)
from granite_xai.fitting.settings import Opened, Settings
from granite_xai.models import Predictor
from granite_xai.tables import MOST_HELD_OUT, Rows, Table

PILOT_SHARE = 0.25  # of the model rows of a fit, which its pilot may take
FEWEST_SEARCHING = 1000  # rows that search whatever the budget, if the table has so many
FEWEST_IN_EXPLICIT_BUDGET = 100  # the same where the user set the budget
# Rows that search where the cost grows with their square: the largest number that is paid for.
ROWS_OF_QUADRATIC_COST = (1000, 500, 250)
HELD_OUT_TO_SEARCHING = 0.5  # rows that are held out for each one that searches
FEW_OF_MANY = 0.1  # share of the rows below which a fit within the default budget says so
LARGER_BUDGET = 4  # times the budget that is offered then: intervals are about half as wide
MEMORY_SHARE = 4  # predictions take at most one part in so many of the memory limit
MARGIN_FOR_OTHER_ROWS = (
    1.1  # times what some rows are asked beside, which others of the table may need
)

FEW_VALUES = 8  # values of a column that are recommended where the model may be asked too little

Values = int | Mapping[int, Cells] | None
"""Values that stand for a column: so many quantiles, those of a pilot, or all."""


# What is asked about any rows ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """What is asked about any rows: those that search, those that judge, and new ones.

    Parameters
    ----------
    model : Predictor
    needs : Needs
        What questions and curves read.
    values : int, mapping of column to Cells, or None
        Values that stand for a column.
    learned : mapping of key to Learned
        Bins, references and the like, from the rows that search.
    probed : Probed
    settings : Settings
    combined : mapping of coalition to mapping of column to Cells
        Sets of several columns that are read at all combinations of a few values.
    """

    model: Predictor
    needs: Needs
    values: Values
    learned: Mapping[Any, Learned]
    probed: Probed
    settings: Settings
    combined: Mapping[Coalition, Mapping[int, Cells]] = field(default_factory=dict)

    @property
    def cells(self) -> Mapping[int, Cells]:
        """Values that a pilot chose for columns, by position."""
        return self.values if isinstance(self.values, Mapping) else {}

    def of_output(self, number: int, model: Predictor) -> Plan:
        """What is asked about one of several outputs, of a model that predicts it alone."""
        values = self.values
        if isinstance(values, Mapping):
            values = {
                position: replace(cells, curves=cells.curves[number : number + 1])
                for position, cells in values.items()
            }
        probed = self.probed._replace(outputs=(self.probed.outputs[number],))
        return replace(self, model=model, values=values, probed=probed)

    def ask(
        self,
        rows: Rows,
        record: Diagnostics | None = None,
        are_fitted: bool = False,
        reading: Reading | None = None,
    ) -> Sample:
        """What the model says about some rows.

        Parameters
        ----------
        rows : Rows
        record : Diagnostics, optional
            Gets notes and warnings.
        are_fitted : bool
            Whether regions are searched on these rows: then not all predictions may be tiny (N06). A
            classifier may well be nearly sure of a few new rows.
        reading : Reading, optional
            The model on these rows, where that was looked at before.
        """
        record = record or Diagnostics()
        settings = self.settings
        reading = reading or Reading(self.model, rows.table, record, settings.seed)
        asked_of_rows = request(
            self.needs,
            rows.table,
            values=self.values,
            model_cells=reading.model_cells,
            learned=self.learned,
            combined=self.combined,
        )
        resources = settings.resources
        if settings.budget_decides:  # it has decided on the rows, and is not asked again
            resources = replace(resources, max_evaluations=None)
        asked = ask(
            self.model,
            rows,
            asked_of_rows,
            reading,
            resources=resources,
            n_jobs=settings.n_jobs,
            record=record,
        )
        if are_fitted:
            require_sizeable(asked.extents)
        errors = [
            error_of_prediction(*of_output, self.model.native_float32, record)
            for of_output in zip(asked.outputs, asked.extents, self.probed.outputs, strict=True)
        ]
        return Sample(rows, asked.outputs, tuple(errors))

    def complete(
        self, sample: Sample, coalitions: AbstractSet[Coalition]
    ) -> tuple[Sample, Mapping[int, Cells]]:
        """The sample with matrices of further coalitions; the model is asked about those it lacks.

        Also the values that stand for columns, by position, in the matrices of single columns.
        """
        lacking = frozenset(coalitions) - answered_coalitions(sample)
        if not lacking:
            return sample, self.cells
        values = self.values
        if isinstance(values, Mapping):
            singles = [min(columns) for columns in lacking if len(columns) == 1]
            values = learned_values(self.model, sample.rows, sorted(singles), self.settings)
        needs = Needs(coalitions=lacking)
        further = replace(self, needs=needs, values=values, learned={}, combined={})
        outputs = [
            replace(
                evaluations,
                matrices={**added.matrices, **evaluations.matrices},
                facts={**added.facts, **evaluations.facts},
            )
            for evaluations, added in zip(
                sample.outputs, further.ask(sample.rows).outputs, strict=True
            )
        ]
        return sample._replace(outputs=tuple(outputs)), {**self.cells, **further.cells}


def check_quantiles(
    plan: Plan, questions: Sequence[ResolvedQuestion], sample: Sample, record: Diagnostics
) -> None:
    """Ask the model exactly about a few rows, and note how far gaps at quantiles are from exact ones (C22).

    Parameters
    ----------
    plan : Plan
    questions : sequence of ResolvedQuestion
    sample : Sample
        Of the rows that search.
    record : Diagnostics
        Gets the note ``max_grid``, and a sentence, where quantiles stand for columns.
    """
    if not isinstance(plan.values, int):
        return
    table = sample.rows.table
    matrices = sample.outputs[0].matrices
    at_quantiles = {
        position: matrices[Coalition([position])].values.shape[1]
        for position in stand_ins(table, plan.values)
        if Coalition([position]) in matrices
    }
    if not at_quantiles:
        return
    n_rows = n_checked_rows(table.n_rows, [matrix.values.shape[1] for matrix in matrices.values()])
    generator = np.random.default_rng(plan.settings.seed)
    few = sample.take(np.sort(generator.choice(table.n_rows, size=n_rows, replace=False)))
    exact = replace(plan, values=None).ask(few.rows)
    gaps = {}
    largest_error = 0.0
    for question in questions:
        exact_gaps = _gaps(question, exact)
        size = float(np.sqrt(np.mean(np.square(exact_gaps))))
        error = float(np.sqrt(np.mean(np.square(_gaps(question, few) - exact_gaps))))
        gaps[question.label] = {"rms_difference": error, "rms_gap": size}
        if size > 0:
            largest_error = max(largest_error, error / size)
    values = {table.names[position]: count for position, count in at_quantiles.items()}
    record.note("max_grid", {"columns": values, "rows": n_rows, "gaps": gaps})
    listed = ", ".join(f"{name} ({count})" for name, count in values.items())
    record.remember(
        f"C22: on a grid of so many values: {listed}. On {n_rows} rows the gaps differ from the exact ones "
        f"by {largest_error:.1%} of their size (root mean square)."
    )


def _gaps(question: ResolvedQuestion, sample: Sample) -> FloatArray:
    """The gaps of all sets on all rows; one number a set for sensitivity and risk."""
    evaluations = sample.outputs[question.output]
    whole = RegionWeights.whole(evaluations.weights)
    return np.stack([gap[:, 0] for gap in question.gaps(evaluations, whole)])


def answered_coalitions(sample: Sample) -> frozenset[Coalition]:
    """Visible columns whose masked models are read from a sample as it is."""
    evaluations = sample.outputs[0]
    everything = evaluations.everything
    answered = {Coalition(), everything, *evaluations.matrices}
    # From the values that all rows have the other columns are read as well.
    answered |= {
        everything - columns for columns in evaluations.matrices.keys() - evaluations.moved.keys()
    }
    return frozenset(answered)


def learned_values(
    model: Predictor,
    rows: Rows,
    positions: Sequence[int],
    settings: Settings,
    n_cells: int = CELLS,
    fewest: int | None = None,
) -> dict[int, Cells]:
    """Values that stand for some columns, chosen by what the model does for a few rows."""
    table = rows.table

    def ask_pilot(base_rows: IntArray, donor_rows: IntArray, column: int) -> FloatArray:
        return model.recombined_outputs(table, base_rows, table, donor_rows, [column])

    return learn_cells(
        table,
        rows.weights,
        positions,
        ask_pilot,
        n_cells=n_cells,
        budget=PILOT_SHARE * settings.budget,
        seed=settings.seed,
        fewest=fewest,
    )


# What it costs -------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """What a fit on some rows sends to the model and keeps in memory.

    Parameters
    ----------
    pilot, of_search, of_held_out : int
        Rows sent to the model by the pilot, for the rows that search, and for those held out.
    values : dict
        Values at which the model is asked about each column, by name.
    n_bytes : int
        Bytes of the predictions that are kept.
    """

    pilot: int
    of_search: int
    of_held_out: int
    values: dict[str, int]
    n_bytes: int

    @property
    def model_rows(self) -> int:
        """Rows sent to the model in all, the probe included."""
        return PROBED_ROWS + self.pilot + self.of_search + self.of_held_out


class Draft:
    """What a fit on some rows would ask: questions, values and costs, before the model is asked.

    Parameters
    ----------
    opened : Opened
    search : Rows
        The rows that search.
    n_judging : int
        How many rows judge the regions.
    record : Diagnostics, optional

    Attributes
    ----------
    questions : tuple of ResolvedQuestion
        Resolved on these rows.
    is_sampled : bool
        Whether an effect is a mean over drawn orders of arrival.
    has_pilot : bool
        Whether a pilot chooses `n_cells` values of each column, at most; otherwise all are asked, or `quantiles`.
    combines_values : bool
        Whether sets of several columns are read at all combinations of a few values.
    """

    def __init__(
        self, opened: Opened, search: Rows, n_judging: int, record: Diagnostics | None = None
    ) -> None:
        self.settings = settings = opened.settings
        self.table = table = search.table
        resources = settings.resources
        split_columns = settings.tree.columns(table)  # refuses columns that the table does not have
        require_table_room(table, resources)
        self.opened = opened
        self.search = search
        self.n_judging = n_judging
        self.n_outputs = len(opened.model.outputs) or 1
        self.reading = Reading(opened.model, table, record, settings.seed)

        # What questions and the partitioner read.
        self.questions = resolved_questions(opened, table)
        beside = settings.partitioner.extra_effects(table, resources, settings.seed)
        asked = (*self.questions, *beside)
        self.is_sampled = any(question.is_sampled for question in asked)
        self.needs, self.reads = needs_of(effects_of(asked))
        # What maskings learn that is not read from matrices: the model is asked about it.
        self._asked_beside = frozenset(
            fact
            for question in asked
            for fact in question.needs.facts
            if fact[1] not in question.needs.coalitions
        )
        # The effects of all players are read before the search where questions are about all of them, where all
        # outputs are explained, and where a column has so many levels that the search puts them into the order of
        # their effects (C13). Otherwise a fit pays for some.
        compared = Coalition().union(*(members for each in self.questions for members in each.sets))
        is_about_all = compared >= Coalition().union(*self.questions[0].first.layout.explained)
        orders_levels = any(
            table.columns[position].kind == "nominal"
            and 2 ** (len(table.columns[position].levels) - 1) > settings.tree.max_candidates
            for position in split_columns
        )
        if opened.model.outputs or is_about_all or orders_levels:
            self.needs |= Needs(coalitions=curves_of(self.questions[0], table))
        columns = self.needs.compared | self.needs.coalitions
        # Positions of the columns that are changed one at a time, for questions or curves.
        self.single_columns = sorted(min(each) for each in columns if len(each) == 1)

        # At which values: all, quantiles, or those of a pilot.
        self.n_cells = resources.grid or CELLS
        self.quantiles: int | None = None
        self.has_pilot = self.combines_values = False
        if settings.level is not None and resources.max_grid is not None:
            # Local interactions under marginal masking are read at a few values where all values are too dear: what
            # the columns of a set do together is then all that counts, not how they vary together.
            is_local = all(question.is_local for question in asked) and self.n_outputs == 1
            is_plain = not self.needs.attributions and not self.needs.facts
            is_of_sets = reads_parts_of_sets(self.reads, self.needs.coalitions, table.n_columns)
            if is_local and is_plain and is_of_sets:
                at_all_values = self._cost_of_request(round(HELD_OUT_TO_SEARCHING * len(search)))
                self.combines_values = at_all_values.model_rows > settings.budget
            is_by_column = reads_single_columns(self.reads, table.n_columns)
            is_by_column = is_by_column and not self.needs.attributions
            self.has_pilot = self.combines_values or is_by_column
        if not self.has_pilot:
            self.quantiles = resources.grid

    def plan(self, record: Diagnostics, announce: Callable[[float], None]) -> Plan:
        """Probe the model, choose the values that stand for columns, and learn what maskings learn.

        Parameters
        ----------
        record : Diagnostics
        announce : callable
            Is told the seconds that the model takes for a row.

        Raises
        ------
        ResourceError
            D33, where the fit needs more memory than allowed; the model has not been asked then.
        """
        self.require_memory()
        settings, model, search = self.settings, self.opened.model, self.search
        probed = probe(model, self.table, record)
        announce(probed.seconds_per_row)
        values: Values = self.quantiles
        combined: Mapping[Coalition, Mapping[int, Cells]] = {}
        if self.has_pilot:
            fewest = COARSE if self.combines_values else None
            with record.stage("pilot"):
                values = learned_values(
                    model, search, self.single_columns, settings, self.n_cells, fewest
                )
                if self.combines_values:
                    combined = combined_cells(
                        model.recombined_outputs,
                        self.table,
                        self.needs.compared,
                        values,
                        self._values_of_sets(settings.budget),
                    )
        return Plan(
            model=model,
            needs=self.needs,
            values=values,
            learned=learn(
                self.needs.facts, search, settings.seed, not settings.as_in_paper, record
            ),
            probed=probed,
            settings=settings,
            combined=combined,
        )

    def request(self, values: Values = None) -> Request:
        """What is asked about the rows that search.

        Parameters
        ----------
        values : int or None
            None: as options say, with as many values as a pilot would choose.
        """
        table = self.table
        if values is None:
            values = self.quantiles
        if values is None and self.has_pilot:
            values = placeholder_cells(table, self.single_columns, self.n_cells)
        combined = {}
        if self.combines_values:
            # As many of each column of a set as if all sets had as many: as much memory as they will take.
            affordable = self._values_of_sets(self.settings.budget)
            size = next((size for size in GRIDS if self._n_combined(size) <= affordable), COARSE)
            cells = placeholder_cells(table, range(table.n_columns), size)
            for members in self.needs.compared:
                combined[members] = {
                    position: cells.get(position) or every_level(table.columns[position])
                    for position in members
                }
        if isinstance(values, int):
            require_few_values(self.reads, table, stand_ins(table, values).keys())
        return request(
            self.needs,
            table,
            values=values,
            model_cells=self.reading.model_cells,
            learned=learn(self._asked_beside, self.search, self.settings.seed),
            combined=combined,
        )

    def require_memory(self) -> None:
        """Refuse a fit that needs more memory than allowed, before the model is asked (D33)."""

        def coarse_request() -> Request | None:
            """The same at few values of each column; None where that is not defined, or no less."""
            is_coarse = self.has_pilot and self.n_cells <= COARSE_GRID
            if is_coarse or not reads_single_columns(self.reads, self.table.n_columns):
                return None
            return self.request(COARSE_GRID)

        resources = self.settings.resources
        require_room(self.request(), self.table, resources, self.n_outputs, coarse=coarse_request)

    # Costs ----------------------------------------------------------------------------------------

    def _n_combined(self, size: int) -> int:
        """Combinations of at most so many values of each column, of all sets."""
        columns = self.table.columns
        return sum(
            math.prod(n_values(columns[position], size) for position in members)
            for members in self.needs.compared
        )

    def _values_of_sets(self, budget: float) -> float:
        """Values of all sets together at which a row is asked, so that enough rows may search."""
        n_used = (1 + HELD_OUT_TO_SEARCHING) * min(len(self.search), FEWEST_SEARCHING)
        fixed = PROBED_ROWS + self._pilot_cost(budget, self.table)
        affordable = (
            (budget - fixed) / n_used - 1 - sum(self._values_of_columns(self.table).values())
        )
        return float(min(max(affordable, self._n_combined(COARSE)), self._n_combined(CELLS)))

    def _values_of_columns(self, table: Table) -> dict[str, int]:
        """Values of a pilot at which the model is asked about each column, by name."""
        columns = [table.columns[position] for position in self.single_columns]
        return {column.name: n_values(column, self.n_cells) for column in columns}

    def _pilot_cost(self, budget: float, table: Table) -> int:
        """Rows that the pilot sends to the model, at most."""
        fewest = COARSE if self.combines_values else self.n_cells
        columns = [table.columns[position] for position in self.single_columns]
        piloted = [column for column in columns if len(column.levels) > fewest]
        cost = plan_pilot(piloted, self.n_cells, PILOT_SHARE * budget, len(self.search)).cost
        if self.combines_values:
            cost += SCREEN_ROWS * self._n_combined(SCREEN_GRID)
        return cost

    def cost(self, budget: float | None = None, drawn_from: Table | None = None) -> Cost:
        """Count the rows that are sent to the model, and the bytes of its answers.

        Parameters
        ----------
        budget : float, optional
            Model rows of the fit, of which a pilot may take a share; None: as options say.
        drawn_from : Table, optional
            The table of which the rows are a part: a cost that holds for any other part as well.
        """
        if not self.has_pilot:
            return self._cost_of_request(self.n_judging)
        budget = self.settings.budget if budget is None else budget
        n_rows = len(self.search)
        table = drawn_from or self.table
        values = self._values_of_columns(table)
        of_row = 1.0 + sum(values.values())
        if self.combines_values:
            of_row += self._values_of_sets(budget)
        beside = 0.0
        if self._asked_beside:
            beside = self.request().n_asked_beside / n_rows
        beside_others = MARGIN_FOR_OTHER_ROWS * beside
        beside_search = beside if drawn_from is None else beside_others
        return Cost(
            pilot=self._pilot_cost(budget, table),
            of_search=round(n_rows * (of_row + beside_search)),
            of_held_out=round(self.n_judging * (of_row + beside_others)),
            values=values,
            n_bytes=round(NUMBER_BYTES * self.n_outputs * n_rows * (of_row + beside_search)),
        )

    def _cost_of_request(self, n_held_out: int) -> Cost:
        """The cost where no pilot chooses values.

        Every held-out row is recombined with every distinct value of the held-out rows. These are
        expected to have as many values as the rows that search, more if there are more of them, and
        no more than there are held-out rows.
        """
        asked = self.request()
        of_search = asked.n_model_rows()
        growth = n_held_out / asked.n_rows
        n_distinct = sum(
            min(round(len(of_set) * max(growth, 1.0)), n_held_out)
            for of_set in (*asked.matrices.values(), *asked.summed.values())
        )
        values = {
            self.table.names[min(columns)]: len(of_set)
            for columns, of_set in asked.matrices.items()
            if len(columns) == 1
        }
        return Cost(
            pilot=0,
            of_search=of_search,
            of_held_out=n_held_out * n_distinct + round((of_search - asked.n_recombined) * growth),
            values=values,
            n_bytes=bytes_kept(asked, self.n_outputs),
        )

    def allowed_cost(self) -> Cost:
        """The cost of a fit, unless it exceeds the user's budget of model rows (M13)."""
        settings = self.settings
        cost = self.cost()
        limit = settings.resources.max_evaluations
        if settings.level is None or limit is None or cost.model_rows <= limit:
            return cost
        # A larger budget has a larger pilot: the one that the refusal names shall do.
        enough = cost.model_rows
        while (needed := self.cost(enough).model_rows) > enough:
            enough = needed

        def model_rows_of(n_search: int) -> int:
            fewer = replace(self.opened, settings=replace(settings, max_samples=n_search))
            return drafted(fewer, choose_rows(fewer)).cost().model_rows

        n_fitting = bisect_right(range(1, len(self.search)), limit, key=model_rows_of)
        remedies = ["fewer features (features=)"]
        if n_fitting > 0:
            remedies.insert(0, f"fewer rows (max_samples={n_fitting})")
        if (settings.resources.grid or math.inf) > FEW_VALUES:
            remedies.append(f"fewer values (Resources(max_grid={FEW_VALUES}))")
        remedies.append(f"or a higher limit (Resources(max_evaluations={enough}))")
        hint = ", ".join(remedies)
        raise ResourceError(
            f"the plan sends {enough:,} rows to the model; max_evaluations allows {limit:,}. "
            f"Remedies: {hint}.",
            code="M13",
            argument="resources",
            hint=hint,
        )

    def facts(self, cost: Cost, seconds_per_row: float = 0.0) -> dict[str, Any]:
        """The plan in plain numbers, for `g.plan(X)` and ``diagnostics_["plan"]``.

        Parameters
        ----------
        cost : Cost
        seconds_per_row : float
            Of the model, for a remark about the time.
        """
        return {
            "rows": len(self.search),
            "held_out": self.n_judging,
            "available": len(self.opened.rows),
            "columns": self.table.n_columns,
            "values": cost.values,
            "pilot_rows": cost.pilot,
            "model_rows": cost.model_rows,
            "bytes": cost.n_bytes,
            "seconds": cost.model_rows * seconds_per_row,
        }


def drafted(opened: Opened, choice: RowChoice, record: Diagnostics | None = None) -> Draft:
    """What a fit on some rows of a table would ask."""
    n_judging = opened.n_judging(choice.held_out)
    return Draft(opened, opened.rows.take(choice.search), n_judging, record)


def effects_of(questions: Iterable[ResolvedQuestion]) -> list[Effect]:
    """Both sides of every question."""
    return [side for question in questions for side in (question.first, question.second)]


def needs_of(effects: Iterable[Effect]) -> tuple[Needs, dict[Coalition, AbstractSet[Coalition]]]:
    """What some effects need of the model, and for each of their sets the coalitions that are read."""
    needs = Needs()
    reads: dict[Coalition, AbstractSet[Coalition]] = {}
    for effect in effects:
        needs |= effect.needs
        for members, coalitions in zip(effect.sets, effect.reads, strict=True):
            reads[members] = reads.get(members, frozenset()) | coalitions
    return needs, reads


def resolved_questions(opened: Opened, table: Table) -> tuple[ResolvedQuestion, ...]:
    """The questions on some rows; where all outputs are explained, those of the first one, then of the next."""
    settings, model = opened.settings, opened.model
    is_partial = any(
        asked.first.is_partial or asked.second.is_partial for asked, _ in settings.questions
    )
    gives_paths = is_partial and Reading(model, table).gives_attributions
    resolved = tuple(
        question.resolve(
            table,
            is_probability=model.is_probability,
            is_survival=model.is_survival,
            gives_paths=gives_paths,
            max_evaluations=settings.resources.max_evaluations,
            seed=settings.seed,
        )
        for question, _ in settings.questions
    )
    if not model.outputs:
        return resolved
    return tuple(
        question.about_output(number, f"{question.label} of {name}")
        for number, name in enumerate(model.outputs)
        for question in resolved
    )


def curves_of(question: ResolvedQuestion, table: Table) -> frozenset[Coalition]:
    """What curves read: every column alone, and the players of a question together, up to its order."""
    coalitions = {Coalition([position]) for position in table.explained}
    for size in range(1, question.order + 1):
        for chosen in combinations(question.first.layout.explained, size):
            coalitions.add(Coalition().union(*chosen))
    return frozenset(coalitions)


# Which rows are used -------------------------------------------------------------------------------


class RowChoice(NamedTuple):
    """Places of the rows that search and of those that are held out, both ascending."""

    search: IntArray
    held_out: IntArray

    @property
    def n_rows(self) -> int:
        """Rows that are used."""
        return len(self.search) + len(self.held_out)


First = Callable[[int], RowChoice]
"""From how many rows search, at most, to the first rows of the draw of a fit."""


def choose_rows(opened: Opened) -> RowChoice:
    """How many rows of a table a fit uses: as options say, or as a budget of model rows pays for."""
    settings, rows = opened.settings, opened.rows
    n_search = len(rows)
    if isinstance(settings.max_samples, int):
        n_search = settings.max_samples
    if settings.level is None:
        places = rows.random_places(n_search, settings.seed)
        return RowChoice(places, places[:0])
    draw = rows.draw(settings.seed)
    holdout = settings.holdout if opened.given_holdout is None else False

    def first(n_search: int) -> RowChoice:
        return RowChoice(*draw.first(n_search, holdout))

    if settings.budget_decides:
        n_search = _affordable_rows(opened, first, len(first(n_search).search))
    return first(n_search)


def note_rows(opened: Opened, choice: RowChoice, record: Diagnostics) -> None:
    """Put on record which rows of the user's table are used, and why so many.

    Where the default budget pays for few rows of a large table, a warning says so, and what a larger one does.
    """
    settings, rows = opened.settings, opened.rows
    reason = "as asked"
    if settings.budget_decides:
        reason = "all rows" if choice.n_rows == len(rows) else "max_evaluations"
    note = {
        "search": np.sort(rows.positions[choice.search]).tolist(),
        "held_out": np.sort(rows.positions[choice.held_out]).tolist(),
        "available": len(rows),
        "reason": reason,
    }
    record.note("rows", note)
    is_default = settings.budget_decides and settings.resources.max_evaluations is None
    if not is_default or choice.n_rows >= FEW_OF_MANY * len(rows):
        return
    notice = f"M13: {choice.n_rows:,} of {len(rows):,} rows were used. More rows give narrower intervals."
    budget = LARGER_BUDGET * settings.budget
    resources = replace(settings.resources, max_evaluations=budget)
    larger = replace(opened, settings=replace(settings, resources=resources))
    n_larger = choose_rows(larger).n_rows
    if n_larger > choice.n_rows:
        notice += f" Resources(max_evaluations={budget:_}) uses {n_larger:,}."
    record.warn(notice, DataWarning)


def _affordable_rows(opened: Opened, first: First, n_available: int) -> int:
    """Rows that search, at most, within the budget of model rows and the memory limit."""
    settings = opened.settings
    resources = settings.resources
    sample = first(min(n_available, FEWEST_SEARCHING))
    try:
        draft = drafted(opened, sample)
    except ResourceError:  # too dear even to be drawn
        return _affordable_rows_of_pairs(opened, first, n_available)
    if not draft.has_pilot:
        return _affordable_rows_of_pairs(opened, first, n_available)
    cost = draft.cost(drawn_from=opened.rows.table)
    n_sample = len(sample.search)
    n_affordable = (settings.budget - cost.pilot - PROBED_ROWS) / (cost.of_search / n_sample)
    n_search = max(n_affordable, 0.0)
    if settings.holdout == "auto":  # half as many rows judge as search, up to a limit
        n_search = n_search / (1 + HELD_OUT_TO_SEARCHING)
        if HELD_OUT_TO_SEARCHING * n_search > MOST_HELD_OUT:
            n_search = n_affordable - MOST_HELD_OUT
    fewest = FEWEST_SEARCHING
    if resources.max_evaluations is not None:
        fewest = FEWEST_IN_EXPLICIT_BUDGET
    n_in_memory = int(resources.memory_limit / MEMORY_SHARE / (cost.n_bytes / n_sample))
    n_in_memory = max(n_in_memory, FEWEST_IN_EXPLICIT_BUDGET)
    n_search = min(max(int(n_search), fewest), n_in_memory, n_available)

    def n_used(n_search: int) -> int:
        choice = first(n_search)
        return len(choice.search) + opened.n_judging(choice.held_out)

    if n_search <= fewest or n_used(n_search) <= n_affordable:
        return n_search
    # So few that those that judge are paid for as well, and clusters, which are drawn whole.
    sizes = range(fewest, n_search)
    return sizes[max(bisect_right(sizes, n_affordable, key=n_used) - 1, 0)]


def _affordable_rows_of_pairs(opened: Opened, first: First, n_available: int) -> int:
    """Rows that search where the cost grows with their square: groups, pairs, Shapley values.

    The largest of a few numbers that is paid for; the smallest of them where none is. Exact effects
    of fewer rows come before sampled ones of more: the noise of few orders of arrival would drown
    what more rows show.
    """
    settings = opened.settings
    sizes = [size for size in ROWS_OF_QUADRATIC_COST if size < n_available]
    if n_available <= ROWS_OF_QUADRATIC_COST[0]:
        sizes.insert(0, n_available)
    has_explicit_budget = settings.resources.max_evaluations is not None
    if has_explicit_budget and n_available > FEWEST_IN_EXPLICIT_BUDGET:
        sizes.append(FEWEST_IN_EXPLICIT_BUDGET)
    sampled = []
    for size in sizes:
        try:
            draft = drafted(opened, first(size))
            draft.require_memory()
        except ResourceError:  # too dear even to be drawn
            continue
        if draft.cost().model_rows > settings.budget:
            continue
        if not draft.is_sampled:
            return size
        sampled.append(size)
    return sampled[0] if sampled else sizes[-1]
