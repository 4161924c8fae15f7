"""A fitted Granite in the types of JSON, without its rows unless wanted."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from granite_xai import partitioners
from granite_xai.base.deferred import Deferred
from granite_xai.base.errors import FormatError, GraniteError
from granite_xai.base.files import NAN_AS_NULL, Form, Structure, broken, entry, require
from granite_xai.base.typing import AleColumn, Coalition
from granite_xai.compute import Resources
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.disagreement.objective import Objective
from granite_xai.estimator import Granite, restore
from granite_xai.explanation.behavior import BEHAVIORS
from granite_xai.explanation.explainer import INFLUENCES, Explainer
from granite_xai.explanation.interaction import INTERACTIONS, Partial
from granite_xai.explanation.masking import MASKINGS, bins
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.resolved import MAX_PAIRS
from granite_xai.fitting.new_rows import fitted_view
from granite_xai.fitting.options import chosen_influence
from granite_xai.fitting.pipeline import FitResult
from granite_xai.inference.described_share import DescribedShare, DescribedShares
from granite_xai.models import Predictor, as_predictor, together
from granite_xai.partitioners.original import NumericTree
from granite_xai.persistence.findings import check_by_question, check_findings
from granite_xai.persistence.fingerprint import (
    Detached,
    Fingerprint,
    are_numbers,
    has_rows,
    synthetic_rows,
)
from granite_xai.persistence.times import without_times
from granite_xai.regions.partition import Partition
from granite_xai.surrogate.additive import SurrogateFit
from granite_xai.tables import (
    Column,
    Table,
    read_alike,
    recombine,
    rows_from_dict,
    rows_to_dict,
)

THE_TABLE = "the table of this file"
_LEVELS = {"confidence": "level", "estimate": "confidence_level"}  # where each has its level
_KNOWN = ("table", "predictor", "comparisons", "fingerprint", "outputs", "additive")
MAX_TERMS = (
    2**24
)  # that questions may have together: resolving them again costs about a microsecond each
LOADED = "loaded"  # what loading adds to the findings; a file does not hold it


def structure(table: Table | None = None, *, by_row: bool = True) -> Structure:
    """How values are written beside a table, and read again; ``by_row``: also those with one entry a row of it."""
    partition = Form(lambda value, _: value.to_dict(), lambda data, _: Partition.from_dict(data))
    described = Form(_write_described, _read_described)
    forms = {float: NAN_AS_NULL, Partition: partition, Deferred[DescribedShares]: described}
    forms |= {} if table is None else _forms(table)
    return Structure({kind.__name__: kind for kind in _classes()}, forms, by_row)


def _write_described(shares: Deferred[DescribedShares], place: str) -> Any:
    return Structure(forms={float: NAN_AS_NULL}).write(shares.value, DescribedShares, place)


def _read_described(data: Any, place: str) -> Deferred[DescribedShares]:
    """Share of the model that curves describe; earlier versions wrote both shares without intervals."""
    form = Structure(forms={float: NAN_AS_NULL})
    if isinstance(data, dict):
        shares = form.read(data, DescribedShares, place)
    else:
        in_regions, overall = form.read(data, tuple[float, float], place)
        shares = DescribedShares(
            in_regions=DescribedShare(in_regions), overall=DescribedShare(overall)
        )
    return Deferred(lambda: shares, now=True)


def _classes() -> Iterator[type]:
    """The classes that a file may name: operators, and what stands beside them in their modules."""
    yield from (Explainer, Disagreement, Objective, Resources, NumericTree)
    names = (name for name in partitioners.__all__ if name not in ("PartitionResult", "Problem"))
    yield from (getattr(partitioners, name) for name in names)
    operators: list[dict[str, Any]] = [MASKINGS, BEHAVIORS, INTERACTIONS, INFLUENCES]
    for module in sorted(
        {type(one).__module__ for table in operators for one in table.values()} | {bins.__name__}
    ):
        found = (
            one
            for one in vars(sys.modules[module]).values()
            if isinstance(one, type) and is_dataclass(one)
        )
        yield from (one for one in found if one.__module__ == module)


def _forms(table: Table) -> dict[Any, Form]:
    """Columns by position, with a number of intervals where it is not ten; sets of them as one text: ``"0 4"``."""
    known = {str(position): position for position in range(table.n_columns)}

    def column(data: Any, place: str) -> Any:
        right = type(data) is int and 0 <= data < table.n_columns
        require(
            right,
            place,
            f"is {str(data)[:60]!r}, not the position of one of {table.n_columns} columns",
        )
        return table.columns[data]

    def intervals(data: Any, place: str) -> AleColumn:
        found = AleColumn(*(data if isinstance(data, list) and len(data) == 2 else [data]))
        right = all(type(number) is int for number in found) and found.column in range(
            table.n_columns
        )
        require(right, place, f"is {str(data)[:60]!r}, not a column and a number of intervals")
        return found

    def coalition(data: Any, place: str) -> Coalition:
        found = (
            [known.get(text, -1) for text in data.split(" ")]
            if isinstance(data, str) and data
            else []
        )
        right = isinstance(data, str) and -1 not in found and sorted(set(found)) == found
        require(
            right, place, f"is {str(data)[:60]!r}, which is no set of {table.n_columns} columns"
        )
        return frozenset(found)

    def read_rows(data: Any, place: str) -> Table:
        if isinstance(data, str) and data == THE_TABLE:
            return table
        return rows_from_dict(data, table, place)

    return {
        Column: Form(lambda value, _: value.position, column),
        Coalition: Form(lambda value, _: " ".join(map(str, sorted(value))), coalition),
        AleColumn: Form(
            lambda key, _: key.column if key == AleColumn(key.column) else list(key), intervals
        ),
        Table: Form(
            lambda value, _: THE_TABLE if value is table else rows_to_dict(value),
            read_rows,
        ),
    }


@dataclass(frozen=True, slots=True)
class Resolution:
    """Whether a question's attributions come from paths of trees, and the pairs of orders drawn a side (0: exact)."""

    by_paths: bool
    pairs: tuple[int, int]

    def __post_init__(self) -> None:
        if not all(count == 0 or 1 < count <= MAX_PAIRS for count in self.pairs):
            raise ValueError(f"{self.pairs} are no numbers of pairs")


def granite_to_dict(granite: Granite, include_data: bool) -> dict[str, Any]:
    """Write a fitted Granite; the model is left out."""
    view = fitted_view(granite, several=True)
    found = view.result
    form = structure(found.table, by_row=include_data)
    parameters = {
        name: value for name, value in granite.get_params(deep=False).items() if name != "model"
    }
    kept = replace(found, reference=_without_rows(found.reference, found.table))
    sides = [
        (question.first, question.second) for question in found.comparisons if not question.output
    ]
    resolutions = [
        Resolution(a.by_paths or b.by_paths, (len(a.draws), len(b.draws))) for a, b in sides
    ]
    fingerprint = (
        found.fingerprint
    )  # of a loaded object that has no rows, or no model, to ask again
    if has_rows(found.table) and not isinstance(found.predictor, Detached):
        fingerprint = Fingerprint.of(
            found.predictor, found.table, found.regions, with_data=include_data
        )
    findings = without_times(view.diagnostics)
    findings.pop(LOADED, None)
    return {
        "parameters": {name: form.write(value, Any, name) for name, value in parameters.items()},
        "model": form.write(fingerprint, Fingerprint, "model"),
        "questions": form.write(resolutions, list[Resolution], "questions"),
        "diagnostics": form.write(findings, dict[str, Any], "diagnostics_"),
        "fitted": form.write(kept, FitResult, "fitted", _KNOWN)
        | form.write(found.additive.value, SurrogateFit, "fitted"),
        "outputs": [
            granite_to_dict(granite.of_output(name), include_data) for name in found.outputs
        ],
    }


def granite_from_dict(data: dict[str, Any], model: Any, table: Table, place: str) -> Granite:
    """Read what `granite_to_dict` wrote, and check the model if one is given."""
    form = structure(table, by_row=has_rows(table))

    def part(name: str, hint: Any, kind: type = dict, **known: Any) -> Any:
        return form.read(entry(data, name, kind, place), hint, f"{place}.{name}", known)

    parameters = part("parameters", dict[str, Any])
    parameters.setdefault(
        "confidence_level", None
    )  # files of the first edition know nothing of chance
    for name in sorted(
        parameters.keys() - (inspect.signature(Granite).parameters.keys() - {"model"})
    ):
        raise broken(f"{place}.parameters", f"has {name[:60]!r}, which is not known")
    granite = Granite(model, **parameters)
    if not isinstance(granite.resources, Resources | None):
        raise broken(f"{place}.parameters.resources", "is not a set of limits")
    fingerprint, findings = part("model", Fingerprint), part("diagnostics", dict[str, Any])
    predictor, resolutions = (
        cast(Predictor, Detached(fingerprint)),
        part("questions", list[Resolution], list),
    )
    fingerprint.require_rows_of(table, f"{place}.model")
    check_findings(findings, f"{place}.diagnostics")
    seed = entry(findings, "seed", int, f"{place}.diagnostics")
    questions, outputs = (
        _questions(granite, resolutions, seed, predictor, table, place),
        dict[Any, FitResult](),
    )
    for own in entry(data, "outputs", list, place) if "outputs" in data else ():
        view = granite_from_dict(own, model, table, f"{place}.outputs")
        named = (
            isinstance(view.output, str | int | float)
            and view.output not in outputs
            and not view.outputs_
        )
        require(
            named, f"{place}.outputs", f"have {view.output!r:.60}, which is no name of one output"
        )
        outputs[view.output] = fitted_view(view).result
        if LOADED in view.diagnostics_:
            findings[LOADED] = view.diagnostics_[LOADED]
    if outputs:
        predictor = together({name: own.predictor for name, own in outputs.items()})
        labels = [(k, name, each) for k, name in enumerate(outputs) for each in questions]
        questions = tuple(
            each.about(k, f"{each.question.label} of {name}") for k, name, each in labels
        )
    elif model is not None:
        limits = granite.resources or Resources()
        predictor = as_predictor(
            model,
            output=granite.output,
            response=granite.response,
            batch_size=limits.batch_size,
            n_jobs=granite.n_jobs,
            device=limits.device,
        )
        findings[LOADED] = {"compared_predictions": fingerprint.check(predictor, table)}
    labels_asked = [each.question.label for each in questions]
    check_by_question(findings, labels_asked, f"{place}.diagnostics")
    fitted = without_unit(entry(data, "fitted", dict, place), "exponent")
    names = SurrogateFit.__dataclass_fields__
    own, rest = (
        {k: v for k, v in fitted.items() if (k in names) is described}
        for described in (True, False)
    )
    additive: SurrogateFit = form.read(own, SurrogateFit, f"{place}.fitted")
    given = (
        table,
        predictor,
        questions,
        fingerprint,
        outputs,
        Deferred(lambda: additive, now=True),
    )
    known = dict(zip(_KNOWN, given, strict=True))
    found: FitResult = form.read(rest, FitResult, f"{place}.fitted", known)
    comparisons = tuple(_as_learned(each, found.reference) for each in found.comparisons)
    found = replace(found, comparisons=comparisons)
    _check(found, f"{place}.fitted")
    restore(granite, found, findings)
    return granite


def without_unit(saved: dict[str, Any], name: str) -> dict[str, Any]:
    """What a file holds without the entry by which earlier versions told the unit of very large or small figures.

    Such predictions are refused now (N06); so is a file about them (F07).
    """
    unit = saved.get(name)
    if unit is not None and not (type(unit) is int and unit == 0):
        text = "the file is about predictions beyond 1e-70 or 1e70 in size, which are no longer explained."
        hint = "Rescale the predictions and fit again."
        raise FormatError(text, code="F07", argument="path", hint=hint)
    return {key: value for key, value in saved.items() if key != name}


def _without_rows(learned: Any, table: Table) -> Any:
    """What was learned, without rows of the data: beside a column only that column is read, the others are made up."""
    if isinstance(learned, dict):
        return {key: _without_rows(value, table) for key, value in learned.items()}
    if (
        not is_dataclass(learned)
        or isinstance(learned, Table | Column | type)
        or not has_rows(table)
    ):
        return learned
    parts = {field.name: getattr(learned, field.name) for field in fields(learned)}
    column = next((part for part in parts.values() if isinstance(part, Column)), None)
    if column is None:
        return replace(
            learned, **{name: _without_rows(part, table) for name, part in parts.items()}
        )
    for name, rows in list(parts.items()):
        if isinstance(rows, Table):
            first, every = np.zeros(rows.n_rows, dtype=np.intp), np.arange(rows.n_rows)
            parts[name] = read_alike(
                recombine(synthetic_rows(table), first, rows, every, [column.position]), table
            )
    return replace(learned, **parts)


def _as_learned(question: ResolvedQuestion, reference: FittedMaskings) -> ResolvedQuestion:
    """The question with the masking of the file: bins alone for optimal trees, and before there was a choice."""
    learned = {masking for masking, _ in reference.bins}
    by_bins = question.by_sums()
    for chosen, binned in ((question.first, by_bins.first), (question.second, by_bins.second)):
        if chosen.masking not in learned and binned.masking in learned:
            return by_bins
    return question


def _questions(
    granite: Granite,
    resolutions: list[Resolution],
    seed: int,
    predictor: Predictor,
    table: Table,
    place: str,
) -> tuple[ResolvedQuestion, ...]:
    """The questions of the parameters, resolved as they were; an absurd number of terms is refused (F05)."""
    limits = Resources() if granite.resources is None else granite.resources
    try:
        influence = chosen_influence(granite.influence, granite.groups, granite.features)
        objective = (
            granite.question
            if isinstance(granite.question, Objective)
            else Objective(granite.question)
        )
        questions = [question for question, _ in objective.weighted(influence)]
        right = len(questions) == len(resolutions) and 0 <= seed < 2**32
        require(
            right,
            f"{place}.questions",
            f"has {len(resolutions)} entries for {len(questions)} questions",
        )
        both, terms, found = list(zip(questions, resolutions, strict=True)), 0, []
        for question, known in both:  # a file names them in a few bytes
            for side, pairs in zip((question.first, question.second), known.pairs, strict=True):
                order = min(getattr(side.influence, "order", 1), table.n_columns)
                terms += math.comb(table.n_columns, order)
                if (
                    terms <= MAX_TERMS
                    and isinstance(side.interaction, Partial)
                    and not known.by_paths
                ):
                    layout = side.influence.layout(table)
                    coalitions = 2 * pairs if pairs else 2 ** min(len(layout.players), 64)
                    terms += len(layout.sets) * 2**order * coalitions
        if terms > MAX_TERMS:
            raise FormatError(
                f"{place}.questions have more than {MAX_TERMS:,} terms.",
                code="F05",
                argument="data",
            )
        for question, known in both:  # what the fit decided on its way is known
            route: Any = SimpleNamespace(
                table=table, predictor=predictor, attributes=known.by_paths
            )
            resolved = question.compare(route, limits, seed, known.pairs)
            found.append(resolved if granite.confidence_level is None else resolved.beyond_chance())
        return tuple(found)
    except FormatError:
        raise
    except (
        GraniteError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise broken(
            f"{place}.parameters.question", f"cannot be resolved: {str(error)[:200]}"
        ) from error


def _check(found: FitResult, place: str) -> None:
    """What belongs together must fit together: otherwise the file would fail only when it is used."""
    partition, additive, reference = found.partition, found.additive.value, found.reference
    surrogate, count = additive.surrogate, len(found.comparisons)
    for name in ("roots", "floors", "question_weights"):
        right = are_numbers(getattr(found, name), count)
        require(right, f"{place}.{name}", f"is not one number for each of {count} questions")
    for name in ("remaining", "fidelity", "global_fidelity"):
        figure = getattr(found if name == "remaining" else additive, name)
        require(math.isfinite(figure), f"{place}.{name}", "is not a finite number")
    for name in ("confidence", "estimate"):
        figure = getattr(found, name)
        level = 0.5 if figure is None else getattr(figure, _LEVELS[name])
        require(0 < level < 1, f"{place}.{name}", f"has the level {level:g}, not one in (0, 1)")
    if found.estimate is not None:
        ends = [(found.estimate.low, found.estimate.high)]
        ends.append((found.estimate.disagreement_low, found.estimate.disagreement_high))
        right = all(math.isnan(low) == math.isnan(high) for low, high in ends)
        require(right, f"{place}.estimate", "has an interval with one end")
    require(
        partition.names == found.table.names,
        f"{place}.partition.names",
        "are not those of the table",
    )
    right = len(surrogate.regions) == len(partition) and all(surrogate.effects)
    require(
        right,
        f"{place}.surrogate.regions",
        f"are not {len(partition)}, or have effects of no columns",
    )
    scopes = [(f"regions[{k}]", region) for k, region in enumerate(surrogate.regions)]
    if additive.everywhere is not None:
        scopes.append(("everywhere", additive.everywhere))
    single = [min(own[0]) for own in surrogate.effects if len(own) == 1 and len(own[0]) == 1]
    for scope, region in scopes:
        require(math.isfinite(region.mean), f"{place}.surrogate.{scope}.mean", "is not a number")
        drawn = [curve.column.position for curve in region.curves]
        right = drawn == single
        require(right, f"{place}.surrogate.{scope}.curves", "are not one for each single column")
        for i, curve in enumerate(region.curves):
            right = are_numbers(curve.effects, len(curve.column.levels) + 1)
            here = f"{scope}.curves[{i}].effects"
            require(right, f"{place}.surrogate.{here}", "are not one number for each level")
    for name in found.learned:  # becomes an attribute: no name of ours may be among them
        right = (
            name.isidentifier()
            and name.endswith("_")
            and not name.startswith("_")
            and not hasattr(Granite, name)
        )
        require(right, f"{place}.learned", f"has {name[:60]!r}, which is no name of a finding")
    for side in (
        side for question in found.comparisons for side in (question.first, question.second)
    ):
        needed, masking = side.needed(), side.masking
        known = masking in reference.copulas or all(
            (masking, visible) in reference.bins for visible in needed.bins
        )
        learned = known and (not needed.against or masking in reference.baselines)
        require(learned, f"{place}.reference", "does not hold what a question reads")
    right = all(
        rows.n_rows == masking.n_references for masking, rows in reference.baselines.items()
    )
    require(right, f"{place}.reference.baselines", "are not one row for each reference")
    n_rows = found.table.n_rows if has_rows(found.table) else None
    if n_rows is not None:
        placed = found.partition.apply(found.table)
        own = (np.flatnonzero(placed == k) for k in range(len(partition)))
        same = all(
            np.array_equal(region.rows, rows)
            for region, rows in zip(surrogate.regions, own, strict=True)
        )
        require(
            same and np.array_equal(found.regions, placed),
            f"{place}.regions",
            "are not those of the rows",
        )
        right = all(
            are_numbers(w, n_rows) and np.all(w > 0) for w in (found.weights, surrogate.weights)
        )
        require(right, f"{place}.weights", "are not numbers above 0, one for each row")
    named = not found.centres or set(found.centres) == {None, *range(len(partition))}
    require(named, f"{place}.centres", "do not name one row for each region")
    there = all(row >= 0 and (n_rows is None or row < n_rows) for row in found.centres.values())
    require(there, f"{place}.centres", "names a row that does not exist")
