"""What is wrong in a file is named by its place when it is loaded (F04, F05)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.base.errors import FormatError
from granite_xai.persistence import VERSION
from granite_xai.persistence.forms import structure
from granite_xai.tables import (
    read_table,
)
from persistence.shared import (
    CURRENT,
    edited,
    replace_in,
)

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


WRONG = {
    "no schema": (("schema",), None, "schema"),
    "other schema": (("schema",), "granite-xai/estimator", "schema"),
    "version 0": (("version",), 0, "version 0"),
    "parameters": (("granite", "parameters", "modell"), 1, "modell"),
    "operator": (("granite", "parameters", "influence"), {"type": "Popen"}, r"influence\.type"),
    "unknown field": (
        ("granite", "parameters", "influence"),
        {"type": "Joint", "groups": {"tuple": []}, "x": 1},
        "'x'",
    ),
    "missing field": (
        ("granite", "parameters", "influence"),
        {"type": "Joint"},
        "influence has no entry 'groups'",
    ),
    "type of a field": (
        ("granite", "parameters", "partitioner"),
        {"type": "Tree", "beam": 1.5},
        r"partitioner\.beam",
    ),
    "truth for a number": (
        ("granite", "parameters", "partitioner"),
        {"type": "Tree", "beam": True},
        r"\.beam",
    ),
    "option": (
        ("granite", "parameters", "resources"),
        {"type": "Resources", "dtype": "f"},
        "dtype",
    ),
    "no limits": (("granite", "parameters", "resources"), {"type": "Tree"}, "resources"),
    "child out of range": (
        ("granite", "fitted", "partition", "nodes", 0, "children"),
        [1, 99],
        "children",
    ),
    "cyclic child": (
        ("granite", "fitted", "partition", "nodes", 0, "children"),
        [0, 2],
        "children",
    ),
    "column": (("granite", "fitted", "partition", "nodes", 0, "column"), "zz", "column"),
    "node": (("granite", "fitted", "partition", "nodes", 0, "extra"), 1, r"nodes\[0\] has 'extra'"),
    "path": (("table",), "../../etc/passwd", "table"),
    "kind": (("table", "columns", 0, "kind"), "callable", "kind"),
    "dtype": (("table", "columns", 0, "levels", "array", 0), "V1000000000", "dtype"),
    "levels": (("table", "columns", 0, "levels", "array", 1), [2.0, 1.0], "levels"),
    "curve": (
        ("granite", "fitted", "surrogate", "regions", 0, "curves", 0, "effects"),
        [0.0],
        "effects",
    ),
    "hole in a curve": (
        ("granite", "fitted", "surrogate", "regions", 0, "curves", 0, "effects", 1),
        None,
        "effects",
    ),
    "curve column": (
        ("granite", "fitted", "surrogate", "regions", 0, "curves", 0, "column"),
        6,
        "column",
    ),
    "players": (("granite", "fitted", "surrogate", "effects", 0), [], "effects"),
    "coalition": (("granite", "fitted", "surrogate", "effects", 0), ["99"], r"effects\[0\]"),
    "coalition text": (("granite", "fitted", "surrogate", "effects", 0), ["1 x"], r"effects\[0\]"),
    "questions": (("granite", "questions"), [], "questions"),
    "pairs": (("granite", "questions", 0, "pairs"), [10**6, 0], r"questions\[0\]"),
    "loss": (
        ("granite", "parameters", "question"),
        {"type": "Disagreement", "loss": "os.system"},
        "question",
    ),
    "no question": (("granite", "parameters", "question"), ["ice-pdp", "os.system"], "question"),
    "region": (("granite", "fitted", "surrogate", "regions"), [], "regions"),
    "roots": (("granite", "fitted", "roots"), [1.0], "roots"),
    "unknown result": (("granite", "fitted", "predictor"), None, "predictor"),
    "rows without rows": (("granite", "fitted", "weights"), [1.0], "weights"),
    "learned": (("granite", "fitted", "learned"), {"predict": 1}, "learned"),
    "dunder": (("granite", "fitted", "learned"), {"__class__": 1}, "learned"),
    "bins": (("granite", "fitted", "reference", "bins"), [], "reference"),
    "remaining": (
        ("granite", "fitted", "remaining"),
        {"number": "nan"},
        "remaining is not a finite number",
    ),
    "fidelity": (
        ("granite", "fitted", "fidelity"),
        {"number": "nan"},
        r"\.fidelity is not a finite number",
    ),
    "global fidelity": (
        ("granite", "fitted", "global_fidelity"),
        {"number": "inf"},
        "global_fidelity is not",
    ),
    "predictions": (("granite", "model", "predictions"), [0.0], "model"),
    "seed": (("granite", "diagnostics", "seed"), "1", "seed"),
}


@pytest.mark.parametrize(("way", "value", "place"), WRONG.values(), ids=WRONG)
def test_F04_F05_what_is_wrong_is_named_by_its_place(way, value, place, tmp_path):
    path = edited(CURRENT / "granite.json", tmp_path, replace_in(*way, value=value))
    with pytest.raises(FormatError, match=place) as caught:
        gx.load(path, verify=False)
    assert caught.value.code in ("F04", "F05")


FITTED = ("granite", "fitted")


FOUND = ("granite", "diagnostics")


FAILED_LATER = {
    "splits": ("held-out", (*FOUND, "splits"), 15),
    "a split": ("held-out", (*FOUND, "splits"), [{"mapping": [["column", "b"]]}]),
    "rows": ("granite", (*FOUND, "rows"), False),
    "usage": ("granite", (*FOUND, "model", "mapping"), [["calls", 3]]),
    "cause": ("granite", (*FOUND, "cause"), True),
    "cause of a question": ("granite", (*FOUND, "cause", "mapping", 0, 1), "pairs"),
    "chance": ("outputs", (*FOUND, "chance"), "str"),
    "name of an output": ("outputs", ("granite", "outputs", 1, "parameters", "output"), "other"),
    "seconds": ("granite", ("times", "seconds"), 2),
    "seconds of the model": ("granite", ("times", "model", "seconds"), {"a": 1}),
    "curves": ("granite", (*FITTED, "surrogate", "regions", 0, "curves"), []),
    "curves of all rows": ("granite", (*FITTED, "everywhere", "curves"), []),
    "effects of all rows": ("granite", (*FITTED, "everywhere", "curves", 1, "effects"), [0.0]),
    "edges": ("granite-with-data", (*FITTED, "reference", "steps", 1, 1, "edges", 2), 0),
    "order": ("granite", ("table", "columns", 3, "order", 2), "other"),
    "confidence level": ("held-out", (*FITTED, "estimate", "confidence_level"), 1.0),
    "interval with one end": ("held-out", (*FITTED, "estimate", "high"), None),
    "numbers for a kind": (
        "evaluation",
        ("table", "columns", 3, "kind"),
        {"array": ["float64", []]},
    ),
    "sets of a part": ("explanation", ("explanation", "parts", 0, "sets"), [["a"]]),
    "numbers for a table": ("explanation", ("explanation", "table"), [0.5] * 80),
}


@pytest.mark.parametrize(("name", "way", "value"), FAILED_LATER.values(), ids=FAILED_LATER)
def test_F04_what_would_fail_when_it_is_used_is_refused_when_it_is_loaded(
    name, way, value, tmp_path
):
    """Each of these once loaded, and ended in a bare error of Python when it was printed, applied or evaluated."""
    path = edited(CURRENT / f"{name}.json", tmp_path, replace_in(*way, value=value))
    with pytest.raises(FormatError, match="F04"):
        gx.load(path, verify=False)


def test_F04_a_baseline_has_one_row_for_each_reference(saved, tmp_path):
    def doubled(data):
        for column in data["granite"]["fitted"]["reference"]["baselines"][0][1]:
            column["cells"] = 2 * column["cells"]

    path = edited(saved("median")[1], tmp_path, doubled)
    with pytest.raises(FormatError, match="one row for each reference"):
        gx.load(path, verify=False)


def test_F05_questions_with_an_absurd_number_of_terms_are_refused_before_they_are_resolved(
    tmp_path,
):
    X = np.random.default_rng(0).normal(size=(30, 40))
    path = gx.save(gx.Granite(lambda X: X[:, 0] * X[:, 1], max_depth=1).fit(X), tmp_path / "a.json")
    for name, value in {
        "influence": {"tuple": ["interaction", 20]},
        "question": "shap-pdp",
    }.items():
        wrong = edited(path, tmp_path, replace_in("granite", "parameters", name, value=value))
        with pytest.raises(FormatError, match="F05: granite.questions have more than"):
            gx.load(wrong, verify=False)


TREE = {
    "feature": [0, 0, 0],
    "threshold": [0.5, 0.0, 0.0],
    "left": [1, -1, -1],
    "right": [2, -1, -1],
}


@pytest.mark.parametrize(
    "change",
    [
        {"left": [0, -1, -1]},
        {"left": [2, -1, -1]},
        {"right": [3, -1, -1]},
        {"right": [-1, -1, -1]},
        {"left": [1, 2, -1], "right": [2, -1, -1]},
        {"threshold": [0.5]},
        {"threshold": [None, 0.0, 0.0]},
        {"feature": [2, 0, 0]},
        {"feature": [-1, 0, 0]},
        {"left": [-1, -1, -1], "right": [-1, -1, -1]},
        {"fitted": [1, 0]},
        {"fitted": []},
    ],
    ids=repr,
)
def test_F05_a_bin_tree_with_cycles_or_loose_nodes_is_refused(change):
    read = read_table([[0.0, 1.0], [1.0, 0.0]], missing="error")
    form = structure(read)

    def whole(fitted=(0, 1), **change):
        return {"type": "TreeBins", "fitted": list(fitted), "tree": {**TREE, **change}}

    bins = form.read(whole(), Any, "bins")
    assert bins(read).tolist() == [1, 2]
    assert form.write(bins, Any, "bins") == whole()
    with pytest.raises(FormatError):
        form.read(whole(**change), Any, "bins")


def test_F05_many_conditions_on_one_way_cost_no_time(tmp_path):
    condition = {
        "type": "interval",
        "low": None,
        "high": 1.0,
        "order": None,
        "others": False,
        "missing": False,
    }
    many = [{"column": f"x{i}", "condition": condition} for i in range(20_000)]
    region = {
        "rule": {"conditions": many},
        "n_samples": 0,
        "fraction": None,
        "disagreement": None,
        "stop_reason": "",
    }
    data = {"type": "partition", "names": [], "regions": [region]}
    path = tmp_path / "a.json"
    head = {"schema": "granite-xai/partition", "version": VERSION, "package": "0"}
    path.write_text(json.dumps({**head, "partition": data}))
    assert len(gx.load(path, verify=False)[0].rule.conditions) == 20_000
    many[1]["column"] = "x0"
    path.write_text(json.dumps({**head, "partition": data}))
    with pytest.raises(FormatError, match="has a condition already"):
        gx.load(path, verify=False)


def test_F05_long_lists_at_many_nodes_are_refused():
    order = [f"label {i}" for i in range(5000)]
    leaf = {"n_samples": 1, "fraction": 0.0, "disagreement": 0.0, "stop_reason": ""}
    condition = {
        "type": "interval",
        "low": None,
        "high": "label 1",
        "order": order,
        "others": False,
        "missing": False,
    }
    nodes = [
        {**leaf, "conditions": [condition] * 2, "column": "x", "children": [1, 2]},
        *[leaf] * 5000,
    ]
    with pytest.raises(FormatError, match="F05"):
        gx.Partition.from_dict({"type": "partition", "names": ["x"], "nodes": nodes})


def test_F04_codes_and_positions_of_rows_that_are_not_there_are_refused(saved, tmp_path):
    wrong = {("codes", "cells", 0): 10**6, ("predictions",): [0.0]}
    for way, value in wrong.items():
        path = edited(
            saved("ice-pdp")[1], tmp_path, replace_in("granite", "model", *way, value=value)
        )
        with pytest.raises(FormatError, match=r"granite\.model"):
            gx.load(path, verify=False)
    for value in (60, -1):
        path = edited(
            saved("ice-pdp")[2],
            tmp_path,
            replace_in("granite", "model", "positions", 0, value=value),
        )
        with pytest.raises(FormatError, match="positions are not among 60 rows"):
            gx.load(path, verify=False)
