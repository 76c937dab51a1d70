"""`python -m runwatch` is `runwatch`."""

import sys

from runwatch.cli import main

if __name__ == "__main__":
    sys.exit(main())
