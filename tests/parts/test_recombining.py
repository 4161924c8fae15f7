"""Tables and columns: parts, distinct rows, and rows made of two tables in the user's library."""

from __future__ import annotations

import datetime as dt
import pickle
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from granite_xai.base.errors import InputError
from granite_xai.tables import (
    Column,
    FrameContainer,
    Outline,
    frame,
    open_table,
    read_table,
    recombine,
    sorted_labels,
)

N = 6


def pandas_mixed(index=None):
    days = pd.date_range("2020-01-01", periods=N, unit="us")
    return pd.DataFrame(
        {
            "float64": np.linspace(-1, 1, N),
            "float32": np.linspace(-1, 1, N).astype("f4"),
            "float16": np.linspace(-1, 1, N).astype("f2"),
            "int8": np.arange(N, dtype="i1"),
            "bool": np.arange(N) % 2 == 0,
            "object": pd.Series(["u", "v", None, "w", "u", "v"], dtype=object),
            "numbers": pd.Series([1, 2.5, None, True, 7, 8], dtype=object),
            "str": pd.Series(["u", "v", None, "w", "u", "v"], dtype="str"),
            "string": pd.Series(["u", "v", None, "w", "u", "v"], dtype="string"),
            "arrow_text": pd.Series(
                ["u", "v", None, "w", "u", "v"], dtype=pd.ArrowDtype(pa.string())
            ),
            "arrow_int": pd.array([1, None, 3, 4, 5, 6], dtype="int32[pyarrow]"),
            "Int16": pd.array([1, None, 3, 4, 5, 6], dtype="Int16"),
            "Float32": pd.array([1, None, 3, 4, 5, 6], dtype="Float32"),
            "boolean": pd.array([True, None, False] * 2, dtype="boolean"),
            "nominal": pd.Categorical(["z", "a", "z", "q", "a", None], ["z", "unused", "q", "a"]),
            "ordinal": pd.Categorical(["lo", "hi"] * 3, ["lo", "mid", "hi"], ordered=True),
            "binned": pd.cut(np.arange(N), 3),
            "codes": pd.Categorical([3, 1, 2] * 2),
            "date": days,
            "date_s": days.astype("datetime64[s]"),
            "zoned": days.tz_localize("Europe/Berlin"),
            "span": days - days[0],
            "longdouble": np.arange(N, dtype=np.longdouble),
        }
    ).set_axis(pd.RangeIndex(N) if index is None else index)


def polars_mixed():
    words = ["b", "a", None, "a", "b", "a"]
    return pl.DataFrame(
        {
            "f": [0.5, None, 1.5, float("nan"), 2.0, 3.0],
            "f4": pl.Series([0.5, None, 1.5, 1.0, 2.0, 3.0], dtype=pl.Float32),
            "i": pl.Series([1, None, 2, 3, 4, 5], dtype=pl.Int16),
            "b": [True, None, False, True, True, False],
            "s": words,
            "c": pl.Series(words, dtype=pl.Categorical),
            "e": pl.Series(words, dtype=pl.Enum(["b", "z", "a"])),
            "d": [dt.date(2020, 1, 1 + i) for i in range(N)],
            "t": [dt.datetime(2020, 1, 1 + i) for i in range(N)],
            "z": pl.Series([dt.datetime(2020, 1, 1 + i) for i in range(N)]).dt.replace_time_zone(
                "Europe/Berlin"
            ),
        }
    )


X = np.random.default_rng(0).normal(size=(N, 4))
OBJECTS = np.array(
    [[i, f"t{i}", i % 2 == 0, None if i == 2 else i / 2] for i in range(N)], dtype=object
)
CONTAINERS = {
    "C": X,
    "F": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[::-1, ::2],
    "big-endian": X.astype(">f8"),
    "float16": X.astype("f2"),
    "integers": np.arange(24).reshape(N, 4),
    "booleans": X > 0,
    "texts": np.array([[f"{i}{j}" for j in range(4)] for i in range(N)]),
    "objects": OBJECTS,
    "pandas": pandas_mixed(),
    "pandas floats": pd.DataFrame(X, columns=list("abcd")),
    "pandas floats from columns": pd.DataFrame({name: X[:, j] for j, name in enumerate("abcd")}),
    "pandas integers": pd.DataFrame(np.arange(24).reshape(N, 4), columns=[3, 2, 1, 0]),
    "pandas objects": pd.DataFrame(OBJECTS, columns=list("abcd")).astype(object),
    "pandas dates": pandas_mixed(pd.date_range("2021", periods=N, name="when")),
    "pandas levels": pandas_mixed(
        pd.MultiIndex.from_product([["a", "b"], range(3)], names=["p", "q"])
    ),
    "pandas duplicates": pandas_mixed(pd.Index(list("aabbcc"), dtype="str")),
    "polars": polars_mixed(),
    "pyarrow": polars_mixed().to_arrow(),
}


def cells(native):
    """A table as rows of plain objects."""
    if isinstance(native, np.ndarray):
        return [list(row) for row in native]
    if isinstance(native, pd.DataFrame):
        return [[native.iloc[i, j] for j in range(native.shape[1])] for i in range(len(native))]
    lists = native.to_pydict() if isinstance(native, pa.Table) else native.to_dict(as_series=False)
    return [list(row) for row in zip(*lists.values(), strict=True)]


def same_cell(one, other):
    gone = [bool(pd.isna(cell)) for cell in (one, other)]
    return gone[0] and gone[1] if any(gone) else one == other and type(one) is type(other)


def same_frame_of(result, base):
    """Container, labels and dtypes, exactly."""
    assert type(result) is type(base)
    if isinstance(base, np.ndarray):
        assert result.dtype == base.dtype
        assert result.dtype.byteorder == base.dtype.byteorder
    elif isinstance(base, pd.DataFrame):
        assert type(result.index) is type(base.index)
        assert result.index.names == base.index.names
        assert result.index.dtype == base.index.dtype
        pd.testing.assert_index_equal(result.columns, base.columns, exact=True)
        for one, other in zip(result.dtypes, base.dtypes, strict=True):
            assert repr(one) == repr(other)
            if isinstance(other, pd.CategoricalDtype):
                assert list(one.categories) == list(other.categories)
                assert one.ordered == other.ordered
    else:
        assert result.schema == base.schema


def nudged(table, rows, direction):
    return table.container.nudged(np.array(rows), direction, list(range(table.n_columns)))


@pytest.mark.parametrize("name", CONTAINERS)
@settings(max_examples=settings().max_examples // 4)
@given(data=st.data())
def test_recombined_rows_equal_a_loop_over_cells(name, data):
    base = CONTAINERS[name]
    table = read_table(base, missing="allow")
    n = data.draw(st.integers(1, 9))
    rows, others = (
        data.draw(st.lists(st.integers(0, N - 1), min_size=n, max_size=n)) for _ in range(2)
    )
    columns = data.draw(st.sets(st.integers(0, table.n_columns - 1)))
    before = cells(base)
    result = recombine(table, rows, table, others, columns)
    same_frame_of(result, base)
    for row, other, got in zip(rows, others, cells(result), strict=True):
        wanted = [
            before[other][j] if j in columns else before[row][j] for j in range(table.n_columns)
        ]
        assert all(map(same_cell, got, wanted))


@pytest.mark.parametrize("name", [name for name in CONTAINERS if name.startswith("pandas ")])
def test_the_index_is_that_of_the_base_rows(name):
    base = CONTAINERS[name]
    table = read_table(base, missing="allow")
    result = recombine(table, [4, 0], table, [1, 2], [0])
    if isinstance(base.index, pd.RangeIndex):
        assert result.index.tolist() == [0, 1]
    else:
        assert result.index.tolist() == base.index[[4, 0]].tolist()


def test_parts_of_a_table_keep_a_plain_index():
    table = read_table(pandas_mixed(), missing="allow").take([5, 3])
    same_frame_of(recombine(table, [0, 1], table, [1, 1], [2]), pandas_mixed())


@pytest.mark.parametrize("name", CONTAINERS)
def test_M11_the_model_may_destroy_what_it_gets(name):
    base = CONTAINERS[name]
    table = read_table(base, missing="allow")
    before = repr(cells(base))
    for made in (recombine(table, range(N), table, range(N), []), nudged(table, range(N), 1)):
        if isinstance(made, np.ndarray):
            made[:] = made[::-1].copy()
        elif isinstance(made, pd.DataFrame):
            made.iloc[:, 0] = made.iloc[::-1, 0].to_numpy()
            made.columns.name = "renamed"
            made.index.names = ["renamed"] * made.index.nlevels
            del made[made.columns[0]]
            assert base.columns.name is None
            assert "renamed" not in base.index.names
        assert repr(cells(base)) == before


def test_D15_categories_are_matched_by_label():
    base = read_table(
        pd.DataFrame({"a": pd.Categorical(["x", "y"], ["x", "y", "z"])}), missing="error"
    )
    donor = read_table(
        pd.DataFrame({"a": pd.Categorical(["z", "x", None], ["z", "y", "x"])}), missing="allow"
    )
    result = recombine(base, [0, 0, 1], donor, [0, 1, 2], [0])
    assert result["a"].dtype.categories.tolist() == ["x", "y", "z"]
    assert result["a"].tolist()[:2] == ["z", "x"]
    assert result["a"].isna().tolist() == [False, False, True]


def test_D15_a_level_that_the_base_does_not_know_survives():
    base = read_table(pd.DataFrame({"a": pd.Categorical(["x", "y"])}), missing="error")
    donor = read_table(pd.DataFrame({"a": pd.Categorical(["new", "x"])}), missing="error")
    assert recombine(base, [0, 0], donor, [0, 1], [0])["a"].tolist() == ["new", "x"]
    assert recombine(base, [0, 0], donor, [1, 1], [0])["a"].dtype == base.native["a"].dtype


@pytest.mark.parametrize(
    "kind", [np.asarray, pd.DataFrame, lambda x: pl.DataFrame(x, schema=["a", "b"])]
)
def test_a_number_that_the_dtype_cannot_hold_is_never_rounded(kind):
    base = read_table(kind(np.array([[1, 2], [3, 4]])), missing="error")
    whole, half = (read_table(kind(np.array([[v, v]])), missing="error") for v in (7.0, 2.5))
    kept = recombine(base, [0, 1], whole, [0, 0], [1])
    assert [float(row[1]) for row in cells(kept)] == [7.0, 7.0]
    same_frame_of(kept, base.native)
    changed = recombine(base, [0, 1], half, [0, 0], [1])
    assert [[float(x) for x in row] for row in cells(changed)] == [[1.0, 2.5], [3.0, 2.5]]


def test_a_missing_donor_in_a_column_of_whole_numbers():
    base = read_table(np.array([[1, 2]]), missing="error")
    donor = read_table(np.array([[np.nan, 5.0]]), missing="allow")
    result = recombine(base, [0], donor, [0], [0])
    assert np.isnan(result[0, 0])
    assert result[0, 1] == 2


def mixed(library):
    data = {"f": [0.5, 1.5], "s": ["x", "y"], "b": [True, False], "i": [1, 2]}
    if library == "numpy":
        return np.array([list(row) for row in zip(*data.values(), strict=True)], dtype=object)
    X = pd.DataFrame(data)
    return {"pandas": X, "polars": pl.from_pandas(X), "pyarrow": pa.Table.from_pandas(X)}[library]


LIBRARIES = ["numpy", "pandas", "polars", "pyarrow"]


@pytest.mark.parametrize("one", LIBRARIES)
@pytest.mark.parametrize("other", LIBRARIES)
def test_a_donor_of_another_library_is_converted(one, other):
    base, donor = (read_table(mixed(library), missing="error") for library in (one, other))
    result = recombine(base, [0, 1, 1], donor, [1, 0, 1], [0, 1, 2, 3])
    assert [list(map(str, row)) for row in cells(result)] == [
        ["1.5", "y", "False", "2"],
        ["0.5", "x", "True", "1"],
        ["1.5", "y", "False", "2"],
    ] or one == "numpy"
    if one != "numpy":
        same_frame_of(result, base.native)
    else:
        assert [*map(float, result[0, [0, 2, 3]]), result[0, 1]] == [1.5, 0.0, 2.0, "y"]


def test_categories_from_another_library_get_the_dtype_of_the_base():
    base = read_table(
        pd.DataFrame({"a": pd.Categorical(["x", "y"], ["y", "x", "q"])}), missing="error"
    )
    donor = read_table(pl.DataFrame({"a": ["y", "x"]}), missing="error")
    result = recombine(base, [0, 0], donor, [0, 1], [0])
    assert result["a"].tolist() == ["y", "x"]
    assert result["a"].dtype.categories.tolist() == ["y", "x", "q"]


def test_rows_of_different_length_are_a_mistake_of_the_caller():
    table = read_table(X, missing="error")
    with pytest.raises(ValueError, match="donor_rows"):
        recombine(table, [0, 1], table, [0], [0])


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("name", CONTAINERS)
def test_nudged_moves_floats_by_one_representable_value(name, direction):
    base = CONTAINERS[name]
    table = read_table(base, missing="allow")
    rows = [5, 0, 3, 1]
    result = nudged(table, rows, direction)
    same_frame_of(result, base)
    before = cells(base)
    for row, got in zip(rows, cells(result), strict=True):
        for j, (cell, moved) in enumerate(zip(before[row], got, strict=True)):
            single = table.names[j] in ("f4", "Float32")  # narrow floats that read as Python's
            if isinstance(cell, (float, np.floating)) and not pd.isna(cell):
                cell = np.float32(cell) if single else cell
                wanted = np.nextafter(cell, type(cell)(direction * np.inf))
                assert moved == wanted
                assert moved != cell
            else:
                assert same_cell(cell, moved)


def test_nudged_stays_within_the_range():
    top = np.finfo(float).max
    table = read_table(np.array([[top, -top, 0.0]]), missing="error")
    assert nudged(table, [0], 1)[0].tolist() == [top, np.nextafter(-top, 0), 5e-324]
    assert nudged(table, [0], -1)[0].tolist() == [np.nextafter(top, 0), -top, -5e-324]


def test_result_frames_come_in_the_library_of_the_table():
    data = {"region": [0, 1], "row": [None, 3], "value": np.array([0.5, 0.25])}
    for library, kind in zip(
        LIBRARIES, [pd.DataFrame, pd.DataFrame, pl.DataFrame, pa.Table], strict=True
    ):
        made = frame(data, read_table(mixed(library), missing="error"))
        assert type(made) is kind
        assert [row[2] for row in cells(made)] == [0.5, 0.25]
    assert type(frame(data)) is pd.DataFrame


@pytest.mark.parametrize(
    "make", [np.asarray, lambda x: pd.DataFrame(x, columns=list("abcdefghij"))]
)
def test_a_batch_is_recombined_in_milliseconds(make):
    """A guard against a lost fast path (a loop over rows takes a hundred times as long), not a benchmark."""
    table = read_table(make(np.random.default_rng(0).normal(size=(1000, 10))), missing="error")
    rows, others = np.tile(np.arange(1000), 66)[: 2**16], np.repeat(np.arange(66), 1000)[: 2**16]
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        recombine(table, rows, table, others, [2])
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.02


DATA = {"a": [0.5, 1.5, 2.5], "s": ["x", "y", "x"]}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def lists(native):
    if isinstance(native, pa.Table):
        return native.to_pydict()
    return {name: native[name].to_list() for name in native.columns}


@pytest.mark.parametrize("library", FRAMES)
def test_rows_and_columns_are_taken_in_the_order_given(library):
    container = open_table(FRAMES[library](DATA), "X")
    part = container.take(np.array([2, 0, 2]))
    assert type(part.native) is type(container.native)
    assert lists(part.native) == {"a": [2.5, 0.5, 2.5], "s": ["x", "x", "x"]}
    assert list(lists(part.select([1, 0]))) == ["s", "a"]
    assert part.row_labels(np.array([1, 2])) == [0, 2]


def test_rows_of_pandas_are_called_by_their_index():
    container = open_table(pd.DataFrame(DATA, index=["p", "q", "r"]), "X")
    assert container.row_labels(np.array([2, 0])) == ["r", "p"]
    assert container.take(np.array([2, 1])).row_labels(np.array([0])) == ["r"]


@pytest.mark.parametrize("library", FRAMES)
def test_nanoseconds_survive_the_way_into_another_library(library):
    container = open_table(FRAMES[library]({"t": [1.0]}), "X")
    instant = np.array(["2020-01-01T00:00:00.000000001"], dtype="M8[ns]")
    adopted = container.adopt([instant])
    assert adopted.cells(0).values.tolist() == instant.tolist()


def test_order_of_categories_counts_although_pandas_calls_such_dtypes_equal():
    base = pd.DataFrame({"c": pd.Categorical(["x", "y"], ["x", "y"])})
    donor = pd.DataFrame({"c": pd.Categorical(["y", "x"], ["y", "x"])})
    assert base["c"].dtype == donor["c"].dtype
    made = open_table(base, "X").recombined(
        np.array([0, 1]), open_table(donor, "X"), np.array([0, 1]), [0]
    )
    assert made["c"].tolist() == ["y", "x"]
    assert made["c"].cat.categories.tolist() == ["x", "y"]


def test_a_donor_in_utc_comes_in_the_time_zone_of_the_base():
    base = pd.DataFrame(
        {"t": pd.to_datetime(["2020-01-01", "2020-07-01"]).tz_localize("Asia/Tokyo")}
    )
    donor = pd.DataFrame({"t": pd.to_datetime(["2021-01-01 12:00"])})
    rows = np.array([0, 1])
    made = open_table(base, "X").recombined(rows, open_table(donor, "X"), np.array([0, 0]), [0])
    assert made["t"].tolist() == [pd.Timestamp("2021-01-01 21:00", tz="Asia/Tokyo")] * 2


def test_a_new_frame_has_row_numbers_only_where_the_table_had_them():
    X = pd.DataFrame(DATA, index=[5, 6, 7])
    rows = np.array([2, 2])
    by_label = FrameContainer(X, "pandas").recombined(rows, FrameContainer(X, "pandas"), rows, [0])
    assert by_label.index.tolist() == [7, 7]
    numbered = FrameContainer(X, "pandas", has_range_index=True)
    assert numbered.recombined(rows, numbered, rows, [0]).index.tolist() == [0, 1]


ROWS = np.array([0])


def test_names_are_texts_and_positions_of_an_array_begin_with_x():
    array = open_table(np.ones((2, 3)), "X")
    assert array.labels == (0, 1, 2)
    assert array.names == ("x0", "x1", "x2")
    frame = open_table(pd.DataFrame([[1.0, 2.0]], columns=[7, "b"]), "X")
    assert frame.labels == (7, "b")
    assert frame.names == ("7", "b")


@pytest.mark.parametrize(
    ("X", "is_named"),
    [
        (np.ones((1, 2)), False),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "b"]), True),
        (pd.DataFrame([[1.0, 2.0]], columns=[0, "b"]), False),
        (pl.DataFrame({"a": [1]}), True),
        (pa.table({"a": [1]}), True),
    ],
)
def test_a_table_is_named_if_all_its_columns_have_text_as_names(X, is_named):
    assert open_table(X, "X").named == is_named


def test_an_outline_has_labels_and_an_empty_table_of_its_library():
    outline = Outline(labels=("a", 3), library="polars")
    assert outline.names == ("a", "3")
    assert not outline.named
    assert outline.n_rows == 0
    assert type(outline.native) is pl.DataFrame
    assert type(Outline(labels=(0, 1), library="numpy").native) is pd.DataFrame
    assert type(Outline(labels=("a",), library="pyarrow").native) is pa.Table
    assert Outline(labels=(0, 1), library="numpy").names == ("x0", "x1")


def test_results_of_an_outline_come_in_pandas_where_its_library_is_not_installed(monkeypatch):
    monkeypatch.setattr("granite_xai.tables.containers.find_spec", lambda name: None)
    assert type(Outline(labels=("a",), library="polars").native) is pd.DataFrame


@pytest.mark.parametrize(
    "ask",
    [
        lambda outline: outline.cells(0),
        lambda outline: outline.take(ROWS),
        lambda outline: outline.select([0]),
        lambda outline: outline.adopt([]),
        lambda outline: outline.recombined(ROWS, outline, ROWS, [0]),
        lambda outline: outline.nudged(ROWS, 1, [0]),
    ],
)
def test_F09_what_needs_rows_is_refused_by_an_outline(ask):
    with pytest.raises(InputError, match="F09: this needs the fitting rows") as caught:
        ask(Outline(labels=("a",), library="pandas"))
    assert caught.value.argument == "X"
    assert "gx.load(path, model=model, X=X)" in caught.value.hint


def test_F09_says_what_needs_the_rows():
    with pytest.raises(InputError, match="F09: a refit needs the fitting rows"):
        Outline(labels=("a",), library="pandas").refuse(what="a refit")


def labels(*cells, kind="nominal", **options):
    return Column("c", 0, kind, np.array(cells, dtype=object), **options)


def test_numbers_have_their_distinct_values_as_levels_and_missing_is_minus_one():
    column = Column("x", 0, "numeric", np.array([2.0, np.nan, -0.0, 2.0, 0.0]))
    assert column.levels.tolist() == [0.0, 2.0]
    assert not np.signbit(column.levels[0])
    assert column.codes.tolist() == [1, -1, 0, 1, 0]
    assert column.missing.tolist() == [False, True, False, False, False]


def test_labels_follow_the_declared_order_and_others_come_last():
    column = labels("low", "new", None, "high", kind="ordinal", order=("low", "mid", "high"))
    assert column.levels.tolist() == ["low", "high", "new"]
    assert column.codes.tolist() == [0, 2, -1, 1]
    declared = labels("b", "a", "c", declared=("c", "a"))
    assert declared.levels.tolist() == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("kind", "ordered"),
    [("numeric", True), ("ordinal", True), ("date", True), ("nominal", False), ("boolean", False)],
)
def test_kinds_with_an_order(kind, ordered):
    assert Column("c", 0, kind, np.zeros(1)).is_ordered == ordered


@pytest.mark.parametrize("is_read_before", [False, True])
def test_a_part_has_the_levels_of_its_rows(is_read_before):
    column = labels("b", "a", None, "c", "b")
    if is_read_before:  # then codes of the part follow from those of the whole
        assert len(column.levels) == 3
    part = column.take(np.array([4, 2, 3]))
    assert part.levels.tolist() == ["b", "c"]
    assert part.codes.tolist() == [0, -1, 1]


def test_columns_are_never_written():
    column = Column("x", 0, "numeric", np.array([1.0, 2.0]))
    for array in (column.values, column.codes, column.levels, column.missing):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_labels_of_several_types_have_an_order_too():
    assert sorted_labels(["b", "a"]) == ["a", "b"]
    assert sorted_labels(["b", 2, "a", 1]) == [1, 2, "a", "b"]


CELLS = {
    "numeric": st.sampled_from([-1.0, -0.0, 0.0, 2.5, np.nan, 5e-324]),
    "nominal": st.sampled_from(["a", "b", "c", None]),
    "boolean": st.sampled_from([True, False, None]),
    "date": st.sampled_from([pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"), pd.NaT]),
}


@st.composite
def frames(draw):
    n = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    cells = [draw(st.lists(CELLS[kind], min_size=n, max_size=n)) for kind in kinds]
    series = [
        pd.Series(c, dtype="datetime64[us]" if k == "date" else object)
        for c, k in zip(cells, kinds, strict=True)
    ]
    return pd.DataFrame(dict(enumerate(series)))


def key(cell):
    """Missing first, then the value; -0.0 equals 0.0 for Python too."""
    return (0, 0) if pd.isna(cell) else (1, cell)


@given(frames(), st.data())
def test_distinct_rows_equal_a_plain_loop(X, data):
    columns = data.draw(st.lists(st.integers(0, X.shape[1] - 1), unique=True))
    rows = [tuple(key(X.iloc[n, j]) for j in columns) for n in range(len(X))]
    values = sorted(set(rows))
    codes, first = read_table(X, missing="allow").distinct(columns)
    assert codes.tolist() == [values.index(row) for row in rows]
    assert first.tolist() == [rows.index(value) for value in values]
    assert codes.dtype == first.dtype == np.intp


@given(frames(), st.data())
def test_a_part_of_a_table_is_the_table_of_the_part(X, data):
    rows = data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=15))
    fresh, ranked = read_table(X, missing="allow"), read_table(X, missing="allow")
    ranked.distinct(range(X.shape[1]))  # ranks are known before the part is taken
    for part in (fresh.take(rows), ranked.take(rows)):
        for whole, column in zip(fresh.columns, part.columns, strict=True):
            np.testing.assert_array_equal(column.values, whole.values[rows])
            present = sorted({int(code) for code in whole.codes[rows]} - {-1})
            assert column.levels.tolist() == whole.levels[present].tolist()
            known = [None if code < 0 else column.levels[code] for code in column.codes]
            assert known == [None if code < 0 else whole.levels[code] for code in whole.codes[rows]]
        pd.testing.assert_frame_equal(part.native, X.take(rows))


def test_distinct_of_one_column_follows_its_levels():
    table = read_table(np.array([[2.0], [np.nan], [1.0], [2.0]]), missing="allow")
    assert table.distinct([0])[0].tolist() == [2, 0, 1, 2]
    assert table.distinct([0])[1].tolist() == [1, 2, 0]


def test_distinct_of_a_coalition_is_in_ascending_order_and_of_none_is_one_value():
    table = read_table(np.array([[1, 0], [0, 1], [0, 0]]), missing="error")
    assert (
        table.distinct(frozenset({1, 0}))[0].tolist()
        == table.distinct([0, 1])[0].tolist()
        == [2, 1, 0]
    )
    assert table.distinct([1, 0])[0].tolist() == [1, 2, 0]
    assert table.distinct([])[0].tolist() == [0, 0, 0]
    assert table.distinct([])[1].tolist() == [0]


def test_distinct_of_many_columns_of_many_values_does_not_overflow():
    X = np.random.default_rng(0).normal(size=(300, 40))
    codes, first = read_table(X, missing="error").distinct(range(40))
    assert codes[first].tolist() == list(range(300))
    assert np.argsort(X[:, 0]).tolist() == first.tolist()


def test_P04_an_unknown_column_is_answered_with_the_names():
    table = read_table(pd.DataFrame({"temp": [1.0], "hr": [2.0]}), missing="error")
    assert [table.resolve(label, "features") for label in ("hr", 1, np.int64(0))] == [1, 1, 0]
    for label in ("tmp", 2, -1, True, None, 0.0, ("temp",), ["temp"]):
        with pytest.raises(InputError, match=r"P04: features=.*Features: 'temp', 'hr'") as caught:
            table.resolve(label, "features")
        assert caught.value.argument == "features"
    with pytest.raises(InputError, match="Did you mean 'temp'"):
        table.resolve("tmp", "features")
    assert read_table([[1.0, 2.0]], missing="error").resolve("x1", "features") == 1


def test_a_label_wins_over_a_position():
    table = read_table(pd.DataFrame({1: [1.0], 0: [2.0]}), missing="error")
    assert table.resolve(0, "features") == 1


def test_tables_are_immutable_and_can_be_pickled():
    table = read_table(pd.DataFrame({"a": [2.0, 1.0], "b": ["x", None]}), missing="allow")
    copy = pickle.loads(pickle.dumps(table))
    assert copy.names == ("a", "b")
    assert copy.columns[1].codes.tolist() == table.columns[1].codes.tolist() == [0, -1]
    with pytest.raises(AttributeError):
        table.columns = ()
    for column in table.columns:
        for array in (column.values, column.levels, column.codes):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[0]
