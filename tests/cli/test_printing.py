"""What is printed: nothing acts on a terminal."""

from __future__ import annotations

import pandas as pd

from cli.running import run


def test_S04_names_are_escaped_on_the_terminal(folder, capsys):
    nasty = "a\x1b[31m"
    table = pd.read_csv("table.csv").rename(columns={"y": nasty})
    table.to_csv("nasty.csv", index=False)
    code, out, err = run(
        capsys, "explain", "nasty.csv", "--predictor", "own_model:predict", "--drop", "absent"
    )
    assert code == 2
    assert "\x1b" not in out + err
    code, out, err = run(capsys, "explain", "nasty.csv", "--predictor", "own_model:predict")
    assert code == 0
    assert "\x1b" not in out + err
