"""`python -m trunkline` is the command itself."""

import sys

from trunkline.cli import main

sys.exit(main())
