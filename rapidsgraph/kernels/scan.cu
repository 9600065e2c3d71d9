// Structural clustering: cores, clusters, border vertices and hubs.
//
// Neighbors u and v are similar if common^2 * denominator >= numerator * sizes[u] * sizes[v], where
// common and sizes count closed neighborhoods. A core is similar to at least mu vertices, including
// itself. parents are trees of similar cores; labels[v] is the root of the cluster of v, or
// NO_CLUSTER.
//
// Adjacency lists have both directions and no self-loops or parallel arcs. They are either sorted
// by neighbor, and floor is 0; or by descending level of similarity, and similar neighbors have at
// least the level floor, so that a pass over a list can end early.
//
// References: Xu, Yuruk, Feng, Schweiger, KDD 2007, https://doi.org/10.1145/1281192.1281280 (SCAN);
// Wen et al., Proc. VLDB Endow. 11(3), 2017, https://doi.org/10.14778/3157794.3157795 (GS*-Index).

#include "disjoint_sets.cuh"
#include "rows.cuh"
#include "search.cuh"
#include "similar.cuh"

// is_core[v], by a pass over v's list.
extern "C" __global__ void mark_cores(long long num_vertices, long long mu, long long numerator,
                                      long long denominator, const long long *offsets,
                                      const int *neighbors, const int *common, const int *sizes,
                                      bool *is_core) {
  const Neighborhoods lists = {offsets, neighbors, common, sizes, (u64)numerator, (u64)denominator};
  each_row(num_vertices, nullptr, offsets,
           [&](auto lanes, int row, long long start, long long stop) {
             long long similar = 1;
             for (long long base = start; base < stop && similar < mu; base += lanes.count) {
               const long long arc = base + lanes.lane;
               int num_flagged;
               lanes.rank(arc < stop && lists.similar(row, arc), &num_flagged);
               similar += num_flagged;
             }
             if (lanes.lane == 0) is_core[row] = similar >= mu;
           });
}

// Write is_core[v] of the candidates, which have at least mu - 1 neighbors and are sorted by the
// level of their (mu - 1)-th most similar neighbor. Neighbors above level floor + 1 are similar,
// those below floor are not, and those in between are not sorted, so the similar ones are counted.
extern "C" __global__ void mark_indexed_cores(long long num_candidates, long long mu,
                                              long long floor, long long numerator,
                                              long long denominator, const int *candidates,
                                              const long long *offsets, const int *neighbors,
                                              const int *common, const int *sizes, bool *is_core) {
  const Neighborhoods lists = {offsets,        neighbors,        common, sizes,
                               (u64)numerator, (u64)denominator, floor};
  STRIDE(i, num_candidates) {
    const int vertex = candidates[i];
    const long long start = offsets[vertex], stop = offsets[vertex + 1];
    long long arc = start + mu - 2;
    const int last = lists.level(vertex, arc);
    if (last < floor) break;
    bool has_mu = last > floor + 1;
    if (!has_mu) {
      while (arc > start && lists.level(vertex, arc - 1) <= floor + 1) arc--;
      long long similar = arc - start + 1;
      for (; arc < stop && similar < mu; arc++) {
        if (lists.similar(vertex, arc))
          similar++;
        else if (lists.ends(vertex, arc))
          break;
      }
      has_mu = similar >= mu;
    }
    if (has_mu) is_core[vertex] = true;
  }
}

// Link similar cores in parents; is_border[v] = true where v is similar to a core and not a core.
extern "C" __global__ void join_cores(long long num_rows, const int *rows, long long floor,
                                      long long numerator, long long denominator,
                                      const long long *offsets, const int *neighbors,
                                      const int *common, const int *sizes, const bool *is_core,
                                      int *parents, bool *is_border) {
  const Neighborhoods lists = {offsets,        neighbors,        common, sizes,
                               (u64)numerator, (u64)denominator, floor};
  each_row(num_rows, rows, offsets, [&](auto lanes, int row, long long start, long long stop) {
    for (long long base = start; base < stop; base += lanes.count) {
      const long long arc = base + lanes.lane;
      bool ends = false;
      if (arc < stop) {
        if (lists.similar(row, arc)) {
          const int neighbor = neighbors[arc];
          if (!is_core[neighbor])
            is_border[neighbor] = true;
          else if (neighbor < row)
            join(parents, row, neighbor);
        } else {
          ends = lists.ends(row, arc);
        }
      }
      if (lanes.any(ends)) break;
    }
  });
}

// nearest[v] = the core that the border v is most similar to, ties by smallest id;
// num_similar_cores[v] = the number of similar cores.
extern "C" __global__ void attach_borders(long long num_rows, const int *rows, long long floor,
                                          long long numerator, long long denominator,
                                          const long long *offsets, const int *neighbors,
                                          const int *common, const int *sizes, const bool *is_core,
                                          int *nearest, int *num_similar_cores) {
  const Neighborhoods lists = {offsets,        neighbors,        common, sizes,
                               (u64)numerator, (u64)denominator, floor};
  each_row(num_rows, rows, offsets, [&](auto lanes, int row, long long start, long long stop) {
    if (lanes.lane >= WARP) return;  // a warp suffices: such lists are rare
    const int num_threads = min(lanes.count, WARP);
    NearestCore best;
    int num_cores = 0;
    for (long long arc = start + lanes.lane; arc < stop; arc += num_threads) {
      if (!lists.similar(row, arc)) {
        if (lists.ends(row, arc)) break;
        continue;
      }
      const int core = neighbors[arc];
      if (!is_core[core]) continue;
      num_cores++;
      best.update(core, common[arc], sizes[core]);
    }
    if (num_threads == WARP) {
      __syncwarp();
      num_cores = warp_sum(num_cores);
      best.reduce_warp();
    }
    if (lanes.lane == 0) nearest[row] = best.core, num_similar_cores[row] = num_cores;
  });
}

// clusters[starts[v] ...] = the cluster of every core that the border v is similar to.
extern "C" __global__ void list_border_clusters(long long num_rows, const int *rows,
                                                long long floor, long long numerator,
                                                long long denominator, const long long *offsets,
                                                const int *neighbors, const int *common,
                                                const int *sizes, const bool *is_core,
                                                const int *labels, const long long *starts,
                                                int *clusters) {
  const Neighborhoods lists = {offsets,        neighbors,        common, sizes,
                               (u64)numerator, (u64)denominator, floor};
  each_row(num_rows, rows, offsets, [&](auto lanes, int row, long long start, long long stop) {
    long long index = starts[row];
    for (long long base = start; base < stop; base += lanes.count) {
      const long long arc = base + lanes.lane;
      bool is_similar_core = false, ends = false;
      if (arc < stop) {
        is_similar_core = lists.similar(row, arc);
        ends = !is_similar_core && lists.ends(row, arc);
        is_similar_core = is_similar_core && is_core[neighbors[arc]];
      }
      int num_flagged;
      const int before = lanes.rank(is_similar_core, &num_flagged);
      if (is_similar_core) clusters[index + before] = labels[neighbors[arc]];
      index += num_flagged;
      if (lanes.any(ends)) break;
    }
  });
}

// cluster_sizes[root] and first_members[root] of every cluster; members ascend.
extern "C" __global__ void measure_clusters(long long num_members, const int *members,
                                            const int *labels, int *cluster_sizes,
                                            int *first_members) {
  STRIDE(i, num_members) {
    const int member = members[i], label = labels[member];
    const unsigned same = __match_any_sync(__activemask(), label);
    if (__ffs(same) - 1 == threadIdx.x % WARP) {
      atomicAdd(&cluster_sizes[label], __popc(same));
      atomicMin(&first_members[label], member);
    }
  }
}

// labels[v] = the root of the core v, or of the core that is nearest to the border v, and
// NO_CLUSTER for others, which are no members.
extern "C" __global__ void label_members(long long num_vertices, const bool *is_core,
                                         const bool *is_border, const int *roots,
                                         const int *nearest, int *labels, bool *is_member) {
  STRIDE(vertex, num_vertices) {
    const bool is_attached = is_border[vertex];
    is_member[vertex] = is_core[vertex] || is_attached;
    labels[vertex] = is_core[vertex] ? roots[vertex]
                     : is_attached   ? roots[nearest[vertex]]
                                     : NO_CLUSTER;
  }
}

// roles[v] of every vertex: a border is no core, a hub is in no cluster.
extern "C" __global__ void assign_roles(long long num_vertices, const bool *is_core,
                                        const bool *is_border, const bool *is_hub,
                                        signed char *roles) {
  STRIDE(vertex, num_vertices)
  roles[vertex] = is_core[vertex]     ? CORE
                  : is_border[vertex] ? BORDER
                  : is_hub[vertex]    ? HUB
                                      : OUTLIER;
}

// keys[0 .. num_keys[0]) become the clusters, in any order: -size << 32 | first member, which
// ascend by descending size and then by first member.
extern "C" __global__ void list_clusters(long long num_members, const int *members,
                                         const int *labels, const int *cluster_sizes,
                                         const int *first_members, long long *keys, int *num_keys) {
  STRIDE(i, num_members) {
    const int member = members[i], label = labels[member];
    if (first_members[label] == member)
      keys[atomicAdd(num_keys, 1)] = -((long long)cluster_sizes[label] << 32) + member;
  }
}

// numbers[label] = i for the cluster of keys[i].
extern "C" __global__ void number_clusters(long long num_keys, const long long *keys,
                                           const int *labels, int *numbers) {
  STRIDE(i, num_keys) numbers[labels[(int)keys[i]]] = (int)i;
}

// clusters[v] = the number of the cluster of every member v.
extern "C" __global__ void assign_clusters(long long num_members, const int *members,
                                           const int *labels, const int *numbers, int *clusters) {
  STRIDE(i, num_members) clusters[members[i]] = numbers[labels[members[i]]];
}

// is_hub[v] where v is in no cluster and has neighbors in several; neighbor_labels is NO_CLUSTER
// before the launch.
extern "C" __global__ void find_hubs(long long num_rows, const int *rows, const long long *offsets,
                                     const int *neighbors, const int *labels, int *neighbor_labels,
                                     bool *is_hub) {
  each_row(num_rows, rows, offsets, [&](auto lanes, int row, long long start, long long stop) {
    const int label = labels[row];
    for (long long arc = start + lanes.lane; arc < stop; arc += lanes.count) {
      const int neighbor = neighbors[arc];
      if (labels[neighbor] != NO_CLUSTER) continue;
      int other = neighbor_labels[neighbor];
      if (other == NO_CLUSTER) other = atomicCAS(&neighbor_labels[neighbor], NO_CLUSTER, label);
      if (other != NO_CLUSTER && other != label) is_hub[neighbor] = true;
    }
  });
}

// Cluster a graph for which one block suffices. clusters[v] becomes the number of the cluster of v,
// by descending size and then by smallest member, or NO_CLUSTER, and roles[v] the role of v; bit
// v % 32 of word v / 32 of `mask` tells whether v is in a cluster, and num_members[0] how many
// vertices are. Lists are sorted by neighbor. rows is work space by arc, and keys, parents, labels,
// cluster_sizes and first_members are by vertex.
extern "C" __global__ void __launch_bounds__(COOPERATIVE_THREADS, 1)
    cluster_in_block(long long num_vertices, long long num_arcs, long long mu, long long numerator,
                     long long denominator, const long long *offsets, const int *neighbors,
                     const int *common, const int *sizes, int *rows, long long *keys, int *parents,
                     int *labels, int *cluster_sizes, int *first_members, int *clusters,
                     signed char *roles, unsigned int *mask, long long *num_members) {
  __shared__ int num_clusters;
  const Neighborhoods lists = {offsets, neighbors, common, sizes, (u64)numerator, (u64)denominator};
  const int thread = threadIdx.x, threads = blockDim.x, lane = thread % WARP;
  int *num_similar = cluster_sizes;  // including the vertex itself
  for (int vertex = thread; vertex < num_vertices; vertex += threads)
    parents[vertex] = vertex, num_similar[vertex] = 1, roles[vertex] = OUTLIER;
  if (thread == 0) num_clusters = 0;
  __syncthreads();
  for (long long arc = thread; arc < num_arcs; arc += threads) {
    const int row = (int)position(offsets, 0, num_vertices, arc + 1) - 1;
    const bool is_similar = lists.similar(row, arc);
    rows[arc] = is_similar ? row : ~row;  // which is negative
    if (is_similar) atomicAdd(&num_similar[row], 1);
  }
  __syncthreads();
  for (int vertex = thread; vertex < num_vertices; vertex += threads) {
    if (num_similar[vertex] >= mu) roles[vertex] = CORE;
    cluster_sizes[vertex] = 0;
    first_members[vertex] = (int)num_vertices;
  }
  __syncthreads();
  for (long long arc = thread; arc < num_arcs; arc += threads) {
    const int row = rows[arc], neighbor = neighbors[arc];
    if (row < 0 || roles[row] != CORE) continue;
    if (roles[neighbor] != CORE)
      roles[neighbor] = BORDER;
    else if (neighbor < row)
      join(parents, row, neighbor);
  }
  __syncthreads();
  for (int vertex = thread; vertex < num_vertices; vertex += threads) {
    labels[vertex] = roles[vertex] == CORE ? find_root(parents, vertex) : NO_CLUSTER;
  }
  __syncthreads();
  for (int vertex = thread / WARP; vertex < num_vertices; vertex += threads / WARP) {
    if (roles[vertex] != BORDER) continue;
    NearestCore nearest;
    for (long long arc = offsets[vertex] + lane; arc < offsets[vertex + 1]; arc += WARP) {
      const int neighbor = neighbors[arc];
      if (rows[arc] >= 0 && roles[neighbor] == CORE)
        nearest.update(neighbor, common[arc], sizes[neighbor]);
    }
    __syncwarp();
    nearest.reduce_warp();
    if (lane == 0) labels[vertex] = labels[nearest.core];
  }
  __syncthreads();
  long long my_members = 0;
  for (int base = 0; base < num_vertices; base += threads) {
    const int vertex = base + thread, label = vertex < num_vertices ? labels[vertex] : NO_CLUSTER;
    const unsigned int word = __ballot_sync(FULL_MASK, label != NO_CLUSTER);
    if (lane == 0 && vertex < num_vertices) mask[vertex / WARP] = word;
    if (label == NO_CLUSTER) continue;
    my_members++;
    atomicAdd(&cluster_sizes[label], 1);
    atomicMin(&first_members[label], vertex);
  }
  my_members = block_sum(my_members);
  if (thread == 0) num_members[0] = my_members;
  for (int vertex = thread; vertex < num_vertices; vertex += threads) {
    const int label = labels[vertex];
    if (label != NO_CLUSTER && first_members[label] == vertex)
      keys[atomicAdd(&num_clusters, 1)] = -((long long)cluster_sizes[label] << 32) + vertex;
  }
  __syncthreads();
  int *numbers = parents, *neighbor_clusters = first_members;  // not needed any more
  rank_in_block(keys, num_clusters,
                [=](long long key, int rank) { numbers[labels[(int)key]] = rank; });
  __syncthreads();
  for (int vertex = thread; vertex < num_vertices; vertex += threads) {
    clusters[vertex] = labels[vertex] == NO_CLUSTER ? NO_CLUSTER : numbers[labels[vertex]];
    neighbor_clusters[vertex] = NO_CLUSTER;
  }
  __syncthreads();
  for (long long arc = thread; arc < num_arcs; arc += threads) {
    const int row = rows[arc] < 0 ? ~rows[arc] : rows[arc], cluster = clusters[neighbors[arc]];
    if (cluster == NO_CLUSTER || clusters[row] != NO_CLUSTER) continue;
    const int other = atomicCAS(&neighbor_clusters[row], NO_CLUSTER, cluster);
    if (other != NO_CLUSTER && other != cluster) roles[row] = HUB;
  }
}

// num_internal_arcs[0] += arcs between members of one cluster.
extern "C" __global__ void count_internal_arcs(long long num_rows, const int *rows,
                                               const long long *offsets, const int *neighbors,
                                               const int *labels, long long *num_internal_arcs) {
  long long num_internal = 0;
  each_row(num_rows, rows, offsets, [&](auto lanes, int row, long long start, long long stop) {
    for (long long arc = start + lanes.lane; arc < stop; arc += lanes.count)
      num_internal += labels[neighbors[arc]] == labels[row];
  });
  num_internal = warp_sum(num_internal);
  if (threadIdx.x % WARP == 0 && num_internal)
    atomicAdd((u64 *)num_internal_arcs, (u64)num_internal);
}

// is_similar[arc] of every arc.
extern "C" __global__ void mark_similar(long long num_arcs, long long numerator,
                                        long long denominator, const int *sources,
                                        const long long *offsets, const int *neighbors,
                                        const int *common, const int *sizes, bool *is_similar) {
  const Neighborhoods lists = {offsets, neighbors, common, sizes, (u64)numerator, (u64)denominator};
  STRIDE(arc, num_arcs) is_similar[arc] = lists.similar(sources[arc], arc);
}

// descent[arc] = how far the level of every arc is below the highest.
extern "C" __global__ void compute_levels(long long num_arcs, const int *sources,
                                          const int *neighbors, const int *common, const int *sizes,
                                          int *descent) {
  const Neighborhoods lists = {nullptr, neighbors, common, sizes};
  STRIDE(arc, num_arcs) descent[arc] = SIMILARITY_LEVELS - 1 - lists.level(sources[arc], arc);
}

// positions[i] = position of arc first_arc + i in the list of rows[i].
extern "C" __global__ void find_positions(long long num_arcs, long long first_arc, const int *rows,
                                          const long long *offsets, int *positions) {
  STRIDE(i, num_arcs) positions[i] = (int)(first_arc + i - offsets[rows[i]]);
}
