"""Every golden question: its disagreement on all rows, and on both sides of cuts, against today's package.

Operators are converted, everything else is done anew: effects, what maskings learn, what is asked.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import granite_xai as gx
from core.converted import operator
from golden import figures
from golden.cases import CASES, Case
from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.masking import learn
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.evaluations.asking import ask
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.reading import Reading
from granite_xai.evaluations.request import request
from granite_xai.engine.splits import Splits
from granite_xai.fitting import pipeline
from granite_xai.tables.rows import Rows

CUTS = 4


class Today(NamedTuple):
    """What a fit of today's package searches on."""

    inputs: Any
    evaluations: Any


def is_asked(case: Case) -> bool:
    """Whether the case is about questions that the new core has, not about partitioners."""
    is_regional = "region" in repr(case.question)
    return case.framework is None and "partitioner" not in case.options and not is_regional


def todays(case: Case, monkeypatch: pytest.MonkeyPatch) -> Today:
    """The first search of a fit."""
    searched: list[Today] = []
    search_regions = pipeline.search_regions

    def spied(inputs: Any, evaluations: Any, *arguments: Any) -> Any:
        searched.append(Today(inputs, evaluations))
        return search_regions(inputs, evaluations, *arguments)

    monkeypatch.setattr(pipeline, "search_regions", spied)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.GraniteWarning)
        figures.fit(case)
    return searched[0]


def resolved(comparison: Any, today: Today) -> ResolvedQuestion:
    """The question of the new core, with as many orders of arrival as today's."""
    question = operator(comparison.question)
    sides = []
    for explainer, effect in (
        (question.first, comparison.first),
        (question.second, comparison.second),
    ):
        side = explainer.resolve(
            today.inputs.table,
            is_probability=today.inputs.route.predictor.is_probability,
            gives_paths=effect.by_paths,
            seed=today.inputs.seed,
            pairs=len(effect.draws),
        )
        sides.append(side)
    return ResolvedQuestion(question, sides[0], sides[1], comparison.output)


def evaluated(questions: list[ResolvedQuestion], today: Today) -> tuple[Evaluations, ...]:
    """What the model says about the rows of the search."""
    inputs = today.inputs
    rows = Rows.of(inputs.table, inputs.y, inputs.weights, in_fixed_order=False)
    needs = questions[0].needs
    for question in questions:
        needs = needs | question.needs
    learned = learn(needs.facts, rows, inputs.seed, guarded=False)
    reading = Reading.of(inputs.route.predictor, inputs.table)
    values = inputs.values if isinstance(inputs.values, int) else None
    requested = request(
        needs, inputs.table, values=values, model_cells=reading.model_cells, learned=learned
    )
    asked = ask(inputs.route.predictor, rows, requested, reading, resources=inputs.resources)
    return asked.outputs


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if is_asked(case)])
def test_disagreement_is_todays(name, monkeypatch):
    today = todays(CASES[name], monkeypatch)
    questions = [resolved(comparison, today) for comparison in today.inputs.comparisons]
    outputs = evaluated(questions, today)
    weights = today.evaluations.weights
    goes_left = np.random.default_rng(0).uniform(size=(len(weights), CUTS)) < 0.4
    for question, comparison in zip(questions, today.inputs.comparisons, strict=True):
        evaluations = outputs[question.output]
        for regions, splits in (
            (RegionWeights.whole(weights), Splits.whole(weights)),
            (RegionWeights.sides(goes_left, weights), Splits.of(goes_left.T, weights)),
        ):
            found = question.regional(evaluations, regions)
            expected = comparison.regional(today.evaluations, splits).T
            tolerance = {"rtol": CASES[name].tolerance, "atol": CASES[name].tolerance}
            np.testing.assert_allclose(found, expected[: len(found)], **tolerance)
        places = np.flatnonzero(goes_left[:, 0])
        part = question.regional(evaluations.take(places), RegionWeights.whole(weights[places]))
        np.testing.assert_allclose(part[0, 0], found[0, 0], rtol=1e-9, atol=1e-11)
        cells = zip(
            question.cell_sizes(evaluations),
            comparison.cell_sizes(today.evaluations),
            strict=True,
        )
        for sizes, other in cells:
            np.testing.assert_array_equal(sizes, other)
