"""Disagreement of both sides of many splits, in blocks that fit where the products are computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from granite_xai.base.errors import ResourceError
from granite_xai.base.typing import BoolArray, Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.behavior.behavior import Behavior, Risk
from granite_xai.compute import in_threads
from granite_xai.engine.games import read_twice
from granite_xai.engine.portable.arithmetic import Arithmetic, Array
from granite_xai.engine.portable.games import Game
from granite_xai.engine.portable.masked import Masked, Sides
from granite_xai.engine.portable.matrices import Moved
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.masking.masking import Accumulated, Baseline, Masking

CELLS = 2**19
"""Splits times rows scored together in this process: few enough for the cache."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """A question as its gaps: for each set, terms of the game of each masking.

    Parameters
    ----------
    behavior : Behavior
    sets : the columns of each compared set
    terms : for each set, ``phi1 - phi2`` as terms of the game of each masking
    loss : "squared" or "absolute"
    """

    behavior: Behavior
    sets: Sequence[Coalition]
    terms: Sequence[Mapping[Masking, Terms]]
    loss: str

    def twice(self, masking: Masking) -> frozenset[Term]:
        """Terms of a masking that more than one set reads."""
        return frozenset(read_twice([gap[masking] for gap in self.terms if masking in gap]))

    @property
    def widest(self) -> int:
        """Arrays of one value a split and row that are held at once."""
        shared = sum(len(self.twice(masking)) for masking in self.terms[0]) if self.behavior.per_row else 0
        return shared + 8


def why_not(behavior: Behavior, maskings: Sequence[Masking], loss: object) -> str | None:
    """Why a question is not scored by plain products; None: it is.

    Examples
    --------
    >>> from granite_xai.behavior.behavior import Local
    >>> why_not(Local(), [Baseline("region")], "squared")
    'a baseline that is chosen in each region'
    """
    if not isinstance(loss, str):
        return "a loss of your own"
    if isinstance(behavior, Risk) and not isinstance(behavior.loss, str):
        return "a risk loss of your own"
    if any(isinstance(masking, Accumulated) for masking in maskings):
        return "accumulated changes"
    if any(isinstance(masking, Baseline) and masking.row == "region" for masking in maskings):
        return "a baseline that is chosen in each region"
    return None


class Scorer:
    """Scores splits of nodes; the matrices of all rows are sent once.

    Parameters
    ----------
    arithmetic : Arithmetic
    root : Evaluations
        Of all rows.
    jobs : int
        Threads that score blocks in this process.
    """

    def __init__(self, arithmetic: Arithmetic, root: Evaluations, jobs: int = 1) -> None:
        self.arithmetic = arithmetic
        self.jobs = jobs if arithmetic.place is None else 1  # a device has its own threads
        size = sum(matrix.values.nbytes for matrix in root.matrices.values())
        # On a device a quarter stays free for blocks; here the evaluations themselves lie in the same memory.
        room = arithmetic.free() - size if arithmetic.place is None else arithmetic.free() * 3 // 4
        self.moved = Moved(arithmetic, root, max(room, 0))

    def regional(self, questions: Sequence[Gaps], node: Evaluations, rows: IntArray, inside: BoolArray) -> FloatArray:
        """``R`` of both sides of every split, (K, 2, Q).

        Parameters
        ----------
        questions : sequence of Gaps
        node : Evaluations
            Of the node.
        rows : (n,) int
            Positions of its rows among all.
        inside : (K, n) bool
            Which rows lie on the inner side of each split.
        """
        step = self._step(max(question.widest for question in questions), inside)
        while True:
            try:
                blocks = [inside[start : start + step] for start in range(0, len(inside), step)]
                work = partial(self._block, questions, node, rows)
                found = [work(block) for block in blocks] if self.jobs == 1 else in_threads(work, blocks, self.jobs)
                return np.concatenate(found)
            except self.arithmetic.exhausted as error:
                step = self._smaller(step, len(inside), error)
            except RuntimeError as error:
                if self.arithmetic.place is None:
                    raise
                raise _failed("the device failed", str(error).partition("\n")[0]) from error

    def _step(self, widest: int, inside: BoolArray) -> int:
        n = inside.shape[1]
        affordable = self.arithmetic.free() // 2 // (self.jobs * n * (self.arithmetic.itemsize * widest + 32))
        most = CELLS // n if self.arithmetic.place is None else len(inside)
        return int(np.clip(affordable, 1, max(most, 1)))

    def _smaller(self, step: int, count: int, error: BaseException) -> int:
        """Half the block; when one split does not fit, keep no matrices; when that fails as well, give up (R08)."""
        if min(step, count) > 1:
            return min(step, count) // 2
        if not self.moved.kept:
            raise _failed("out of memory", "one split at a time, with one matrix at a time, does not fit") from error
        self.moved.let_go()
        return step

    def _block(self, questions: Sequence[Gaps], node: Evaluations, rows: IntArray, inside: BoolArray) -> FloatArray:
        with np.errstate(all="ignore"):  # what overflows in float32 is seen by the caller
            sides = Sides(self.arithmetic, inside, node.weights)
            scores = (self.arithmetic.host(self._score(question, node, rows, sides)) for question in questions)
            found = np.stack([np.broadcast_to(score, (len(inside), 2)) for score in scores], axis=-1)
        return np.where(sides.flipped[:, None, None], found[:, ::-1], found)

    def _score(self, question: Gaps, node: Evaluations, rows: IntArray, sides: Sides) -> Array:
        loss = self.arithmetic.xp.abs if question.loss == "absolute" else self.arithmetic.xp.square
        total = sum(loss(gap) for gap in self._gaps(question, node, rows, sides))
        return sides.means(total) if question.behavior.per_row else total

    def _gaps(self, question: Gaps, node: Evaluations, rows: IntArray, sides: Sides) -> Iterator[Array]:
        """``phi1(S) - phi2(S)`` of each set in turn."""

        def games(evaluations: Evaluations) -> dict[Masking, Game]:
            return {
                masking: Game(
                    question.behavior,
                    Masked(masking, self.moved, evaluations, rows, sides),
                    question.twice(masking) if evaluations is node else frozenset(),
                )
                for masking in {masking for gap in question.terms for masking in gap}
            }

        shared = games(node)
        for columns, gap in zip(question.sets, question.terms, strict=True):
            own = node.own(columns)
            chosen = shared if own is node else games(own)
            values = [chosen[masking].combine(terms) for masking, terms in gap.items()]
            yield values[0] if len(values) == 1 else values[0] + values[1]


def _failed(what: str, why: str) -> ResourceError:
    hint = "Leave Resources(device=, dtype=) at their defaults, or ask about fewer rows (max_samples=)."
    return ResourceError(f"{what}: {why}. {hint}", code="R08", argument="resources", hint=hint)
