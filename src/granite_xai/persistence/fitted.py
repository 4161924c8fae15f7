"""A fitted Granite in the types of JSON, without its model and, unless wanted, without its rows.

A model is recognised by what it answers on a few rows, which need not be rows of the data.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import numpy as np

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import FormatError, GraniteError, InputError, ModelError, ModelWarning
from granite_xai.base.files import Structure, broken, entry
from granite_xai.base.typing import FloatArray
from granite_xai.compute import Resources
from granite_xai.disagreement import Disagreement, Objective, ResolvedQuestion
from granite_xai.estimator import Granite, fitted_view, restore
from granite_xai.fit import FitResult
from granite_xai.fit_options import chosen_influence
from granite_xai.interaction import Partial
from granite_xai.models import Predictor, Usage, as_predictor
from granite_xai.persistence.forms import structure
from granite_xai.resolved import MAX_PAIRS
from granite_xai.tables import Column, Outline, Table, read_alike, recombine, rows_to_dict

_KNOWN = ("table", "predictor", "comparisons", "fingerprint")
MAX_TERMS = 2**24
"""Terms that questions may have together: resolving them again costs about a microsecond each."""
COUNT = 8
TOLERANCE = 1e-5
"""Largest difference of predictions, in shares of their size: machines round differently, models differ by more."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the rows and the model decided when a question was resolved; the rest follows from the columns.

    That is whether attributions come from the paths of a tree ensemble, and how many pairs of orders of arrival are
    drawn for the partial effects of each side (0: exact).
    """

    by_paths: bool
    pairs: tuple[int, int]

    def __post_init__(self) -> None:
        if not all(count == 0 or 1 < count <= MAX_PAIRS for count in self.pairs):
            raise ValueError(f"{self.pairs} are no numbers of pairs")


def granite_to_dict(granite: Granite, include_data: bool) -> dict[str, Any]:
    """Write a fitted Granite; the model is left out."""
    view = fitted_view(granite)
    found = view.result
    form = structure(found.table, by_row=include_data)
    parameters = {name: value for name, value in granite.get_params(deep=False).items() if name != "model"}
    kept = replace(found, reference=_without_rows(found.reference, found.table))
    sides = [(question.first, question.second) for question in found.comparisons]
    resolutions = [Resolution(a.by_paths or b.by_paths, (len(a.draws), len(b.draws))) for a, b in sides]
    fingerprint = found.fingerprint  # of a loaded object that has no rows, or no model, to ask again
    if has_rows(found.table) and not isinstance(found.predictor, Detached):
        fingerprint = Fingerprint.of(found.predictor, found.table, include_data)
    return {
        "parameters": {name: form.write(value, Any, name) for name, value in parameters.items()},
        "model": form.write(fingerprint, Fingerprint, "model"),
        "questions": form.write(resolutions, list[Resolution], "questions"),
        "diagnostics": form.write(view.diagnostics, dict[str, Any], "diagnostics_"),
        "fitted": form.write(kept, FitResult, "fitted", _KNOWN),
    }


def granite_from_dict(data: dict[str, Any], model: Any, table: Table, place: str) -> Granite:
    """Read what `granite_to_dict` wrote, and check the model if one is given."""
    form = structure(table, by_row=has_rows(table))
    parameters = form.read(entry(data, "parameters", dict, place), dict[str, Any], f"{place}.parameters")
    parameters.setdefault("confidence_level", None)  # files of the first edition know nothing of chance
    unknown = sorted(set(parameters) - (set(inspect.signature(Granite).parameters) - {"model"}))
    if unknown:
        raise broken(f"{place}.parameters", f"has {unknown[0][:60]!r}, which is not known")
    granite = Granite(model, **parameters)
    if not isinstance(granite.resources, Resources | None):
        raise broken(f"{place}.parameters.resources", "is not a set of limits")
    fingerprint = form.read(entry(data, "model", dict, place), Fingerprint, f"{place}.model")
    findings = form.read(entry(data, "diagnostics", dict, place), dict[str, Any], f"{place}.diagnostics")
    predictor = cast(Predictor, Detached(fingerprint))
    route = partial(SimpleNamespace, table=table, predictor=predictor)  # what the fit decided on its way is known
    questions = _questions(granite, data, route, findings, form, place)
    if model is not None:
        batch_size = None if granite.resources is None else granite.resources.batch_size
        predictor = as_predictor(model, output=granite.output, response=granite.response, batch_size=batch_size)
        fingerprint.check(predictor)
    known = dict(zip(_KNOWN, (table, predictor, questions, fingerprint), strict=True))
    found: FitResult = form.read(entry(data, "fitted", dict, place), FitResult, f"{place}.fitted", **known)
    _check(found, f"{place}.fitted")
    restore(granite, found, findings)
    return granite


def _without_rows(learned: Any, table: Table) -> Any:
    """What was learned, without other columns of rows of the data: beside a column only that column is read."""
    if isinstance(learned, dict):
        return {key: _without_rows(value, table) for key, value in learned.items()}
    if not is_dataclass(learned) or isinstance(learned, Table | Column | type) or not has_rows(table):
        return learned
    parts = {field.name: getattr(learned, field.name) for field in fields(learned)}
    column = next((part for part in parts.values() if isinstance(part, Column)), None)
    if column is None:
        return replace(learned, **{name: _without_rows(part, table) for name, part in parts.items()})
    rows = {name: part for name, part in parts.items() if isinstance(part, Table)}
    return replace(learned, **{name: without_rows(part, column.position, table) for name, part in rows.items()})


def _questions(
    granite: Granite, data: object, route: partial[Any], findings: dict[str, Any], form: Structure, place: str
) -> tuple[ResolvedQuestion, ...]:
    """The questions of the parameters, resolved as they were."""
    resolutions = form.read(entry(data, "questions", list, place), list[Resolution], f"{place}.questions")
    limits = Resources() if granite.resources is None else granite.resources
    seed = entry(findings, "seed", int, f"{place}.diagnostics")
    try:
        influence = chosen_influence(granite.influence, granite.groups, granite.features)
        objective = granite.question if isinstance(granite.question, Objective) else Objective(granite.question)
        questions = [question for question, _ in objective.weighted(influence)]
        if len(questions) != len(resolutions) or not 0 <= seed < 2**32:
            raise broken(f"{place}.questions", f"has {len(resolutions)} entries for {len(questions)} questions")
        _require_affordable(questions, resolutions, route.keywords["table"], place)
        found = (
            question.compare(route(attributes=known.by_paths), limits, seed, known.pairs)
            for question, known in zip(questions, resolutions, strict=True)
        )
        return tuple(each if granite.confidence_level is None else each.beyond_chance() for each in found)
    except FormatError:
        raise
    except (GraniteError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise broken(f"{place}.parameters.question", f"cannot be resolved: {str(error)[:200]}") from error


def _require_affordable(
    questions: Sequence[Disagreement], resolutions: Sequence[Resolution], table: Table, place: str
) -> None:
    """Refuse questions with an absurd number of terms (F05): a file names them in a few bytes."""
    total = 0
    for question, known in zip(questions, resolutions, strict=True):
        for side, pairs in zip((question.first, question.second), known.pairs, strict=True):
            order = min(getattr(side.influence, "order", 1), table.n_columns)
            total += math.comb(table.n_columns, order)
            if total <= MAX_TERMS and isinstance(side.interaction, Partial) and not known.by_paths:
                layout = side.influence.layout(table)
                coalitions = 2 * pairs if pairs else 2 ** min(len(layout.players), 64)
                total += len(layout.sets) * 2**order * coalitions
    if total > MAX_TERMS:
        raise FormatError(f"{place}.questions have more than {MAX_TERMS:,} terms.", code="F05", argument="data")


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """What the model answered on a few rows (None: the file could hold none), and which output was explained."""

    label: str
    probability: bool
    classes: tuple[Any, ...] | None
    explained: Any
    rows: Table | None
    predictions: FloatArray

    def __post_init__(self) -> None:
        count = 0 if self.rows is None else self.rows.n_rows
        if self.predictions.shape != (count,) or not np.all(np.isfinite(self.predictions)):
            raise ValueError(f"its predictions are not {count} numbers")

    @classmethod
    def of(cls, predictor: Predictor, table: Table, with_data: bool) -> Fingerprint:
        """Ask the model about rows of the data if the file may hold them, otherwise about rows made of levels."""
        rows: Table | None = table.take(np.arange(min(COUNT, table.n_rows))) if with_data else synthetic_rows(table)
        predictions = np.empty(0)
        try:
            if rows is not None:
                rows_to_dict(rows)
                predictions = predictor.on_rows(rows)
        except (InputError, ModelError):  # a dtype that no file holds, or a row that the model refuses
            rows = None
        explained = predictor.explained_class
        return cls(predictor.label, predictor.is_probability, predictor.classes, explained, rows, predictions)

    def check(self, predictor: Predictor) -> None:
        """Refuse a model that answers differently (F09)."""
        if (predictor.is_probability, predictor.explained_class) != (self.probability, self.explained):
            raise _another_model(f"{predictor.label} is explained, not {self.label}")
        if self.rows is None:
            warn("F09: the file holds no predictions, so whether this is the same model is not known.", ModelWarning)
            return
        gaps = np.abs(predictor.on_rows(self.rows) - self.predictions)
        size = float(np.max(np.abs(self.predictions)))
        wrong = int(np.count_nonzero(gaps > TOLERANCE * size))
        if wrong:
            raise _another_model(f"{wrong} of {len(gaps)} predictions differ, by up to {gaps.max():.3g}")


class Detached:
    """Stands where the model was: it knows what was explained, and any question to it is an F09 error."""

    native_float32 = False
    usage = Usage()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # copy and pickle ask for names that need not be there
            raise AttributeError(name)
        self()

    def __init__(self, fingerprint: Fingerprint) -> None:
        self.label, self.classes = fingerprint.label, fingerprint.classes
        self.is_probability, self.explained_class = fingerprint.probability, fingerprint.explained

    def __call__(self, *_: Any) -> NoReturn:
        """Refused: there is no model."""
        message = "this object was loaded without its model, which has to be asked here."
        raise InputError(message, code="F09", argument="model", hint="Load with gx.load(path, model=model).")


def has_rows(table: Table) -> bool:
    """Tell whether a table still has its rows."""
    return not isinstance(table.container, Outline)


def _another_model(why: str) -> ModelError:
    hint = "Load with the model that the object was fitted with, or fit again."
    return ModelError(f"this is not the model that was saved with: {why}.", code="F09", argument="model", hint=hint)


def synthetic_rows(table: Table) -> Table:
    """Combine levels that are spread over each column, every column in another order."""
    rows = np.arange(COUNT)
    made = table.take(np.zeros(COUNT, dtype=np.intp))
    for column in table.columns:
        j, count = column.position, len(column.levels)
        codes = (2 * ((rows * (2 * j + 1) + j) % COUNT) + 1) * count // (2 * COUNT)
        carriers = [int(np.argmax(column.codes == code)) for code in codes]  # the first rows with these levels
        made = read_alike(recombine(made, rows, table, carriers, [j]), table)
    return made


def without_rows(part: Table, position: int, like: Table) -> Table:
    """Keep one column of some rows and put synthetic cells into the others."""
    base = synthetic_rows(like)
    first = np.zeros(part.n_rows, dtype=np.intp)
    return read_alike(recombine(base, first, part, np.arange(part.n_rows), [position]), like)


def _check(found: FitResult, place: str) -> None:
    """What belongs together must fit together: otherwise the file would fail only when it is used."""
    table, partition, surrogate = found.table, found.partition, found.surrogate
    count = len(found.comparisons)
    for name in ("roots", "floors", "question_weights"):
        amounts = np.asarray(getattr(found, name), dtype=np.float64)
        if amounts.shape != (count,) or not np.all(np.isfinite(amounts)):
            raise broken(f"{place}.{name}", f"is not one number for each of {count} questions")
    for name in ("remaining", "fidelity", "global_fidelity"):
        if not math.isfinite(getattr(found, name)):
            raise broken(f"{place}.{name}", "is not a finite number")
    if partition.names != table.names:
        raise broken(f"{place}.partition.names", "are not those of the table")
    if len(surrogate.regions) != len(partition) or not all(surrogate.effects):
        raise broken(f"{place}.surrogate.regions", f"are not {len(partition)}, or have effects of no columns")
    for k, region in enumerate(surrogate.regions):
        for i, curve in enumerate(region.curves):
            if curve.effects.shape != (len(curve.column.levels) + 1,) or not np.all(np.isfinite(curve.effects)):
                raise broken(f"{place}.surrogate.regions[{k}].curves[{i}].effects", "are not one number for each level")
    for name in found.learned:  # becomes an attribute: no name of ours may be among them
        if not name.isidentifier() or not name.endswith("_") or name.startswith("_") or hasattr(Granite, name):
            raise broken(f"{place}.learned", f"has {name[:60]!r}, which is no name of a finding")
    _check_reference(found, place)
    _check_rows(found, place)


def _check_rows(found: FitResult, place: str) -> None:
    table, regions = found.table, len(found.partition)
    if has_rows(table):
        placed = found.partition.apply(table)
        rows = [np.flatnonzero(placed == k) for k in range(regions)]
        same = all(np.array_equal(region.rows, own) for region, own in zip(found.surrogate.regions, rows, strict=True))
        weights = (found.weights, found.surrogate.weights)
        if not same or not np.array_equal(found.regions, placed):
            raise broken(f"{place}.regions", "are not those of the rows")
        if any(w.shape != (table.n_rows,) or not np.all(w > 0) or not np.all(np.isfinite(w)) for w in weights):
            raise broken(f"{place}.weights", "are not numbers above 0, one for each row")
    centres = found.centres
    if centres and set(centres) != {None, *range(regions)}:
        raise broken(f"{place}.centres", "do not name one row for each region")
    if any(row < 0 or (has_rows(table) and row >= table.n_rows) for row in centres.values()):
        raise broken(f"{place}.centres", "names a row that does not exist")


def _check_reference(found: FitResult, place: str) -> None:
    """Whatever a question reads must have been learned."""
    reference = found.reference
    sides = (side for question in found.comparisons for side in (question.first, question.second))
    for side in sides:
        needed, masking = side.needed(), side.masking
        known = all((masking, visible) in reference.bins for visible in needed.bins)
        if not known or (needed.against and masking not in reference.baselines):
            raise broken(f"{place}.reference", "does not hold what a question reads")
    if any(rows.n_rows != masking.n_references for masking, rows in reference.baselines.items()):
        raise broken(f"{place}.reference.baselines", "are not one row for each reference")
