"""Random small problems, each in two forms: as the package takes it and as the oracle takes it.

Both forms hold the same cells and call the same function of one row, so that every evaluation is the same number and
only what is made of the evaluations can differ.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import settings, strategies as st

import granite_xai as gx
import oracle as o
from granite_xai import (
    Baseline,
    Conditional,
    Full,
    Individual,
    Interactions,
    Joint,
    Local,
    Marginal,
    Partial,
    Pure,
    Risk,
    Sensitivity,
)

LABELS = ("low", "mid", "high", "top", "peak")  # of ordered columns; the oracle sees their places
LEVELS = ("a", "b", "c", "d", "e", "f", "g", "h")  # of nominal columns
WORTH = {"a": 0.0, "b": 1.0, "c": -1.0, "d": 2.5, "e": -0.5, "f": 1.75, "g": -2.0, "h": 0.25}
EPOCH = np.datetime64("2020-01-01", "s")
DAY = 86_400.0
INDICES = {"shapley-taylor": "stii", "sii": "sii", "k-sii": "sii", "fsii": "fsii", "banzhaf": "bii"}


def paper(model: Any, question: Any = "ice-pdp", **options: Any) -> gx.Granite:
    """The paper's algorithm, which takes the sample for the world: what the oracle computes."""
    return gx.Granite(model, question, **{"search": "greedy", "confidence_level": None, **options})


def examples(number: int) -> settings:
    """That many examples in the default profile, proportionally more in a deeper one."""
    return settings(max_examples=max(1, number * settings.default.max_examples // 100))


@contextmanager
def quiet() -> Iterator[None]:
    """Small data: jumps next to a tiny spread (N01), levels that only weightless rows have (D15), thin bins (C10) and
    wide ones (D49), and nanoseconds of dates multiplied with others, whose rounding hides what is measured (N10)."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="N01: |N10: ", category=gx.ModelWarning)
        warnings.filterwarnings("ignore", message="D15: ", category=gx.DataWarning)
        warnings.filterwarnings("ignore", message="C10: |D49: ", category=gx.BinWarning)
        yield


# ----------------------------------------------------------------------------------------------------------- models


@dataclass(frozen=True)
class Term:
    """A coefficient times a product, a step or a wave in some columns."""

    shape: str
    coefficient: float
    columns: tuple[int, ...]
    threshold: float = 0.125

    def __call__(self, codes: Sequence[float]) -> float:
        chosen = [codes[j] for j in self.columns]
        if self.shape == "product":
            return self.coefficient * math.prod(chosen)
        if self.shape == "step":
            return self.coefficient * float(all(code > self.threshold for code in chosen))
        return self.coefficient * math.sin(math.fsum((j + 1.3) * codes[j] for j in self.columns))


@dataclass(frozen=True)
class Function:
    """A sum of terms of one row of cells."""

    kinds: tuple[str, ...]
    shifts: tuple[float, ...]
    terms: tuple[Term, ...]
    offset: float = 0.0

    def code(self, j: int, cell: Any) -> float:
        """The number a cell stands for."""
        if o.is_missing(cell):
            return 0.75
        return WORTH[cell] if self.kinds[j] == "nominal" else float(cell) - self.shifts[j]

    def __call__(self, row: Sequence[Any]) -> float:
        codes = [self.code(j, cell) for j, cell in enumerate(row)]
        return self.offset + sum(term(codes) for term in self.terms)


@dataclass(frozen=True)
class Model:
    """The same function for tables: anything with predict, and missing values are welcome."""

    function: Function

    def predict(self, X: Any) -> np.ndarray:
        return np.array(
            [self.function(row) for row in cells_of(X, self.function.kinds)], dtype=float
        )

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(allow_nan=True, string=True, categorical=True)
        return Tags("regressor", TargetTags(required=False), None, None, None, input_tags=inputs)


# ----------------------------------------------------------------------------------------------------------- tables


def cells_of(X: Any, kinds: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows of a table as the oracle sees them."""
    if isinstance(X, np.ndarray):
        return X.tolist()
    return list(zip(*(_cells(X.iloc[:, j], kind) for j, kind in enumerate(kinds)), strict=True))


def _cells(column: pd.Series, kind: str) -> list[Any]:
    absent = column.isna().to_numpy()
    if kind == "numeric":
        return column.tolist()
    if kind == "ordinal":
        cells = [
            None if gone else LABELS.index(cell)
            for cell, gone in zip(column.tolist(), absent, strict=True)
        ]
    elif kind == "date":
        ticks = column.to_numpy().astype("datetime64[s]")
        cells = [
            None if gone else float((t - EPOCH).astype(int)) / DAY
            for t, gone in zip(ticks, absent, strict=True)
        ]
    else:
        cells = [None if gone else cell for cell, gone in zip(column.tolist(), absent, strict=True)]
    return cells


def _series(cells: Sequence[Any], kind: str) -> Any:
    """One column of a frame from the oracle's cells."""
    if kind == "numeric":
        whole = all(isinstance(cell, int) for cell in cells)
        return (
            np.array(cells, dtype=int)
            if whole
            else np.array([math.nan if c is None else c for c in cells])
        )
    if kind == "ordinal":
        codes = [-1 if cell is None else int(cell) for cell in cells]
        return pd.Categorical.from_codes(codes, categories=list(LABELS), ordered=True)
    if kind == "date":
        ticks = [
            np.datetime64("NaT") if cell is None else EPOCH + np.timedelta64(int(cell * DAY), "s")
            for cell in cells
        ]
        return np.array(ticks, dtype="datetime64[s]")
    if kind == "boolean":
        return pd.array(cells, dtype="boolean") if None in cells else np.array(cells, dtype=bool)
    return pd.Categorical(cells, categories=[level for level in LEVELS if level in cells])


@dataclass(frozen=True)
class Case:
    """A model with its rows, for the package (``X``, ``model``) and for the oracle (``problem``)."""

    rows: tuple[tuple[Any, ...], ...]
    function: Function
    y: tuple[float, ...]
    weights: tuple[float, ...] | None = None
    framed: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        return self.function.kinds

    @property
    def n(self) -> int:
        return len(self.rows)

    @property
    def d(self) -> int:
        return len(self.kinds)

    @property
    def model(self) -> Model:
        return Model(self.function)

    @cached_property
    def X(self) -> Any:
        if not self.framed:
            return np.array(self.rows, dtype=float).reshape(self.n, self.d)
        columns = [[row[j] for row in self.rows] for j in range(self.d)]
        return pd.DataFrame(
            {f"c{j}": _series(columns[j], kind) for j, kind in enumerate(self.kinds)}
        )

    def call(self, rows: Sequence[Sequence[Any]]) -> list[float]:
        return [self.function(row) for row in rows]

    def problem(self, fitted: o.Problem | None = None) -> o.Problem:
        return o.Problem(self.call, self.rows, self.y, self.weights, self.kinds, fitted)

    @property
    def has_missing(self) -> bool:
        return any(o.is_missing(cell) for row in self.rows for cell in row)

    def with_rows(self, rows: Sequence[tuple[Any, ...]], y: Sequence[float]) -> Case:
        """Other rows for the same model, without weights."""
        return replace(self, rows=tuple(rows), y=tuple(y), weights=None)

    def delta(self, problem: o.Problem) -> float:
        """The noise of the model: from one representable step up and down, and from the sizes seen by the oracle."""
        used = [self.rows[n] for n in problem.rows][:64]

        def moved(direction: float) -> list[float]:
            return self.call(
                [[self._step(j, c, direction) for j, c in enumerate(row)] for row in used]
            )

        values = [
            v
            for T in o.subsets(range(self.d))
            for line in problem.R(T).values()
            for v in line.values()
        ]
        single = all(float(np.float32(v)) == v for v in values) and not all(
            v == round(v) for v in values
        )
        first = self.call(used)
        return o.noise(
            problem.largest, first, first, first[:7], moved(math.inf), moved(-math.inf), single
        )

    def _step(self, j: int, cell: Any, direction: float) -> Any:
        whole = self.framed and isinstance(self.rows[0][j], int)
        if self.kinds[j] != "numeric" or o.is_missing(cell) or whole:
            return cell
        return math.nextafter(cell, direction)


# -------------------------------------------------------------------------------------------------- drawing columns

NUMBERS = {
    "constant": [1.5],
    "two": [0.0, 1.0],
    "few": [-1.0, -0.0, 0.0, 1.0],
    "ties": [k / 2 for k in range(-3, 4)],
    "many": [k / 4 for k in range(-12, 13)],
    "shifted": [1e6 + k / 4 for k in range(-6, 7)],
    "integers": [-2, -1, 0, 1, 3],
}
PATTERNS = ("constant", *2 * ("two", "few", "ties", "many", "shifted", "integers"))
OTHERS = {
    "ordinal": [0, 1, 2, 4],
    "nominal": list(LEVELS[:4]),
    "boolean": [False, True],
    "date": [-1.0, 0.0, 0.5, 1.0, 31.0, 366.0],
}


def column(
    chance: random.Random, n: int, kind: str, missing: bool, levels: int = 4
) -> tuple[list[Any], float]:
    """The cells of one column, and how far its numbers are shifted."""
    if kind == "numeric":
        pattern = chance.choice(PATTERNS)
        values: list[Any] = NUMBERS[pattern]
        if missing and pattern == "integers":
            values = [float(value) for value in values]
    else:
        pattern, values = kind, list(LEVELS[:levels]) if kind == "nominal" else OTHERS[kind]
    gap = math.nan if kind == "numeric" else None
    with_gaps = missing and pattern != "constant" and chance.random() < 0.6
    cells = [
        gap if with_gaps and chance.random() < 0.2 else chance.choice(values) for _ in range(n)
    ]
    if all(
        o.is_missing(cell) for cell in cells
    ):  # a column of nothing is refused at the border, not here
        cells[0] = values[0]
    return cells, 1e6 if pattern == "shifted" else 0.0


def function_of(chance: random.Random, kinds: Sequence[str], shifts: Sequence[float]) -> Function:
    """A sum of up to three terms, the first an interaction where there can be one; none makes a constant model."""
    d, made = len(kinds), []
    for k in range(chance.choice([1, 2, 2, 2, 3, 3, 3, 3, 2, 0])):
        size = chance.randint(min(d, 2) if k == 0 else 1, d)
        shape, coefficient = (
            chance.choice(["product", "step", "wave"]),
            chance.choice([1.0, -2.0, 0.5, 3.0]),
        )
        chosen = tuple(sorted(chance.sample(range(d), size)))
        made.append(Term(shape, coefficient, chosen, chance.choice([-0.625, 0.125, 0.6875])))
    return Function(
        tuple(kinds), tuple(shifts), tuple(made), chance.choice([0.0, 0.0, -3.0, 100.0])
    )


KINDS = ("numeric", "numeric", "ordinal", "nominal", "boolean", "date")


@st.composite
def cases(
    draw,
    min_rows: int = 1,
    max_rows: int = 9,
    min_columns: int = 1,
    max_columns: int = 3,
    weighted: bool | None = False,
    mixed: bool | None = None,
    missing: bool | None = False,
    levels: int = 4,
):
    """A random problem; ``None`` leaves a choice to chance."""
    # Mostly large enough to disagree: one row or one column has nothing to explain. The cells come from one seed: drawn
    # one by one they are mostly equal, and equal rows have nothing to explain either.
    likely = st.integers(max(min_rows, (min_rows + max_rows) // 2), max_rows)
    n = draw(likely | likely | likely | st.integers(min_rows, max_rows))
    d = draw(
        st.sampled_from(
            [*3 * list(range(max(min_columns, min(2, max_columns)), max_columns + 1)), min_columns]
        )
    )
    chance = random.Random(draw(st.integers(0, 2**32 - 1)))
    framed = chance.random() < 0.5 if mixed is None else mixed
    gaps = chance.random() < 0.5 if missing is None else missing
    kinds = [chance.choice(KINDS) if framed else "numeric" for _ in range(d)]
    drawn = [column(chance, n, kind, gaps, levels) for kind in kinds]
    cells = [[float(c) if not framed else c for c in values] for values, _ in drawn]
    function = function_of(chance, kinds, [shift for _, shift in drawn])
    y = tuple(chance.choice([-1.0, 0.0, 0.5, 2.0]) for _ in range(n))
    weights = (
        weighting(chance, n) if (chance.random() < 0.5 if weighted is None else weighted) else None
    )
    return Case(tuple(zip(*cells, strict=True)), function, y, weights, framed)


def weighting(chance: random.Random, n: int) -> tuple[float, ...]:
    """Weights with zeros and fractions, at least one above zero."""
    weights = tuple(chance.choice([0.0, 0.25, 1.0, 1.0, 2.5, 2.5, 0.25]) for _ in range(n))
    return weights if any(weights) else (1.0,) * n


def regions(case: Case, min_size: int = 1) -> st.SearchStrategy[list[int]]:
    """Some of the rows, in their order; all of them in the simplest case."""
    everyone = list(range(case.n))
    some = st.lists(st.sampled_from(everyone), min_size=min_size, max_size=case.n, unique=True).map(
        sorted
    )
    return st.just(everyone) | some


# ------------------------------------------------------------------------------------------------- drawing settings


class Halves:
    """A user's own bins: the sign of the first visible number, fitted to where it lies in the fitting rows."""

    def fit(self, shown: Any, rest: Any) -> Halves:
        self.center = sorted(float(cell) for cell in np.asarray(shown, dtype=float)[:, 0])[
            len(shown) // 2
        ]
        return self

    def apply(self, shown: Any) -> np.ndarray:
        return (np.asarray(shown, dtype=float)[:, 0] > self.center).astype(int)


@dataclass(frozen=True)
class Asked:
    """One explanation in both forms."""

    explainer: gx.Explainer
    setting: o.Setting
    sets: tuple[frozenset[int], ...]


@st.composite
def maskings(draw, case: Case, names: Sequence[str] = ("marginal", "baseline", "conditional")):
    """A masking operator, and the setting's words for it."""
    name = draw(st.sampled_from(sorted(names)))
    if name == "marginal":
        return Marginal(), {"masking": name}
    if name == "baseline":
        row = draw(st.sampled_from(["mean", "median", "given"]))
        if row == "given":
            given = draw(st.sampled_from(case.rows))
            return Baseline(native_row(case, given)), {"masking": name, "baseline": given}
        return Baseline(row), {
            "masking": name,
            "baseline": mean_row(case) if row == "mean" else row,
        }
    plain = all(kind == "numeric" for kind in case.kinds) and not case.has_missing
    bins = draw(st.sampled_from(["tree", "exact", "own"] if plain else ["tree", "exact"]))
    chosen: Any = Halves() if bins == "own" else bins
    return Conditional(chosen), {"masking": name, "bins": chosen}


def mean_row(case: Case) -> tuple[Any, ...]:
    """Means of the numbers; ordered labels and dates have lower medians, levels their mode."""
    problem = case.problem()
    means, medians = (o.center(problem, problem.rows, how) for how in ("mean", "median"))
    return tuple(means[j] if kind == "numeric" else medians[j] for j, kind in enumerate(case.kinds))


def native_row(case: Case, row: Sequence[Any]) -> tuple[Any, ...]:
    """A row of cells in the words of the frame."""
    cells = []
    for cell, kind in zip(row, case.kinds, strict=True):
        if kind == "ordinal" and cell is not None:
            cells.append(LABELS[cell])
        elif kind == "date" and cell is not None:
            cells.append(EPOCH + np.timedelta64(int(cell * DAY), "s"))
        else:
            cells.append(cell)
    return tuple(cells)


def absolute_cube(prediction: Any, y: Any) -> Any:
    """A risk loss of one's own."""
    return np.abs(prediction - y) ** 3 + 0.5 * np.abs(prediction - y)


@st.composite
def behaviors(draw, name: str):
    """A behavior operator, and the setting's words for it."""
    if name == "local":
        return Local(), {"behavior": name}
    if name == "sensitivity":
        total = draw(st.sampled_from(["difference", "jansen"]))
        return Sensitivity(total), {"behavior": name, "total": total}
    loss = draw(st.sampled_from(["squared", "absolute", absolute_cube]))
    average, pointwise = draw(st.sampled_from(["prediction", "loss"])), draw(st.booleans())
    return Risk(loss, average, pointwise), {
        "behavior": name,
        "loss": loss,
        "average": average,
        "pointwise": pointwise,
    }


@st.composite
def influences(draw, case: Case, name: str | None = None):
    """An influence operator, the setting's words for it, and the compared sets."""
    possible = ["individual", "joint", *(["interaction"] if case.d > 1 else [])]
    name = draw(st.sampled_from(possible)) if name is None else name
    if name == "individual":
        chosen = draw(st.none() | st.lists(st.integers(0, case.d - 1), min_size=1, unique=True))
        sets = [{j} for j in (range(case.d) if chosen is None else chosen)]
        return Individual(chosen), {"influence": name}, tuple(map(frozenset, sets))
    if name == "joint":
        order = draw(st.permutations(range(case.d)))
        size = draw(
            st.sampled_from([*3 * list(range(1, case.d)), case.d])
        )  # a group of all has nothing beside it
        second = draw(st.integers(0, case.d - size))
        groups = {
            "first": order[:size],
            **({"second": order[size : size + second]} if second else {}),
        }
        words = {"influence": name, "groups": tuple(tuple(group) for group in groups.values())}
        return Joint(groups), words, tuple(o.players(case.d, o.Setting(**words)))
    order = draw(st.sampled_from([2, 2, 2, min(case.d, 3)]))
    every = [
        frozenset(S)
        for S in o.compared_sets(case.d, o.Setting(influence="interaction", order=order))
    ]
    chosen = draw(st.none() | st.lists(st.sampled_from(every), min_size=1, unique=True))
    sets = tuple(every if chosen is None else chosen)
    operator = Interactions(order, None if chosen is None else [tuple(sorted(S)) for S in chosen])
    return operator, {"influence": name, "order": order}, sets


@st.composite
def interactions(draw, name: str):
    """An interaction operator, and the setting's words for it."""
    if name != "partial":
        return {"pure": Pure(), "full": Full()}[name], {"interaction": name}
    index = draw(st.sampled_from(sorted(INDICES)))
    return Partial(index), {"interaction": name, "index": INDICES[index]}


def is_defined(words: dict[str, Any]) -> bool:
    """Jansen's total effect is for columns and groups with several references."""
    if words.get("total") != "jansen" or words["interaction"] != "full":
        return words.get("total") != "jansen" or words["influence"] != "interaction"
    return words["masking"] != "baseline" and words["influence"] != "interaction"


# ------------------------------------------------------------------------------------------------------- comparing


def scale_of(case: Case, problem: o.Problem, words: dict[str, Any]) -> float:
    """The size of the quantities: of predictions, their squares, or losses; effects are differences of those."""
    values = [
        v for T in o.subsets(range(case.d)) for line in problem.R(T).values() for v in line.values()
    ]
    spread = max(values) - min(values)
    if words["behavior"] == "local":
        return max(abs(v) for v in values) + spread + 1e-9
    if words["behavior"] == "sensitivity":
        return spread**2 + 1e-9 * (1 + max(abs(v) for v in values))
    furthest = max(abs(v) for v in values) + max(abs(v) for v in case.y)
    return max(o.risk_loss(words["loss"], furthest, 0.0), 1e-9)


def agree(ours: float, theirs: float, scale: float) -> bool:
    """Equal to 1e-10 of the scale of the quantities."""
    return abs(ours - theirs) <= 1e-10 * scale


def rounding(
    case: Case, problem: o.Problem, asked: o.Question, rows: o.Rows | None = None
) -> float:
    """What rounding can do to R of a region: gaps are off by 1e-14 of the quantities they are differences of."""
    effect = scale_of(case, problem, vars(asked.first))
    found = [
        v
        for gap in o.gaps(asked, problem, rows).values()
        for v in (gap.values() if isinstance(gap, dict) else [gap])
    ]
    largest = max((abs(v) for v in found), default=0.0)
    error = 1e-14 * effect
    change = o.gap_loss(asked.loss, 4 * largest + error) - o.gap_loss(asked.loss, 4 * largest)
    return len(found) and len(o.question_sets(asked, case.d)) * change


def floor_bounds(problem: o.Problem, asked: o.Question, delta: float) -> tuple[float, float]:
    """The noise floor at the mean prediction, and at means as far off as rounding can put them.

    A mean of n predictions in size up to s takes n products and n - 1 additions and one division, each right to half a
    unit in the last place: it is off by at most (n + 1) 2^-53 s, while delta may be as small as 2^-49 s. Where the mean
    is a target (a loss whose slope is 0 there), the floor of a risk is of the order of delta, and so is what rounding
    does to it.
    """
    furthest = (len(problem.rows) + 1) * 2.0**-53 * problem.largest
    found = [o.floor(asked, problem, delta, shift) for shift in (-furthest, 0.0, furthest)]
    return min(found), max(found)


# ------------------------------------------------------------------------------------------------ drawing questions


@st.composite
def questions(draw, case: Case, name: str, loss: Any = "squared"):
    """A named question with options of chance: for the package, for the oracle, and Granite's own options."""
    conditional = name in ("mplot-pdp", "cice-mplot", "cshap-shap", "csobol-sobol", "cfi-pfi")
    options: dict[str, Any] = {}
    words: dict[str, Any] = {}
    if conditional:
        bins = draw(st.sampled_from(["tree", "exact"]))
        options["conditional"], words["bins"] = Conditional(bins), bins
    if name in ("pfi-risk", "sage-risk", "cfi-pfi"):
        risk = draw(st.sampled_from(["squared", "absolute", absolute_cube]))
        average, pointwise = draw(st.sampled_from(["prediction", "loss"])), draw(st.booleans())
        options |= {"risk_loss": risk, "average": average, "pointwise": pointwise}
        words |= {"loss": risk, "average": average, "pointwise": pointwise}
    total = (
        draw(st.sampled_from([None, "difference", "jansen"]))
        if name in ("sobol", "variance")
        else None
    )
    if total:
        options["total"], words["total"] = total, total
    question = gx.question(name, loss=loss, **options)
    jansen = name == "csobol-sobol" or total == "jansen" or (name == "sobol" and total is None)
    possible = ["individual", "joint", *(["interaction"] if case.d > 2 and not jansen else [])]
    if name == "ale":
        possible = ["individual"]
    influence, about, sets = draw(influences(case, draw(st.sampled_from(possible))))
    asked = asked_by_name(name, loss, {**words, **about}, None if name == "coe" else sets)
    return question.with_influence(influence), asked, {}


def asked_by_name(name: str, loss: Any, words: dict[str, Any], sets: Any) -> o.Question:
    """The oracle's form of a named question."""
    shared = dict(words)
    if "loss" in shared:
        shared["risk_loss"] = shared.pop("loss")
    return o.question(name, loss=loss, features=sets, **shared)
