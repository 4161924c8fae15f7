"""N04: the same numbers for any number of jobs and on repeats, the same regions for any block size and memory limit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.search import growth, tables
from strategies import paper
from whole.named_limit import named_limit

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=90), rng.integers(0, 5, 90), rng.choice([0.0, 1.0], 90)])
Y = X[:, 0] * (X[:, 2] - 0.5) + 0.3 * X[:, 1] * X[:, 0] + 0.1 * rng.normal(size=90)
NEW = X[::2] + 0.05
# Cuts enough for several blocks of candidates at the root, so that two jobs have something to share.
OPTIONS = {"min_samples_leaf": 5, "alpha": 0.01, "max_depth": 2, "max_candidates": 30}
SCALARS = ("disagreement_", "remaining_", "fidelity_", "global_fidelity_")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of a column or of 20 cuts: tables of tests would fit into one, which nobody shares."""
    monkeypatch.setattr(tables, "NUMBERS_AT_ONCE", 1)
    monkeypatch.setattr(growth, "CELLS_AT_ONCE", 2**11)


def model(X):
    """Interactions of every order, and values whose sums depend on the order in which they are added."""
    return np.sin(X[:, 0] * X[:, 1]) + np.exp(X[:, 0] * X[:, 2] / 3) + X[:, 1] / 7


def fitted(question, **options):
    return gx.Granite(model, question, **OPTIONS, **options).fit(X, Y)


def answers(g):
    """Everything a fit can be asked for, as bytes: equal means equal in every bit."""
    evaluation, explanation = g.evaluate(NEW, Y[::2]), g.explain(NEW, Y[::2])
    arrays = [
        *(getattr(g, name) for name in SCALARS),
        list(g.disagreements_.values()),
        list(g.diagnostics_["noise_floor"].values()),
        g.apply(NEW),
        g.predict(NEW),
        evaluation.frame().drop(columns="rule").to_numpy(),
        [evaluation.disagreement, evaluation.global_disagreement, evaluation.remaining],
        *(explanation.of(name) for name in explanation.names),
    ]
    return [g.partition_.to_dict(), *(np.asarray(array, dtype=float).tobytes() for array in arrays)]


QUICK = ("ice-pdp", "mplot-pdp", "sobol", "cfi-pfi", "pfi-risk")
EVERY = [*gx.questions(), ("ice-pdp", "pfi-risk", "cshap-shap")]


@pytest.mark.parametrize(
    "question",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in EVERY],
)
def test_bitwise_equal_for_any_number_of_jobs_and_on_repeats(question):
    first = answers(fitted(question))
    assert answers(fitted(question)) == first
    assert answers(fitted(question, n_jobs=1)) == first
    assert answers(fitted(question, n_jobs=2)) == first


def test_a_fitted_object_gives_the_same_answers_twice():
    g = fitted("cfi-pfi")
    assert answers(g) == answers(g)


def test_bitwise_equal_inside_joblibs_context():
    from joblib import parallel_config

    first = answers(fitted("ice-pdp"))
    with parallel_config("threading", n_jobs=2):
        assert answers(fitted("ice-pdp")) == first


def shape(partition):
    return [(str(region.rule), region.n_samples, region.stop_reason) for region in partition]


LIMITS = {
    "the smallest memory limit": None,
    "a huge memory limit": {"memory_limit": 2**40},
    "batches of 7 rows": {"batch_size": 7},
    "batches of 1000 rows": {"batch_size": 1000},
}


def smallest(question):
    """The limit that a refusal names: blocks are as small as they get."""
    with pytest.raises(gx.ResourceError) as caught:
        fitted(question, resources=gx.Resources(memory_limit=1))
    return named_limit(caught.value)


@pytest.mark.parametrize("question", gx.questions())
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
def test_the_same_regions_and_scores_for_any_memory_limit_and_batch(question, limits):
    plain = fitted(question)
    limits = limits or {"memory_limit": smallest(question)}
    other = fitted(question, resources=gx.Resources(**limits))
    assert shape(other.partition_) == shape(plain.partition_)
    np.testing.assert_array_equal(other.apply(NEW), plain.apply(NEW))
    for name in SCALARS:
        assert getattr(other, name) == pytest.approx(getattr(plain, name), rel=1e-10, abs=1e-14), (
            name
        )
    for one, two in zip(other.partition_, plain.partition_, strict=True):
        assert one.disagreement == pytest.approx(two.disagreement, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize(("search", "room"), [("refined", tables), ("greedy", growth)])
def test_there_are_several_blocks(search, room, monkeypatch):
    """The comparisons above say something only if jobs share blocks."""
    n_blocks = []
    in_threads = room.in_threads

    def spy(function, tasks, jobs):
        n_blocks.append(len(tasks))
        return in_threads(function, tasks, jobs)

    monkeypatch.setattr(room, "in_threads", spy)
    fitted("ice-pdp", search=search)
    assert max(n_blocks) >= 2


# Rows and columns in another order --------------------------------------------------------------------------------


N = 800
DRAW = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "speed": DRAW.normal(size=N),
        "load": DRAW.normal(size=N),
        "kind": DRAW.choice(["a", "b", "c"], N),
        "doors": DRAW.integers(2, 6, N),
    }
)
TABLE["load"] += TABLE["speed"]
TABLE.loc[::11, "load"] = np.nan
DAYS = np.arange(N) // 4
WEIGHTS = DRAW.choice([0.0, 1.0, 2.5], N, p=[0.1, 0.6, 0.3])


def by_name(table):
    """Asks for its columns by their names, whatever their order."""
    turned = np.where(table["load"].fillna(0.3) > 0.2, 1.0, -0.5)
    kinds = table["kind"].map({"a": 0.0, "b": 0.4, "c": 1.5}).to_numpy(dtype=float)
    return table["speed"].to_numpy() * turned + kinds * table["doors"].to_numpy() / 3


TARGET = by_name(TABLE) + 0.2 * DRAW.normal(size=N)


def named(question, rows=slice(None), columns=tuple(TABLE.columns), **options):
    """A fit on the same rows in another order, or on the same columns in another order."""
    g = gx.Granite(by_name, question, missing="allow", max_depth=2, **options)
    return g.fit(
        TABLE[list(columns)].iloc[rows],
        TARGET[rows],
        sample_weight=WEIGHTS[rows],
        clusters=DAYS[rows],
    )


def require_equal(one, two):
    assert [str(region.rule) for region in one.partition_] == [
        str(region.rule) for region in two.partition_
    ]
    assert len(one.partition_) > 1
    for name in SCALARS:
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-9, abs=1e-12), name
    for name in ("remaining", "low", "high", "chance"):
        assert getattr(one.estimate_, name) == pytest.approx(
            getattr(two.estimate_, name), rel=1e-9, abs=1e-12
        ), name


ORDERED = ["ice-pdp", "mplot-pdp", "pfi-risk", ("ice-pdp", "sobol")]


@pytest.mark.parametrize("question", ORDERED, ids=str)
def test_permuted_rows_give_the_same_regions_and_figures(question):
    plain = named(question)
    rows = np.random.default_rng(7).permutation(N)
    moved = named(question, rows)
    require_equal(moved, plain)
    for part in ("search", "held_out"):
        used = rows[moved.diagnostics_["rows"][part]]
        assert sorted(used) == sorted(plain.diagnostics_["rows"][part])


@pytest.mark.parametrize("question", ORDERED, ids=str)
def test_permuted_columns_give_the_same_regions_and_figures(question):
    require_equal(named(question, columns=("doors", "load", "speed", "kind")), named(question))


def test_a_part_of_permuted_rows_is_the_same_part():
    rows = np.arange(N)[::-1]
    for limits in ({"max_samples": 300}, {"resources": gx.Resources(max_evaluations=25_000)}):
        plain, moved = named("ice-pdp", **limits), named("ice-pdp", rows, **limits)
        assert len(plain.diagnostics_["rows"]["search"]) < 450
        require_equal(moved, plain)


@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk"])
def test_cells_and_held_out_rows_do_not_depend_on_jobs(question):
    one, two = named(question, n_jobs=1), named(question, n_jobs=2)
    assert one.partition_.to_dict() == two.partition_.to_dict()
    assert str(one.estimate_) == str(two.estimate_)
    assert one.predict(TABLE).tobytes() == two.predict(TABLE).tobytes()


def test_the_papers_way_keeps_the_order_of_the_rows():
    g = paper(by_name, missing="allow", max_depth=1).fit(TABLE)
    assert g.diagnostics_["rows"]["search"] == list(range(N))
    np.testing.assert_array_equal(
        g.apply(TABLE), vars(g)["_fitted"].regions
    )  # row by row as the user has them
