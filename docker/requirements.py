"""Print the dependencies of the package and of some extras, in the order of pyproject.toml.

    python requirements.py pyproject.toml dask plot

Images install the dependencies in a layer of their own, which changes of the source do not
invalidate.
"""

import sys
import tomllib
from itertools import chain

with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]
extras = [project["optional-dependencies"][extra] for extra in sys.argv[2:]]
print(*project["dependencies"], *chain(*extras), sep="\n")
