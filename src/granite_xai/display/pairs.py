"""First- and second-order influences of columns: the numbers behind a network and a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.behavior import Behavior, Sensitivity
from granite_xai.display.rows import Area, Reader, Seen
from granite_xai.explainer import Explainer
from granite_xai.explanation import Part
from granite_xai.influence import Individual, Interactions
from granite_xai.interaction import Interaction
from granite_xai.masking import Accumulated, Marginal, Masking


@dataclass(frozen=True, slots=True, eq=False)
class Influences:
    """Influences in one area.

    Parameters
    ----------
    area : all rows, or a region
    matrix : (d, d) float, symmetric
        First-order influences on the diagonal, second-order ones elsewhere.
    """

    area: Area
    matrix: FloatArray


def game_of(side: Explainer) -> tuple[Masking, Behavior]:
    """The masking and behavior whose interactions are shown: the question's, as far as pairs are defined for them."""
    masking = Marginal() if isinstance(side.masking, Accumulated) else side.masking
    behavior = Sensitivity("difference") if isinstance(side.behavior, Sensitivity) else side.behavior
    return masking, behavior


def strongest(seen: Seen, masking: Masking, behavior: Behavior, most: int) -> list[str]:
    """Columns with the largest full influence on all rows, which contains their interactions."""
    names = seen.table.names
    if len(names) <= most:
        return list(names)
    reader = Reader(seen, [Explainer(masking, behavior, "full")])
    sizes = np.abs(_size(reader.read(seen.areas[0]).parts[0]))
    order = np.argsort(-sizes, kind="stable")[:most]
    return [names[i] for i in sorted(order.tolist())]


def influences(
    seen: Seen, masking: Masking, behavior: Behavior, interaction: Interaction, columns: Sequence[str]
) -> list[Influences]:
    """First-order (pure) and second-order influences of some columns, in every area."""
    pairs = list(combinations(range(len(columns)), 2))
    sides = [Explainer(masking, behavior, "pure", Individual(list(columns)))]
    if pairs:
        sets = Interactions(2, [(columns[i], columns[j]) for i, j in pairs])
        sides.append(Explainer(masking, behavior, interaction, sets))
    reader = Reader(seen, sides)
    return [Influences(area, _matrix(reader.read(area).parts, pairs, len(columns))) for area in seen.areas]


def _matrix(parts: Sequence[Part], pairs: Sequence[tuple[int, int]], count: int) -> FloatArray:
    matrix = np.diag(_size(parts[0]))
    if pairs:
        values = _size(parts[1])
        for (i, j), value in zip(pairs, values, strict=True):
            matrix[i, j] = matrix[j, i] = value
    return matrix.reshape(count, count)


def _size(part: Part) -> FloatArray:
    """The value of each set; for local effects the mean of its size over the rows."""
    return part.values if part.rows is None else np.abs(part.values).mean(axis=0)
