"""Which container this process is in, and how to give such a one a GPU."""

import os
from pathlib import Path

MARKS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}
GIVE_GPU = {
    "Docker": "docker run --gpus all (in Compose: deploy.resources.reservations.devices)",
    "Podman": "podman run --device nvidia.com/gpu=all",
    "Kubernetes": "nvidia.com/gpu: 1 under resources.limits of the container",
    "Apptainer": "apptainer run --nv",
}
OTHER = "the machine's /dev/nvidia* and libcuda.so.1 in it"


def container():
    """ "Docker", "Podman", "Kubernetes", "Apptainer", another name, or None for none."""
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "Kubernetes"
    if "APPTAINER_CONTAINER" in os.environ or "SINGULARITY_CONTAINER" in os.environ:
        return "Apptainer"
    for mark, name in MARKS.items():
        if Path(mark).exists():
            return name
    return os.environ.get("container")  # noqa: SIM112  systemd-nspawn and LXC spell it so


def how_to_start(kind):
    """What gives the GPUs of the machine to a container of this kind."""
    how = f"start the container with it: {GIVE_GPU.get(kind, OTHER)}"
    if kind == "Apptainer":  # needs nothing else
        return how
    return f"{how}, where the NVIDIA Container Toolkit is installed outside the container"
