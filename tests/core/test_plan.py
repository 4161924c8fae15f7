"""The plan of a fit: recorded disagreement from its questions, refusals with remedies that work, other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import granite_xai as gx
from default_cases import CASES, Case
from default_figures import beside, explained, read_records, same, target
from default_tables import rows
from granite_xai.base.errors import Diagnostics
from granite_xai.compute import Resources
from granite_xai.core.algebra import disagreement as questions
from granite_xai.core.algebra.influence import Individual, Interactions, Joint
from granite_xai.core.algebra.region_weights import RegionWeights
from granite_xai.core.evaluations.evaluations import Coalition
from granite_xai.core.evaluations.reading import Reading
from granite_xai.core.fitting.plan import (
    Draft,
    Options,
    Plan,
    RowChooser,
    coalitions_of_curves,
    make_plan,
)
from granite_xai.models import for_table
from granite_xai.models.targets import read_target
from granite_xai.tables import Rows, read_table

RECORDS = read_records()
NOT_OF_ONE_PLAN = {
    "alpha chosen",
    "regions that count alike",
}  # options of the search, not of the plan


@dataclass(frozen=True)
class Opened:
    """Rows, a model and questions, before the plan is made."""

    rows: Rows
    model: Any
    questions: list[Any]  # of the core, about the chosen sets
    options: Options

    def resolve(self, search: Rows) -> list[Any]:
        """The questions on some rows, those of the first output first."""
        gives_paths = Reading.of(self.model, search.table, Diagnostics()).gives_attributions
        resolved = [
            question.resolve(
                search.table,
                is_probability=self.model.is_probability,
                gives_paths=gives_paths,
                max_evaluations=None,
                seed=self.options.seed,
            )
            for question in self.questions
        ]
        outputs = list(self.model.outputs) or [None]
        return [
            question.about_output(
                number, question.label + (f" of {name}" if name is not None else "")
            )
            for number, name in enumerate(outputs)
            for question in resolved
        ]

    def draft(self, search: Rows, options: Options) -> Draft:
        return Draft(
            self.model, self.resolve(search), search, self.curves(search), options, Diagnostics()
        )

    def curves(self, search: Rows) -> frozenset[Coalition]:
        question = self.resolve(search)[0]
        return coalitions_of_curves(
            question.first.layout.explained, question.order, search.table.explained
        )

    def chooser(self) -> RowChooser:
        return RowChooser(self.rows, self.draft, self.options)

    def plan(self, search: Rows) -> Plan:
        return make_plan(
            self.model,
            self.resolve(search),
            search,
            self.curves(search),
            self.options,
            Diagnostics(),
        )


def opened(case: Case, **options: Any) -> Opened:
    found = rows(case.table, case.n_rows, seed=case.n_rows)
    table = read_table(found.X, missing=case.options.get("missing", "error"))
    model = for_table(
        explained(case, found),
        table,
        case.options.get("output"),
        response=case.options.get("response", "auto"),
    )
    asked = beside(case, found)
    influence = Individual(case.options.get("features"))
    if case.options.get("influence") == "joint":
        influence = Joint(case.options["groups"])
    elif case.options.get("influence") == "interaction":
        influence = Interactions()
    of_case = [
        of_core(question).with_influence(influence) for question in named_questions(case.question)
    ]
    behaviors = [question.behavior.resolved(model.is_probability) for question in of_case]
    needs_y = any(behavior.needs_y for behavior in behaviors)
    of_probability = [behavior.needs_probability for behavior in behaviors]
    y = None
    if needs_y:
        y = read_target(
            target(case, found), table, model, True, next(filter(None, of_probability), None)
        )
    known = {
        "resources": case.options.get("resources", Resources()),
        "max_samples": case.options.get("max_samples", "auto"),
        "holdout": case.options.get("holdout", "auto"),
        **options,
    }
    return Opened(
        rows=Rows.of(table, y, asked.get("sample_weight"), asked.get("clusters")),
        model=model,
        questions=of_case,
        options=Options(**known),
    )


def named_questions(question: Any) -> list[Any]:
    """Today's questions behind what a case asks."""
    if isinstance(question, gx.Objective):
        return (
            [of for of, _ in question.weighted()]
            if hasattr(question, "weighted")
            else [gx.questions()["ice-pdp"]]
        )
    if isinstance(question, dict | list):
        return [gx.questions()[name] for name in question]
    if isinstance(question, str):
        return [gx.questions()[question]]
    return [question]


def of_core(question: Any) -> Any:
    """The same question of the new core."""
    of_risk = {}
    if question.first.behavior.key == "risk" and question.first.behavior.loss is not None:
        of_risk = {"risk_loss": question.first.behavior.loss}
    return questions.question(question.name, loss=question.loss, **of_risk)


@pytest.mark.filterwarnings("ignore::granite_xai.GraniteWarning")
@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_OF_ONE_PLAN])
def test_the_rows_that_search_show_the_recorded_disagreement(name):
    case = CASES[name]
    recorded = RECORDS[name]["R"]
    found = opened(case)
    search = found.rows.take(found.chooser().choose().search)
    plan = found.plan(search)
    sample = plan.ask(search)
    for question in found.resolve(search):
        evaluations = sample.outputs[question.output]
        whole = RegionWeights.whole(evaluations.weights)
        disagreement = float(question.regional(evaluations, whole)[0, 0])
        floor = question.floor(evaluations, sample.errors[question.output])
        if disagreement <= floor:
            disagreement = 0.0
        assert same(
            recorded[question.label], disagreement, 1e-9 * max(recorded[question.label], 1e-9)
        )
