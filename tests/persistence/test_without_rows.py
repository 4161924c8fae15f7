"""Without rows or without the model: what still works, and what asks for them (F09, S15)."""

from __future__ import annotations

import json

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.base.errors import InputError
from persistence.saved_objects import (
    fitted,
    model,
)
from persistence.shared import (
    NEW,
    baseline,
)

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


def test_F09_effects_of_several_columns_need_the_rows(tmp_path):
    granite = fitted("ice-pdp", influence="joint", groups={"g": ["a", "c"]})
    loaded = gx.load(gx.save(granite, tmp_path / "a.json"), model=model)
    with pytest.raises(InputError, match=r"F09: .*include_data=True"):
        loaded.predict(NEW)
    whole = gx.load(gx.save(granite, tmp_path / "a.json", include_data=True), model=model)
    np.testing.assert_array_equal(whole.predict(NEW), granite.predict(NEW))


def test_F09_without_rows_there_are_none_to_include(saved, tmp_path):
    loaded = gx.load(saved("ice-pdp")[1], model=model)
    with pytest.raises(InputError, match="F09"):
        gx.save(loaded, tmp_path / "a.json", include_data=True)
    bare = gx.load(gx.save(loaded.evaluate(NEW), tmp_path / "b.json"))
    with pytest.raises(InputError, match="F09"):
        gx.save(bare, tmp_path / "a.json", include_data=True)


def test_F09_without_the_model_the_rest_asks_for_it(saved):
    for path in saved("ice-pdp")[1:]:
        loaded = gx.load(path)
        for ask in (loaded.evaluate, loaded.explain):
            with pytest.raises(InputError, match=r"F09: .*gx\.load\(path, model=model\)"):
                ask(NEW)


def test_S15_without_include_data_no_row_of_the_data_is_in_the_file(tmp_path):
    """Every cell differs, so that a row would show by two cells that belong together."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(50, 3)), 12)
    for question in ("ice-pdp", "ale", "mplot-pdp", baseline("median")):
        granite = gx.Granite(
            lambda X: X[:, 0] * X[:, 1] + X[:, 2], question, min_samples_leaf=10
        ).fit(X)
        data = json.loads(gx.save(granite, tmp_path / "a.json").read_text(encoding="utf-8"))
        assert data["rows"] is None
        fitted, reference = data["granite"]["fitted"], data["granite"]["fitted"]["reference"]
        assert not {"regions", "weights"} & fitted.keys()
        assert all("rows" not in region for region in fitted["surrogate"]["regions"])
        stored = [data["granite"]["model"]["rows"], *(row for _, row in reference["baselines"])]
        stored += [steps["ends"] for _, steps in reference["steps"]]
        for rows in stored:
            cells = np.array([column["cells"] for column in rows]).T
            shared = (cells[:, None, :] == X[None]).sum(axis=2)
            assert shared.max() < 3
            assert np.mean(shared.max(axis=1) > 1) <= 0.5  # two cells of one row: only by chance
        codes = np.reshape(data["granite"]["model"]["codes"]["cells"], (-1, 3))
        made_up = np.take_along_axis(np.sort(X, axis=0), codes, axis=0)
        shared = (made_up[:, None, :] == X[None]).sum(axis=2)
        assert np.mean(shared.max(axis=1) > 2) <= 0.02
        assert np.mean(shared.max(axis=1) > 1) <= 0.5
        for column in data["table"]["columns"]:
            levels = column["levels"]["array"][1]
            assert len(levels) == 50
            assert levels == sorted(levels)
    explanation = gx.Explainer().explain(lambda X: X[:, 0], X)
    text = gx.save(explanation, tmp_path / "b.json").read_text(encoding="utf-8")
    assert json.loads(text)["table"]["columns"][0]["levels"] == {"array": ["float64", []]}
