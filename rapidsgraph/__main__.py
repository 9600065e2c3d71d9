"""`python -m rapidsgraph`: the command."""

import sys

from .cli import main

sys.exit(main())
