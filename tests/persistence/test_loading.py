"""Files of every version are read forever; others are refused with both versions (F07)."""

from __future__ import annotations

import json

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.base.errors import FormatError, InputError
from granite_xai.persistence import OLDEST, VERSION
from persistence.saved_objects import (
    FIXTURES,
    MODELS,
    RULES,
    model,
    target,
)
from persistence.shared import (
    EVERY_FIXTURE,
    MANY,
    NEW,
    edited,
)

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


def test_F09_the_oldest_files_do_not_say_how_many_rows_are_needed():
    with pytest.raises(InputError, match="F09: the file does not say which rows searched"):
        gx.load(FIXTURES / "version-2" / "granite.json").rows_needed()


def test_F07_a_newer_file_is_refused_with_both_versions(saved, tmp_path):
    def newer(data):
        data.update(version=VERSION + 1, package="99.0", schema="granite-xai/something-new")

    path = edited(saved("ice-pdp")[1], tmp_path, newer)
    with pytest.raises(FormatError) as caught:
        gx.load(path)
    assert caught.value.code == "F07"
    for part in (f"version {VERSION + 1}", "99.0", gx.__version__, f"up to {VERSION}"):
        assert part in str(caught.value)


def test_F07_a_file_of_0_1_is_refused_with_both_versions(saved, tmp_path):
    path = edited(
        saved("ice-pdp")[1], tmp_path, lambda data: data.update(version=1, package="0.1.0")
    )
    with pytest.raises(FormatError, match="version 1 of") as caught:
        gx.load(path)
    assert caught.value.code == "F07"
    for part in ("0.1.0", gx.__version__, f"from {OLDEST} up to {VERSION}", "that wrote it"):
        assert part in str(caught.value)


def test_F07_a_granite_with_a_unit_of_its_figures_is_read_if_the_unit_is_one(saved, tmp_path):
    """Version 2 of the files: very large and very small predictions could be told in units of a power of two."""
    fitted, path, _ = saved("ice-pdp")
    ordinary = edited(path, tmp_path, lambda data: data["granite"]["fitted"].update(exponent=0))
    assert gx.load(ordinary, verify=False).disagreement_ == fitted.disagreement_
    scaled = edited(path, tmp_path, lambda data: data["granite"]["fitted"].update(exponent=-564))
    with pytest.raises(FormatError, match="F07: .*no longer explained") as caught:
        gx.load(scaled, verify=False)
    assert "fit again" in caught.value.hint


def test_F07_an_evaluation_with_shares_of_its_own_is_read_if_it_has_none(saved, tmp_path):
    """Beside figures in units of a power of two stood the shares that these no longer gave."""
    evaluation = saved("ice-pdp")[0].evaluate(NEW)
    path = gx.save(evaluation, tmp_path / "evaluation.json")
    ordinary = edited(path, tmp_path, lambda data: data["evaluation"].update(ratios=None))
    assert gx.load(ordinary, verify=False).remaining == evaluation.remaining
    scaled = edited(path, tmp_path, lambda data: data["evaluation"].update(ratios=[0.1] * 600))
    with pytest.raises(FormatError, match="F07: .*no longer explained"):
        gx.load(scaled, verify=False)


def test_F07_there_is_a_fixture_of_every_kind_for_every_version():
    for version in range(OLDEST, VERSION + 1):
        kinds = {path.stem for path in EVERY_FIXTURE if path.parent.name == f"version-{version}"}
        assert kinds >= {
            "partition",
            "rules",
            "explanation",
            "evaluation",
            "granite",
            "granite-with-data",
            "classifier",
            "outputs",
            "interaction",
            "baseline",
            "held-out",
            "clusters",
        }


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.ModelWarning")
@pytest.mark.parametrize("path", EVERY_FIXTURE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_F07_files_of_every_version_are_loaded_forever(path):
    """The numbers are those of the day they were written; the rules do not depend on rounding."""
    data = json.loads(path.read_text(encoding="utf-8"))
    loaded = gx.load(path)
    content = data[data["schema"].removeprefix("granite-xai/")]
    if isinstance(loaded, gx.Granite):
        assert loaded.remaining_ == content["fitted"]["remaining"]
        partition = loaded.partition_
        asked = MODELS.get(path.stem, model)
        whole = gx.load(path, model=asked)
        assert whole.evaluate(NEW, target(NEW)).disagreement >= 0
        if path.stem not in (
            "interaction",
            "outputs",
        ):  # their curves ask the model, or are several
            assert whole.explain_row(NEW.iloc[[0]]).prediction == _answers(asked, NEW)[0]
            assert np.corrcoef(loaded.predict(NEW), _answers(asked, NEW))[0, 1] > 0.6
        output = whole.outputs_[0] if whole.outputs_ else None
        assert len(whole.explain(MANY, target(MANY), reference="rows", output=output).frame()) > 0
    elif isinstance(loaded, gx.Partition):
        partition = loaded
        if path.stem == "rules":
            assert [str(rule) for rule in loaded.rules] == RULES
    else:
        assert len(loaded.frame()) > 0
        return
    assert str(partition)
    assert set(partition.apply(NEW)) <= set(range(len(partition)))
    assert len(partition) > 1 or path.stem in ("baseline", "interaction")


def test_F09_without_rows_an_interaction_fit_evaluates_and_says_what_it_cannot_predict():
    loaded = gx.load(FIXTURES / "version-2" / "interaction.json", model=model)
    estimate = loaded.evaluate(NEW).estimate
    assert np.isnan(estimate.fidelity)
    assert np.isnan(estimate.global_fidelity)
    with pytest.raises(InputError, match="F09: a prediction from effects of several"):
        loaded.predict(NEW)


def _answers(asked, X):
    """The explained output: the probability of the second class, or the prediction."""
    return asked.predict_proba(X)[:, 1] if hasattr(asked, "predict_proba") else asked(X)
