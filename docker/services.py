"""Print a setting of a service in compose.yaml, for machines without Docker Compose.

    python services.py worker environment

The settings are `command` (preceded by the entrypoint), `environment`, `healthcheck`, `replicas`
and `user`; words are quoted for a shell. Of Compose's interpolation syntax only ${NAME:-default} is
supported: the environment variable, or the default if it is unset or empty.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

COMPOSE = Path(__file__).with_name("compose.yaml")
VARIABLE = re.compile(r"\$\{(\w+):-([^${}]*)\}")


def interpolate(text: str, environment: Mapping[str, str]) -> str:
    """Replace the variables in a text, the innermost first."""
    while VARIABLE.search(text):
        text = VARIABLE.sub(lambda match: environment.get(match[1]) or match[2], text)
    return text


def load_services(environment: Mapping[str, str], path: Path = COMPOSE) -> dict[str, Any]:
    """Return the services of a Compose file by name."""
    return yaml.safe_load(interpolate(path.read_text(), environment))["services"]


def read_setting(service: dict[str, Any], setting: str) -> list[str]:
    """Return a setting of a service as the words of a command line."""
    if setting == "command":
        return [*service["entrypoint"], *service["command"]]
    if setting == "environment":
        return [f"{name}={value}" for name, value in service.get("environment", {}).items()]
    if setting == "healthcheck":
        return service["healthcheck"]["test"][1:]  # the first word is CMD
    if setting == "replicas":
        return [str(service.get("deploy", {}).get("replicas", 1))]
    return [service[setting]]


if __name__ == "__main__":
    service_name, setting_name = sys.argv[1:]
    print(shlex.join(read_setting(load_services(os.environ)[service_name], setting_name)))
