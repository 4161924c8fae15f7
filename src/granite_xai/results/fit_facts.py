"""What the sentences about a fit need to know of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from granite_xai.algebra.disagreement import Disagreement
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.remarks import INTERACT, cause
from granite_xai.inference.nodes import NodeFigures
from granite_xai.results.contrasts import is_quiet
from granite_xai.results.notes import WAVERING

Outcome = Literal["regions", "nothing", "noise", "no rule"]
"""How a fit ended.

Regions were found; there is nothing to explain; nothing beyond sampling noise; rows differ, but no rule
says where.
"""


def is_about_effects(question: Disagreement) -> bool:
    """Whether a question is about effects of features (ICE and PDP).

    Their heterogeneity is made by interactions; other questions compare two explanations.
    """
    return question.behavior.key == "local" and cause(question) == INTERACT


@dataclass(frozen=True, eq=False)
class FitFacts:
    """A fit as its sentences see it.

    Parameters
    ----------
    fitted : FitResult
    diagnostics : mapping
        Of the same fit.
    """

    fitted: FitResult
    diagnostics: Mapping[str, Any]

    @property
    def outcome(self) -> Outcome:
        """How the fit ended."""
        if len(self.fitted.partition) > 1:
            return "regions"
        if self.fitted.below_noise_floor:
            return "nothing"
        estimate = self.fitted.estimate
        is_estimate_noise = estimate is not None and math.isnan(estimate.remaining)
        if self.fitted.is_chance or is_estimate_noise:
            return "noise"
        return "no rule"

    @property
    def is_doubtful(self) -> bool:
        """Whether regions were found, and the rows that judge them see no more than sampling noise."""
        estimate = self.fitted.estimate
        return self.outcome == "regions" and estimate is not None and math.isnan(estimate.remaining)

    @property
    def question(self) -> Disagreement:
        """The first question, which the sentences are about."""
        return self.fitted.questions[0].question

    @property
    def is_effect(self) -> bool:
        """Whether the first question is about effects of features."""
        return is_about_effects(self.question)

    @property
    def figures(self) -> NodeFigures | None:
        """Figures of the nodes for the first question; None: they are not known."""
        if not self.fitted.nodes:
            return None
        return self.fitted.nodes[0]

    @property
    def n_rows(self) -> int:
        """Search rows and held-out rows."""
        n_search_rows = sum(region.n_samples for region in self.fitted.partition)
        estimate = self.fitted.estimate
        if estimate is not None and estimate.rows == "held-out":
            return n_search_rows + estimate.n_rows
        return n_search_rows

    @property
    def model_is_unsteady(self) -> bool:
        """Whether the model's answers jump or waver, so that little stands out from them."""
        warnings = self.diagnostics.get("warnings", ())
        return any(warning.startswith(WAVERING) for warning in warnings)

    @property
    def quiet_regions(self) -> tuple[int, ...]:
        """Regions in which predictions vary far less than overall.

        None where that would be all of them: then regions differ by their level, and their curves tell
        what happens inside.
        """
        figures = self.figures
        if figures is None or len(figures.leaves) < 2:
            return ()
        spread = figures.root.spread
        quiet = tuple(leaf.region for leaf in figures.leaves if is_quiet(leaf.spread, spread))
        if len(quiet) == len(figures.leaves):
            return ()
        return quiet
