#!/bin/sh
# Fill the kernel cache in NUMBA_CACHE_DIR with all kernels for the CPU, also for names that are text.
# The cached code is specific to this type of processor; on another type it is compiled again.
set -eu

graph=/opt/rapidsgraph/debian.parquet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

rapidsgraph warm --device cpu >/dev/null
rapidsgraph pagerank "$graph" --plot pagerank.png >/dev/null
rapidsgraph pagerank "$graph" --undirected >/dev/null
rapidsgraph bfs "$graph" --from git >/dev/null
rapidsgraph sssp "$graph" --from git >/dev/null
rapidsgraph components "$graph" >/dev/null
rapidsgraph scan "$graph" >/dev/null
rapidsgraph layer "$graph" --from git --output git.layers >/dev/null
rapidsgraph bfs git.layers >/dev/null
rapidsgraph sssp git.layers >/dev/null
rapidsgraph pagerank git.layers >/dev/null
python /opt/rapidsgraph/pipelines/rank.py "$graph" --workers 1 --output ranked >/dev/null
