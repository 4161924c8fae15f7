"""Which way the evaluations of a table take: the model itself, or its trees."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations, islice, product
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from granite_xai.base.diagnostics import Diagnostics, warn
from granite_xai.base.errors import GraniteError, ModelWarning
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.compute.compiled import available
from granite_xai.compute.primitives import ArrayNamespace
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.model_matrix import evaluate_matrix
from granite_xai.evaluations.request import MatrixRequest
from granite_xai.evaluations.resident import Resident, find_resident
from granite_xai.models import Predictor
from granite_xai.tables import Table, read_table, recombine
from granite_xai.tables.table import distinct_rows
from granite_xai.trees.ensembles import (
    AdditiveModel,
    Ensemble,
    TermsOnTable,
    TreesOnTable,
    read_ensemble,
)
from granite_xai.trees.forest import RefusalError

OwnParts = Ensemble | AdditiveModel  # what a model is a sum of
OnTable = TreesOnTable | TermsOnTable  # and that on a table
HYBRIDS = (64, 512)  # random recombined rows: a quarter of the table's rows, within these limits
NEIGHBORS = 64  # rows with a value on a threshold or next to it, at most
EXTREMES = 64  # columns whose smallest and largest value are tried, and pairs of columns whose corners are, at most
MIXED = 16  # groups of columns that are recombined independently of each other


class Audit(NamedTuple):
    """How far the trees are from the model: on how many rows, the largest difference, what rounding explains."""

    rows: int = 0
    difference: float = 0.0
    tolerance: float = 0.0


def audit(predictor: Predictor, table: Table, ensemble: OwnParts, seed: int = 0) -> Audit:
    """Compare trees and model, in one call, on recombined rows: missing values, neighbours of thresholds, extremes."""
    generator = np.random.default_rng(seed)
    rows = audit_rows(table, ensemble, generator)
    found, expected = (
        ensemble.on(read_table(rows, kinds=table.kinds, missing="allow")).predictions(),
        predictor(rows),
    )
    # Rounding of a sum of T leaves in any order grows like the root of T; a link stretches it by its slope.
    reach = ensemble.reach
    scale = reach if ensemble.is_sum else (1.0 + reach) * max(1.0, float(np.max(np.abs(expected))))
    precision = 2.0**-23 if predictor.native_float32 else 2.0**-52
    tolerance = precision * float(8 * np.sqrt(ensemble.n_sums + 1) * scale)
    return Audit(len(expected), float(np.max(np.abs(found - expected))), tolerance)


def audit_rows(table: Table, ensemble: OwnParts, generator: np.random.Generator) -> Any:
    """The rows of an audit, in the user's own container."""
    hybrids = int(np.clip(table.n_rows // 4, *HYBRIDS))
    # Levels by column: the first and the last of every column, and all four corners of pairs of columns.
    columns = [
        int(j) for j in generator.permutation(table.n_columns) if len(table.columns[j].levels) > 1
    ]
    ends = {j: (0, len(table.columns[j].levels) - 1) for j in columns}
    corners = [{j: level} for j in columns[:EXTREMES] for level in ends[j]]
    pairs = islice(combinations(columns, 2), EXTREMES)
    corners += [{i: one, j: two} for i, j in pairs for one, two in product(ends[i], ends[j])]
    count = hybrids + NEIGHBORS + len(corners)
    base, donors = (generator.integers(table.n_rows, size=count) for _ in range(2))
    own, mixed = np.arange(count), table.take(base)
    for group in np.array_split(
        generator.permutation(table.n_columns), min(MIXED, table.n_columns)
    ):
        source = np.where(generator.random(count) < 0.5, donors, base)
        missing = np.flatnonzero(np.any([table.columns[j].missing for j in group], axis=0))
        if len(missing):  # every fourth row at least
            source[::4] = generator.choice(missing, size=len(source[::4]))
        mixed = read_table(
            recombine(mixed, own, table, source, group.tolist()), kinds=table.kinds, missing="allow"
        )
    native = mixed.native
    for row, (column, value) in zip(
        own[hybrids:][:NEIGHBORS], _neighbors(table, ensemble, generator), strict=False
    ):
        _put(native, int(row), column, value)
    for row, corner in enumerate(corners, start=hybrids + NEIGHBORS):
        for column, level in corner.items():
            donor = int(np.flatnonzero(table.columns[column].codes == level)[0])
            _put(native, row, column, donor, table.native)
    return native


def _neighbors(
    table: Table, ensemble: OwnParts, generator: np.random.Generator
) -> list[tuple[int, float]]:
    """Columns and values: a threshold, and the numbers next to it in double and in single precision."""
    found: list[tuple[int, float]] = []
    limits = list(ensemble.limits())
    for place in generator.permutation(len(limits))[: NEIGHBORS // 5 + 1]:
        column, limit = limits[place]
        single, values = (
            np.float32(limit),
            [limit, *(np.nextafter(limit, end) for end in (-np.inf, np.inf))],
        )
        values += [np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf)]
        found += [(column, float(value)) for value in values]
    numbers = {
        column.position
        for column in table.columns
        if column.kind == "numeric" and not column.integer
    }
    return [(column, value) for column, value in found if column in numbers and np.isfinite(value)]


def _put(native: Any, row: int, column: int, value: float, own: Any = None) -> None:
    """Write one number, or the value of a row of the table's own, where the container and its dtype take it."""
    if isinstance(native, np.ndarray):
        if own is not None or native.dtype.kind == "f":
            native[row, column] = value if own is None else own[value, column]
    elif hasattr(native, "iat") and (own is not None or native.dtypes.iloc[column].kind == "f"):
        native.iat[row, column] = value if own is None else own.iat[value, column]


WORTH_COMPILING = (
    2 * 10**7
)  # leaves times rows times matrices from which the compiled walk is worth loading (0.1 s)
WALKED = 1.7  # steps of the model's own predict that take as long as a leaf of the compiled walk (deep forests)
MOST_PAIRS = 2 * 10**10  # leaves times pairs of rows for attributions, at most
_ENSEMBLES: WeakKeyDictionary[Predictor, OwnParts | tuple[str, str | None]] = (
    WeakKeyDictionary()
)  # of models in use


class Route:
    """How a table is evaluated: by the model's trees where they answer as it does (M23 to M30), otherwise by itself."""

    def __init__(
        self, predictor: Predictor, table: Table, record: Diagnostics | None = None, seed: int = 0
    ) -> None:
        self.predictor, self.table, self._seed = (
            predictor,
            table,
            seed,
        )  # which draws the rows of the audit
        self._record, self._tell = record, warn if record is None else record.warn
        self._resident: Resident | None = None
        self._looked = False

    @cached_property
    def others(self) -> tuple[Route, ...]:
        """The routes of further outputs."""
        return tuple(
            Route(other, self.table, self._record, self._seed) for other in self.predictor.others
        )

    @cached_property
    def _way(self) -> tuple[OnTable | str, Audit]:
        """The trees, or why it is not they, and how they were compared with the model; found when first asked for."""
        for other in self.others:
            if other.reason is not None:  # all of them, or the model, which answers for all at once
                return other.reason, Audit()
        try:
            ensemble = _ensemble(self.predictor)
            found, trees = (
                audit(self.predictor, self.table, ensemble, self._seed),
                ensemble.on(self.table),
            )
        except RefusalError as refusal:
            code, reason, found, aside = refusal.code, refusal.reason, Audit(), ""
        except GraniteError:  # the model itself failed on the rows of the audit
            raise
        except Exception as error:  # whatever a library does in another way than we know
            code, found, aside = "M30", Audit(), ""
            reason = f"its trees cannot be read here ({type(error).__name__}: {str(error)[:200]})"
        else:
            if found.difference <= found.tolerance:
                return trees, found
            code, aside = "M23", f" (rounding: {found.tolerance:.1g})"
            far = f"by up to {found.difference:.3g} on {found.rows} recombined rows"
            reason = f"the trees differ from the model's answers {far}"
        if code == "M30":  # a model that is not fitted, or fails, says so itself
            self.predictor.on_rows(self.table.take(np.arange(1)))
        if code is not None:
            self._tell(
                f"{code}: {reason}{aside}: every evaluation is a call of the model.", ModelWarning
            )
        return reason, found

    @property
    def trees(self) -> OnTable | None:
        """The trees on this table; None: by the model."""
        return None if isinstance(self._way[0], str) else self._way[0]

    @property
    def cells(self) -> IntArray | None:
        """Where the trees answer, the cell of each row in each column (n, d): they tell no values of one cell apart."""
        own = [
            each.trees.cell_numbers
            for each in (self, *self.others)
            if isinstance(each.trees, TreesOnTable)
        ]
        if len(own) < 2:
            return own[0] if own else None
        columns = range(self.table.n_columns)
        return np.stack(
            [distinct_rows(self.table.n_rows, (each[:, j] for each in own))[0] for j in columns],
            axis=1,
        )

    @property
    def reason(self) -> str | None:
        """Why it is not the trees."""
        return self._way[0] if isinstance(self._way[0], str) else None

    @property
    def attributes(self) -> bool:
        """Whether pairwise attributions come from the trees, whatever the number of columns."""
        if self.trees is None or not self.trees.ensemble.is_sum:
            return False
        return self.table.n_rows**2 * self.trees.ensemble.n_leaves <= MOST_PAIRS

    def for_plans(self, *plans: MatrixRequest) -> Route:
        """The same route, unless the model's own ``predict`` is cheaper for these plans."""
        if not isinstance(self.trees, TreesOnTable):
            return self
        ensemble, count = self.trees.ensemble, sum(len(plan.stores) for plan in plans)
        values = sum(len(distinct) for plan in plans for distinct in plan.stores.values())
        steps = sum(forest.n_trees * len(forest.levels) for forest in ensemble.forests)
        outputs = 1 + len(self.others)  # each has trees of its own, the model answers for all
        if outputs * ensemble.n_leaves * count <= values * steps * (WALKED if available() else 1.0):
            return self
        return self.by_model("the model's own predict is cheaper", self._way[1].rows)

    def by_model(self, reason: str | None, audited: int = 0) -> Route:
        """The same table, where every evaluation is a call of the model."""
        found = Route(self.predictor, self.table)
        found.__dict__["_way"] = reason, Audit(audited)
        return found

    def fast(self, count: int) -> bool:
        """Whether so many matrices are worth the compiled walk; by counts alone, so that repeats are equal."""
        if self.trees is None or not available() or isinstance(self.trees, TermsOnTable):
            return False
        return count * self.table.n_rows * self.trees.ensemble.n_leaves >= WORTH_COMPILING

    def name(self, count: int) -> str:
        """The words for ``diagnostics_``."""
        if self.trees is None:
            return "model" if self._resident is None else "model (device)"
        if isinstance(self.trees, TermsOnTable):
            return "additive terms"
        return "trees (numba)" if self.fast(count) else "trees (numpy)"

    def note(self, count: int) -> dict[str, Any]:
        """What ``diagnostics_`` says about the evaluations."""
        rows, gap, _ = self._way[1]
        return {
            "path": self.name(count),
            "reason": self.reason,
            "audited_rows": rows,
            "largest_difference": gap,
        }

    def resident(self, primitives: ArrayNamespace | None) -> Resident | None:
        """The model on a device; found once."""
        if primitives is not None and self._resident is None and not self._looked:
            self._resident, self._looked = (
                find_resident(self.predictor, self.table, primitives),
                True,
            )
        return self._resident

    def predictions(self, fast: bool, block: int) -> FloatArray:
        """F of the table's rows; the model is asked as well, as a further check of its answers."""
        answers = self.predictor.on_rows(self.table)
        return answers if self.trees is None else self.trees.predictions(fast=fast, block=block)

    def matrix(
        self, columns: Coalition, distinct: DistinctValues, block: int, **how: Any
    ) -> FloatArray:
        """``E_S[u, n] = F(value u on S, row n elsewhere)``, shape (U, n); trees are told ``fast`` and ``n_jobs``."""
        if self.trees is None:
            return evaluate_matrix(self.predictor, self.table, columns, distinct, block)
        return self.trees.matrix_of(columns, distinct.representatives, block=block, **how)


class Routed:
    """What has a route: its rows and its model."""

    __slots__ = ()
    route: Route

    @property
    def table(self) -> Table:
        """The rows, explained and reference alike."""
        return self.route.table

    @property
    def predictor(self) -> Predictor:
        """The model."""
        return self.route.predictor


def _ensemble(predictor: Predictor) -> OwnParts:
    """The ensemble behind a predictor, read once; a refusal is remembered as well."""
    known = _ENSEMBLES.get(predictor)
    if known is None:
        try:
            known = read_ensemble(predictor)
        except RefusalError as refusal:
            known = (
                refusal.reason,
                refusal.code,
            )  # an error that is kept keeps every array of its callers
        _ENSEMBLES[predictor] = known
    if isinstance(known, tuple):
        raise RefusalError(*known)
    return known
