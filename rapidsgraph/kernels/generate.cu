// Random graphs; the random numbers of an edge depend only on its index.
//
// The random bits of draw k under a key are the k-th output of SplitMix64 started at the key. No
// draw depends on another, so the result is the same for any number of threads and for the CPU
// twin.
//
// A key of a stream is a 64-bit pattern in a signed word. Probabilities are thresholds from 0 to
// 2^53 on the upper 53 bits, so integers are compared and no rounding can differ. names maps a
// vertex to its id in the result. The key of an edge is source * 2^32 + destination.
//
// References: Steele, Lea, Flood 2014 (fast splittable pseudorandom number generators);
// Chakrabarti, Zhan, Faloutsos 2004 (R-MAT); Bader, Madduri 2006 (GTgraph, SSCA#2: cliques).

#include "grid.cuh"

__device__ __forceinline__ unsigned long long random_bits(long long key, long long draw) {
  unsigned long long bits = (unsigned long long)key;
  bits += ((unsigned long long)draw + 1) * 0x9E3779B97F4A7C15ull;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ull;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBull;
  return bits ^ (bits >> 31);
}

__device__ __forceinline__ long long upper_bits(long long key, long long draw) {
  return (long long)(random_bits(key, draw) >> 11);
}

__device__ __forceinline__ long long pack(int source, int destination) {
  return ((long long)source << 32) | (long long)destination;
}

// A random number above, the vertex in the low `bits` bits: sorted, the vertices are shuffled, and
// equal random numbers stay in the order of their vertices.
extern "C" __global__ void draw_order(long long num_vertices, long long key, long long bits,
                                      long long *order) {
  STRIDE(vertex, num_vertices) {
    const long long random = (long long)(random_bits(key, vertex) >> 1);
    order[vertex] = ((random >> bits) << bits) | vertex;
  }
}

// R-MAT: at each of `scale` levels an edge goes to one quarter of the adjacency matrix. a, ab and
// abc are the sums of the first one, two and three probabilities.
extern "C" __global__ void draw_rmat(long long num_edges, long long scale, long long key,
                                     long long a, long long ab, long long abc, const int *names,
                                     long long *keys) {
  STRIDE(edge, num_edges) {
    int source = 0, destination = 0;
    for (long long level = 0; level < scale; level++) {
      const long long random = upper_bits(key, edge * scale + level);
      source = 2 * source + (random >= ab);
      destination = 2 * destination + (random >= a) - (random >= ab) + (random >= abc);
    }
    keys[edge] = pack(names[source], names[destination]);
  }
}

// Both endpoints of an edge, uniformly.
extern "C" __global__ void draw_uniform(long long num_edges, long long num_vertices, long long key,
                                        int *sources, int *destinations) {
  STRIDE(edge, num_edges) {
    sources[edge] = (int)((long long)(random_bits(key, 2 * edge) >> 1) % num_vertices);
    destinations[edge] = (int)((long long)(random_bits(key, 2 * edge + 1) >> 1) % num_vertices);
  }
}

// Lattice edge 2 v goes from vertex v to the one on its right, 2 v + 1 to the one below; those
// that would leave the lattice are rejected.
extern "C" __global__ void draw_grid(long long num_vertices, long long width, long long key,
                                     long long threshold, bool *is_selected) {
  STRIDE(vertex, num_vertices) {
    const bool right = vertex % width < width - 1, below = vertex < num_vertices - width;
    is_selected[2 * vertex] = right && upper_bits(key, 2 * vertex) < threshold;
    is_selected[2 * vertex + 1] = below && upper_bits(key, 2 * vertex + 1) < threshold;
  }
}

// Two keys for each edge of the lattice, one per direction.
extern "C" __global__ void pack_grid(long long num_edges, long long width,
                                     const long long *lattice_edges, const int *names,
                                     long long *keys) {
  STRIDE(edge, num_edges) {
    const long long vertex = lattice_edges[edge] / 2;
    const int name = names[vertex],
              other_name = names[vertex + (lattice_edges[edge] % 2 ? width : 1)];
    keys[2 * edge] = pack(name, other_name);
    keys[2 * edge + 1] = pack(other_name, name);
  }
}

// Sizes of cliques.
extern "C" __global__ void draw_cliques(long long num_cliques, long long max_clique, long long key,
                                        long long *sizes) {
  STRIDE(clique, num_cliques) {
    sizes[clique] = 1 + (long long)(random_bits(key, clique) >> 1) % max_clique;
  }
}

// Where an edge from a vertex of `clique` leads, or -1: to any vertex of a clique ahead, twice as
// far for every head before the first tail, unless the row of cliques ends before that.
__device__ __forceinline__ int bridge_end(long long bridge, long long clique, long long cliques,
                                          long long key, long long threshold,
                                          const long long *starts) {
  if (upper_bits(key, 3 * bridge) >= threshold) return -1;
  long long coins = (long long)(random_bits(key, 3 * bridge + 1) >> 1);
  long long distance = 1;
  for (; (coins & 1) && distance < cliques; coins >>= 1) distance *= 2;
  if (clique + distance >= cliques) return -1;
  const long long start = starts[clique + distance], size = starts[clique + distance + 1] - start;
  return (int)(start + (long long)(random_bits(key, 3 * bridge + 2) >> 1) % size);
}

// bridge_ends[2 v] and bridge_ends[2 v + 1] are where the edges from vertex v to other cliques
// lead; -1: there is none, or it would be the other one again. Clique c has the vertices from
// clique_offsets[c] to before clique_offsets[c + 1]. As all lead ahead, no two vertices draw the
// same edge.
extern "C" __global__ void draw_bridges(long long num_vertices, long long num_cliques,
                                        long long key, long long threshold, const int *clique_of,
                                        const long long *clique_offsets, int *bridge_ends) {
  STRIDE(vertex, num_vertices) {
    const int clique = clique_of[vertex];
    const int first = bridge_end(2 * vertex, clique, num_cliques, key, threshold, clique_offsets);
    const int second =
        bridge_end(2 * vertex + 1, clique, num_cliques, key, threshold, clique_offsets);
    bridge_ends[2 * vertex] = first;
    bridge_ends[2 * vertex + 1] = second == first ? -1 : second;
  }
}

// A key for every ordered pair of a clique; those of clique c start at key_offsets[c].
extern "C" __global__ void pack_cliques(long long num_vertices, const int *clique_of,
                                        const long long *clique_offsets,
                                        const long long *key_offsets, const int *names,
                                        long long *keys) {
  STRIDE(vertex, num_vertices) {
    const long long start = clique_offsets[clique_of[vertex]],
                    stop = clique_offsets[clique_of[vertex] + 1];
    long long index = key_offsets[clique_of[vertex]] + (vertex - start) * (stop - start - 1);
    for (long long other = start; other < stop; other++) {
      if (other != vertex) keys[index++] = pack(names[vertex], names[other]);
    }
  }
}

// Two keys for each edge between cliques, one per direction.
extern "C" __global__ void pack_bridges(long long num_edges, const long long *bridges,
                                        const int *bridge_ends, const int *names, long long *keys) {
  STRIDE(edge, num_edges) {
    const int name = names[bridges[edge] / 2], other_name = names[bridge_ends[bridges[edge]]];
    keys[2 * edge] = pack(name, other_name);
    keys[2 * edge + 1] = pack(other_name, name);
  }
}

// Of sorted keys: neither a self-loop nor the same as the one before.
extern "C" __global__ void mark_simple(long long num_edges, const long long *keys,
                                       bool *is_simple) {
  STRIDE(edge, num_edges) {
    const long long packed = keys[edge];
    const bool loop = packed >> 32 == (packed & 0xFFFFFFFFll);
    is_simple[edge] = !loop && (edge == 0 || keys[edge - 1] != packed);
  }
}

extern "C" __global__ void unpack(long long num_edges, const long long *keys, int *sources,
                                  int *destinations) {
  STRIDE(edge, num_edges) {
    sources[edge] = (int)(keys[edge] >> 32);
    destinations[edge] = (int)(keys[edge] & 0xFFFFFFFFll);
  }
}

// weights[e] = min_weight + weight_range * u, at most max_weight. u is drawn by the index of the
// edge or, if symmetrize, by its endpoints in either order. Rounded after the product and after the
// sum, never fused, as the twin does.
extern "C" __global__ void draw_weights(long long num_edges, long long key, long long symmetrize,
                                        double min_weight, double weight_range, double max_weight,
                                        const int *sources, const int *destinations,
                                        double *weights) {
  STRIDE(edge, num_edges) {
    const int source = sources[edge], destination = destinations[edge];
    long long draw = edge;
    if (symmetrize) draw = pack(min(source, destination), max(source, destination));
    const double random = (double)upper_bits(key, draw) * (1.0 / 9007199254740992.0);
    const double weight = __dadd_rn(min_weight, __dmul_rn(weight_range, random));
    weights[edge] = weight < max_weight ? weight : max_weight;
  }
}
