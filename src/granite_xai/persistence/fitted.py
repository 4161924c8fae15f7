"""A fitted Granite in the types of JSON, without its rows unless wanted; its model is known by what it answers."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any, NoReturn, cast

import numpy as np

from granite_xai import partitioners
from granite_xai.base.errors import (
    FormatError,
    GraniteError,
    InputError,
    ModelError,
    ModelWarning,
    warn,
)
from granite_xai.base.files import NAN_AS_NULL, Form, Structure, broken, entry, require
from granite_xai.base.typing import AleColumn, Coalition, FloatArray, Later
from granite_xai.behavior import BEHAVIORS
from granite_xai.compute import Resources
from granite_xai.curves import SurrogateFit
from granite_xai.disagreement import Disagreement, Objective, ResolvedQuestion
from granite_xai.estimator import Granite, fitted_view, restore
from granite_xai.explainer import INFLUENCES, Explainer
from granite_xai.fit import FitResult
from granite_xai.fit_options import chosen_influence
from granite_xai.interaction import INTERACTIONS, Partial
from granite_xai.masking import MASKINGS, bins
from granite_xai.models import Predictor, Usage, as_predictor, together
from granite_xai.regions.partition import Partition
from granite_xai.resolved import MAX_PAIRS
from granite_xai.search.original import NumericTree
from granite_xai.tables import (
    Column,
    Outline,
    Table,
    read_alike,
    recombine,
    rows_from_dict,
    rows_to_dict,
)

THE_TABLE = "the table of this file"
_KNOWN = ("table", "predictor", "comparisons", "fingerprint", "outputs", "additive")
MAX_TERMS = (
    2**24
)  # that questions may have together: resolving them again costs about a microsecond each
COUNT = 8
TOLERANCE = 1e-5  # of predictions, in shares of their size: machines round differently, models differ by more


def structure(table: Table | None = None, *, by_row: bool = True) -> Structure:
    """How values are written beside a table, and read again; ``by_row``: also those with one entry a row of it."""
    partition = Form(lambda value, _: value.to_dict(), lambda data, _: Partition.from_dict(data))
    pair: Any = tuple[float, float]
    plain = Structure(forms={float: NAN_AS_NULL})
    later = Form(
        lambda value, place: plain.write(value.value, pair, place),
        lambda data, place: Later(partial(plain.read, data, pair, place), now=True),
    )
    forms = {float: NAN_AS_NULL, Partition: partition, Later[tuple[float, float]]: later}
    forms |= {} if table is None else _forms(table)
    return Structure({kind.__name__: kind for kind in _classes()}, forms, by_row)


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

    return {
        Column: Form(lambda value, _: value.position, column),
        Coalition: Form(lambda value, _: " ".join(map(str, sorted(value))), coalition),
        AleColumn: Form(
            lambda key, _: key.column if key == AleColumn(key.column) else list(key), intervals
        ),
        Table: Form(
            lambda value, _: THE_TABLE if value is table else rows_to_dict(value),
            lambda data, place: table if data == THE_TABLE else rows_from_dict(data, table, place),
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
        fingerprint = Fingerprint.of(found.predictor, found.table, include_data)
    return {
        "parameters": {name: form.write(value, Any, name) for name, value in parameters.items()},
        "model": form.write(fingerprint, Fingerprint, "model"),
        "questions": form.write(resolutions, list[Resolution], "questions"),
        "diagnostics": form.write(view.diagnostics, dict[str, Any], "diagnostics_"),
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
        return form.read(entry(data, name, kind, place), hint, f"{place}.{name}", **known)

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
        fingerprint.check(predictor)
    fitted, names = entry(data, "fitted", dict, place), SurrogateFit.__dataclass_fields__
    own, rest = (
        {k: v for k, v in fitted.items() if (k in names) is described}
        for described in (True, False)
    )
    additive: SurrogateFit = form.read(own, SurrogateFit, f"{place}.fitted")
    given = (table, predictor, questions, fingerprint, outputs, Later(lambda: additive, now=True))
    known = dict(zip(_KNOWN, given, strict=True))
    found: FitResult = form.read(rest, FitResult, f"{place}.fitted", **known)
    _check(found, f"{place}.fitted")
    restore(granite, found, findings)
    return granite


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
        if not _numbers(self.predictions, count):
            raise ValueError(f"its predictions are not {count} numbers")

    @classmethod
    def of(cls, predictor: Predictor, table: Table, with_data: bool) -> Fingerprint:
        """Ask the model about rows of the data if the file may hold them, otherwise about rows made of levels."""
        rows = (
            table.take(np.arange(min(COUNT, table.n_rows))) if with_data else synthetic_rows(table)
        )
        facts = (
            predictor.label,
            predictor.is_probability,
            predictor.classes,
            predictor.explained_class,
        )
        try:
            rows_to_dict(rows)
            return cls(*facts, rows, predictor.on_rows(rows))
        except (
            InputError,
            ModelError,
        ):  # a dtype that no file holds, or a row that the model refuses
            return cls(*facts, None, np.empty(0))

    def check(self, predictor: Predictor) -> None:
        """Refuse a model that answers differently (F09)."""
        why = ""
        if (predictor.is_probability, predictor.explained_class) != (
            self.probability,
            self.explained,
        ):
            why = f"{predictor.label} is explained, not {self.label}"
        elif self.rows is None:
            warn(
                "F09: the file holds no predictions, so whether this is the same model is not known.",
                ModelWarning,
            )
        else:
            gaps = np.abs(predictor.on_rows(self.rows) - self.predictions)
            wrong = int(
                np.count_nonzero(gaps > TOLERANCE * float(np.max(np.abs(self.predictions))))
            )
            why = (
                f"{wrong} of {len(gaps)} predictions differ, by up to {gaps.max():.3g}"
                if wrong
                else ""
            )
        if why:
            message = f"this is not the model that was saved with: {why}."
            hint = "Load with the model that the object was fitted with, or fit again."
            raise ModelError(message, code="F09", argument="model", hint=hint)


class Detached:
    """Stands where the model was: it knows what was explained, and any question to it is an F09 error."""

    native_float32 = False
    usage = Usage()
    outputs: Mapping[Any, Detached] = MappingProxyType({})  # one that stands for several has them

    def __init__(self, fingerprint: Fingerprint) -> None:
        self.label, self.classes = fingerprint.label, fingerprint.classes
        self.is_probability, self.explained_class = fingerprint.probability, fingerprint.explained

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # copy and pickle ask for names that need not be there
            raise AttributeError(name)
        self()

    def __call__(self, *_: Any) -> NoReturn:
        """Refused: there is no model."""
        message = "this object was loaded without its model, which has to be asked here."
        raise InputError(
            message, code="F09", argument="model", hint="Load with gx.load(path, model=model)."
        )


def has_rows(table: Table) -> bool:
    """Tell whether a table still has its rows."""
    return not isinstance(table.container, Outline)


def synthetic_rows(table: Table) -> Table:
    """Combine levels that are spread over each column, every column in another order."""
    rows, made = np.arange(COUNT), table.take(np.zeros(COUNT, dtype=np.intp))
    for column in table.columns:
        j, count = column.position, len(column.levels)
        codes = (2 * ((rows * (2 * j + 1) + j) % COUNT) + 1) * count // (2 * COUNT)
        carriers = [
            int(np.argmax(column.codes == code)) for code in codes
        ]  # the first rows with these levels
        made = read_alike(recombine(made, rows, table, carriers, [j]), table)
    return made


def _numbers(values: Any, count: int) -> bool:
    """Whether there are so many numbers, all of them finite."""
    return np.shape(values) == (count,) and bool(np.all(np.isfinite(values)))


def _check(found: FitResult, place: str) -> None:
    """What belongs together must fit together: otherwise the file would fail only when it is used."""
    partition, additive, reference = found.partition, found.additive.value, found.reference
    surrogate, count = additive.surrogate, len(found.comparisons)
    for name in ("roots", "floors", "question_weights"):
        right = _numbers(getattr(found, name), count)
        require(right, f"{place}.{name}", f"is not one number for each of {count} questions")
    for name in ("remaining", "fidelity", "global_fidelity"):
        figure = getattr(found if name == "remaining" else additive, name)
        require(math.isfinite(figure), f"{place}.{name}", "is not a finite number")
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
    for k, region in enumerate(surrogate.regions):
        for i, curve in enumerate(region.curves):
            right, here = (
                _numbers(curve.effects, len(curve.column.levels) + 1),
                f"regions[{k}].curves[{i}].effects",
            )
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
        known = all((masking, visible) in reference.bins for visible in needed.bins)
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
            _numbers(w, n_rows) and np.all(w > 0) for w in (found.weights, surrogate.weights)
        )
        require(right, f"{place}.weights", "are not numbers above 0, one for each row")
    named = not found.centres or set(found.centres) == {None, *range(len(partition))}
    require(named, f"{place}.centres", "do not name one row for each region")
    there = all(row >= 0 and (n_rows is None or row < n_rows) for row in found.centres.values())
    require(there, f"{place}.centres", "names a row that does not exist")
