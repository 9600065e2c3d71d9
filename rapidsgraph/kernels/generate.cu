// Random edges, each from its own number.
//
// Means: the random bits of draw k under a key are the k-th output of SplitMix64 started at the
//   key. No draw waits for another, so any number of threads, and the CPU twin, make the same.
// Requires: keys are 64-bit patterns in a signed word. Probabilities are thresholds from 0 to
//   2^53 on the upper 53 bits: whole numbers are compared, so no rounding can differ. names turn
//   a vertex into the id under which it appears. keys of edges are source * 2^32 + destination.
// Reference: Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014;
//   Chakrabarti, Zhan and Faloutsos, R-MAT: a recursive model for graph mining, 2004; Bader and
//   Madduri, GTgraph: a synthetic graph generator suite, 2006 (SSCA#2, the cliques).

#define STRIDE(i, count)                                                            \
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (count); \
       i += gridDim.x * (long long)blockDim.x)

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
extern "C" __global__ void draw_order(long long vertices, long long key, long long bits,
                                      long long *order) {
  STRIDE(vertex, vertices) {
    const long long random = (long long)(random_bits(key, vertex) >> 1);
    order[vertex] = ((random >> bits) << bits) | vertex;
  }
}

// R-MAT: at each of `scale` levels an edge goes to one quarter of the adjacency matrix. a, ab and
// abc are the sums of the first one, two and three probabilities.
extern "C" __global__ void draw_rmat(long long edges, long long scale, long long key, long long a,
                                     long long ab, long long abc, const int *names,
                                     long long *keys) {
  STRIDE(edge, edges) {
    int source = 0, destination = 0;
    for (long long level = 0; level < scale; level++) {
      const long long random = upper_bits(key, edge * scale + level);
      source = 2 * source + (random >= ab);
      destination = 2 * destination + (random >= a) - (random >= ab) + (random >= abc);
    }
    keys[edge] = pack(names[source], names[destination]);
  }
}

// Both ends of an edge, any vertex with the same chance.
extern "C" __global__ void draw_uniform(long long edges, long long vertices, long long key,
                                        int *sources, int *destinations) {
  STRIDE(edge, edges) {
    sources[edge] = (int)((long long)(random_bits(key, 2 * edge) >> 1) % vertices);
    destinations[edge] = (int)((long long)(random_bits(key, 2 * edge + 1) >> 1) % vertices);
  }
}

// Lattice edge 2 v goes from vertex v to the one on its right, 2 v + 1 to the one below; those
// that would leave the lattice are never kept.
extern "C" __global__ void draw_grid(long long vertices, long long width, long long key,
                                     long long threshold, bool *kept) {
  STRIDE(vertex, vertices) {
    const bool right = vertex % width < width - 1, below = vertex < vertices - width;
    kept[2 * vertex] = right && upper_bits(key, 2 * vertex) < threshold;
    kept[2 * vertex + 1] = below && upper_bits(key, 2 * vertex + 1) < threshold;
  }
}

// Two keys an edge of the lattice, there and back.
extern "C" __global__ void pack_grid(long long edges, long long width, const long long *chosen,
                                     const int *names, long long *keys) {
  STRIDE(edge, edges) {
    const long long vertex = chosen[edge] / 2;
    const int here = names[vertex], there = names[vertex + (chosen[edge] % 2 ? width : 1)];
    keys[2 * edge] = pack(here, there);
    keys[2 * edge + 1] = pack(there, here);
  }
}

// Sizes of cliques.
extern "C" __global__ void draw_cliques(long long cliques, long long max_clique, long long key,
                                        long long *sizes) {
  STRIDE(clique, cliques) {
    sizes[clique] = 1 + (long long)(random_bits(key, clique) >> 1) % max_clique;
  }
}

// Where an edge from a vertex of `clique` leads, or -1: to any vertex of a clique ahead, twice as
// far for every head before the first tail, unless the row of cliques ends before that.
__device__ __forceinline__ int bridge_end(long long bridge, long long clique, long long cliques,
                                          long long key, long long threshold,
                                          const long long *begins) {
  if (upper_bits(key, 3 * bridge) >= threshold) return -1;
  long long coins = (long long)(random_bits(key, 3 * bridge + 1) >> 1);
  long long distance = 1;
  for (; (coins & 1) && distance < cliques; coins >>= 1) distance *= 2;
  if (clique + distance >= cliques) return -1;
  const long long begin = begins[clique + distance], size = begins[clique + distance + 1] - begin;
  return (int)(begin + (long long)(random_bits(key, 3 * bridge + 2) >> 1) % size);
}

// ends[2 v] and ends[2 v + 1] are where the edges from vertex v to other cliques lead; -1: there
// is none, or it would be the other one again. Clique c has the vertices from begins[c] to before
// begins[c + 1]. As all lead ahead, no two vertices draw the same edge.
extern "C" __global__ void draw_bridges(long long vertices, long long cliques, long long key,
                                        long long threshold, const int *clique_of,
                                        const long long *begins, int *ends) {
  STRIDE(vertex, vertices) {
    const int clique = clique_of[vertex];
    const int first = bridge_end(2 * vertex, clique, cliques, key, threshold, begins);
    const int second = bridge_end(2 * vertex + 1, clique, cliques, key, threshold, begins);
    ends[2 * vertex] = first;
    ends[2 * vertex + 1] = second == first ? -1 : second;
  }
}

// A key for every ordered pair of a clique; those of clique c are at places[c] and on.
extern "C" __global__ void pack_cliques(long long vertices, const int *clique_of,
                                        const long long *begins, const long long *places,
                                        const int *names, long long *keys) {
  STRIDE(vertex, vertices) {
    const long long begin = begins[clique_of[vertex]], end = begins[clique_of[vertex] + 1];
    long long place = places[clique_of[vertex]] + (vertex - begin) * (end - begin - 1);
    for (long long other = begin; other < end; other++) {
      if (other != vertex) keys[place++] = pack(names[vertex], names[other]);
    }
  }
}

// Two keys an edge between cliques, there and back.
extern "C" __global__ void pack_bridges(long long edges, const long long *chosen, const int *ends,
                                        const int *names, long long *keys) {
  STRIDE(edge, edges) {
    const int here = names[chosen[edge] / 2], there = names[ends[chosen[edge]]];
    keys[2 * edge] = pack(here, there);
    keys[2 * edge + 1] = pack(there, here);
  }
}

// Of sorted keys: neither a self-loop nor the same as the one before.
extern "C" __global__ void mark_clean(long long edges, const long long *keys, bool *kept) {
  STRIDE(edge, edges) {
    const long long packed = keys[edge];
    const bool loop = packed >> 32 == (packed & 0xFFFFFFFFll);
    kept[edge] = !loop && (edge == 0 || keys[edge - 1] != packed);
  }
}

extern "C" __global__ void unpack(long long edges, const long long *keys, int *sources,
                                  int *destinations) {
  STRIDE(edge, edges) {
    sources[edge] = (int)(keys[edge] >> 32);
    destinations[edge] = (int)(keys[edge] & 0xFFFFFFFFll);
  }
}

// low + width * u, at most `highest`, with u from the edge's row or, both ways the same, from its
// two ends. Rounded after the product and after the sum, never fused, as the twin does.
extern "C" __global__ void weigh(long long edges, long long key, long long both_ways, double low,
                                 double width, double highest, const int *sources,
                                 const int *destinations, double *weights) {
  STRIDE(edge, edges) {
    const int source = sources[edge], destination = destinations[edge];
    long long draw = edge;
    if (both_ways) draw = pack(min(source, destination), max(source, destination));
    const double random = (double)upper_bits(key, draw) * (1.0 / 9007199254740992.0);
    const double weight = __dadd_rn(low, __dmul_rn(width, random));
    weights[edge] = weight < highest ? weight : highest;
  }
}
