"""The boundary between CPU and GPU: array modules, availability, free memory and kernel launches.

Code outside this package calls `device.launch(...)`, `device.array_module(...)` and so on, and
does not otherwise depend on where it runs.
"""

from .arrays import (
    Array,
    ArrayModule,
    Device,
    array_module,
    cgroup_memory,
    choose,
    cudf_problem,
    device_name,
    frame_library_problem,
    free_memory,
    gpu_problem,
    import_cupy,
    is_array,
    is_on_gpu,
    synchronize,
    to_host,
)
from .cuda_sources import (
    ENTRY_POINT,
    KERNELS,
    constant_macros,
    cuda_source,
    select_entry,
    signatures,
)
from .launcher import (
    C_TYPES,
    MIN_PARALLEL_SIZE,
    compile_ahead,
    count_nonzero,
    launch,
    max_cooperative_blocks,
    max_shared_bytes,
    parallel_region,
    resident_blocks,
)

__all__ = [
    "C_TYPES",
    "ENTRY_POINT",
    "KERNELS",
    "MIN_PARALLEL_SIZE",
    "Array",
    "ArrayModule",
    "Device",
    "array_module",
    "cgroup_memory",
    "choose",
    "compile_ahead",
    "constant_macros",
    "count_nonzero",
    "cuda_source",
    "cudf_problem",
    "device_name",
    "frame_library_problem",
    "free_memory",
    "gpu_problem",
    "import_cupy",
    "is_array",
    "is_on_gpu",
    "launch",
    "max_cooperative_blocks",
    "max_shared_bytes",
    "parallel_region",
    "resident_blocks",
    "select_entry",
    "signatures",
    "synchronize",
    "to_host",
]
