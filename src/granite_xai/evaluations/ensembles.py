"""Read, audited, or asked: how E_S of a table is evaluated, by the parts of a model or by the model itself.

A model that is a sum of trees, or of terms, is read once. An audit compares what was read with the model on rows
that are recombined from the table; where they agree up to rounding, and where it is cheaper than asking, the parts
answer for the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, islice, product
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from granite_xai.base.errors import Diagnostics, GraniteError, ModelWarning, warn
from granite_xai.base.limits import BLOCK
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Players
from granite_xai.evaluations.forest import ANCHOR, Forest, ForestOnTable, can_compile
from granite_xai.evaluations.request import Request
from granite_xai.evaluations.terms import READ_AS_TERMS, AdditiveModel, TermsOnTable, read_terms
from granite_xai.evaluations.tree_readers import (
    Link,
    RefusalError,
    dtype_kind,
    identity,
    is_sum,
    link_of,
    model_call,
    opposite,
    read_tree_model,
)
from granite_xai.evaluations.tree_shap import attributions_by_leaf, compiled_attributions
from granite_xai.models import Predictor
from granite_xai.tables import Table, distinct_rows, read_table, recombine

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
    n_features : int
    view : callable
        From a table to the numbers that the trees compare, (n, d).
    """

    link: Link
    forests: tuple[Forest, ...]
    n_features: int
    view: Callable[[Table], FloatArray]

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
        if table.n_columns != self.n_features:
            raise RefusalError(
                f"the model has {self.n_features} columns, the table {table.n_columns}"
            )
        matrix = self.view(table)
        return TreesOnTable(self, tuple(ForestOnTable(forest, matrix) for forest in self.forests))


@dataclass(frozen=True, eq=False)
class TreesOnTable:
    """An ensemble on the rows of a table.

    Parameters
    ----------
    model : Ensemble
    placed : tuple of ForestOnTable
        Its forests on the rows.
    fast : bool
        Whether sums are made by the compiled walks.
    n_jobs : int, optional
        Threads of these.
    block : int
        Bytes of what is made on the way.
    """

    model: Ensemble
    placed: tuple[ForestOnTable, ...]
    fast: bool = False
    n_jobs: int | None = None
    block: int = BLOCK

    def matrix(self, columns: Coalition, donors: IntArray) -> FloatArray:
        """``E_S`` at the values of some donor rows, (n, U): a value on the columns S, row n elsewhere."""
        n_rows, n_columns = self.placed[0].cells.shape
        positions = sorted(columns)
        # In the order of the cells, each once: sums then have the same bits whichever values are asked for.
        cells_of_donors = (
            forest.cells[donors, position] for position in positions for forest in self.placed
        )
        line_of_donor, first_donors = distinct_rows(len(donors), cells_of_donors)
        distinct_donors = donors[first_donors]
        replaced = np.isin(np.arange(n_columns), positions)
        result = np.empty((len(distinct_donors), n_rows))
        # Sums are linked some lines at a time. These begin at an anchor, a line at which running sums start afresh:
        # so the sums do not depend on how many lines there are at a time.
        lines_at_once = len(result)
        if self.model.link is not identity:
            line_bytes = LINE_BYTES * len(self.placed) * n_rows
            lines_at_once = max(1, self.block // line_bytes // ANCHOR) * ANCHOR
        for start in range(0, len(result), lines_at_once):
            lines = slice(start, start + lines_at_once)
            sums = []
            for forest in self.placed:
                total = result[lines] if len(self.placed) == 1 else np.empty_like(result[lines])
                if self.fast:
                    forest.compiled_sums(replaced, distinct_donors[lines], total, self.n_jobs)
                else:
                    forest.sparse_sums(replaced, distinct_donors[lines], total, self.block)
                sums.append(total)
            if self.model.link is not identity:
                result[lines] = self.model.link(sums)
        return result.T.take(line_of_donor, axis=1)

    def predictions(self) -> FloatArray:
        """F of the table's own rows."""
        return self.model.link([forest.sums(self.block) for forest in self.placed])

    def attributions(self, players: Players, chosen: Sequence[int]) -> FloatArray:
        """``Phi_i[n, m]`` of some players, (chosen, n, n); only where the explained number is a sum.

        Parameters
        ----------
        players : sequence of coalitions
        chosen : sequence of int
            Numbers of the players whose attributions are returned.
        """
        (forest,) = self.placed
        values = np.empty((len(chosen), len(forest.cells), len(forest.cells)))
        if self.fast:
            compiled_attributions(forest, players, chosen, values, self.n_jobs)
        else:
            attributions_by_leaf(forest, players, chosen, values, self.block)
        if self.model.link is opposite:
            np.negative(values, out=values)
        return values


Parts = Ensemble | AdditiveModel  # a model as the sum of its own parts
PartsOnTable = TreesOnTable | TermsOnTable


def read_parts(predictor: Predictor) -> Parts:
    """Read what a predictor explains as sums of trees or of terms; a RefusalError says why not."""
    call = model_call(predictor)
    name = type(call.model).__name__
    parts: Parts
    try:
        if call.kind in READ_AS_TERMS:
            parts = read_terms(call, predictor)
        else:
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
            parts = Ensemble(link, forests, model.n_features, model.view)
    except RefusalError:
        raise
    except Exception as error:  # whatever a library's new version brings: it is never guessed
        text = str(error).strip() or type(error).__name__
        reason = text.splitlines()[-1][:LONGEST_REASON]
        if ".cc:" in reason:  # nobody reads lines of C++
            reason = "its format is newer than treelite"
        raise RefusalError(
            f"the trees of this {name} cannot be read ({reason})",
            "M25" if "categor" in str(error) else "M30",
        ) from error
    scale = predictor.scale
    if scale.is_response or scale.reads_margin:
        return parts
    link = parts.link
    return replace(parts, link=lambda sums: scale.read(link(sums)))


# What was read of the models that are in use, or why it was not.
_READ: WeakKeyDictionary[Predictor, Parts | RefusalError] = WeakKeyDictionary()


def _read_once(predictor: Predictor) -> Parts:
    """The parts of a model, read once; a refusal is remembered as well."""
    if predictor not in _READ:
        try:
            _READ[predictor] = read_parts(predictor)
        except RefusalError as refusal:
            # A new one: that which was raised would keep every array of its callers.
            _READ[predictor] = RefusalError(refusal.reason, refusal.code)
    remembered = _READ[predictor]
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
    placed = parts.on(read_table(rows, kinds=table.kinds, missing="allow"))
    by_parts = predictor.scale.back(placed.predictions())
    by_model = predictor.scale.back(predictor(rows))
    # Rounding of a sum of T leaves in any order grows like the root of T; a link stretches it by its slope.
    size = parts.reach
    if not is_sum(parts.link):
        size = (1.0 + parts.reach) * max(1.0, float(np.max(np.abs(by_model))))
    precision = SINGLE_PRECISION if predictor.native_float32 else DOUBLE_PRECISION
    return Audit(
        rows=len(by_model),
        difference=float(np.max(np.abs(by_parts - by_model))),
        tolerance=precision * float(8 * np.sqrt(parts.n_sums + 1) * size),
    )


def _audit_rows(table: Table, parts: Parts, generator: np.random.Generator) -> Any:
    """The rows of an audit, in the user's own container, in three groups one after the other.

    hybrids      groups of columns from random rows, some of them with missing values
    neighbours   hybrids with one number that lies on a threshold of the trees, or next to it
    corners      hybrids with one column, or two, at an end of their range
    """
    # Levels by column: the first and the last of single columns, and the four corners of pairs.
    n_levels = [len(column.levels) for column in table.columns]
    varied = [
        position
        for position in generator.permutation(table.n_columns).tolist()
        if n_levels[position] > 1
    ]
    corners: list[dict[int, int]] = []
    singles = combinations(varied[:EXTREMES], 1)
    pairs = islice(combinations(varied, 2), EXTREMES)
    for columns in chain(singles, pairs):
        ends = [(0, n_levels[position] - 1) for position in columns]
        corners += [dict(zip(columns, levels, strict=True)) for levels in product(*ends)]

    # Hybrids of two random rows, or of one with missing values.
    n_hybrids = int(np.clip(table.n_rows // 4, FEWEST_HYBRIDS, MOST_HYBRIDS))
    count = n_hybrids + NEIGHBORS + len(corners)
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
    rows = mixed.native
    if isinstance(rows, np.ndarray):
        cells = rows
        cells_of_table = table.native
    elif hasattr(rows, "iat"):
        cells = rows.iat
        cells_of_table = table.native.iat
    else:  # a container that is not written to
        return rows

    # Numbers next to thresholds, in double and in single precision.
    limit_columns, limits = parts.limits()
    neighbors = []
    for place in generator.permutation(len(limits))[: NEIGHBORS // VALUES_OF_THRESHOLD + 1]:
        column = table.columns[int(limit_columns[place])]
        is_float = dtype_kind(mixed.select([column.position])) == "f"
        if is_float and column.kind == "numeric" and not column.integer:
            limit = float(limits[place])
            single = np.float32(limit)
            beside = [
                limit,
                np.nextafter(limit, -np.inf),
                np.nextafter(limit, np.inf),
                np.nextafter(single, np.float32(-np.inf)),
                np.nextafter(single, np.float32(np.inf)),
            ]
            neighbors += [(column.position, float(value)) for value in beside if np.isfinite(value)]
    for row, (position, value) in enumerate(neighbors[:NEIGHBORS], start=n_hybrids):
        cells[row, position] = value
    for row, corner in enumerate(corners, start=n_hybrids + NEIGHBORS):
        for position, level in corner.items():
            donor = int(np.argmax(table.columns[position].codes == level))
            cells[row, position] = cells_of_table[donor, position]
    return rows


# ---------------------------------------------------------------------------------------------------------------
# Read or asked


class Decision(NamedTuple):
    """Whether the parts of a model answer for it on a table."""

    parts: tuple[PartsOnTable, ...]  # one for each output; none: the model is asked
    reason: str | None = None  # why it is asked
    audit: Audit = Audit()


class Answering(NamedTuple):
    """Who answers a request: the parts for each output (none: the model), and a note for ``diagnostics_``."""

    parts: tuple[PartsOnTable, ...]
    note: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Reading:
    """A model on the rows of a table: read where its parts answer as it does, otherwise asked.

    Parameters
    ----------
    model : Predictor
    table : Table
    record : Diagnostics, optional
        Remembers the warnings that a model is asked that one might expect to be read (M23 to M30).
    seed : int
        Draws the rows on which what was read is compared with the model.
    """

    model: Predictor
    table: Table
    record: Diagnostics | None = None
    seed: int = 0

    @cached_property
    def decision(self) -> Decision:
        """The parts answer for all outputs, or the model does, which answers for all at once."""
        decided = []
        for output in (self.model, *self.model.further_outputs):
            decided.append(self._decided(output))
            if not decided[-1].parts:
                return decided[-1]
        parts = tuple(part for of_output in decided for part in of_output.parts)
        return Decision(parts, audit=decided[0].audit)

    def _decided(self, output: Predictor) -> Decision:
        """Read the parts of one output, and compare them with the model."""
        audited = Audit()
        aside = ""
        code: str | None
        try:
            parts = _read_once(output)
            audited = audit(output, self.table, parts, self.seed)
            on_table = parts.on(self.table)
            if audited.difference <= audited.tolerance:
                return Decision((on_table,), audit=audited)
            aside = f" (rounding: {audited.tolerance:.1g})"
            reason = f"the trees differ from the model's answers by up to {audited.difference:.3g} "
            reason += f"on {audited.rows} recombined rows"
            code = "M23"
        except RefusalError as refusal:
            reason = refusal.reason
            code = refusal.code
        except GraniteError:  # the model itself failed on the rows of the audit
            raise
        except Exception as error:  # whatever a library does in another way than we know
            what = f"{type(error).__name__}: {str(error)[:LONGEST_REASON]}"
            reason = f"its trees cannot be read here ({what})"
            code = "M30"
        if code == "M30":  # a model that is not fitted, or fails, says so itself
            # Two rows, so that a model that fails at every row is told from one that fails at a row.
            output.on_rows(self.table.take(np.arange(min(2, self.table.n_rows))))
        if code is not None:
            give_warning = warn if self.record is None else self.record.warn
            text = f"{code}: {reason}{aside}: every evaluation is a call of the model."
            give_warning(text, ModelWarning)
        return Decision((), reason, audited)

    @property
    def _trees(self) -> list[TreesOnTable]:
        """The trees of each output; none of models that are asked or are sums of terms."""
        return [part for part in self.decision.parts if isinstance(part, TreesOnTable)]

    @property
    def model_cells(self) -> IntArray | None:
        """Numbers of values in each column, (n, n_columns): equal ones are one to all trees."""
        forests = [forest for trees in self._trees for forest in trees.placed]
        if not forests:
            return None
        n_rows = self.table.n_rows
        numbers = [
            distinct_rows(n_rows, (forest.cells[:, column].astype(np.intp) for forest in forests))[
                0
            ]
            for column in range(self.table.n_columns)
        ]
        return np.stack(numbers, axis=1)

    @property
    def gives_attributions(self) -> bool:
        """Whether attributions come from the paths of trees, whatever the number of columns."""
        if not self.decision.parts:
            return False
        model = self.decision.parts[0].model
        return is_sum(model.link) and self.table.n_rows**2 * model.n_leaves <= MOST_PAIRS

    def answering(
        self, request: Request, n_jobs: int | None = None, block: int = BLOCK
    ) -> Answering:
        """Who answers a request: the parts, unless it costs less to ask the model for its matrices.

        Parameters
        ----------
        request : Request
        n_jobs : int, optional
            Threads of walks through trees.
        block : int
            Bytes of what is made on the way.
        """
        parts, reason, audited = self.decision
        trees = self._trees
        matrices = (*request.matrices.values(), *request.summed.values())
        needs_paths = any(not of_key.terms for of_key in request.needs.attributions.values())
        if not needs_paths and request.combines_values:
            parts = ()
            reason = "it is asked about values that no row has together"
            audited = Audit()
        elif not needs_paths and trees:
            # The model answers for all outputs, and each of them has trees of its own. In visits of a leaf by a row:
            model = trees[0].model
            cost_of_value = LEAVES_PER_STEP * sum(forest.n_steps for forest in model.forests)
            cost_of_matrix = float(model.n_leaves)
            if can_compile():
                cost_of_matrix = min(cost_of_matrix, VALUES_PER_WALK * cost_of_value)
            n_values = sum(len(values) for values in matrices)
            if len(trees) * len(matrices) * cost_of_matrix > n_values * cost_of_value:
                parts = ()
                reason = "the model's own predict is cheaper"
                audited = Audit(rows=audited.rows)
        path = "model"
        if parts and trees:
            # By counts alone, so that repeats are equal.
            n_visits = len(matrices) * self.table.n_rows * trees[0].model.n_leaves
            fast = n_visits >= WORTH_COMPILING and can_compile()
            path = "trees (numba)" if fast else "trees (numpy)"
            parts = tuple(replace(part, fast=fast, n_jobs=n_jobs, block=block) for part in trees)
        elif parts:
            path = "additive terms"
            parts = tuple(replace(part, block=block) for part in parts)
        note = {
            "path": path,
            "reason": reason,
            "audited_rows": audited.rows,
            "largest_difference": audited.difference,
        }
        return Answering(parts, note)
