"""A backend of NetworkX, so that NetworkX's own functions run here: ``backend="rapidsgraph"``.

NetworkX finds `info` and `interface` by the entry points of pyproject.toml, and imports `interface`
at the first call. docs/guide/networkx.md lists the functions and what they do not support.
"""
