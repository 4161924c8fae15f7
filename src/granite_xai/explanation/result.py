"""Explanation: the values ``phi`` of one or two explanations, region by region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import count, number
from granite_xai.tables import Table, frame


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One explanation in one region: (n, sets) values, or one a set where `rows`, their positions, are None."""

    region: int
    name: str
    rows: IntArray | None
    values: FloatArray
    errors: FloatArray  # standard errors, of their sampling and over the rows; 0 where these are not asked for
    base: FloatArray  # the value of the empty coalition, from which effects are counted: one for each row, or one
    sets: tuple[
        tuple[str, ...], ...
    ] = ()  # which differ between questions (``coe`` has one, all columns)
    size_errors: FloatArray | None = (
        None  # of the mean size of local values, one a set; None: not known
    )
    estimated: bool = False  # whether values are means over drawn orders of arrival


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation(Printable):
    """Values of one or more explanations, for each region, set and (where local) row.

    Attributes
    ----------
    sets : tuple of tuples of str
        The compared sets of the first question: columns, or one group.
    parts : tuple of Part
        One entry for each region and explanation.

    Examples
    --------
    >>> import numpy as np
    >>> from granite_xai import Explainer
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    >>> explanation = Explainer(interaction="pure").explain(lambda X: X[:, 0] + 2 * X[:, 1], X)
    >>> explanation.sets
    (('x0',), ('x1',))
    >>> explanation.values[:, 1]
    array([ 1., -1.,  1., -1.])
    """

    sets: tuple[tuple[str, ...], ...]
    parts: tuple[Part, ...]
    table: Table = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the explanations, in order."""
        return tuple(dict.fromkeys(part.name for part in self.parts))

    @property
    def values(self) -> FloatArray:
        """Values of the first explanation: rows × sets (in the order of the rows), or one a set."""
        return self.of(self.names[0])

    def of(self, name: str) -> FloatArray:
        """Values of one explanation: rows × sets, or regions × sets (just sets for one region)."""
        chosen = self._parts(name)
        if not chosen:
            words = f"there is no explanation {name!r} here; there is {', '.join(self.names)}"
            raise InputError(words, code="P01", argument="name")
        if chosen[0].rows is not None:
            return _by_row(chosen, "values")
        return chosen[0].values if len(chosen) == 1 else np.stack([part.values for part in chosen])

    def _parts(self, name: str | None) -> list[Part]:
        wanted = self.names[0] if name is None else name
        return [part for part in self.parts if part.name == wanted]

    def _summary(self) -> TextSummary:
        """The typical size of each effect (for local ones the mean over the rows), the explanations side by side."""
        lines: dict[tuple[object, ...], dict[str, str]] = {}
        for part in self.parts:
            sizes = part.values if part.rows is None else np.abs(part.values).mean(axis=0)
            for names, size in zip(part.sets or self.sets, sizes.tolist(), strict=True):
                lines.setdefault((part.region, ":".join(names)), {})[part.name] = number(size)
        rows = [
            (*key, *(cells.get(name, "") for name in self.names)) for key, cells in lines.items()
        ]
        headings = ("region", "set", *self.names)
        return TextSummary(sentences=[repr(self)[1:-1]], table=[headings, *rows], left=(1,))

    def __repr__(self) -> str:
        amounts = (
            count(len(self.sets), "set"),
            count(len({part.region for part in self.parts}), "region"),
        )
        return f"<Explanation: {' and '.join(self.names)} of {', '.join(amounts)}, {count(self.table.n_rows, 'row')}>"

    def frame(self) -> Any:
        """A tidy table in the library of X: region, set, explanation, row, value, standard_error."""
        keys = ("region", "set", "explanation", "row", "value", "standard_error")
        lines: list[tuple[Any, ...]] = []
        for part in self.parts:
            rows = [None] if part.rows is None else part.rows.tolist()
            figures = (np.atleast_2d(each).T.tolist() for each in (part.values, part.errors))
            for names, values, errors in zip(part.sets or self.sets, *figures, strict=True):
                label = part.region, ":".join(names), part.name
                lines += [(*label, *cells) for cells in zip(rows, values, errors, strict=True)]
        return frame(
            {key: [line[i] for line in lines] for i, key in enumerate(keys)}, like=self.table
        )

    def to_shap(self, name: str | None = None) -> Any:
        """A ``shap.Explanation`` of one local explanation (by its name; None: the first), for shap's own plots."""
        shap, chosen = _package("shap"), self._parts(name)
        if not chosen or chosen[0].rows is None:
            words = (
                f"to_shap needs one value a row; {name or self.names[0]!r} has one value a region."
            )
            raise InputError(words, code="P03", hint="Use frame() for sensitivity and risk.")
        if any(len(names) != 1 for names in self.sets):
            words = "to_shap needs effects of columns or groups; these are interactions."
            raise InputError(words, code="P03", hint="Use to_shapiq for interactions.")
        names = [label for (label,) in self.sets]
        columns = {
            column.name: column.values for column in self.table.columns if column.kind == "numeric"
        }
        # The rows' own values where every set is a numeric column, unless the explanation was loaded without rows.
        known = self.table.n_rows and all(name in columns for name in names)
        data = np.column_stack([columns[name] for name in names]) if known else None
        values, base = (_by_row(chosen, field) for field in ("values", "base"))
        return shap.Explanation(values=values, base_values=base, data=data, feature_names=names)

    def to_shapiq(self, row: int | None = None, name: str | None = None) -> Any:
        """A ``shapiq.InteractionValues`` of one explanation (None: the first), for shapiq's own plots.

        `row` is the position of the explained row; for sensitivity and risk the region. None: the first.
        """
        shapiq, chosen = _package("shapiq"), self._parts(name)
        values, base = _values_of(chosen, row)
        players = list(dict.fromkeys(label for names in self.sets for label in names))
        lookup = {
            tuple(players.index(label) for label in names): i for i, names in enumerate(self.sets)
        }
        order = max(map(len, self.sets))
        sizes = {"max_order": order, "min_order": 0, "n_players": len(players)}
        told = {
            "baseline_value": base,
            "estimated": any(part.estimated for part in chosen),
            **sizes,
        }
        lookup = {(): len(values), **lookup}
        index, values = "SV" if order == 1 else "STII", np.append(values, base)
        return shapiq.InteractionValues(
            values=values, interaction_lookup=lookup, index=index, **told
        )


def _by_row(parts: Sequence[Part], field: str) -> FloatArray:
    """What local explanations hold for each row, in the order of the rows."""
    order = np.argsort(
        np.concatenate([part.rows for part in parts if part.rows is not None]), kind="stable"
    )
    return np.concatenate([getattr(part, field) for part in parts])[order]


def _values_of(parts: Sequence[Part], row: int | None) -> tuple[FloatArray, float]:
    """Values and base of one row, or of one region where there is one number a set."""
    for part in parts:
        if part.rows is None and (row is None or part.region == row):
            return part.values, float(part.base[0])
        if part.rows is not None and (row is None or row in part.rows):
            at = 0 if row is None else int(np.flatnonzero(part.rows == row)[0])
            return part.values[at], float(part.base[at])
    raise InputError(
        f"row={row} is not among the explained rows or regions.", code="P04", argument="row"
    )


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        hint = f"pip install 'granite-xai[shap]' installs {name}."
        raise InputError(f"this needs the package {name}.", code="P08", hint=hint) from error
