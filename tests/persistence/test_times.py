"""Seconds of a fit stand apart: all that differs between the files of two equal fits."""

from __future__ import annotations

import json

import pytest

import granite_xai as gx
from granite_xai.base.errors import FormatError
from granite_xai.partitioners import (
    Clusters,
)
from persistence.saved_objects import (
    fitted,
    table,
)
from persistence.shared import (
    edited,
    replace_in,
)

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


@pytest.mark.parametrize(
    "options",
    [
        {"question": "ice-pdp"},
        {"question": ["cshap-shap", "pfi-risk"], "alpha": "auto"},
        {"question": "ice-pdp", "holdout": 0.5},
        {"question": "ice-pdp", "partitioner": Clusters("ice", n_clusters=2)},
    ],
    ids=str,
)
@pytest.mark.parametrize("data", [False, True], ids=["without rows", "with rows"])
def test_N04_equal_fits_save_equal_bytes_but_for_their_times(options, data, tmp_path):
    """The seconds of a fit stand at the end; without them two fits cannot be told apart, also by checksum."""
    fits = [fitted(X=table(80), **options) for _ in range(2)]
    plain = [gx.save(g, tmp_path / f"{i}.json", data).read_bytes() for i, g in enumerate(fits)]
    assert plain[0] != plain[1]
    checksums = {json.loads(raw)["sha256"] for raw in plain}
    assert len(checksums) == 1
    bare = [
        gx.save(g, tmp_path / f"{i}.json", data, reproducible=True).read_bytes()
        for i, g in enumerate(fits)
    ]
    assert bare[0] == bare[1]
    assert b'"seconds"' not in bare[0]
    assert json.loads(bare[0])["sha256"] in checksums
    loaded = gx.load(tmp_path / "0.json")
    assert "seconds" not in loaded.diagnostics_
    assert "Seconds" in loaded.report().html()


def test_F04_times_that_are_none_are_refused(saved, tmp_path):
    for times in ([], {"seconds": "long"}, {"warnings": {"seconds": 1}}, {"seconds": {"a": [1]}}):
        path = edited(saved("ice-pdp")[1], tmp_path, replace_in("times", value=times))
        with pytest.raises(FormatError, match="F04: times"):
            gx.load(path, verify=False)
    path = edited(saved("ice-pdp")[1], tmp_path, replace_in("more", value=1))
    with pytest.raises(FormatError, match="times are not the last entry"):
        gx.load(path, verify=False)
