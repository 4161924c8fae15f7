"""Read, audited, or asked: how E_S of a table is evaluated, by the parts of a model or by the model itself.

A model that is a sum of trees, or of terms, is read once. An audit compares what was read with the model on rows
that are recombined from the table; where they agree up to rounding, and where it is cheaper than asking, the parts
answer for the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from granite_xai.base.errors import Diagnostics, GraniteError, ModelWarning, warn
from granite_xai.base.limits import BLOCK
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Players
from granite_xai.models import Predictor
from granite_xai.tables import Column, Table, distinct_rows, read_table, recombine
from granite_xai.trees.additive import AdditiveModel, TermsOnTable, is_additive, read_terms
from granite_xai.trees.compiled import available
from granite_xai.trees.forest import ANCHOR, Forest, ForestOnTable
from granite_xai.trees.tree_readers import (
    Link,
    RefusalError,
    TreeModel,
    identity,
    is_sum,
    link_of,
    model_call,
    opposite,
    read_tree_model,
)
from granite_xai.trees.tree_shap import attributions_by_leaf, compiled_attributions

# Leaves times rows times matrices from which the compiled walk is worth loading (0.1 s).
WORTH_COMPILING = 2 * 10**7
# A matrix by the trees costs about 2.5 ns a leaf and row, a value by the model's own predict about 5 ns a step and
# row (a step: one level of one tree). Both were measured on boosted trees and forests of 8 to 280 leaves a tree.
LEAVES_PER_STEP = 2.0
# The compiled walk visits few leaves of a deep tree: a matrix costs at most as much as so many values by the model
# (measured: 0.2 to 2.6 from 8 to 10,000 leaves a tree).
VALUES_PER_WALK = 3
MOST_PAIRS = 2 * 10**10  # leaves times pairs of rows for attributions, at most
LINE_BYTES = 40  # of a number of a line while sums of several classes are linked
LONGEST_REASON = 200  # characters of what an error says

FEWEST_HYBRIDS = 64  # rows of an audit: a quarter of the table's rows, within these limits
MOST_HYBRIDS = 512
NEIGHBORS = 64  # rows with a value on a threshold or next to it, at most
VALUES_OF_THRESHOLD = 5  # itself, and its neighbours in double and in single precision
EXTREMES = 64  # columns whose two ends are tried, and pairs of columns whose corners are, at most
MIXED_GROUPS = 16  # groups of columns that are recombined independently of each other
EVERY_MISSING = 4  # of so many rows one has missing values, at least, where the table has any
SINGLE_PRECISION = 2.0**-23
DOUBLE_PRECISION = 2.0**-52


# ---------------------------------------------------------------------------------------------------------------
# What is read of a model


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A model as sums of trees.

    Parameters
    ----------
    link : callable
        From the sums to what is explained.
    forests : tuple of Forest
        One for each sum that the link reads.
    model : TreeModel
        As its library keeps it.
    """

    link: Link
    forests: tuple[Forest, ...]
    model: TreeModel

    @cached_property
    def n_leaves(self) -> int:
        """Leaves of all trees."""
        return sum(len(forest.leaves) for forest in self.forests)

    @property
    def n_sums(self) -> int:
        """Numbers that are added up for a prediction."""
        return sum(forest.n_trees for forest in self.forests)

    @property
    def reach(self) -> float:
        """The largest sum of the sizes of these numbers."""
        return sum(forest.reach for forest in self.forests)

    def limits(self) -> tuple[IntArray, FloatArray]:
        """Columns and thresholds of numbers, at which the prediction may jump."""
        columns = []
        thresholds = []
        for forest in self.forests:
            by_threshold = np.isfinite(forest.threshold) & (forest.feature >= 0)
            by_threshold[list(forest.categories)] = False
            columns.append(forest.feature[by_threshold])
            thresholds.append(forest.threshold[by_threshold])
        return np.concatenate(columns), np.concatenate(thresholds)

    def on(self, table: Table) -> TreesOnTable:
        """The ensemble on a table, in the model's own numbers."""
        if table.n_columns != self.model.n_features:
            raise RefusalError(
                f"the model has {self.model.n_features} columns, the table {table.n_columns}"
            )
        matrix = self.model.view(table)
        placed = tuple(ForestOnTable(forest, matrix) for forest in self.forests)
        return TreesOnTable(ensemble=self, placed=placed)


@dataclass(frozen=True, eq=False)
class TreesOnTable:
    """An ensemble on the rows of a table.

    Parameters
    ----------
    ensemble : Ensemble
    placed : tuple of ForestOnTable
        Its forests on the rows.
    """

    ensemble: Ensemble
    placed: tuple[ForestOnTable, ...]

    @cached_property
    def cell_numbers(self) -> IntArray:
        """Number of each row's cell in each column, (n, d): values with the same number are one to every tree."""
        n_rows, n_columns = self.placed[0].cells.shape
        numbers = []
        for column in range(n_columns):
            of_forests = [forest.cells[:, column].astype(np.intp) for forest in self.placed]
            numbers.append(distinct_rows(n_rows, of_forests)[0])
        return np.stack(numbers, axis=1)

    def matrix_of(
        self,
        columns: Coalition,
        donors: IntArray,
        *,
        fast: bool = False,
        n_jobs: int | None = None,
        block: int = BLOCK,
    ) -> FloatArray:
        """``E_S[u, n]``: the value of the donor row u on S, row n elsewhere, (U, n).

        Parameters
        ----------
        columns : coalition
            S.
        donors : array of shape (U,)
            Rows that carry the values.
        fast : bool
            By the compiled walk.
        n_jobs : int, optional
            Threads of it.
        block : int
            Bytes of what is made on the way.
        """
        # In the order of the cells, each once: sums then have the same bits whichever values are asked for.
        cells_of_donors = (self.cell_numbers[donors, column] for column in sorted(columns))
        line_of_donor, first_donors = distinct_rows(len(donors), cells_of_donors)
        is_in_order = np.array_equal(line_of_donor, np.arange(len(donors)))
        distinct_donors = donors if is_in_order else donors[first_donors]

        n_rows, n_columns = self.placed[0].cells.shape
        replaced = np.isin(np.arange(n_columns), sorted(columns))
        result = np.empty((len(distinct_donors), n_rows))
        # Sums are linked some lines at a time. These begin at an anchor, a line at which running sums start afresh:
        # so the sums do not depend on how many lines there are at a time.
        lines_at_once = len(result)
        if self.ensemble.link is not identity:
            line_bytes = LINE_BYTES * len(self.placed) * n_rows
            lines_at_once = max(1, block // line_bytes // ANCHOR) * ANCHOR
        for start in range(0, len(result), lines_at_once):
            lines = slice(start, start + lines_at_once)
            sums = []
            for forest in self.placed:
                total = result[lines] if len(self.placed) == 1 else np.empty_like(result[lines])
                if fast:
                    forest.compiled_sums(replaced, distinct_donors[lines], total, n_jobs)
                else:
                    forest.sparse_sums(replaced, distinct_donors[lines], total, block)
                sums.append(total)
            if self.ensemble.link is not identity:
                result[lines] = self.ensemble.link(sums)
        if is_in_order:
            return result
        return result.take(line_of_donor, axis=0)

    def attributions(
        self,
        players: Players,
        chosen: Sequence[int],
        *,
        fast: bool = False,
        n_jobs: int | None = None,
        block: int = BLOCK,
    ) -> FloatArray:
        """``Phi_i[n, m]`` of some players, (chosen, n, n); only where the explained number is a sum.

        Parameters
        ----------
        players : sequence of coalitions
        chosen : sequence of int
            Numbers of the players whose attributions are returned.
        fast, n_jobs, block
            As in `matrix_of`.
        """
        if not is_sum(self.ensemble.link):
            raise ValueError("attributions of single trees add up only without a link")
        (forest,) = self.placed
        n_rows = len(forest.cells)
        values = np.empty((len(chosen), n_rows, n_rows))
        if fast:
            compiled_attributions(forest, players, chosen, values, n_jobs)
        else:
            attributions_by_leaf(forest, players, chosen, values, block)
        if self.ensemble.link is opposite:
            np.negative(values, out=values)
        return values

    def predictions(self, block: int = BLOCK) -> FloatArray:
        """F of the table's own rows."""
        return self.ensemble.link([forest.sums(block) for forest in self.placed])


Parts = Ensemble | AdditiveModel  # a model as the sum of its own parts
PartsOnTable = TreesOnTable | TermsOnTable


def read_parts(predictor: Predictor) -> Parts:
    """Read what a predictor explains as sums of trees or of terms; a RefusalError says why not."""
    call = model_call(predictor)
    name = type(call.model).__name__
    try:
        if is_additive(call.model):
            return read_terms(call, predictor)
        model = read_tree_model(call)
        link, outputs = link_of(
            predictor.model_output,
            raw=call.raw,
            has_classes=getattr(call.model, "classes_", None) is not None,
            name=model.link,
            slope=model.slope,
            n_outputs=len(model.bases),
        )
        forests = tuple(model.forest(output) for output in outputs)
    except RefusalError:
        raise
    except Exception as error:  # whatever a library's new version brings: it is never guessed
        text = str(error).strip() or type(error).__name__
        reason = text.splitlines()[-1][:LONGEST_REASON]
        if ".cc:" in reason:  # nobody reads lines of C++
            reason = "its format is newer than treelite"
        message = f"the trees of this {name} cannot be read ({reason})"
        raise RefusalError(message, "M25" if "categor" in str(error) else "M30") from error
    return Ensemble(link=link, forests=forests, model=model)


# What was read of the models that are in use, or why it was not.
_READ: WeakKeyDictionary[Predictor, Parts | RefusalError] = WeakKeyDictionary()


def _read_once(predictor: Predictor) -> Parts:
    """The parts of a model, read once; a refusal is remembered as well."""
    remembered = _READ.get(predictor)
    if remembered is None:
        try:
            remembered = read_parts(predictor)
        except RefusalError as refusal:
            # A new one: that which was raised would keep every array of its callers.
            remembered = RefusalError(refusal.reason, refusal.code)
        _READ[predictor] = remembered
    if isinstance(remembered, RefusalError):
        raise RefusalError(remembered.reason, remembered.code)
    return remembered


# ---------------------------------------------------------------------------------------------------------------
# The audit: whether what was read answers as the model does


class Audit(NamedTuple):
    """How far the parts are from the model."""

    rows: int = 0  # on which they were compared
    difference: float = 0.0  # the largest
    tolerance: float = 0.0  # what rounding explains


def audit(predictor: Predictor, table: Table, parts: Parts, seed: int = 0) -> Audit:
    """Compare what was read with the model, in one call, on recombined rows.

    Parameters
    ----------
    predictor : Predictor
        The model.
    table : Table
        Rows that are recombined.
    parts : Ensemble or AdditiveModel
        What was read of the model.
    seed : int
        Draws the rows.
    """
    rows = _audit_rows(table, parts, np.random.default_rng(seed))
    by_parts = parts.on(read_table(rows, kinds=table.kinds, missing="allow")).predictions()
    by_model = predictor(rows)
    # Rounding of a sum of T leaves in any order grows like the root of T; a link stretches it by its slope.
    scale = parts.reach
    if not is_sum(parts.link):
        scale = (1.0 + parts.reach) * max(1.0, float(np.max(np.abs(by_model))))
    precision = SINGLE_PRECISION if predictor.native_float32 else DOUBLE_PRECISION
    return Audit(
        rows=len(by_model),
        difference=float(np.max(np.abs(by_parts - by_model))),
        tolerance=precision * float(8 * np.sqrt(parts.n_sums + 1) * scale),
    )


def _audit_rows(table: Table, parts: Parts, generator: np.random.Generator) -> Any:
    """The rows of an audit, in the user's own container, in three groups one after the other.

    hybrids      groups of columns from random rows, some of them with missing values
    neighbours   hybrids with one number that lies on a threshold of the trees, or next to it
    corners      hybrids with one column, or two, at an end of their range
    """
    n_hybrids = int(np.clip(table.n_rows // 4, FEWEST_HYBRIDS, MOST_HYBRIDS))
    corners = _corners(table, generator)
    native = _mixed_rows(table, n_hybrids + NEIGHBORS + len(corners), generator)
    neighbors = _threshold_neighbors(table, parts, generator)[:NEIGHBORS]
    for row, (position, value) in enumerate(neighbors, start=n_hybrids):
        # Written where the container and its dtype take it.
        if isinstance(native, np.ndarray):
            if native.dtype.kind == "f":
                native[row, position] = value
        elif hasattr(native, "iat") and native.dtypes.iloc[position].kind == "f":
            native.iat[row, position] = value
    for row, corner in enumerate(corners, start=n_hybrids + NEIGHBORS):
        for position, level in corner.items():
            donor = int(np.argmax(table.columns[position].codes == level))
            if isinstance(native, np.ndarray):
                native[row, position] = table.native[donor, position]
            elif hasattr(native, "iat"):
                native.iat[row, position] = table.native.iat[donor, position]
    return native


def _corners(table: Table, generator: np.random.Generator) -> list[dict[int, int]]:
    """The first and the last level of columns, and the four corners of pairs of columns: levels by column."""
    last_level = {}
    for position in generator.permutation(table.n_columns).tolist():
        n_levels = len(table.columns[position].levels)
        if n_levels > 1:
            last_level[position] = n_levels - 1
    corners: list[dict[int, int]] = []
    for column in islice(last_level, EXTREMES):
        corners += [{column: 0}, {column: last_level[column]}]
    for first, second in islice(combinations(last_level, 2), EXTREMES):
        last_of_first = last_level[first]
        last_of_second = last_level[second]
        corners += [
            {first: 0, second: 0},
            {first: 0, second: last_of_second},
            {first: last_of_first, second: 0},
            {first: last_of_first, second: last_of_second},
        ]
    return corners


def _mixed_rows(table: Table, count: int, generator: np.random.Generator) -> Any:
    """Rows whose groups of columns come from one of two random rows, or from one with missing values."""
    base = generator.integers(table.n_rows, size=count)
    donors = generator.integers(table.n_rows, size=count)
    mixed = table.take(base)
    n_groups = min(MIXED_GROUPS, table.n_columns)
    for group in np.array_split(generator.permutation(table.n_columns), n_groups):
        source = np.where(generator.random(count) < 0.5, donors, base)
        is_missing = [table.columns[column].missing for column in group]
        rows_with_missing = np.flatnonzero(np.any(is_missing, axis=0))
        if len(rows_with_missing):
            replaced = source[::EVERY_MISSING]
            source[::EVERY_MISSING] = generator.choice(rows_with_missing, size=len(replaced))
        recombined = recombine(mixed, np.arange(count), table, source, group.tolist())
        mixed = read_table(recombined, kinds=table.kinds, missing="allow")
    return mixed.native


def _threshold_neighbors(
    table: Table, parts: Parts, generator: np.random.Generator
) -> list[tuple[int, float]]:
    """Columns with thresholds, and the numbers next to them in double and in single precision."""
    columns, limits = parts.limits()
    n_limits = NEIGHBORS // VALUES_OF_THRESHOLD + 1
    neighbors = []
    for place in generator.permutation(len(limits))[:n_limits]:
        position = int(columns[place])
        column: Column = table.columns[position]
        if column.kind != "numeric" or column.integer:
            continue
        neighbors += [(position, value) for value in _next_to(float(limits[place]))]
    return neighbors


def _next_to(limit: float) -> list[float]:
    """A number, and its finite neighbours below and above, in double and in single precision."""
    single = np.float32(limit)
    neighbors = [
        limit,
        float(np.nextafter(limit, -np.inf)),
        float(np.nextafter(limit, np.inf)),
        float(np.nextafter(single, np.float32(-np.inf))),
        float(np.nextafter(single, np.float32(np.inf))),
    ]
    return [neighbor for neighbor in neighbors if np.isfinite(neighbor)]


# ---------------------------------------------------------------------------------------------------------------
# The route: by the parts or by the model


class Decision(NamedTuple):
    """Whether a table is evaluated by the parts of its model or by the model."""

    trees: PartsOnTable | None  # None: by the model
    reason: str | None  # why it is not the parts
    audit: Audit


class Route:
    """How a table is evaluated: by the model's trees where they answer as it does, otherwise by itself.

    Parameters
    ----------
    predictor : Predictor
    table : Table
    record : Diagnostics, optional
        Remembers the warnings that the trees are not used (M23 to M30).
    seed : int
        Draws the rows of the audit.
    decision : Decision, optional
        Where it is made already; None: it is made when it is first asked for.
    """

    def __init__(
        self,
        predictor: Predictor,
        table: Table,
        record: Diagnostics | None = None,
        seed: int = 0,
        decision: Decision | None = None,
    ) -> None:
        self.predictor = predictor
        self.table = table
        self._record = record
        self._seed = seed
        self._made_decision = decision

    @cached_property
    def others(self) -> tuple[Route, ...]:
        """The routes of further outputs."""
        return tuple(
            Route(predictor, self.table, self._record, self._seed)
            for predictor in self.predictor.further_outputs
        )

    @cached_property
    def _decision(self) -> Decision:
        """Made when it is first asked for: the trees are read, and compared with the model."""
        if self._made_decision is not None:
            return self._made_decision
        # The trees answer for all outputs, or the model does, which answers for all at once.
        for output in self.others:
            if output.reason is not None:
                return Decision(trees=None, reason=output.reason, audit=Audit())
        try:
            parts = _read_once(self.predictor)
            audited = audit(self.predictor, self.table, parts, self._seed)
            trees = parts.on(self.table)
        except RefusalError as refusal:
            return self._by_model_because(refusal.reason, refusal.code, Audit())
        except GraniteError:  # the model itself failed on the rows of the audit
            raise
        except Exception as error:  # whatever a library does in another way than we know
            what = f"{type(error).__name__}: {str(error)[:LONGEST_REASON]}"
            return self._by_model_because(f"its trees cannot be read here ({what})", "M30", Audit())
        if audited.difference <= audited.tolerance:
            return Decision(trees=trees, reason=None, audit=audited)
        reason = (
            f"the trees differ from the model's answers by up to {audited.difference:.3g} on "
            f"{audited.rows} recombined rows"
        )
        rounding = f" (rounding: {audited.tolerance:.1g})"
        return self._by_model_because(reason, "M23", audited, rounding)

    def _by_model_because(
        self, reason: str, code: str | None, audited: Audit, aside: str = ""
    ) -> Decision:
        """The decision for the model, with a warning where users may expect that we read it."""
        if code == "M30":  # a model that is not fitted, or fails, says so itself
            # Two rows, so that a model that fails at every row is told from one that fails at a row.
            self.predictor.on_rows(self.table.take(np.arange(min(2, self.table.n_rows))))
        if code is not None:
            give_warning = warn if self._record is None else self._record.warn
            text = f"{code}: {reason}{aside}: every evaluation is a call of the model."
            give_warning(text, ModelWarning)
        return Decision(trees=None, reason=reason, audit=audited)

    @property
    def trees(self) -> PartsOnTable | None:
        """The trees on this table; None: by the model."""
        return self._decision.trees

    @property
    def reason(self) -> str | None:
        """Why it is not the trees."""
        return self._decision.reason

    @property
    def cells(self) -> IntArray | None:
        """Where the trees answer, the cell of each row in each column, (n, d).

        They tell no values of one cell apart.
        """
        of_outputs = [
            route.trees.cell_numbers
            for route in (self, *self.others)
            if isinstance(route.trees, TreesOnTable)
        ]
        if not of_outputs:
            return None
        if len(of_outputs) == 1:
            return of_outputs[0]
        numbers = []
        for column in range(self.table.n_columns):
            by_output = [cells[:, column] for cells in of_outputs]
            numbers.append(distinct_rows(self.table.n_rows, by_output)[0])
        return np.stack(numbers, axis=1)

    @property
    def gives_attributions(self) -> bool:
        """Whether pairwise attributions come from the trees, whatever the number of columns."""
        if self.trees is None or not is_sum(self.trees.ensemble.link):
            return False
        return self.table.n_rows**2 * self.trees.ensemble.n_leaves <= MOST_PAIRS

    def cheaper(self, sizes: Sequence[int]) -> Route:
        """The same route, unless the model's own ``predict`` is cheaper for some matrices.

        Parameters
        ----------
        sizes : sequence of int
            Values of each matrix that will be made.
        """
        if not isinstance(self.trees, TreesOnTable):
            return self
        ensemble = self.trees.ensemble
        n_matrices = len(sizes)
        n_values = sum(sizes)
        steps = sum(forest.n_steps for forest in ensemble.forests)
        n_outputs = 1 + len(self.others)  # each has trees of its own, the model answers for all
        # In visits of a leaf by a row, for all rows.
        cost_of_value = steps * LEAVES_PER_STEP
        cost_of_matrix = float(ensemble.n_leaves)
        if available():
            cost_of_matrix = min(cost_of_matrix, VALUES_PER_WALK * cost_of_value)
        if n_outputs * n_matrices * cost_of_matrix <= n_values * cost_of_value:
            return self
        return self.by_model("the model's own predict is cheaper", self._decision.audit.rows)

    def by_model(self, reason: str | None, audited: int = 0) -> Route:
        """The same table, where every evaluation is a call of the model.

        Parameters
        ----------
        reason : str or None
            Why it is not the trees.
        audited : int
            Rows on which trees and model were compared.
        """
        decision = Decision(trees=None, reason=reason, audit=Audit(rows=audited))
        return Route(self.predictor, self.table, decision=decision)

    def is_worth_compiling(self, n_matrices: int) -> bool:
        """Whether so many matrices are worth the compiled walk; by counts alone, so that repeats are equal."""
        if not isinstance(self.trees, TreesOnTable) or not available():
            return False
        return n_matrices * self.table.n_rows * self.trees.ensemble.n_leaves >= WORTH_COMPILING

    def path(self, n_matrices: int) -> str:
        """How so many matrices are evaluated, in the words of ``diagnostics_``."""
        if isinstance(self.trees, TermsOnTable):
            return "additive terms"
        if isinstance(self.trees, TreesOnTable):
            return "trees (numba)" if self.is_worth_compiling(n_matrices) else "trees (numpy)"
        return "model"

    def note(self, n_matrices: int) -> dict[str, Any]:
        """What ``diagnostics_`` says about the evaluations of so many matrices."""
        return {
            "path": self.path(n_matrices),
            "reason": self.reason,
            "audited_rows": self._decision.audit.rows,
            "largest_difference": self._decision.audit.difference,
        }
