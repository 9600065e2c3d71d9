"""cuSPARSE through CuPy: PageRank around its matrix-vector product, and builds of matrices."""

from cupyx import cusparse
from cupyx.scipy import sparse

from pipelines.benchmarks.adapters import Library
from pipelines.benchmarks.adapters.scipy import add_matrix_entries

library = Library("cuSPARSE", "through CuPy")
add_matrix_entries(library, sparse, cusparse.spmv)
