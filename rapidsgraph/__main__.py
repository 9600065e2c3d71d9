"""The `rapidsgraph` command, also as `python -m rapidsgraph`.

Signals are handled from the start; everything else is imported after that.
"""

import sys

from .signals import exit_on_signals


def main():
    """Run the command; the console script."""
    exit_on_signals()
    from .cli import main as run

    run()


if __name__ == "__main__":
    sys.exit(main())
