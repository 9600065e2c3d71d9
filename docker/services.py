"""Say what compose.yaml says of a service, where there is no Compose to do what it says.

    python services.py worker environment

Prints one of `command` (with the entrypoint before it), `environment`, `healthcheck`, `replicas`
and `user`, in words quoted for a shell. Of Compose's language it knows what compose.yaml uses:
${NAME:-default} is the variable of the environment, or the default where it is unset or empty.
"""

import os
import re
import shlex
import sys
from pathlib import Path

import yaml

COMPOSE = Path(__file__).with_name("compose.yaml")
VARIABLE = re.compile(r"\$\{(\w+):-([^${}]*)\}")


def filled_in(text, environment):
    """The text with its variables, innermost first."""
    while VARIABLE.search(text):
        text = VARIABLE.sub(lambda found: environment.get(found[1]) or found[2], text)
    return text


def services(environment, path=COMPOSE):
    """The services of a file of Compose, by name."""
    return yaml.safe_load(filled_in(path.read_text(), environment))["services"]


def words(service, what):
    """What is asked for of a service, as the words of a command line."""
    if what == "command":
        return [*service["entrypoint"], *service["command"]]
    if what == "environment":
        return [f"{name}={value}" for name, value in service.get("environment", {}).items()]
    if what == "healthcheck":
        return service["healthcheck"]["test"][1:]  # behind CMD
    if what == "replicas":
        return [str(service.get("deploy", {}).get("replicas", 1))]
    return [service[what]]


if __name__ == "__main__":
    name, what = sys.argv[1:]
    print(shlex.join(words(services(os.environ)[name], what)))
