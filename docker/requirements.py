"""Print what the package and some of its extras need, in the order of pyproject.toml.

    python requirements.py pyproject.toml dask plot

So images install the dependencies in a layer of their own, which a change of the source keeps.
"""

import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]
extras = [project["optional-dependencies"][extra] for extra in sys.argv[2:]]
print(*project["dependencies"], *sum(extras, []), sep="\n")
