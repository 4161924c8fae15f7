"""Values and classes in files, also those of later versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import parse_json
from granite_xai.base.files.cells import read_cells, write_cells
from granite_xai.base.typing import BoolArray, Coalition, FloatArray
from granite_xai.compute import Resources
from granite_xai.explanation.influence import Interactions, Joint
from granite_xai.explanation.interaction import Partial
from granite_xai.explanation.masking import MASKINGS, Baseline
from granite_xai.partitioners import (
    AllExcept,
    Clusters,
    Cohorts,
    GivenRules,
    Ice,
    RepidTree,
    Subgroups,
    Tree,
)
from granite_xai.persistence.forms import structure
from granite_xai.tables import (
    Column,
    read_table,
)
from strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


@pytest.mark.parametrize(
    "value",
    [
        None,
        ("interaction", 3),
        {"body": ["a", 1], 3: ("b",)},
        [("a", "b"), ("b", "c")],
        float("inf"),
        np.float64(0.5),
        Joint({"g": ["a", "b"]}, ["g"]),
        Interactions(3, [("a", "b", "c")]),
        Partial("fsii"),
        Baseline({"a": 1.5, "c": "x", "d": np.datetime64("2020-01-01T00:00:01", "s")}),
        Tree(max_depth=5, split_features=AllExcept("a")),
        Clusters(Ice("a", points=5), n_clusters=3),
        Cohorts(gx.Explainer(interaction="pure")),
        GivenRules(["a ≤ 1", "a > 1"]),
        RepidTree(features=("a",), effect="ale"),
        Subgroups("a"),
        gx.Resources(batch_size=7),
    ],
    ids=repr,
)
def test_values_survive_the_file(value):
    written = json.loads(json.dumps(structure().write(value, Any, "value"), allow_nan=False))
    assert structure().read(written, Any, "value") == value


@dataclass(frozen=True, slots=True)
class Span:
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Invented:
    """What a later version might want to keep: nothing here is known to any module of the package."""

    spans: tuple[Span, ...]
    by_set: dict[Coalition, FloatArray]
    steps: dict[int | None, Span | None]
    best: Span | Resources
    labels: frozenset[str]
    kind: Literal["path", "stability"]
    draws: FloatArray
    chosen: BoolArray
    anything: Any = None
    note: str = ""


def test_a_new_dataclass_needs_no_code():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(3, 4, 2))
    draws[0, 0, 0] = np.nan
    made = Invented(
        (Span(0.25, float("inf")), Span(-1.0, 1 / 3)),
        {frozenset({0, 2}): np.array([0.1, 1e-300]), frozenset(): np.empty(0)},
        {None: None, 3: Span(1, 2)},
        gx.Resources(batch_size=3),
        frozenset("ab"),
        "path",
        draws,
        np.array([True, False]),
        {
            "when": (np.datetime64("2020-01-01", "D"), np.timedelta64(3, "s")),
            4: [1.5, None, float("nan")],
        },
    )
    form = structure(read_table([[1.0, 2.0, 3.0]], missing="error"))
    form = replace(form, classes={**form.classes, "Span": Span})
    data = json.loads(json.dumps(form.write(made, Invented, "invented"), allow_nan=False))
    again = form.read(data, Invented, "invented")
    np.testing.assert_equal(vars_of(again), vars_of(made))
    for name in data:
        if name not in ("anything", "note"):
            with pytest.raises(FormatError, match=f"invented has no entry '{name}'"):
                form.read(
                    {key: value for key, value in data.items() if key != name}, Invented, "invented"
                )
            with pytest.raises(FormatError, match=rf"invented\.{name}"):
                form.read({**data, name: {"a": 1}}, Invented, "invented")
    with pytest.raises(FormatError, match="invented has 'more', which is not known"):
        form.read({**data, "more": 1}, Invented, "invented")


@dataclass(frozen=True, slots=True)
class Uniform:
    """A masking of somebody else."""

    draws: int = 32
    key: ClassVar[str] = "uniform"


@dataclass(frozen=True, slots=True, eq=False)
class UniformRows:
    """What it learned."""

    fitted: Column
    values: FloatArray


def test_a_masking_in_the_table_is_known_to_files_with_what_it_learns(monkeypatch):
    read = read_table([[1.0, 2.0, 3.0]], missing="error")
    learned = {(Uniform(5), frozenset({1})): UniformRows(read.columns[1], np.array([0.5]))}
    hint = dict[tuple[Any, Coalition], Callable[[Any], Any] | UniformRows]
    with pytest.raises(InputError, match="F08"):
        structure(read).write(learned, hint, "learned")
    monkeypatch.setitem(MASKINGS, "uniform", Uniform())
    data = json.loads(
        json.dumps(
            [
                structure(read).write(value, h, "a")
                for value, h in ((Uniform(7), Any), (learned, hint))
            ]
        )
    )
    assert structure(read).read(data[0], Any, "a") == Uniform(7)
    again = structure(read).read(data[1], hint, "b")
    assert again.keys() == learned.keys()
    (found,) = again.values()
    assert (found.fitted, found.values.tolist()) == (read.columns[1], [0.5])


def vars_of(value):
    return {field.name: getattr(value, field.name) for field in fields(value)}


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        [
            np.datetime64("2020-02-29", "D"),
            np.timedelta64(-5, "ns"),
            Partial("sii"),
            AllExcept("a", 2),
        ]
    ),
)


nested = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=8,
)


@examples(300)
@given(nested)
def test_values_of_any_shape_survive(value):
    written = json.loads(json.dumps(structure().write(value, Any, "value"), allow_nan=False))
    again = structure().read(written, Any, "value")
    np.testing.assert_equal(again, value)
    assert repr(again) == repr(value)


@examples(200)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=60, max_size=140),
    st.booleans(),
)
def test_long_lists_of_numbers_survive_to_the_bit(cells, floats):
    numbers = (
        cells
        if floats
        else [0 if cell != cell else max(-(10**17), min(10**17, int(cell))) for cell in cells]
    )
    dtype = np.dtype(float if floats else np.int64)
    made = np.array(numbers, dtype=dtype)
    parsed = parse_json(json.dumps({"a": write_cells(made)}).encode())
    assert isinstance(parsed["a"], np.ndarray | list)
    again = read_cells(parsed["a"], dtype, "a")
    np.testing.assert_array_equal(again, made)
    assert again.dtype == dtype
    np.testing.assert_array_equal(
        np.signbit(again) | np.isnan(made), np.signbit(made) | np.isnan(made)
    )
