"""``python -m granite_xai.cli``."""

import sys

from granite_xai.cli import main

if __name__ == "__main__":
    sys.exit(main())
