"""The CUDA kernels of the stages of a call, which threads compile when the call begins.

Otherwise the first call in a process with an empty cache waits for one compilation after another,
each of them when its kernel is launched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .launcher import C_TYPE_OF, compile_in_thread

# The kernels that a stage launches on most graphs, those that compile longest first: a stem and an
# entry, their element types, and whether the launch is cooperative. Names in braces are types that
# `compile_ahead` is given. Types of names in results are those of most graphs.
STAGES = {
    "name vertices": """
        build.number_in_shared_memory name_t={names} cooperative
        build.list_names name_t={names}
        build.look_up_ids name_t={names}
        arrays.fill_range value_t={names}
    """,
    "convert names": "arrays.convert value_t={names} new_t=int32",
    "merge arcs": """
        arrays.accumulate value_t=bool total_t=int32
        arrays.sum_ranges value_t=bool
        build.filter_neighbors count_t=int32
        build.filter_offsets count_t=int32
    """,
    "sort arcs": "build.pack_pairs",
    "sort many arcs": """
        bucket_sort.sort_buckets position_t=bool
        radix_sort.sort_by_digit state_t=int32
        radix_sort.count_digits
    """,
    "sort many weighted arcs": "bucket_sort.sort_buckets position_t=uint32",
    "sort weighted arcs": """
        radix_sort.sort_by_digit state_t=int32
        radix_sort.count_digits
        arrays.count_outside value_t={weights}
        build.pack_pairs
        build.permute order_t=uint32 weight_t={weights}
    """,
    "merge weights": """
        arrays.list_nonzero total_t=int32
        build.reduce_runs order_t=int32 weight_t={weights}
    """,
    "count conflicts": "build.count_conflicts weight_t={weights}",
    "symmetrize": """
        build.mark_proper
        arrays.count_nonzero value_t=bool
        arrays.list_nonzero total_t=int32
        build.concatenate_rows weight_t={weights}
        build.permute order_t=int32 weight_t=int32
    """,
    "pagerank": """
        pagerank.iterate value_t={values} weight_t={weights} cooperative
        pagerank_layout.arrange value_t={values}
        pagerank_layout.classify_rows
        radix_sort.sort_by_digit state_t=int32
        radix_sort.count_digits
        pagerank.order_by_vertex value_t={values}
        pagerank_layout.measure_rows
        arrays.accumulate value_t=int64 total_t=int64
        pagerank_layout.sum_first
        pagerank_layout.classify_values value_t=float64
        pagerank_layout.invert_weights value_t={values}
        pagerank.initialize_rows value_t={values}
        arrays.fill_range value_t=int32
        arrays.invert_order order_t=int32
        key_sums.sum_by_key weight_t=float64
    """,
    "pagerank blocks": """
        pagerank_blocks.iterate_blocks value_t={values} cooperative
        pagerank_blocks_rows.group_sources
        pagerank_blocks_bins.place_entries value_t={values}
        pagerank_blocks_bins.count_segments
        pagerank_blocks_bins.measure_costs
        pagerank_blocks_rows.measure_lists
        pagerank_blocks_rows.measure_units
        pagerank_blocks_rows.measure_chunks
        pagerank_blocks_bins.measure_bins
        pagerank_blocks_rows.find_classes
        pagerank_blocks_bins.find_bins
        pagerank_blocks_rows.sum_gathers
        pagerank_blocks_rows.count_longer
        pagerank_blocks_bins.place_in_tiles
        pagerank_blocks_bins.add_tile_offsets
        pagerank_layout.rank_values value_t=float64
        pagerank_layout.list_chunks
        build.permute order_t=int32 weight_t=int32
        build.permute order_t=int32 weight_t=int64
        build.permute order_t=int32 weight_t=float64
        arrays.accumulate value_t=int64 total_t=int64
        arrays.accumulate value_t=int64 total_t=int32
        arrays.sum_ranges value_t=int64
        arrays.convert value_t=int64 new_t=int32
        pagerank_blocks_rows.find_ranges
    """,
    "unweighted pagerank": "pagerank.iterate_in_block value_t={values}",
    "weighted pagerank": """
        key_sums.add_parts weight_t={weights}
        key_sums.find_largest weight_t={weights}
        key_sums.join_parts
        pagerank_layout.normalize_weights value_t={values} weight_t={weights}
        arrays.convert value_t=float64 new_t=bool
        arrays.convert value_t=bool new_t=float64
    """,
    "bfs": """
        bfs.search cooperative
        build.find_name name_t=int64
        build.find_name name_t=int32
        arrays.fill_nulls value_t=int32 new_t=int64
        arrays.fill_nulls value_t=int32 new_t=int32
    """,
    "sssp": """
        sssp.shortest_paths weight_t={weights} cooperative
        build.count_nonempty
        sssp.mark_remaining
        arrays.count_nonzero value_t=bool
        sssp.push_predecessors weight_t={weights}
        arrays.fill_nulls value_t=int32 new_t=int64
        arrays.fill value_t=int32
        arrays.fill value_t=float64
        arrays.put value_t=float64
        arrays.put value_t=bool
    """,
    "connected components": """
        build.expand_rows
        union_find.number_vertices
        arrays.mark_range value_t=int32
        arrays.fill_range value_t=int32
        union_find.link_neighbor
        union_find.link_arcs
        union_find.number_large
        union_find.count_members
        union_find.compress
        union_find.list_large
        union_find.number_in_block
    """,
    "strong components": """
        bfs.search cooperative
        coloring.lower_colors
        coloring.trim
        coloring.mark_active
        coloring.join_roots
        build.expand_rows
        arrays.list_nonzero total_t=int32
        union_find.number_vertices
        arrays.mark_range value_t=int32
        arrays.fill value_t=int32
        arrays.fill_range value_t=int32
        build.permute order_t=int32 weight_t=int32
        build.permute order_t=int64 weight_t=int32
        union_find.number_large
        union_find.count_members
        union_find.list_large
    """,
    "core numbers": """
        core_number.peel cooperative
        similarity.measure_degrees
    """,
    "label propagation": """
        label_propagation.propagate_long
        label_propagation.mark_neighbors
        build.mark_proper
        arrays.list_nonzero total_t=int32
        label_propagation.take_first_labels
        label_propagation.propagate_short
        label_propagation.sum_degrees
        arrays.mark_range value_t=int64
        arrays.fill_range value_t=int32
        arrays.convert value_t=int32 new_t=int32
        arrays.convert value_t=int32 new_t=int64
        build.permute order_t=int32 weight_t=int64
        build.permute order_t=int32 weight_t=bool
        build.permute order_t=int32 weight_t=int32
    """,
    "common neighbors": """
        similarity.count_by_block
        similarity.count_by_warp
        similarity.count_upper
        similarity.gather_upper
        similarity.assign_counts
        arrays.accumulate value_t=int64 total_t=int64
        arrays.sum_ranges value_t=int64
        similarity.count_by_thread
        similarity.mark_owners
        similarity.measure_degrees
        similarity.merge_lists
    """,
    "list similarities": """
        similarity.list_edges
        arrays.convert value_t=int32 new_t=int64
    """,
    "cluster": """
        arrays.fill_nulls value_t=int32 new_t=int32
        scan.label_members
        scan.cluster_in_block
        scan.attach_borders
        scan.join_cores
        union_find.compress
        arrays.fill_range value_t=int32
        arrays.fill value_t=int32
        arrays.convert value_t=int8 new_t=int32
    """,
    "mark cores": "scan.mark_cores",
    "index similarities": """
        scan.compute_levels
        scan.find_positions
        radix_sort.sort_by_digit state_t=int32
        radix_sort.count_digits
        build.pack_pairs
        build.permute order_t=uint32 weight_t=int32
        build.permute order_t=uint32 weight_t=uint32
    """,
    "mark indexed cores": """
        scan.mark_indexed_cores
        arrays.fill value_t=bool
    """,
    "triangles": """
        triangles.count_by_block
        triangles.count_by_warp
        triangles.relabel
        triangles.count_by_thread
        arrays.accumulate value_t=int32 total_t=int64
        arrays.sum_ranges value_t=int32
        similarity.measure_degrees
        triangles.invert_degrees degree_t=int32
        triangles.measure_upper
        arrays.count_nonzero value_t=bool
        arrays.invert_order order_t=int32
        arrays.fill_range value_t=int32
        arrays.mark_range value_t=int32
        build.permute order_t=int32 weight_t=int32
        build.permute order_t=int32 weight_t=int64
    """,
    "clustering coefficients": """
        triangles.count_neighbors
        triangles.list_neighbors
        build.expand_rows
        triangles.divide_by_pairs degree_t=int32
        arrays.accumulate value_t=int64 total_t=int64
        arrays.sum_ranges value_t=int64
    """,
    "neighbor pairs": """
        common_neighbors.compare degree_t=int32
        common_neighbors.count_pairs
        build.find_ids name_t=int64
        similarity.measure_degrees
        arrays.convert value_t=int32 new_t=int64
    """,
}


class Program(NamedTuple):
    """A CUDA entry with bound element types.

    Attributes
    ----------
    stem, entry : str
    types : tuple of (str, str)
        Names of element types and their dtypes, or a name in braces.
    is_cooperative : bool
    """

    stem: str
    entry: str
    types: tuple[tuple[str, str], ...]
    is_cooperative: bool


def programs(stage: str) -> list[Program]:
    """Return the kernels of a stage of `STAGES`."""
    return [_parse(line) for line in STAGES[stage].strip().splitlines()]


def _parse(line: str) -> Program:
    kernel, *words = line.split()
    stem, entry = kernel.split(".")
    types = tuple(
        (name, kind) for name, equals, kind in (w.partition("=") for w in words) if equals
    )
    return Program(stem, entry, types, "cooperative" in words)


_begun: set[tuple] = set()  # stages, with devices and types


def compile_ahead(*stages: str, **types: Any) -> None:
    """Start to compile the CUDA kernels of stages in threads; a no-op after the first time.

    Parameters
    ----------
    *stages : str
        Keys of `STAGES`.
    **types : dtype
        The types that are in braces in the stages, such as ``weights=numpy.float64``.
    """
    import cupy

    device_id = cupy.cuda.runtime.getDevice()
    key = stages, device_id, *sorted(types.items())
    if key in _begun:
        return
    _begun.add(key)
    names = {name: np.dtype(kind).name for name, kind in types.items()}
    for program in (program for stage in stages for program in programs(stage)):
        bound = [(name, C_TYPE_OF[np.dtype(kind.format(**names))]) for name, kind in program.types]
        compile_in_thread(
            program.stem, program.entry, tuple(sorted(bound)), program.is_cooperative, device_id
        )
