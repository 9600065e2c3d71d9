"""Algorithms on graphs that are partitioned over the workers of a Dask cluster."""
