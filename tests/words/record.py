"""Record anew what fits say: ``python tests/words/record.py [name of a fit ...]``; then read ``git diff tests/words``.

Every fit as print; some of them also in a notebook, as a report (text, Markdown, JSON), on the command line, and with
what is printed of other rows, repeated searches and one row. Each text is a file of the folder ``recorded``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from words.fits import FITS
from words.transcripts import RECORDED, recorded, transcripts, write


def main(names: list[str]) -> None:
    """Record some fits, or all of them, and name the files that have changed."""
    for name in names or FITS:
        before = recorded(name)
        write(name)
        for file, text in transcripts(name).items():
            if before.get(file) != text:
                print(f"{name}/{file}: {'changed' if file in before else 'new'}")
    for folder in RECORDED.iterdir():
        if folder.name not in FITS:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
