"""The NVIDIA driver and its GPUs, asked without CuPy, and what is there where they do not answer.

Reference: CUDA driver API (libcuda), NVML (libnvidia-ml).
"""

import ctypes
import os
import uuid
from pathlib import Path

CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
NVIDIA, DISPLAYS = "0x10de", "0x03"  # vendor, and how the classes of graphics cards begin on PCI
ERRORS = {
    100: "no GPU",
    802: "the system is not ready; on machines with NVSwitch, start nvidia-fabricmanager",
    803: "its library and its kernel module differ; restart the machine or the container",
    804: "its compatibility libraries do not support this GPU; update the driver itself",
    999: "unknown error",
}


class Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def nvidia():
    """The driver and its GPUs.

    Returns
    -------
    driver : dict or None
        ``version``, ``cuda`` (the newest it can run, as in "13.0") and ``problem``; None where
        there is no driver.
    gpus : list of dict
        ``name``, ``memory_total``, ``memory_free`` (bytes; None where unknown),
        ``compute_capability``.
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, []
    management = _management()
    number, count = ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(number))
    driver = {
        "version": _version(management),
        "cuda": f"{number.value // 1000}.{number.value % 1000 // 10}",
        "problem": None,
    }
    status = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if status:
        meaning = f", {ERRORS[status]}" if status in ERRORS else ""
        driver["problem"] = f"the driver does not start: CUDA error {status}{meaning}"
        return driver, []
    return driver, [_gpu(cuda, management, place) for place in range(count.value)]


def traces():
    """What there is of a GPU beside the driver's library, and what hides it.

    Returns
    -------
    dict
        ``card`` (one is plugged in, or the kernel has its driver), ``nodes`` (files of GPUs in
        /dev), ``closed`` (those that this user may not open), ``hidden`` (variables that choose
        GPUs, as they are set).
    """
    nodes = sorted(map(str, [*Path("/dev").glob("nvidia[0-9]*"), *Path("/dev").glob("dxg")]))
    return {
        "card": Path("/proc/driver/nvidia/version").exists() or _is_plugged_in(),
        "nodes": nodes,
        "closed": [node for node in nodes if not os.access(node, os.R_OK | os.W_OK)],
        "hidden": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def _is_plugged_in():
    for card in Path("/sys/bus/pci/devices").glob("*"):
        try:
            vendor, kind = ((card / name).read_text().strip() for name in ("vendor", "class"))
        except OSError:
            continue
        if vendor == NVIDIA and kind.startswith(DISPLAYS):
            return True
    return False


def _management():
    """NVML, started, or None."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return None if library.nvmlInit_v2() else library


def _version(management):
    text = ctypes.create_string_buffer(100)
    if management is None or management.nvmlSystemGetDriverVersion(text, len(text)):
        return None
    return text.value.decode()


def _gpu(cuda, management, place):
    handle, name, size = ctypes.c_int(), ctypes.create_string_buffer(100), ctypes.c_size_t()
    cuda.cuDeviceGet(ctypes.byref(handle), place)
    cuda.cuDeviceGetName(name, len(name), handle)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(size), handle)
    capability = []
    for attribute in CAPABILITY:
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        capability.append(str(value.value))
    return {
        "name": name.value.decode(),
        "memory_total": size.value,
        "memory_free": _free(cuda, management, handle),
        "compute_capability": ".".join(capability),
    }


def _free(cuda, management, handle):
    """Free bytes by NVML, which takes no memory of the GPU to find out, as CUDA would."""
    number = ctypes.create_string_buffer(16)
    ask = getattr(cuda, "cuDeviceGetUuid_v2", None)  # drivers before 470 lack it
    if management is None or ask is None or ask(number, handle):
        return None
    name = str(uuid.UUID(bytes=number.raw))
    for kind in ("GPU", "MIG"):  # a part of a GPU has a number of its own
        found, memory = ctypes.c_void_p(), Memory()
        if management.nvmlDeviceGetHandleByUUID(f"{kind}-{name}".encode(), ctypes.byref(found)):
            continue
        if not management.nvmlDeviceGetMemoryInfo(found, ctypes.byref(memory)):
            return memory.free
    return None
