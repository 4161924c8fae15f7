"""One fit from its inputs to its result."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.fitting.inputs import open_inputs
from granite_xai.fitting.pipeline import run
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import granite_xai as gx
from granite_xai.base.errors import Diagnostics
from granite_xai.base.parallel import Meter

IRIS, SPECIES = load_iris(return_X_y=True)
X = np.random.default_rng(5).normal(size=(150, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0.2, 1.0, -1.0)


def fit(model=step, rows=X, **options):
    record = Diagnostics()
    opened = open_inputs(gx.Granite(model, **options), rows, None, None, None, record)
    inputs = opened.resolve(np.arange(len(rows)), record)
    return run(inputs, Meter(gx.Resources(progress=False), 0)), record.as_dict()


def test_the_result_is_about_the_rows_of_the_inputs():
    fitted, _ = fit()
    result = fitted.result
    assert np.array_equal(result.regions, result.partition.apply(result.table))
    assert result.remaining == pytest.approx(sum(r.disagreement for r in result.partition))
    assert result.estimate is None  # nobody has judged it


def test_the_disagreement_and_its_floor_are_those_on_record():
    fitted, record = fit()
    assert fitted.result.root_disagreements.tolist() == list(
        record["measured_disagreement"].values()
    )
    assert fitted.result.floors.tolist() == list(record["noise_floor"].values())


def test_every_step_leaves_its_note():
    _, record = fit()
    assert {"pilot", "evaluations", "search"} <= set(record["seconds"])
    expected = {"bytes", "plan", "noise_floor", "measured_disagreement", "chance", "splits"}
    assert expected | {"cause", "thin_bins"} <= set(record)


def test_the_paper_s_way_has_no_notes_of_chance():
    fitted, record = fit(confidence_level=None)
    assert fitted.result.chance is None
    assert not {"chance", "splits", "cause"} & set(record)


def test_a_grid_of_quantiles_is_checked_against_exact_values():
    _, record = fit(confidence_level=None, resources=gx.Resources(max_grid=8))
    assert record["max_grid"]["columns"] == {"x0": 8, "x1": 8, "x2": 8}
    assert any(text.startswith("C22") for text in record["warnings"])


def test_alpha_auto_keeps_the_path_that_chose_it():
    fitted, record = fit(alpha="auto")
    assert fitted.result.path.chosen.alpha == record["alpha"]["alpha"]
    assert fitted.inputs.partitioner.alpha == record["alpha"]["alpha"]
    assert fit()[0].result.path is None


@pytest.fixture(scope="module")
def joint():
    model = LogisticRegression(max_iter=1000).fit(IRIS, SPECIES)
    return fit(model, IRIS, output="all", question=["ice-pdp", "sobol"])[0]


def test_every_output_has_its_own_questions_in_the_regions_of_all(joint):
    assert list(joint.outputs) == [0, 1, 2]
    for number, output in enumerate(joint.outputs.values()):
        of_output = slice(2 * number, 2 * number + 2)
        assert np.array_equal(
            output.result.root_disagreements, joint.result.root_disagreements[of_output]
        )
        assert np.array_equal(output.result.regions, joint.result.regions)
        labels = [comparison.question.label for comparison in output.result.comparisons]
        assert labels == ["ice-pdp", "sobol"]
        assert all(comparison.output == 0 for comparison in output.result.comparisons)


def test_the_predictions_of_an_output_are_its_own(joint):
    model = LogisticRegression(max_iter=1000).fit(IRIS, SPECIES)
    probabilities = model.predict_proba(IRIS)
    for number, output in enumerate(joint.outputs.values()):
        predictions = output.evaluations.predictions + output.evaluations.offset
        positions = output.inputs.positions
        assert predictions == pytest.approx(probabilities[positions, number])


def test_the_fidelity_of_all_outputs_is_the_mean(joint):
    surrogates = [output.result.additive.value for output in joint.outputs.values()]
    total = joint.result.additive.value
    assert total.fidelity == pytest.approx(np.mean([one.fidelity for one in surrogates]))
    expected = np.mean([one.global_fidelity for one in surrogates])
    assert total.global_fidelity == pytest.approx(expected)


def test_attributes_of_rows_stand_in_the_order_of_the_user_s_table():
    fitted, _ = fit(partitioner=gx.partitioners.Clusters(n_clusters=2))
    labels = fitted.result.learned["clusters_"]
    by_position = np.empty(len(X), dtype=int)
    by_position[np.sort(fitted.inputs.positions)] = labels
    regions = np.empty(len(X), dtype=int)
    regions[fitted.inputs.positions] = fitted.result.regions
    assert len(labels) == len(X)
    agreement = np.mean(by_position == regions)
    assert max(agreement, 1 - agreement) > 0.8
