"""Algorithms as array code around kernels, on one CPU or GPU."""
