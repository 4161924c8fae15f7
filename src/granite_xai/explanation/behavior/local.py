"""Local behavior: the masked prediction of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from granite_xai.base.typing import FloatArray, Term
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.behavior.behavior import Behavior, Game


@dataclass(frozen=True, slots=True)
class Local(Behavior):
    """The masked prediction of each row: ``nu(T) = F_T(x)``.

    Examples
    --------
    >>> Local().needs_y
    False
    """

    key: ClassVar[str] = "local"
    per_row: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """Error of one value: that of a prediction (C4)."""
        return delta

    def value(self, game: Game, term: Term) -> FloatArray:
        """``F_T`` at every row, (n, K)."""
        return game.masked.combined({term: 1.0}).array(game.splits)
