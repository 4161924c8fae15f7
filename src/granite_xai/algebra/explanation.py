"""Explanation: the values ``phi`` of one or two explanations, region by region, with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from granite_xai.algebra.effects import Effect, Term
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.document import Document, Paragraph, Printable, Table as TableBlock
from granite_xai.base.errors import InputError
from granite_xai.base.numbers import amount, count
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.tables import Table, frame

ROUNDING = 1e-12  # share of the largest size below which one is rounding
SIGN_VECTORS = 50  # under which an effect is computed again, for its standard error
STEP = 0.1  # how far they move the weights of the rows
SIGNS_STREAM = 11  # of random numbers


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One explanation in one region.

    Parameters
    ----------
    region, name : int, str
        Number of the region, and name of the explanation.
    rows : array of shape (n,), optional
        Positions of the explained rows; None: there is one value for the region.
    values : array of shape (n, sets) or (sets,)
    errors : array in the shape of the values
        Standard errors, of their sampling and over the rows; 0 where these are not asked for.
    base : array of shape (n,) or (1,)
        The value of the empty coalition, from which effects are counted.
    sets : tuple of tuples of str
        The sets, which differ between questions (``coe`` has one, all columns).
    size_errors : array of shape (sets,), optional
        Standard errors of the mean sizes of local values; None: not known.
    estimated : bool
        Whether values are means over drawn orders of arrival.
    """

    region: int
    name: str
    rows: IntArray | None
    values: FloatArray
    errors: FloatArray
    base: FloatArray
    sets: tuple[tuple[str, ...], ...] = ()
    size_errors: FloatArray | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation(Printable):
    """Values of one or more explanations, for each region, set and (where local) row.

    Attributes
    ----------
    sets : tuple of tuples of str
        The compared sets of the first question: columns, or one group.
    parts : tuple of Part
        One entry for each region and explanation.
    n_explained : int, optional
        Rows of the table that are explained; None: all.

    Examples
    --------
    >>> import numpy as np
    >>> from granite_xai import Explainer
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    >>> explanation = Explainer(interaction="pure").explain(lambda X: X[:, 0] + 2 * X[:, 1], X)
    >>> explanation.sets
    (('x0',), ('x1',))
    >>> explanation.values[:, 1]
    array([ 1., -1.,  1., -1.])
    """

    sets: tuple[tuple[str, ...], ...]
    parts: tuple[Part, ...]
    table: Table = field(repr=False)
    n_explained: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the explanations, in order."""
        return tuple(dict.fromkeys(part.name for part in self.parts))

    @property
    def values(self) -> FloatArray:
        """Values of the first explanation: rows × sets (in the order of the rows), or one a set."""
        return self.of(self.names[0])

    def of(self, name: str) -> FloatArray:
        """Values of one explanation: rows × sets, or regions × sets (just sets for one region)."""
        chosen = self._parts(name)
        if not chosen:
            raise InputError(
                f"there is no explanation {name!r} here; there is {', '.join(self.names)}",
                code="P01",
                argument="name",
            )
        if chosen[0].rows is not None:
            values: FloatArray = _by_row(chosen, "values")
            return values
        if len(chosen) == 1:
            return chosen[0].values
        return np.stack([part.values for part in chosen])

    def _parts(self, name: str | None) -> list[Part]:
        if name is None:
            name = self.names[0]
        return [part for part in self.parts if part.name == name]

    def _document(self) -> Document:
        """The typical size of each effect (for local ones the mean over the rows), the explanations side by side."""
        # Sizes of each explanation, by region and set.
        sizes_of_line: dict[tuple[int, str], dict[str, float]] = {}
        largest = 0.0
        for part in self.parts:
            sizes = part.values if part.rows is None else np.abs(part.values).mean(axis=0)
            largest = max(largest, float(np.max(np.abs(sizes), initial=0.0)))
            for labels, size in zip(part.sets or self.sets, sizes.tolist(), strict=True):
                line = (part.region, ":".join(labels))
                sizes_of_line.setdefault(line, {})[part.name] = size
        lines: list[tuple[object, ...]] = []
        for (region, labels_text), by_name in sizes_of_line.items():
            texts = []
            for name in self.names:
                size = by_name.get(name, np.nan)
                is_rounding = abs(size) < ROUNDING * largest
                texts.append("" if name not in by_name else amount(0.0 if is_rounding else size))
            lines.append((region, labels_text, *texts))
        table = TableBlock(("region", "feature", *self.names), lines, left=(1,))
        return Document([Paragraph(repr(self)[1:-1]), table])

    def __repr__(self) -> str:
        names = " and ".join(self.names)
        has_single_features = all(len(labels) == 1 for labels in self.sets)
        sets = count(len(self.sets), "feature" if has_single_features else "set")
        regions = count(len({part.region for part in self.parts}), "region")
        rows = count(self.table.n_rows, "row")
        if self.n_explained is not None and self.n_explained < self.table.n_rows:
            rows = f"{self.n_explained:,} of {rows}"
        return f"<Explanation: {names} of {sets}, {regions}, {rows}>"

    def frame(self) -> Any:
        """A tidy table in the library of X: region, set, explanation, row, value, standard_error."""
        columns: dict[str, list[Any]] = {
            "region": [],
            "set": [],
            "explanation": [],
            "row": [],
            "value": [],
            "standard_error": [],
        }
        for part in self.parts:
            rows = [None] if part.rows is None else part.rows.tolist()
            values_by_set = np.atleast_2d(part.values).T.tolist()
            errors_by_set = np.atleast_2d(part.errors).T.tolist()
            sets = part.sets or self.sets
            for labels, values, errors in zip(sets, values_by_set, errors_by_set, strict=True):
                columns["region"] += [part.region] * len(rows)
                columns["set"] += [":".join(labels)] * len(rows)
                columns["explanation"] += [part.name] * len(rows)
                columns["row"] += rows
                columns["value"] += values
                columns["standard_error"] += errors
        return frame(columns, like=self.table)

    def to_shap(self, name: str | None = None) -> Any:
        """A ``shap.Explanation`` of one local explanation (by its name; None: the first), for shap's own plots."""
        shap = _package("shap")
        chosen = self._parts(name)
        if not chosen or chosen[0].rows is None:
            raise InputError(
                f"to_shap needs one value a row; {name or self.names[0]!r} has one value a region.",
                code="P03",
                hint="Use frame() for sensitivity and risk.",
            )
        sets = chosen[0].sets or self.sets
        if any(len(labels) != 1 for labels in sets):
            raise InputError(
                "to_shap needs effects of features or groups; these are interactions.",
                code="P03",
                hint="Use to_shapiq for interactions.",
            )
        names = [label for (label,) in sets]
        # Cells are shown where every set is a numeric column, and rows were not left out of a file.
        cells = None
        numeric = {column.name: column for column in self.table.columns if column.kind == "numeric"}
        if self.table.n_rows and numeric.keys() >= set(names):
            rows = _by_row(chosen, "rows")
            cells = np.column_stack([numeric[name].values[rows] for name in names])
        return shap.Explanation(
            values=_by_row(chosen, "values"),
            base_values=_by_row(chosen, "base"),
            data=cells,
            feature_names=names,
        )

    def to_shapiq(self, row: int | None = None, name: str | None = None) -> Any:
        """A ``shapiq.InteractionValues`` of one explanation (None: the first), for shapiq's own plots.

        `row` is the position of the explained row; for sensitivity and risk the region. None: the first.
        """
        shapiq = _package("shapiq")
        chosen = self._parts(name)
        values, base = _values_of_row_or_region(chosen, row)
        sets = chosen[0].sets or self.sets
        players = list(dict.fromkeys(chain.from_iterable(sets)))
        lookup: dict[tuple[int, ...], int] = {(): len(values)}  # the base stands behind the values
        for place, labels in enumerate(sets):
            lookup[tuple(players.index(label) for label in labels)] = place
        order = max(len(labels) for labels in sets)
        return shapiq.InteractionValues(
            values=np.append(values, base),
            interaction_lookup=lookup,
            index="SV" if order == 1 else "STII",
            baseline_value=base,
            estimated=any(part.estimated for part in chosen),
            min_order=0,
            max_order=order,
            n_players=len(players),
        )


def _by_row(parts: Sequence[Part], what: str) -> Any:
    """What the parts of a local explanation hold for their rows, in the order of the rows."""
    rows = np.concatenate([part.rows for part in parts if part.rows is not None])
    held = np.concatenate([getattr(part, what) for part in parts])
    return held[np.argsort(rows, kind="stable")]


def _values_of_row_or_region(parts: Sequence[Part], number: int | None) -> tuple[FloatArray, float]:
    """Values, (sets,), and base of one row, or of one region where an explanation has no values of rows.

    None: of the first.
    """
    for part in parts:
        if part.rows is None:
            if number is None or number == part.region:
                return part.values, float(part.base[0])
            continue
        places = np.arange(len(part.rows))
        if number is not None:
            places = np.flatnonzero(part.rows == number)
        if len(places):
            return part.values[places[0]], float(part.base[places[0]])
    raise InputError(
        f"row={number} is not among the explained rows or regions.", code="P04", argument="row"
    )


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        hint = f"pip install 'granite-xai[shap]' installs {name}."
        raise InputError(f"this needs the package {name}.", code="P08", hint=hint) from error


# Values and standard errors of a region ------------------------------------------------------------


def regional_part(
    effect: Effect,
    evaluations: Evaluations,
    rows: IntArray,
    *,
    region: int = 0,
    name: str = "first",
    signs: FloatArray | None = None,
) -> Part:
    """The values of an explanation on the rows of a region, with the same rows as reference.

    Parameters
    ----------
    effect : Effect
    evaluations : Evaluations
        Of the n rows of the region.
    rows : array of shape (n,)
        Positions of these rows.
    region, name : int, str
        Number of the region, and name of the explanation.
    signs : array of shape (n, vectors), optional
        Random ones (`random_signs`). With them, errors tell how values vary with the sample, too.
    """
    is_local = effect.behavior.per_row
    whole = RegionWeights.whole(evaluations.weights)
    base = Term(effect.masking, effect.behavior, Coalition()).value(evaluations, whole)[:, 0]
    if effect.behavior.is_linear:
        base = base + evaluations.offset
    values = np.concatenate(list(effect.values(evaluations, whole)), axis=1)  # (n or 1, sets)
    errors = effect.errors_of_draws(evaluations)
    size_errors = None
    if signs is not None:
        sampling_errors, size_errors = _sampling_errors(effect, evaluations, signs)
        errors = np.hypot(errors, sampling_errors)
    return Part(
        region=region,
        name=name,
        rows=rows if is_local else None,
        values=values if is_local else values[0],
        errors=errors if is_local else errors[0],
        base=base,
        sets=effect.layout.labels,
        size_errors=size_errors,
        estimated=effect.is_sampled,
    )


def random_signs(clusters: IntArray, seed: int) -> FloatArray:
    """Vectors of random signs, one sign for each cluster of rows, (n, SIGN_VECTORS)."""
    n_clusters = int(clusters.max(initial=-1)) + 1
    generator = np.random.default_rng([seed, SIGNS_STREAM])
    signs = 2.0 * generator.integers(0, 2, size=(SIGN_VECTORS, n_clusters)) - 1.0
    return np.asarray(signs[:, clusters].T)


def _sampling_errors(
    effect: Effect, evaluations: Evaluations, signs: FloatArray
) -> tuple[FloatArray, FloatArray | None]:
    """Standard errors of the values of an effect over the sample, and (where they are local) of their mean sizes.

    The effect f is computed again under weights that random signs s move. Its slope along s,
    ``(f(w (1 + a s)) - f(w (1 - a s))) / (2 a)``, is what it gains when the sample moves by s, to first
    order; the root mean square of slopes is its standard error (docs/method.rst, "Sampling bias").

    Returns
    -------
    errors : array of shape (n or 1, sets)
    size_errors : array of shape (sets,) or None
        None where there is one value for the region.
    """
    weights = evaluations.weights[:, None]
    lines = RegionWeights(np.hstack([weights * (1 + STEP * signs), weights * (1 - STEP * signs)]))
    n_rows = np.full(1, len(evaluations))
    errors, size_errors = [], []
    sizes_of_cells = effect.cell_sizes(evaluations)
    for values, cells in zip(effect.values(evaluations, lines), sizes_of_cells, strict=True):
        if effect.behavior.per_row:
            errors.append(_standard_errors(values, cells))
            size_errors.append(_standard_errors(lines.means(np.abs(values)), n_rows))
        else:
            errors.append(_standard_errors(values, n_rows))
    sizes = np.concatenate(size_errors) if size_errors else None
    return np.stack(errors, axis=-1), sizes


def _standard_errors(figures: FloatArray, cell_sizes: IntArray) -> FloatArray:
    """Standard errors of figures (m,) from them under moved weights (m, 2 vectors).

    A figure that averages over c rows varies less under moved weights than under new rows: its slope is
    multiplied by ``sqrt(c / (c - 1))``, as a variance with divisor c - 1 is. A figure of one row does not
    move: its standard error is the root of the mean of c d² over the other figures.
    """
    with_signs, against_signs = np.hsplit(figures, 2)
    small_cell = np.sqrt(cell_sizes / np.maximum(cell_sizes - 1, 1))
    slopes = (with_signs - against_signs) * small_cell[:, None] / (2 * STEP)
    mean_squares = np.mean(np.square(slopes), axis=1)
    of_one_row = cell_sizes == 1
    if of_one_row.any() and not of_one_row.all():
        others = cell_sizes[~of_one_row] * mean_squares[~of_one_row]
        mean_squares[of_one_row] = np.mean(others)
    return np.asarray(np.sqrt(mean_squares))
