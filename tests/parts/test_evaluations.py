"""What the model is asked, against direct calls of it, and what is refused before it is asked."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.errors import Diagnostics, InputError, ModelError, ModelWarning, ResourceError
from granite_xai.base.limits import Resources
from granite_xai.evaluations.asking import Asked, ask
from granite_xai.evaluations.ensembles import Reading
from granite_xai.evaluations.evaluations import Coalition
from granite_xai.evaluations.pilot import learn_cells
from granite_xai.evaluations.probe import probe
from granite_xai.evaluations.request import Needs, Recombined, Summed, request, require_few_values
from granite_xai.evaluations.values import every_level, stand_ins
from granite_xai.models import as_predictor, for_table
from granite_xai.tables import Rows, read_table

EVERY_COALITION = [
    Coalition(chosen) for size in range(4) for chosen in combinations(range(3), size)
]


def mixed_rows(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """A number with missing values, whole numbers, and levels with missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "heat": np.round(rng.normal(size=n), 1),
            "hour": rng.integers(0, 5, size=n),
            "town": pd.Categorical(rng.choice(["Aachen", "Bonn", "Celle"], size=n)),
        }
    )
    frame.loc[rng.uniform(size=n) < 0.2, "heat"] = np.nan
    frame.loc[rng.uniform(size=n) < 0.2, "town"] = None
    return frame


def slopes(frame: pd.DataFrame) -> np.ndarray:
    """A model of such frames; no two columns are alike to it."""
    heat = frame["heat"].fillna(7.0).to_numpy()
    place = frame["town"].cat.codes.to_numpy()
    return np.sin(heat * (place + 2)) + frame["hour"].to_numpy() * heat + place**2


def rows_of(X: Any, y: Any = None, weights: Any = None) -> Rows:
    table = read_table(X, missing="allow")
    return Rows.of(table, y, weights)


def asked_about(model: Any, rows: Rows, needs: Needs, output: Any = None, **options: Any) -> Asked:
    """Everything that is needed of a model, without limits unless there are some."""
    resources = options.pop("resources", Resources())
    predictor = for_table(model, rows.table, output, batch_size=resources.batch_size)
    reading = Reading(predictor, rows.table, Diagnostics())
    asked = request(needs, rows.table, model_cells=reading.model_cells, **options)
    return ask(predictor, rows, asked, reading, resources=resources)


def by_hand(model: Any, rows: Rows, visible: Coalition) -> np.ndarray:
    """``F(row n on T, row m elsewhere)``, (n, m), one pair after the other."""
    frame = rows.table.native
    values = np.empty((len(frame), len(frame)))
    for n in range(len(frame)):
        hybrids = frame.copy()
        for position in visible:
            value = frame.iloc[[n] * len(frame), position].reset_index(drop=True)
            hybrids.isetitem(position, value.set_axis(hybrids.index))
        values[n] = model(hybrids)
    return values


def pairs_of(evaluations: Any, visible: Coalition) -> np.ndarray:
    """The same from a matrix: row n on T, row m elsewhere."""
    matrix, is_shown = evaluations.reading(visible)
    pairs = matrix.values[:, matrix.codes] + evaluations.offset
    return pairs.T if is_shown else pairs


# Against direct calls ------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [None, 7])
def test_every_coalition_is_read_as_the_model_says_it(batch_size):
    rows = rows_of(mixed_rows())
    needs = Needs(coalitions=frozenset(EVERY_COALITION))
    resources = Resources(batch_size=batch_size)
    (evaluations,) = asked_about(slopes, rows, needs, resources=resources).outputs
    np.testing.assert_allclose(evaluations.f + evaluations.offset, slopes(rows.table.native))
    for visible in EVERY_COALITION[1:-1]:
        np.testing.assert_allclose(pairs_of(evaluations, visible), by_hand(slopes, rows, visible))


def test_of_a_set_and_the_others_the_one_with_fewer_values_is_asked_once():
    rows = rows_of(mixed_rows())
    everything = EVERY_COALITION[-1]
    asked = request(Needs(coalitions=frozenset(EVERY_COALITION)), rows.table)
    assert len(asked.matrices) == 3
    frame = rows.table.native
    for columns, values in asked.matrices.items():
        n_values = len(frame.iloc[:, sorted(columns)].drop_duplicates())
        n_of_others = len(frame.iloc[:, sorted(everything - columns)].drop_duplicates())
        assert len(values) == min(n_values, n_of_others) == n_values
    model = as_predictor(slopes)
    ask(model, rows, asked, Reading(model, rows.table), resources=Resources())
    assert (
        model.usage.rows
        == asked.n_model_rows()
        == 40 + 40 * sum(len(values) for values in asked.matrices.values())
    )


def test_some_rows_have_only_the_values_that_they_have():
    rows = rows_of(mixed_rows())
    needs = Needs(coalitions=frozenset(EVERY_COALITION))
    (evaluations,) = asked_about(slopes, rows, needs).outputs
    places = np.array([3, 4, 8, 21, 30])
    part = evaluations.take(places)
    for visible in EVERY_COALITION[1:-1]:
        whole = pairs_of(evaluations, visible)
        np.testing.assert_array_equal(pairs_of(part, visible), whole[np.ix_(places, places)])
    for matrix in part.matrices.values():
        assert matrix.values.shape[1] == len(np.unique(matrix.codes))


def test_matrices_say_at_which_level_a_value_is():
    rows = rows_of(mixed_rows())
    (evaluations,) = asked_about(slopes, rows, Needs(coalitions=frozenset(EVERY_COALITION))).outputs
    of_columns = {columns: of for columns, of in evaluations.matrices.items() if len(columns) == 1}
    assert len(of_columns) == 2
    for columns, matrix in of_columns.items():
        codes = rows.table.columns[min(columns)].codes
        assert np.array_equal(matrix.levels[matrix.codes], codes)
        part = matrix.take(np.array([5, 6, 7]))
        assert np.array_equal(part.levels[part.codes], codes[[5, 6, 7]])


def test_all_outputs_come_from_the_same_calls():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    sent = []

    def two(X):
        sent.append(len(X))
        return np.column_stack([X[:, 0] * X[:, 1], X[:, 2] + X[:, 0] ** 2])

    rows = rows_of(X)
    needs = Needs(coalitions=frozenset({Coalition([0])}))
    asked = asked_about(two, rows, needs, output="all")
    sent = sent[1:]  # the first row was asked about for the names of the outputs
    assert sum(sent) == 30 + 30 * 30
    alone = [asked_about(two, rows, needs, output=output).outputs[0] for output in (0, 1)]
    for together, by_itself in zip(asked.outputs, alone, strict=True):
        np.testing.assert_array_equal(together.f, by_itself.f)
        for columns, matrix in together.matrices.items():
            np.testing.assert_array_equal(matrix.values, by_itself.matrices[columns].values)


def test_weights_decide_on_the_mean_that_is_taken_away():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, size=40)
    rows = rows_of(mixed_rows(), weights=weights)
    (evaluations,) = asked_about(slopes, rows, Needs()).outputs
    assert evaluations.weights @ evaluations.f == pytest.approx(0.0, abs=1e-10)


def test_attributions_are_sums_over_coalitions_against_every_single_row():
    """The Shapley value of row n against row m, and its standard error over draws."""
    rows = rows_of(mixed_rows(20))
    everything = EVERY_COALITION[-1]
    one = Coalition([1])
    draws = ({one: 1.0, Coalition(): -1.0}, {everything: 1.0, everything - one: -1.0})
    terms = {
        coalition: (draws[0].get(coalition, 0.0) + draws[1].get(coalition, 0.0)) / 2
        for coalition in {**draws[0], **draws[1]}
    }
    needs = Needs(attributions={"phi": Summed(terms=terms, draws=draws)})
    (evaluations,) = asked_about(slopes, rows, needs).outputs
    hybrids = {coalition: by_hand(slopes, rows, coalition) for coalition in terms}
    expected = sum(terms[coalition] * hybrids[coalition] for coalition in terms)
    np.testing.assert_allclose(evaluations.facts["phi"].values, expected, atol=1e-12)
    effects = np.stack(
        [
            sum(draw[coalition] * hybrids[coalition].mean(axis=1) for coalition in draw)
            for draw in draws
        ]
    )
    expected_errors = effects.std(axis=0, ddof=1) / np.sqrt(2)
    np.testing.assert_allclose(evaluations.facts["phi"].errors, expected_errors, atol=1e-12)
    assert not evaluations.matrices  # nothing else is kept


class Reference:
    """What a baseline would learn: predictions of each row on one column, the first row elsewhere."""

    follows_values = True

    def asks(self, table: Any) -> Recombined | None:
        every_row = np.arange(table.n_rows)
        return Recombined(table, np.zeros_like(every_row), table, every_row, [0])

    def fact(self, table: Any, predictions: Any) -> Any:
        return Kept(predictions)


class Levels(Reference):
    """What bins would learn: where the row's value lies; the model is not asked."""

    def asks(self, table: Any) -> None:
        return None

    def fact(self, table: Any, predictions: Any) -> Any:
        assert predictions is None
        return Kept(table.columns[0].codes)


class Kept(np.ndarray):
    """Numbers of rows."""

    def __new__(cls, values: Any) -> Any:
        return np.asarray(values).view(cls)


def test_answers_for_the_same_row_that_differ_are_noted():
    """A model that answers otherwise where a batch is longer than the table."""
    rows = rows_of(mixed_rows())

    def model(frame):
        return slopes(frame) + 0.125 * (len(frame) > 40)

    (extent,) = asked_about(model, rows, Needs(coalitions=frozenset(EVERY_COALITION))).extents
    assert extent.largest_change == pytest.approx(0.125)


def test_what_was_learned_asks_beside_and_knows_its_rows():
    rows = rows_of(mixed_rows())
    key = ("baseline", Coalition([0]))
    needs = Needs(facts=frozenset({key}))
    asked = asked_about(slopes, rows, needs, learned={key: Reference()})
    (evaluations,) = asked.outputs
    expected = by_hand(slopes, rows, Coalition([0]))[:, 0]
    np.testing.assert_allclose(evaluations.facts[key] + evaluations.offset, expected)


# A few values for a column -------------------------------------------------------------------------


def learned_by(function: Any, X: Any, **options: Any) -> Any:
    table = read_table(X, missing="allow")

    def ask_function(base: Any, donors: Any, column: int) -> np.ndarray:
        moved = table.native.iloc[base].reset_index(drop=True)
        values = table.native.iloc[donors, column].reset_index(drop=True)
        moved.isetitem(column, values)
        return function(moved)[None, :]

    options = {"n_cells": 4, "budget": 1e6, "seed": 0, **options}
    weights = options.pop("weights", np.ones(table.n_rows))
    return table, learn_cells(table, weights, range(table.n_columns), ask_function, **options)


@pytest.mark.parametrize("at_quantiles", [False, True])
@pytest.mark.parametrize("masking", [Reference, Levels])
def test_facts_follow_the_values_that_stand_for_a_column(masking, at_quantiles):
    """What the model said does everywhere; bins do at quantiles, not where a pilot chose the values."""
    table, cells = learned_by(slopes, mixed_rows(60))
    rows = Rows.of(table, in_fixed_order=False)
    first = Coalition([0])
    key = ("masking", first)
    needs = Needs(
        coalitions=frozenset({first}), compared=frozenset({first}), facts=frozenset({key})
    )
    values = 4 if at_quantiles else cells
    asked = asked_about(slopes, rows, needs, learned={key: masking()}, values=values)
    (evaluations,) = asked.outputs
    moved = evaluations.moved[first]
    if masking is Levels and not at_quantiles:
        assert not moved
        return
    matrix = evaluations.matrices[first]
    standing = matrix.levels[matrix.codes]  # the level at which each row is read
    codes = table.columns[0].codes
    carriers = [np.flatnonzero(codes == level)[0] for level in standing]
    np.testing.assert_array_equal(moved[key], evaluations.facts[key][carriers])
    assert np.any(moved[key] != evaluations.facts[key])


def test_a_few_values_stand_for_a_column_in_every_term_of_its_own_gap():
    frame = mixed_rows(60)
    table, cells = learned_by(slopes, frame)
    assert set(cells) == {0, 1}  # the town has three levels
    rows = Rows.of(table, in_fixed_order=False)
    singles = frozenset(Coalition([position]) for position in range(3))
    needs = Needs(coalitions=singles, compared=singles)
    (evaluations,) = asked_about(slopes, rows, needs, values=cells).outputs
    stand_in = cells[0].stand_ins(table.columns[0])
    levels = table.columns[0].levels
    moved = frame.copy()
    present = frame["heat"].notna().to_numpy()
    moved.loc[present, "heat"] = levels[stand_in[table.columns[0].codes[present]]]
    view = evaluations.in_gap_of(Coalition([0]))
    np.testing.assert_allclose(view.f + view.offset, slopes(moved))
    assert len(np.unique(moved["heat"].dropna())) == 4
    # The other columns are read from the same matrix: nothing is lost of an additive model.
    matrix, is_shown = view.reading(Coalition([1, 2]))
    assert matrix is evaluations.matrices[Coalition([0])]
    assert not is_shown
    np.testing.assert_array_equal(view.f, matrix.own())


def test_combinations_that_no_row_has_are_asked_as_well():
    """Labels and missing values too; every part of the set is read from them, and the other columns."""
    rows = rows_of(mixed_rows(30))
    heat_and_town = Coalition([0, 2])
    cells = {position: every_level(rows.table.columns[position]) for position in heat_and_town}
    needs = Needs(coalitions=frozenset(EVERY_COALITION), compared=frozenset({heat_and_town}))
    (evaluations,) = asked_about(slopes, rows, needs, combined={heat_and_town: cells}).outputs
    matrix = evaluations.matrices[heat_and_town]
    assert matrix.values.shape[1] == np.prod(matrix.sizes) > len(np.unique(matrix.codes))
    view = evaluations.in_gap_of(heat_and_town)
    np.testing.assert_allclose(view.f + view.offset, slopes(rows.table.native))
    places = np.arange(4, 25, 2)
    part = evaluations.take(places).in_gap_of(heat_and_town)
    for visible in map(Coalition, ([0], [2], [0, 2], [1], [0, 1], [1, 2])):
        expected = by_hand(slopes, rows, visible)
        np.testing.assert_allclose(pairs_of(view, visible), expected)
        np.testing.assert_allclose(pairs_of(part, visible), expected[np.ix_(places, places)])


def test_other_rows_are_read_at_their_own_values_nearest_to_those_of_the_fit():
    """Unseen values join the lower neighbour, unseen labels the largest cell, missing ones none."""
    frame = pd.DataFrame(
        {
            "x": np.linspace(0.0, 1.0, 40),
            "label": pd.Categorical([f"l{k % 8}" for k in range(40)]),
        }
    )

    def model(X):
        return (X["x"] * (X["label"].cat.codes % 4)).to_numpy()

    table, cells = learned_by(model, frame)
    other = pd.DataFrame(
        {"x": [-5.0, 0.105, 9.0, np.nan], "label": pd.Categorical(["l0", "new", "l3", None])}
    )
    with pytest.warns(gx.DataWarning):  # a label and missing values that the fit has not seen
        other_table = read_table(other, missing="allow", like=table)
    read_at = stand_ins(other_table, cells)
    fit_cells = cells[0].cell_of_level
    own_cells = fit_cells[
        np.clip(np.searchsorted(frame["x"], [-5.0, 0.105, 9.0], "right") - 1, 0, 39)
    ]
    levels = other_table.columns[0].levels
    for code, cell in enumerate(own_cells):
        assert own_cells[read_at[0][code]] == cell
    assert len(levels) == 3
    labels = other_table.columns[1].levels.tolist()
    largest = np.argmax(np.bincount(cells[1].cell_of_level))
    of_label = dict(zip(table.columns[1].levels.tolist(), cells[1].cell_of_level, strict=True))
    stands_for_new = labels[read_at[1][labels.index("new")]]
    assert of_label.get(stands_for_new, largest) == largest


def test_quantiles_stand_for_the_nearest_by_rank():
    table = read_table(
        pd.DataFrame({"x": np.arange(10.0), "z": np.arange(10.0) % 2}), missing="error"
    )
    # N = 10, G = 2: the values at the places 3 and 8 of the sorted rows, ties to the lower.
    assert stand_ins(table, 2)[0].tolist() == [2] * 5 + [7] * 5
    assert set(stand_ins(table, 2)) == {0}
    assert stand_ins(read_table(pd.DataFrame({"x": np.arange(9.0)}), missing="error"), 2) == {}


def test_quantiles_are_refused_where_a_gap_reads_more_of_a_column():
    table = read_table(mixed_rows(), missing="allow")
    singles = {Coalition([0]): {Coalition([0]), Coalition([1, 2])}}
    require_few_values(singles, table, {0, 1})
    with pytest.raises(InputError, match="heat reads other features one by one") as refused:
        require_few_values({Coalition([0]): {Coalition([0, 1])}}, table, {0})
    assert refused.value.code == "P03"
    assert refused.value.columns == ("heat",)


# Limits --------------------------------------------------------------------------------------------


def test_M13_more_rows_than_allowed_are_refused_before_the_model_is_asked():
    rows = rows_of(mixed_rows())
    model = as_predictor(slopes)
    asked = request(Needs(coalitions=frozenset(EVERY_COALITION)), rows.table)
    enough = asked.n_model_rows()
    limits = Resources(max_evaluations=enough - 1)
    with pytest.raises(ResourceError, match="M13|sends") as refused:
        ask(model, rows, asked, Reading(model, rows.table), resources=limits)
    assert refused.value.code == "M13"
    assert model.usage.rows == 0
    limit = int(re.search(r"max_evaluations=(\d+)\)", str(refused.value)).group(1))
    ask(
        model,
        rows,
        asked,
        Reading(model, rows.table),
        resources=Resources(max_evaluations=limit),
    )
    assert model.usage.rows == enough


def test_D33_the_limit_that_a_refusal_names_is_enough():
    X = np.random.default_rng(0).normal(size=(400, 4))
    rows = rows_of(X)
    model = as_predictor(lambda X: X[:, 0] * X[:, 1])
    needs = Needs(coalitions=frozenset(Coalition([j]) for j in range(4)))
    asked = request(needs, rows.table)
    with pytest.raises(ResourceError, match="400 rows need") as refused:
        ask(
            model,
            rows,
            asked,
            Reading(model, rows.table),
            resources=Resources(memory_limit=2**22),
        )
    assert refused.value.code == "D33"
    assert model.usage.rows == 0
    limit = int(re.search(r"memory_limit=(\d+)\)", str(refused.value)).group(1))
    ask(model, rows, asked, Reading(model, rows.table), resources=Resources(memory_limit=limit))
    fewer = int(re.search(r"max_samples=(\d+)\)", str(refused.value)).group(1))
    some = rows.take(np.arange(fewer))
    ask(
        model,
        some,
        request(needs, some.table),
        Reading(model, some.table),
        resources=Resources(memory_limit=2**22),
    )


def test_N06_predictions_and_targets_that_cannot_be_squared_twice_are_refused():
    rows = rows_of(np.random.default_rng(0).normal(size=(30, 2)))
    with pytest.raises(InputError, match="predictions reach") as refused:
        asked_about(lambda X: 1e80 * X[:, 0], rows, Needs())
    assert refused.value.code == "N06"
    with_y = rows_of(np.random.default_rng(0).normal(size=(30, 2)), y=np.full(30, 1e90))
    with pytest.raises(InputError, match="y reaches"):
        asked_about(lambda X: X[:, 0], with_y, Needs())


def test_attributions_from_paths_need_a_model_that_is_read():
    rows = rows_of(np.random.default_rng(0).normal(size=(30, 2)))
    players = (Coalition([0]), Coalition([1]))
    needs = Needs(attributions={"phi": Summed(terms={}, players=players)})
    with pytest.raises(ModelError, match="the model is asked") as refused:
        asked_about(lambda X: X[:, 0], rows, needs)
    assert refused.value.code == "M23"


# Noise ---------------------------------------------------------------------------------------------


def test_thresholds_on_values_of_many_columns_are_no_noise():
    """With 200 columns most rows cross one of them when every float moves; noise does not hide there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 200))
    limits = np.sort(X, axis=0)[::8]  # of every column an eighth of the values

    def steps(X):
        return sum(np.searchsorted(limits[:, j], X[:, j]) for j in range(200)).astype(float)

    table = read_table(X, missing="error")
    model = as_predictor(steps)
    probed = probe(model, table, Diagnostics())
    moved = np.median(np.abs(steps(np.nextafter(X[:64], np.inf)) - steps(X[:64])))
    assert moved > 5.0  # what a probe of all columns at once takes for noise
    assert probed.outputs[0].moved == 0.0


def test_noise_is_found_in_many_columns_as_well():
    X = np.random.default_rng(0).normal(size=(400, 50))

    def chaotic(X):
        return np.sin(1e14 * X.sum(axis=1))

    with pytest.warns(ModelWarning, match="N01"):
        probed = probe(as_predictor(chaotic), read_table(X, missing="error"))
    assert probed.outputs[0].moved > 0.1
