"""The options: what each reads, and what its help says."""

from __future__ import annotations

import pytest

from granite_xai import cli


@pytest.mark.parametrize(("given", "read"), [("auto", "auto"), ("0.02", 0.02)])
def test_the_price_of_a_region_is_a_share_or_auto(given, read):
    assert (
        cli.parser().parse_args(["explain", "d.csv", "--model", "m.json", "--alpha", given]).alpha
        == read
    )


def test_S11_the_help_says_that_a_pickle_runs_code(capsys):
    with pytest.raises(SystemExit):
        cli.main(["explain", "--help"])
    assert "runs whatever code it holds" in " ".join(capsys.readouterr().out.split())
