"""Saving and loading: what a fit found, as plain content in one JSON file. Nothing in a file is ever run.

A file is one object::

    schema      "granite-xai/granite" or "granite-xai/partition"
    version     4; files of other versions are refused (F07)
    package     the granite-xai that wrote it
    sha256      of everything else, so that accidents are noticed; it is no signature
    partition   of a saved partition: as `Partition.to_dict` has it
    granite     of a saved fit: its content

The content of a fit has no row of the data and no model::

    table        library, labels of the columns, and of each column its name, kind and distinct values
    options      of `Granite`, without the model
    diagnostics  what the fit noticed, without seconds: files of equal fits are equal
    rows         positions of the search rows in the table of the user, and their weights
    missing      whether missing values are allowed
    plan         what is asked about any rows: values that stand for columns, and those of sets (combined); what
                 maskings learned, with the copulas of which it speaks; what the probe found
    questions    of each how it was resolved: by_paths of trees, pairs of orders that were drawn
    fit          what was found; where all outputs are explained, in all of them together
    outputs      of each output by its name the same, where all are explained; otherwise empty

and of what was found::

    model        which output of the model is explained (`Detached`)
    row          one row of medians and most frequent values, its dtypes, and the prediction of the model there
    partition    as `Partition.to_dict` has it
    disagreements, floors, exceeded      of the questions
    shared_curves        the distinct curves with their nodes, errors, bands and shares, which region has which, means,
                         shares described; null where all outputs are explained, each of which has its own
    estimate, nodes, ledger, errors, stability, path     as `FitResult` has them
    learned              further fitted attributes, such as ``clusters_``

What JSON has no type for is an object that says under ``"$"`` what it is (`_Plain`): an array, a tuple, a column of
the table, or a record, which has one of the classes of `RECORDS` and its fields by name. A change of what is written
is a change of this module and of `VERSION`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai import __version__, partitioners
from granite_xai.algebra.accumulated import Accumulated, Intervals
from granite_xai.algebra.behavior import BEHAVIORS, Local, Risk, Sensitivity
from granite_xai.algebra.conditional import ExactBins, IntervalBins, LevelBins, TreeBins
from granite_xai.algebra.copula import Copula, LearnedRatios, Margin
from granite_xai.algebra.disagreement import Disagreement, ResolvedQuestion
from granite_xai.algebra.effects import MAX_PAIRS, Attributed, Effect
from granite_xai.algebra.explainer import MASKINGS, Explainer
from granite_xai.algebra.influence import Individual, Interactions, Joint
from granite_xai.algebra.interaction import Additive, Full, Partial, Pure, Whole
from granite_xai.algebra.masking import (
    Baseline,
    Conditional,
    Marginal,
    Masking,
    References,
    median_row,
)
from granite_xai.algebra.objective import Objective
from granite_xai.base.deferred import Deferred
from granite_xai.base.errors import FormatError, InputError, ModelError, ModelWarning, warn
from granite_xai.base.files import (
    MAX_BYTES,
    array_from_json,
    array_to_json,
    broken,
    entry,
    foreign,
    object_array,
    read_json,
    require,
    write_text,
)
from granite_xai.base.limits import Resources
from granite_xai.base.typing import IntArray
from granite_xai.curves.curves import RowCurves
from granite_xai.curves.shared import SharedCurve, SharedCurves, joined
from granite_xai.estimator import Granite, set_fitted_attributes
from granite_xai.evaluations.probe import Probe, Probed
from granite_xai.evaluations.request import Needs
from granite_xai.evaluations.values import Cells
from granite_xai.fitting.find import Path as TreePath, PathStep
from granite_xai.fitting.fit_result import FitResult, FromFile, fitted_view
from granite_xai.fitting.plan import Plan
from granite_xai.fitting.settings import Settings
from granite_xai.fitting.stability import SplitStability, Stability
from granite_xai.frameworks.fd_trees import NumericTree
from granite_xai.inference.estimate import (
    DescribedShare,
    DescribedShares,
    Estimate,
    EstimateLine,
)
from granite_xai.inference.model_errors import ErrorFigure, ModelErrors
from granite_xai.inference.nodes import NodeFigure, NodeFigures
from granite_xai.models import OutputAxis, Predictor, Scale, Usage, as_predictor, joint_predictor
from granite_xai.regions import Partition
from granite_xai.regions.tree import Ledger, UntakenCut
from granite_xai.search.problem import GivenRules
from granite_xai.tables import (
    KINDS,
    LABELLED,
    Column,
    FrameContainer,
    Outline,
    Rows,
    Table,
    read_table,
)
from granite_xai.tables.containers import dtypes_of, empty_row

VERSION = 4
"""Version of the files that are written, and the only one that is read."""

TOLERANCE = 1e-5
"""Of predictions, as a share of the largest: machines round differently, models differ by more."""

Saved = Partition | Granite


def save(obj: Saved, path: str | os.PathLike[str]) -> Path:
    """Save a partition or a fitted Granite as JSON; neither its model nor a row of its data is in the file.

    The file is written completely or not at all. A saved Granite holds the distinct values of each column, sorted and
    each column for itself, because its curves stand on them. Equal fits have equal files, byte by byte. Explanations
    and evaluations have frames: ``explanation.frame().to_csv(path)`` keeps them.

    Parameters
    ----------
    obj : Partition or Granite
    path : str or path
        Where; an existing file is replaced. This is what is returned.

    Raises
    ------
    InputError or ResourceError
        F08: an object that JSON cannot hold, by name; F01: no room on the disk.

    Examples
    --------
    >>> import tempfile
    >>> from granite_xai import Partition, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(Partition.from_rules(["x0 ≤ 1", "x0 > 1"]), Path(folder) / "regions.json")
    ...     load(path)
    <Partition of 2 regions: x0 ≤ 1; x0 > 1>
    """
    if type(obj) is Partition:
        kind, content = "partition", obj.to_dict()
    elif type(obj) is Granite:
        kind, content = "granite", _write_granite(obj)
    else:
        raise InputError(
            f"a {type(obj).__name__} cannot be saved; a Partition and a fitted Granite can.",
            code="P01",
            argument="obj",
            hint="What has a frame() is kept by obj.frame().to_csv(path).",
        )
    document = {"schema": f"granite-xai/{kind}", "version": VERSION, "package": __version__}
    document = {**document, "sha256": _checksum({**document, kind: content}), kind: content}
    text = json.dumps(document, allow_nan=False)
    if len(text) >= MAX_BYTES:
        message = f"the file would have {len(text):,} bytes; at most {MAX_BYTES:,} are read."
        hint = "Fit with fewer values (max_samples=)."
        raise InputError(message, code="F05", argument="obj", hint=hint)
    return write_text(path, text + "\n")


def load(path: str | os.PathLike[str], model: Any = None, X: Any = None) -> Saved:
    """Load what `save` wrote. Nothing in a file is ever run, and what it holds is checked first.

    Parameters
    ----------
    path : str or path
    model : object, optional
        The model of a saved Granite. It is asked about one row, whose prediction must be what it was. Without it the
        object applies, prints and predicts from its curves, and what has to ask the model is an error.
    X : table, optional
        The table that the Granite was fitted on. Its search rows are taken again: effects of several features, and
        explanations against the fitting rows, need them. With a model, its mean prediction in every region must be
        what it was.

    Raises
    ------
    FormatError, ModelError or InputError
        F04 broken or changed file, F05 what is no file or too large, F06 pickle, F07 file of another version; F09
        another model or table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(gx.save(g, Path(folder) / "g.json"), model=toy.model)
    >>> [str(region.rule) for region in again.partition_]
    ['x2 ≤ 0', 'x2 > 0']
    """
    document = read_json(path)
    schema = str(document.get("schema"))
    if not schema.startswith("granite-xai/"):
        raise foreign(path)
    _require_version(document)
    kind = schema.removeprefix("granite-xai/")
    is_kind = kind in ("granite", "partition")
    require(is_kind, "the file", f"has the schema {schema[:60]!r}, which is not known")
    content = entry(document, kind, dict, "the file")
    with _as_format_errors("the file"):
        is_unchanged = entry(document, "sha256", str, "the file") == _checksum(document)
    if not is_unchanged:
        message = f"{path} was changed after it was saved: its checksum is not that of its content."
        hint = "Save the fit again."
        raise FormatError(message, code="F04", argument="path", hint=hint)
    if kind == "granite":
        return _load_granite(content, model, X)
    if model is not None or X is not None:
        argument = "X" if model is None else "model"
        message = f"the file holds a saved {kind}, which has no {argument}."
        raise InputError(message, code="P03", argument=argument, hint=f"Leave {argument} out.")
    return Partition.from_dict(content)


def _require_version(document: dict[str, Any]) -> None:
    """Refuse files of other versions (F07)."""
    version = entry(document, "version", int, "the file")
    package = entry(document, "package", str, "the file")
    if version == VERSION:
        return
    edition, hint = "a newer edition", "Install a newer granite-xai."
    if version < VERSION:
        edition, hint = "an earlier edition", "Fit again."
    message = (
        f"the file has version {version}, written by {edition} (granite-xai {package[:30]}); "
        f"this is granite-xai {__version__}, which reads version {VERSION}."
    )
    raise FormatError(message, code="F07", argument="path", hint=hint)


def _checksum(document: dict[str, Any]) -> str:
    """SHA-256 of all entries of a file but itself."""
    rest = {name: content for name, content in document.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, allow_nan=False).encode("ascii")).hexdigest()


@contextmanager
def _as_format_errors(place: str) -> Iterator[None]:
    """Whatever content that was not written by `save` makes our classes raise is an error of the file (F04)."""
    try:
        yield
    except (FormatError, ImportError):  # a library that is not installed here
        raise
    except Exception as error:
        what = f"does not hold what it claims ({type(error).__name__}: {str(error)[:200]})"
        raise broken(place, what) from error


# A fit


def _write_granite(granite: Granite) -> dict[str, Any]:
    """The content of a fit."""
    view = fitted_view(granite, several=True)
    result = view.result
    plain = _Plain(result.table)
    options = granite.get_params(deep=False)
    del options["model"]
    if isinstance(options["holdout"], tuple | list):
        raise InputError(
            "holdout has rows of data, which no file holds.",
            code="F08",
            argument="holdout",
            hint="Save after g.set_params(holdout=False): the fit and its estimate stay as they are.",
        )
    rows = plain.write({"positions": result.rows.positions, "weights": result.weights}, "rows")
    if result.from_file is not None:
        rows = result.from_file.rows
    return {
        "table": _write_table(result.table),
        "options": {name: plain.write(value, name) for name, value in options.items()},
        "diagnostics": plain.write(_without_seconds(view.diagnostics), "diagnostics_"),
        "rows": rows,
        "missing": result.missing,
        "plan": plain.write(_content_of_plan(result.plan), "plan"),
        # Where all outputs are explained, the same questions of each.
        "questions": [
            _how_resolved(question)
            for question in result.questions[: len(result.settings.questions)]
        ],
        "fit": _write_result(result, plain),
        "outputs": [
            [plain.write(name, "output"), _write_result(of_output, plain)]
            for name, of_output in result.outputs.items()
        ],
    }


def _without_seconds(findings: Mapping[str, Any]) -> dict[str, Any]:
    """Findings without times, which are all that differs between two equal fits."""
    timeless = {}
    for name, finding in findings.items():
        if name != "seconds":
            is_mapping = isinstance(finding, Mapping)
            timeless[name] = _without_seconds(finding) if is_mapping else finding
    return timeless


def _content_of_plan(plan: Plan) -> dict[str, Any]:
    """What a plan has beside what questions need and options say."""
    weighed = [learned for learned in plan.learned.values() if isinstance(learned, LearnedRatios)]
    copulas = list({id(learned.copula): learned.copula for learned in weighed}.values())
    all_learned = []
    for (masking, visible), learned in plan.learned.items():
        if isinstance(learned, LearnedRatios):  # many of one copula
            all_learned.append([masking, visible, copulas.index(learned.copula), learned.column])
        else:
            all_learned.append([masking, visible, learned])
    return {
        "values": plan.values,
        "combined": plan.combined,
        "copulas": copulas,
        "learned": all_learned,
        "probed": plan.probed.outputs,
    }


def _how_resolved(question: ResolvedQuestion) -> dict[str, Any]:
    """What decides on the effects of a question beside its table: paths of trees, numbers of drawn pairs."""
    sides = (question.first, question.second)
    keys = [*question.first.attributions, *question.second.attributions]
    by_paths = any(isinstance(key, Attributed) and key.kind == "paths" for key in keys)
    return {"by_paths": by_paths, "pairs": [*map(_pairs_drawn, sides)]}


def _pairs_drawn(effect: Effect) -> int:
    """Pairs of orders of arrival that an effect is a mean over; 0: it is exact."""
    drawn = [len(summed.draws) for summed in effect.attributions.values()]
    return max([len(effect.draws), *drawn])


def _write_result(result: FitResult, plain: _Plain) -> dict[str, Any]:
    """The content of what was found."""
    model = result.model
    written = {
        "model": Detached(
            label=model.label,
            is_probability=model.is_probability,
            classes=model.classes,
            explained_class=model.explained_class,
            scale=model.scale,
            output_name=model.output_name,
            axis=model.axis,
            is_survival=model.is_survival,
        ),
        "disagreements": result.disagreements,
        "floors": result.floors,
        "exceeded": result.exceeded,
        "shared_curves": None if result.outputs else result.shared_curves,
        "estimate": result.estimate,
        "nodes": result.nodes,
        "ledger": result.ledger,
        "errors": result.errors,
        "stability": result.stability,
        "path": result.path,
        "learned": dict(result.learned),
    }
    content: dict[str, Any] = plain.write(written, "fit")
    return {**content, "partition": result.partition.to_dict(), "row": _row_of(result, plain)}


def _load_granite(content: dict[str, Any], model: Any, X: Any) -> Granite:
    with _as_format_errors("granite"):
        outline = _read_table(content["table"])
        positions = _Plain(outline).read(content["rows"]["positions"], "granite.rows")
        are_positions = positions.dtype.kind == "i" and bool(np.all(positions >= 0))
        require(are_positions, "granite.rows.positions", "are no positions")
    table = outline if X is None else _search_rows(X, outline, positions)
    with _as_format_errors("granite"):
        plain = _Plain(table)
        diagnostics = plain.read(content["diagnostics"], "granite.diagnostics")
        granite = _unfitted(content["options"], plain, model)
        result = _read_results(content, granite, plain, int(diagnostics["seed"]))
        set_fitted_attributes(granite, result, diagnostics)
        _rehearse(granite, result, plain)
    if X is not None:
        _require_same_regions(result)
    if model is not None:
        set_fitted_attributes(granite, _with_model(granite, result, plain), diagnostics)
    return granite


def _unfitted(data: dict[str, Any], plain: _Plain, model: Any) -> Granite:
    """A Granite with the options of the file."""
    options = {name: plain.read(value, f"granite.options.{name}") for name, value in data.items()}
    expected = inspect.signature(Granite).parameters.keys() - {"model"}
    require(options.keys() == expected, "granite.options", "are not those of Granite")
    return Granite(model, **options)


def _read_results(content: dict[str, Any], granite: Granite, plain: _Plain, seed: int) -> FitResult:
    """What was found, with that of each output; without the model."""
    settings = _settings_of(granite, seed)
    model: Any = plain.read(content["fit"]["model"], "fit.model")
    names = [plain.read(name, "granite.outputs") for name, _ in content["outputs"]]
    data_of_outputs = {
        name: data for name, (_, data) in zip(names, content["outputs"], strict=True)
    }
    require(len(data_of_outputs) == len(names), "granite.outputs", "have a name twice")
    models = {
        name: plain.read(data["model"], "outputs.model") for name, data in data_of_outputs.items()
    }
    are_outputs = all(isinstance(each, Detached) for each in (model, *models.values()))
    require(are_outputs, "fit.model", "is not an output that was explained")
    model.outputs = models
    plan = _read_plan(content["plan"], plain, settings, model)
    questions = _resolved_again(content["questions"], settings, model, plain.table)
    for question in questions:
        plan = replace(plan, needs=plan.needs | question.needs)
    shared: dict[str, Any] = {
        "settings": settings,
        "missing": entry(content, "missing", bool, "granite"),
        "rows": _read_rows(content["rows"], plain),
    }
    outputs = {}
    of_all = []
    for number, (name, data) in enumerate(data_of_outputs.items()):
        outputs[name] = _read_result(
            data,
            plain,
            content["rows"],
            model=models[name],
            plan=plan.of_output(number, models[name]),
            questions=tuple(question.about_output(0, question.label) for question in questions),
            outputs={},
            is_output=True,
            **shared,
        )
        of_all += [
            question.about_output(number, f"{question.label} of {name}") for question in questions
        ]
    return _read_result(
        content["fit"],
        plain,
        content["rows"],
        model=model,
        plan=plan,
        questions=tuple(of_all or questions),
        outputs=outputs,
        **shared,
    )


def _settings_of(granite: Granite, seed: int) -> Settings:
    """The options of the fit, on whatever machine they are read."""
    options = granite.get_params(deep=False)
    limits = options["resources"] or Resources()
    options["resources"] = replace(limits, device="cpu")
    return replace(Settings.of(Granite(**options)), seed=seed, resources=limits)


def _read_rows(data: dict[str, Any], plain: _Plain) -> Rows:
    """The search rows; none where the table was not passed."""
    table = plain.table
    every_row = np.arange(0 if isinstance(table.container, Outline) else table.n_rows)
    positions, weights = (plain.read(data[name], "rows") for name in ("positions", "weights"))
    is_one_a_row = positions.shape == weights.shape
    require(is_one_a_row, "granite.rows.weights", "are not one for each row")
    return Rows(
        y=None,
        weights=weights[: len(every_row)],
        clusters=every_row,
        positions=positions[: len(every_row)],
        source=table,
        position_in_source=every_row,
    )


def _read_plan(data: dict[str, Any], plain: _Plain, settings: Settings, model: Predictor) -> Plan:
    """What is asked about any rows, but for what the questions need."""
    kept = {name: plain.read(part, f"plan.{name[:60]}") for name, part in data.items()}
    require(_are_values(kept["values"]), "plan.values", "are none that stand for columns")
    are_cells = all(map(_are_values, kept["combined"].values()))
    require(are_cells, "plan.combined", "are no values that stand for columns")
    learned: dict[Any, Any] = {}
    for masking, visible, of_key, *column in kept["learned"]:
        if column:
            copula = kept["copulas"][of_key]
            require(isinstance(copula, Copula), "plan.copulas", "are none")
            of_key = LearnedRatios(copula, *column)
        has_key = isinstance(masking, Masking) and isinstance(visible, frozenset)
        is_learned = has_key and isinstance(of_key, LEARNED)
        require(is_learned, "plan.learned", "is not what a masking learns of some columns")
        learned[masking, visible] = of_key
    are_probes = all(isinstance(of_output, Probe) for of_output in kept["probed"])
    is_one_an_output = len(kept["probed"]) == (len(model.outputs) or 1)
    require(are_probes and is_one_an_output, "plan.probed", "is not what a probe finds")
    return Plan(
        model=model,
        needs=Needs(),
        values=kept["values"],
        learned=learned,
        probed=Probed(kept["probed"], seconds_per_row=0.0),
        settings=settings,
        combined=kept["combined"],
    )


def _are_values(values: Any) -> bool:
    """Whether these are values that stand for columns: cells, a number of quantiles, or all."""
    if isinstance(values, Mapping):
        return all(isinstance(cells, Cells) for cells in values.values())
    return values is None or type(values) is int


def _resolved_again(
    data: list[Any], settings: Settings, model: Predictor, table: Table
) -> list[ResolvedQuestion]:
    """The questions of a loaded Granite, resolved on its table as they were."""
    require(len(data) == len(settings.questions), "granite.questions", "are more or fewer")
    resolved = []
    for (question, _), saved in zip(settings.questions, data, strict=True):
        effects = []
        for side, pairs in zip((question.first, question.second), saved["pairs"], strict=True):
            are_pairs = type(pairs) is int and (pairs == 0 or 1 < pairs <= MAX_PAIRS)
            require(are_pairs, "granite.questions", "have no such numbers of pairs")
            effect = side.resolve(
                table,
                is_probability=model.is_probability,
                is_survival=model.is_survival,
                gives_paths=bool(saved["by_paths"]),
                seed=settings.seed,
                pairs=pairs,
            )
            effects.append(effect)
        first, second = effects
        resolved.append(ResolvedQuestion(question, first, second))
    return resolved


def _read_result(
    data: dict[str, Any],
    plain: _Plain,
    rows_of_file: Any,
    *,
    settings: Settings,
    rows: Rows,
    questions: tuple[ResolvedQuestion, ...],
    outputs: Mapping[Any, FitResult],
    is_output: bool = False,
    **shared: Any,
) -> FitResult:
    """What was found about one output, or about all of them together."""
    table = rows.table
    partition = Partition.from_dict(data["partition"])
    require(partition.names == table.names, "partition.names", "are not those of the table")
    if is_output:  # it was given the regions of all outputs
        settings = replace(settings, partitioner=GivenRules(partition))
    regions = partition.apply(table) if len(rows) else np.empty(0, dtype=np.intp)
    kept = {}
    for name, part in data.items():
        if name not in ("partition", "row"):
            kept[name] = plain.read(part, f"fit.{name[:60]}")
    if outputs:
        of_outputs = [of_output.shared_curves.value for of_output in outputs.values()]
        curves = joined(of_outputs)
    else:
        curves = kept["shared_curves"].value
        curves = replace(curves, table=table, regions=regions, weights=rows.weights)
    kept["shared_curves"] = Deferred(lambda: curves, now=True)
    _require_types(kept, FitResult, "fit")
    for name in kept["learned"]:
        is_fitted_name = name.isidentifier() and name.endswith("_") and not name.startswith("_")
        is_free = is_fitted_name and not hasattr(Granite, name)
        require(is_free, "fit.learned", f"have {name[:60]!r}, which is no name of a finding")
    is_one_a_question = kept["disagreements"].shape == kept["floors"].shape == (len(questions),)
    require(is_one_a_question, "fit.disagreements", "are not one number for each question")
    path = kept["path"]
    if settings.chooses_alpha and path is not None:
        settings = settings.with_alpha(path.chosen.alpha)
    weights = [weight for _, weight in settings.questions]
    return FitResult(
        settings=settings,
        rows=rows,
        questions=questions,
        question_weights=np.array(weights * (len(questions) // len(weights))),
        floors=kept["floors"],
        disagreements=kept["disagreements"],
        exceeded=kept["exceeded"],
        partition=partition,
        regions=regions,
        shared_curves=kept["shared_curves"],
        estimate=kept["estimate"],
        nodes=kept["nodes"],
        ledger=kept["ledger"],
        errors=kept["errors"],
        stability=kept["stability"],
        path=path,
        learned=kept["learned"],
        outputs=outputs,
        from_file=FromFile(row=data["row"], rows=rows_of_file),
        **shared,
    )


def _rehearse(granite: Granite, result: FitResult, plain: _Plain) -> None:
    """Print the fit and predict every value in every region: content that does not fit together fails here."""
    str(granite)
    granite._repr_mimebundle_()
    columns = plain.table.columns
    n_values = 1 + max(len(column.levels) for column in columns)
    missing = [_missing_values(column, n_values - len(column.levels)) for column in columns]
    every_value = plain.rows(
        [np.append(column.levels, gap) for column, gap in zip(columns, missing, strict=True)]
    )
    for each in (result, *result.outputs.values()):
        if each.from_file is not None and each.from_file.row is not None:
            plain.rows(plain.read(each.from_file.row["row"]["value"]["cells"], "fit.row"))
        curves = each.shared_curves.value
        for region in range(len(each.partition)):
            if not curves.needs_model:
                curves.predict(every_value, np.full(n_values, region))
        for figures in (each.estimate, *each.nodes, each.path, each.stability, curves):
            if figures is not None:
                figures.frame()
    for name in result.outputs:
        granite.of_output(name)


# The model and the rows of a fit


@dataclass(eq=False)
class Detached:
    """Stands where the model was: it knows what was explained, and any question to it is an F09 error.

    Parameters
    ----------
    label, is_probability, classes, explained_class, scale, output_name, axis, is_survival
        The explained output, as the `Predictor` describes it.
    outputs : mapping
        Of one that stands for several: each by its name.
    """

    label: str
    is_probability: bool
    classes: Any
    explained_class: Any
    scale: Scale
    output_name: Any = None
    axis: OutputAxis | None = None
    is_survival: bool = False
    outputs: Mapping[Any, Detached] = field(default_factory=dict)
    native_float32: ClassVar[bool] = False
    usage: ClassVar[Usage] = Usage()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # copy and pickle ask for names that need not be there
            raise AttributeError(name)
        self()

    def __call__(self, *_: Any) -> NoReturn:
        """Refused: there is no model."""
        message = "this object was loaded without its model, which has to be asked here."
        hint = "Load with gx.load(path, model=model)."
        raise InputError(message, code="F09", argument="model", hint=hint)


def _with_model(granite: Granite, result: FitResult, plain: _Plain) -> FitResult:
    """The result with the model in place, which must answer as it did when the fit was saved (F09)."""
    resources = granite.resources or Resources()
    names = result.outputs or {granite.output: result}
    with_model = {}
    for name, of_output in names.items():
        predictor = as_predictor(
            granite.model,
            output=name,
            response="raw" if of_output.model.scale.reads_margin else granite.response,
            batch_size=resources.batch_size,
            n_jobs=granite.n_jobs,
            device=resources.device,
            block=resources.block,
        )
        predictor.scale = of_output.model.scale
        predictor.label = of_output.model.label
        _require_same_model(predictor, of_output, plain)
        plan = replace(of_output.plan, model=predictor)
        with_model[name] = replace(of_output, model=predictor, plan=plan)
    if not result.outputs:
        return with_model[granite.output]
    joint = joint_predictor({name: each.model for name, each in with_model.items()})
    plan = replace(result.plan, model=joint)
    return replace(result, model=joint, plan=plan, outputs=with_model)


def _require_same_model(predictor: Predictor, result: FitResult, plain: _Plain) -> None:
    """Refuse a model that explains another output, or predicts something else of what the file knows."""
    saved = result.model
    output = (predictor.is_probability, predictor.explained_class)
    if output != (saved.is_probability, saved.explained_class):
        raise _another_model(f"{predictor.label} is explained, not {saved.label}")
    means = result.shared_curves.value.means
    table = result.table
    row = None if result.from_file is None else result.from_file.row
    if row is None:
        text = "the file holds no prediction, so whether this is the same model is not known."
        warn(f"F09: {text}", ModelWarning)
    else:
        with _as_format_errors("fit.row"):
            saved_row = plain.read(row["row"], "fit.row")
            expected = float(row["prediction"])
        predicted = float(predictor.on_rows(saved_row)[0])
        largest = max(abs(expected), float(np.max(np.abs(means))))
        if not abs(predicted - expected) <= TOLERANCE * largest:
            raise _another_model(f"it predicts {predicted:.5g} where that predicted {expected:.5g}")
    if not isinstance(table.container, Outline):
        predictions = predictor.on_rows(table)
        tolerance = TOLERANCE * float(np.max(np.abs(predictions)))
        for number, expected_mean in enumerate(means.tolist()):
            rows = np.flatnonzero(result.regions == number)
            if len(rows):
                mean = np.average(predictions[rows], weights=result.weights[rows])
                if not abs(mean - expected_mean) <= tolerance:
                    what = f"its mean prediction in region {number} is {mean:.5g}"
                    raise _another_model(f"{what}, not {expected_mean:.5g}")


def _another_model(why: str) -> ModelError:
    message = f"this is not the model that was saved with: {why}."
    hint = "Load with the model that the object was fitted with, or fit again."
    return ModelError(message, code="F09", argument="model", hint=hint)


def _search_rows(X: Any, outline: Table, positions: IntArray) -> Table:
    """The search rows of a fit, from the table that it was fitted on."""
    table = read_table(X, missing="allow", like=outline)
    if positions.max(initial=0) >= table.n_rows:
        raise _another_table(f"it has {table.n_rows:,} rows, too few")
    rows = table.take(positions)
    for column, of_fit in zip(rows.columns, outline.columns, strict=True):
        if not of_fit.passes and column.levels.tolist() != of_fit.levels.tolist():
            raise _another_table(f"column {column.name!r} has other values")
    return rows


def _require_same_regions(result: FitResult) -> None:
    """Refuse rows that fill the regions otherwise than those of the fit."""
    counts = np.bincount(result.regions, minlength=len(result.partition)).tolist()
    if counts != [region.n_samples for region in result.partition]:
        raise _another_table("its rows fill the regions otherwise")


def _another_table(why: str) -> InputError:
    message = f"X is not the table that was fitted on: {why}."
    hint = "Pass the X of the fit, with its rows in the same order, or leave X out."
    return InputError(message, code="F09", argument="X", hint=hint)


def _row_of(result: FitResult, plain: _Plain) -> Any:
    """A row of medians and most frequent values with its dtypes and the prediction of the model.

    None where no file can hold such a row, or the model cannot be asked about it.
    """
    if result.from_file is not None:
        return result.from_file.row
    if result.outputs:  # each has a row of its own
        return None
    try:
        row = plain.write(median_row(result.table, result.weights), "row")
        prediction = float(result.model.on_rows(plain.read(row, "row"))[0])
    except Exception:  # each library has errors of its own for a dtype that it does not make
        return None
    return {"row": row, "prediction": prediction}


def _missing_values(column: Column, count: int) -> NDArray[Any]:
    if column.kind in LABELLED:
        return np.full(count, None, dtype=object)
    if column.kind == "date":
        return np.full(count, "NaT", dtype=column.levels.dtype)
    return np.full(count, np.nan)


# A table without its rows


def _write_table(table: Table) -> Any:
    """What is known of the columns. Their distinct values stand in ascending order, so that no row can be told."""
    columns = []
    for column in table.columns:
        seen = None  # where all labels of the table are among the levels
        if not column.passes and set(column.seen or ()) > set(column.levels.tolist()):
            seen = column.seen
        levels = column.levels[:0] if column.passes else column.levels
        if column.missing.any():
            levels = np.append(levels, _missing_values(column, 1))
        declared = None if column.passes else column.declared
        columns.append(replace(column, values=levels, declared=declared, seen=seen))
    labels = [
        str(label) if isinstance(label, str) else int(label) for label in table.container.labels
    ]
    outline = {"library": table.container.library, "labels": labels, "columns": columns}
    return _Plain().write(outline, "table")


def _read_table(data: Any) -> Table:
    """Read what `_write_table` wrote, as a table without rows."""
    outline = _Plain().read(data, "table")
    library, labels, columns = outline["library"], outline["labels"], tuple(outline["columns"])
    is_library = library in ("numpy", "pandas", "polars", "pyarrow")
    require(is_library, "table.library", f"is {library!r:.60}, which is not known")
    for position, column in enumerate(columns):
        place = f"table.columns[{position}]"
        is_column = isinstance(column, Column) and column.position == position
        require(is_column, place, "is not the column at this position")
        for of_dtype in (column.order, column.declared, column.seen):
            is_without_repeats = len(set(of_dtype or ())) == len(of_dtype or ())
            require(is_without_repeats, place, "has a label twice")
        expected = "O" if column.kind in LABELLED else "mM" if column.kind == "date" else "f"
        is_of_kind = column.kind in KINDS and column.values.dtype.kind in expected
        require(is_of_kind, f"{place}.values", "are not those of a column of this kind")
        are_levels = column.values[~column.missing].tolist() == column.levels.tolist()
        require(are_levels, f"{place}.values", "are not different values in their order")
    names = {column.name for column in columns}
    has_names = 0 < len(names) == len(columns) == len(labels)
    require(has_names, "table.columns", "are not columns with different names")
    return Table(columns, Outline(tuple(labels), library))


# Values that JSON has no type for

MARK = "$"
"""The key that says what an object of the file is, where it is no mapping of texts."""

_SEQUENCES: dict[str, Any] = {"tuple": tuple, "set": frozenset, "mapping": dict}
_KINDS = {"array", "labels", "deferred", "partition", "column", "rows", *_SEQUENCES}


@dataclass(frozen=True, eq=False)
class _Plain:
    """Values of a fit in the types of JSON, and back.

    Parameters
    ----------
    table : Table, optional
        That of the fit: its columns are written as their positions. None: columns are records.
    """

    table: Any = None

    def write(self, value: Any, place: str) -> Any:
        """Write a value.

        Parameters
        ----------
        value : object
        place : str
            Where it stands, for errors.

        Raises
        ------
        InputError
            F08: no file can hold the value.
        """
        if isinstance(value, timedelta):
            value = np.timedelta64(value)
        elif isinstance(value, date) and getattr(value, "tzinfo", None) is None:
            value = np.datetime64(value)
        if isinstance(value, np.datetime64 | np.timedelta64):
            value = np.asarray(value)
        elif isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, float):
            value = np.asarray(value)  # JSON has no such numbers
        if isinstance(value, list):
            return [self.write(item, f"{place}[{number}]") for number, item in enumerate(value)]
        if isinstance(value, np.ndarray):
            return self._write_array(value, place)
        if isinstance(value, Deferred):
            return _marked("deferred", self.write(value.value, place))
        if isinstance(value, Column) and self.table is not None:
            return _marked("column", value.position)
        if isinstance(value, Partition):
            return _marked("partition", value.to_dict())
        if isinstance(value, Table):  # a baseline, or the row of the file
            cells = [column.values for column in value.columns]
            rows = {"cells": cells, "dtypes": dtypes_of(value.container)}
            return _marked("rows", self.write(rows, place))
        if _records().get(type(value).__name__) is type(value):
            return self._write_record(value, place)
        if isinstance(value, Mapping):
            return self._write_mapping(value, place)
        if isinstance(value, tuple):
            return _marked("tuple", self.write(list(value), place))
        if isinstance(value, set | frozenset):  # sorted, so that equal sets are written alike
            return _marked("set", sorted(self.write(list(value), place), key=json.dumps))
        raise _unwritable(value, place)

    def _write_array(self, values: NDArray[Any], place: str) -> Any:
        if values.dtype == object and values.ndim == 1:
            return _marked("labels", self.write(values.tolist(), place))
        if values.dtype.kind not in "biufmMU" or values.dtype == np.longdouble:
            raise _unwritable(values, place)
        return _marked("array", array_to_json(values))

    def _write_record(self, value: Any, place: str) -> Any:
        omitted = _OMITTED.get(type(value), ())
        names = [field.name for field in fields(value) if field.name not in omitted]
        written = {MARK: type(value).__name__}
        for name in names:
            written[name] = self.write(getattr(value, name), f"{place}.{name}")
        return written

    def _write_mapping(self, value: Mapping[Any, Any], place: str) -> Any:
        if all(isinstance(key, str) for key in value) and MARK not in value:
            return {key: self.write(item, f"{place}.{key}") for key, item in value.items()}
        pairs = [self.write([key, item], place) for key, item in value.items()]
        return _marked("mapping", sorted(pairs, key=json.dumps))

    def read(self, data: Any, place: str) -> Any:
        """Read what `write` wrote; anything else is an error, which `_as_format_errors` makes a FormatError.

        Parameters
        ----------
        data : object
            What the file holds.
        place : str
            Where it stands there.
        """
        if isinstance(data, list):
            return [self.read(item, f"{place}[{number}]") for number, item in enumerate(data)]
        if not isinstance(data, dict):
            return data
        if MARK not in data:
            return {key: self.read(item, f"{place}.{key[:60]}") for key, item in data.items()}
        kind = entry(data, MARK, str, place)
        records = _records()
        if kind in records:
            return self._read_record(records[kind], data, place)
        require(kind in _KINDS, place, f"is {kind[:60]!r}, which is not known")
        value = entry(data, "value", object, place)
        if kind == "array":
            array = array_from_json(value, place)
            return array.item() if array.shape == () and array.dtype.kind == "f" else array[()]
        if kind == "labels":
            return object_array(self.read(value, place))
        if kind in _SEQUENCES:
            return _SEQUENCES[kind](self.read(value, place))
        if kind == "deferred":
            computed = self.read(value, place)
            return Deferred(lambda: computed, now=True)
        if kind == "partition":
            return Partition.from_dict(value)
        if kind == "column":
            is_position = type(value) is int and 0 <= value < self.table.n_columns
            require(is_position, place, "is not the position of a column")
            return self.table.columns[value]
        return self.native_rows(**self.read(value, place))

    def _read_record(self, kind: Any, data: dict[str, Any], place: str) -> Any:
        require(kind is not Column or self.table is None, place, "is no column of the table")
        parts = {
            name: self.read(part, f"{place}.{name[:60]}")
            for name, part in data.items()
            if name != MARK
        }
        _require_types(parts, kind, place)
        if kind is SharedCurves:  # whoever has rows puts them there
            parts = {**parts, "table": self.table, "regions": None, "weights": None}
        if kind is Intervals:
            column, levels = parts["fitted"], parts["fitted"].levels
            values = [_missing_values(each, len(parts["parts"])) for each in self.table.columns]
            values[column.position] = levels[parts["parts"]]
            parts["ends"] = self.rows(values)
        if kind is partitioners.AllExcept:
            return kind(*parts["columns"])
        return kind(**parts)

    def native_rows(self, cells: Sequence[NDArray[Any]], dtypes: Sequence[Any]) -> Table:
        """Rows in the library and in the dtypes of the table, from the cells of each column."""
        rows = self.rows(cells)
        every_row = np.arange(rows.n_rows)
        container = empty_row(self.table.container, dtypes)
        adopted = container.adopt([column.values for column in rows.columns])
        columns = list(range(self.table.n_columns))
        native = container.recombined(np.zeros_like(every_row), adopted, every_row, columns)
        return read_table(native, missing="allow", like=self.table)

    def rows(self, values: Sequence[NDArray[Any]]) -> Table:
        """Rows with the values of each column, which rows of any library can take cells from."""
        columns = []
        cells = {}
        for column, of_column in zip(self.table.columns, values, strict=True):
            is_one_a_row = isinstance(of_column, np.ndarray) and of_column.shape == values[0].shape
            require(is_one_a_row, "the rows of the file", "are not one value for each row")
            columns.append(replace(column, values=of_column))
            dtype = object if of_column.dtype == object else None
            cells[column.name] = pd.Series(of_column, dtype=dtype)
        return Table(tuple(columns), FrameContainer(pd.DataFrame(cells), "pandas"))


RECORDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        # Options
        *(Objective, Disagreement, Explainer, Resources),
        *(Marginal, Baseline, Conditional, Accumulated, Local, Sensitivity, Risk),
        *(Pure, Full, Partial, Whole, Additive, Individual, Joint, Interactions),
        *(partitioners.AllExcept, partitioners.Tree, partitioners.GivenRules, NumericTree),
        *(partitioners.Clusters, partitioners.Ice, partitioners.Cohorts),
        *(partitioners.Subgroups, partitioners.RepidTree),
        # What was learned
        Column,
        *(ExactBins, LevelBins, IntervalBins, TreeBins, References, Intervals),
        *(Copula, Margin, Cells, Probe, Scale, OutputAxis),
        # What was found
        Detached,
        *(SharedCurves, SharedCurve, RowCurves, Ledger, UntakenCut),
        *(ModelErrors, ErrorFigure, NodeFigures, NodeFigure, Stability, SplitStability),
        *(Estimate, EstimateLine, DescribedShares, DescribedShare, TreePath, PathStep),
    )
}
"""The classes that a file may name."""

LEARNED = (ExactBins, LevelBins, IntervalBins, TreeBins, References, Intervals, LearnedRatios)
"""What maskings learn of some columns."""

# What no file needs: rows of the data; of cells what only the evaluations of a fit are read with.
_OMITTED: dict[type[Any], tuple[str, ...]] = {
    Intervals: ("ends",),
    SharedCurves: ("table", "regions", "weights"),
    Cells: ("curves", "vectors", "mass"),
    Detached: ("outputs",),
    Scale: ("own",),
}


def _records() -> dict[str, type[Any]]:
    """Classes by name: those of the package, and maskings and behaviors of one's own that stand in its tables."""
    operators = (*MASKINGS.values(), *BEHAVIORS.values())
    return {**{type(operator).__name__: type(operator) for operator in operators}, **RECORDS}


_TYPES: dict[str, Any] = {
    **RECORDS,
    "float": (int, float),
    "int": int,
    "str": str,
    "bool": bool,
    "None": type(None),
    "Table": Table,
    "Coalition": frozenset,
    "Deferred[Ledger]": Deferred,
    "Deferred[SharedCurves]": Deferred,
}
_ARRAYS = {"FloatArray": "f", "IntArray": "i", "BoolArray": "b"}


def _require_types(parts: Mapping[str, Any], kind: type[Any], place: str) -> None:
    """Refuse parts of a class that are not what it says of its fields; what is not listed is left to the class."""
    hints = inspect.get_annotations(kind)
    for name, part in parts.items():
        hint = str(hints.get(name, "Any"))
        fits = any(_fits(part, alternative) for alternative in hint.split(" | "))
        require(fits, f"{place}.{name[:60]}", f"is not of type {hint}")


def _fits(value: Any, hint: str) -> bool:
    """Whether a value is of a type."""
    if hint.startswith("tuple[") and hint.endswith(", ...]"):
        item_hint = hint.removeprefix("tuple[").removesuffix(", ...]")
        return isinstance(value, tuple) and all(_fits(item, item_hint) for item in value)
    if hint in _ARRAYS:
        return isinstance(value, np.ndarray) and value.dtype.kind == _ARRAYS[hint]
    if isinstance(value, bool):
        return hint not in ("float", "int")
    return isinstance(value, _TYPES.get(hint, object))


def _marked(kind: str, value: Any) -> dict[str, Any]:
    return {MARK: kind, "value": value}


def _unwritable(value: Any, place: str) -> InputError:
    """The error for a value that no file can hold, such as a function or a model (F08)."""
    if callable(value) and hasattr(value, "__qualname__"):
        what = f"the function {value.__qualname__}"
    else:
        what = f"a {type(value).__qualname__}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        hint = "Set random_state to diagnostics_['seed'], the seed that was drawn from it."
    else:
        hint = (
            "Use an option that has a name or is a number, or pickle the object: "
            "that keeps functions and the model."
        )
    return InputError(
        f"{place} is {what}, which a file cannot hold: a loaded file never runs code.",
        code="F08",
        argument=re.split(r"[.\[]", place)[0],
        hint=hint,
    )
