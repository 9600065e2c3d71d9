"""Texts of --help: panels of commands and options, flags and examples."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

# The commands in the order of a workflow, by the panel of --help.
PANELS = {
    "Get started": ("doctor", "demo"),
    "Create a graph": ("generate",),
    "Analyze a graph": (
        "pagerank", "bfs", "sssp", "shortest-path", "components", "core-number",
        "triangles", "clustering", "similarity", "label-propagation", "scan",
    ),
    "Prepare for later runs": ("layer", "warm"),
}  # fmt: skip
# Panels of options that several commands have; those of one command come first.
GRAPH, EXECUTION, OUTPUT, MESSAGES = "Graph", "Execution", "Output", "Messages"


class WorkflowGroup(TyperGroup):
    """List commands in the order of `PANELS`."""

    def list_commands(self, context: Any) -> list[str]:
        """Return the names of the commands."""
        names = super().list_commands(context)
        order = [name for panel in PANELS.values() for name in panel]
        return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def panel_of(name: str) -> str | None:
    """Return the panel that lists a command."""
    return next((panel for panel, names in PANELS.items() if name in names), None)


def format_examples(*lines: str) -> str:
    """Return command lines, without the name of the program, as the end of a --help text."""
    return "\n\n".join(["Examples:", *(f"$ rapidsgraph {line}" for line in lines)])


def flag_option(*names: str, help: str, panel: str | None = None) -> Any:
    """Return a boolean option, which takes no value."""
    return typer.Option(*names, metavar="", help=help, rich_help_panel=panel)
