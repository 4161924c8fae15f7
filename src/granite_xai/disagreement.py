"""Disagreement: how far two explanations are apart on a region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, unknown
from granite_xai.base.typing import Elementwise, FloatArray, Terms
from granite_xai.behavior.behavior import Behavior
from granite_xai.catalog import explanations
from granite_xai.compute import Resources
from granite_xai.compute.compiling import available
from granite_xai.effects import ResolvedExplainer
from granite_xai.engine.fused import LOSSES, SingleGap, applies, side_losses
from granite_xai.engine.games import RegionalGame, read_twice
from granite_xai.engine.masked import masked_model
from granite_xai.engine.membership import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explainer import Explainer
from granite_xai.influence import Influence
from granite_xai.interaction import add_terms, union
from granite_xai.masking.masking import Marginal, Masking

if TYPE_CHECKING:
    from granite_xai.trees.routes import Route

GAP_LOSSES: dict[str, Elementwise] = {"squared": np.square, "absolute": np.abs}


@dataclass(frozen=True, slots=True, init=False)
class Disagreement:
    """Two explanations with the same behavior and influence that differ in masking, in interaction, or in both.

    Parameters
    ----------
    first, second : Explainer, or a name of ``gx.explanations()``
    loss : "squared", "absolute" or callable
        Applied cell by cell to the gap between both.
    name : str, optional

    Examples
    --------
    >>> question = Disagreement(Explainer(interaction="full"), Explainer(interaction="pure"))
    >>> question.behavior.key
    'local'
    """

    first: Explainer
    second: Explainer
    loss: str | Elementwise
    name: str | None = field(default=None, compare=False)

    def __init__(
        self,
        first: Explainer | str,
        second: Explainer | str,
        loss: str | Elementwise = "squared",
        name: str | None = None,
    ) -> None:
        named = explanations()
        chosen = {
            "first": choose("first", first, named),
            "second": choose("second", second, named),
            "loss": loss,
            "name": name,
        }
        for key, value in chosen.items():
            object.__setattr__(self, key, value)
        self._check()

    def _check(self) -> None:
        if not callable(self.loss) and self.loss not in GAP_LOSSES:
            raise unknown("loss", self.loss, GAP_LOSSES)
        for axis in ("behavior", "influence"):
            ours, theirs = getattr(self.first, axis), getattr(self.second, axis)
            if ours != theirs:
                raise InputError(
                    f"the two explanations differ in {axis}: {ours!r} and {theirs!r}. Explanations can be compared "
                    "when they share behavior and influence and differ in masking, in interaction, or in both.",
                    code="P03",
                    argument=axis,
                    hint=f"Give both the same {axis}.",
                )
        if (self.first.masking, self.first.interaction) == (self.second.masking, self.second.interaction):
            raise InputError(
                "the two explanations are the same: masking and interaction are equal.",
                code="P03",
                argument="second",
                hint="Let them differ in masking, in interaction, or in both.",
            )

    @property
    def behavior(self) -> Behavior:
        """The behavior both share."""
        return self.first.behavior

    @property
    def label(self) -> str:
        """A name for tables: the question's, or both explanations'."""
        return self.name or "-".join(side.name or tag for side, tag in ((self.first, "first"), (self.second, "second")))

    def with_influence(self, influence: Influence) -> Disagreement:
        """The same question about other sets."""
        sides = (self.first.with_influence(influence), self.second.with_influence(influence))
        return replace(self, first=sides[0], second=sides[1])

    def compare(
        self,
        route: Route,
        resources: Resources,
        random_state: int,
        pairs: tuple[int | None, int | None] = (None, None),
    ) -> ResolvedQuestion:
        """This question resolved on the table of a route, sampled effects from so many ``pairs`` of orders."""
        sides = zip((self.first, self.second), pairs, strict=True)
        effects = tuple(side.effect(route, resources, random_state, count) for side, count in sides)
        loss = CheckedLoss(self.loss) if callable(self.loss) else GAP_LOSSES[self.loss]
        return ResolvedQuestion(self, effects[0], effects[1], loss)


@dataclass(frozen=True, slots=True)
class CheckedLoss:
    """A user's own loss, which must return finite numbers ≥ 0 of the shape it was given (T07)."""

    loss: Elementwise

    def __call__(self, gaps: FloatArray) -> FloatArray:
        """Losses of some gaps."""
        returned = np.asarray(self.loss(gaps.copy()))
        losses = np.full(gaps.shape, np.nan) if returned.dtype.kind not in "biuf" else returned.astype(np.float64)
        if losses.shape != gaps.shape or not np.all(np.isfinite(losses)) or np.any(losses < 0):
            raise InputError(
                f"the loss returned shape {losses.shape} for gaps of shape {gaps.shape}, or values that are negative "
                "or not finite.",
                code="T07",
                argument="loss",
                hint="Return one finite number ≥ 0 for each gap.",
            )
        return losses


@dataclass(frozen=True, eq=False)
class ResolvedQuestion:
    """A question resolved on a table: the disagreement of every region of a batch of splits."""

    question: Disagreement
    first: ResolvedExplainer
    second: ResolvedExplainer
    loss: Elementwise

    @cached_property
    def gaps(self) -> list[dict[Masking, Terms]]:
        """For each set, ``phi1 - phi2`` as terms of the game of each masking."""
        pairs = zip(self.first.combined, self.second.combined, strict=True)
        if self.first.masking == self.second.masking:
            return [{self.first.masking: add_terms([(1.0, one), (-1.0, two)])} for one, two in pairs]
        return [
            {self.first.masking: one, self.second.masking: {term: -value for term, value in two.items()}}
            for one, two in pairs
        ]

    @cached_property
    def _single_gaps(self) -> list[SingleGap]:
        """The gaps of local questions under marginal masking, which are found in one pass; none for other questions."""
        masking = self.first.masking
        if self.first.behavior.key != "local" or not isinstance(masking, Marginal) or self.second.masking != masking:
            return []
        sets = zip(self.first.layout.sets, self.gaps, strict=True)
        found = [SingleGap(union(members), gap[masking]) for members, gap in sets]
        everything = union(self.first.layout.players)
        return found if all(gap.is_single(everything) for gap in found) else []

    def losses(self, evaluations: Evaluations, splits: Splits) -> FloatArray:
        """``sum over S of loss(phi1(S) - phi2(S))``: (K, n) for behaviors with one value a row, otherwise (K, 2)."""
        behavior = self.first.behavior
        total = np.zeros(splits.inside.shape if behavior.per_row else splits.mass.shape)
        for gap in self.gap_values(evaluations, splits):
            # A ufunc may write over the gap, which nobody reads again.
            total += self.loss(gap, out=gap) if isinstance(self.loss, np.ufunc) else self.loss(gap)
        return total

    def gap_values(self, evaluations: Evaluations, splits: Splits) -> Iterator[FloatArray]:
        """``phi1(S) - phi2(S)`` of each set in turn, (K, n) or (K, 2); arrays that may be written."""
        shared = self._games(evaluations, splits)
        for masking, game in shared.items():
            game.share(read_twice([gap[masking] for gap in self.gaps if masking in gap]))
        for members, gap in zip(self.first.layout.sets, self.gaps, strict=True):
            own = evaluations.own(union(members))
            games = shared if own is evaluations else self._games(own, splits)
            values = [games[masking].combine(terms) for masking, terms in gap.items()]
            yield values[0] if len(values) == 1 else values[0] + values[1]

    def _games(self, evaluations: Evaluations, splits: Splits) -> dict[Masking, RegionalGame]:
        behavior = self.first.behavior
        return {
            masking: RegionalGame(behavior, masked_model(masking, evaluations, splits), evaluations, splits)
            for masking in (self.first.masking, self.second.masking)
        }

    def regional(self, evaluations: Evaluations, splits: Splits) -> FloatArray:
        """``R`` of both sides of every split, shape (K, 2): the mean loss over the side's rows; 0 on an empty side."""
        if applies(self._single_gaps, self.loss, evaluations, splits):
            disagreement = side_losses(self._single_gaps, self.loss, evaluations, splits)
        else:
            losses = self.losses(evaluations, splits)
            disagreement = splits.means(losses) if self.first.behavior.per_row else losses
        return np.where(splits.mass > 0, disagreement, 0.0)

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows, where sets have at most so many values."""
        if self._single_gaps and self.loss in LOSSES and available():
            return 2 * n_rows + 16 * n_values  # membership twice, and the sums of the values twice
        return 8 * n_rows * self.widest

    @property
    def widest(self) -> int:
        """How many values of the game are held at once while one set is compared."""
        gaps = self.gaps
        shared = sum(len(read_twice([gap[m] for gap in gaps if m in gap])) for m in gaps[0])
        return shared + 6
