"""`python -m rapidsgraph.cli`, where the command is not on the path."""

from ..__main__ import main

if __name__ == "__main__":
    main()
