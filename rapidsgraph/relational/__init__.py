"""Algorithms as frame operations, on pandas, cuDF and Dask: ``method="frames"``."""
