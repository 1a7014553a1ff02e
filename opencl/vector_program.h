/* Programs of sparse vectors in ranked lists (see ranked_lists.h), made by gpugda/match/count/program.py. Included after
   work_split.h, search.h and ranked_lists.h.

   A vector has a value per node (uint, zero unless listed) and shares the list of its nodes with the vector that it
   was made from. Edges are three words: the lists that are read (1 outgoing, 2 incoming), further powers of the numbers
   of relationships between both nodes (outgoing, incoming, both, 8 bits each), and 1 if only nodes below the pinned
   one count.

       program  uint[]                         instructions
       weights  ulong[weights][node_count]
*/
#define START 0 /* vector, list, edge:                   the neighbours of the pinned node */
#define PUSH 1  /* vector, list, source, its list, edge:   += source at each neighbour of its nodes */
#define PULL 2  /* vector, list, source, edge:            the sum of source over the neighbours of each listed node */
#define MAKE 3  /* vector, list, factors, weight:         a product of powers of vectors; factors: number, (vector, power)… */
#define SUM 4   /* list, factors, pulls, source, edge, registers, (register, weight)…: sums of products */
#define END 5   /* number of terms, then for each: weight, number of registers, MAX_FACTORS registers whose product it is;
                   then the list of each vector, and its number among the vectors of that list */

#define MAX_REGISTERS 32
#define MAX_TERMS 32
#define MAX_FACTORS 4
#define TERM_WORDS (2 + MAX_FACTORS)

typedef struct {
    Ranked outgoing, incoming;
    uint pin, node_count;
} Lists;

typedef struct {
    uint sides, more, below;
} Edge;

static inline Edge edge_at(global const uint *words) {
    Edge edge = {words[0], words[1], words[2]};
    return edge;
}

/* The part of a node's list that an edge reads. */
static inline uint2 part_of(const Lists *lists, bool is_incoming, uint node, bool below) {
    const Ranked *side = is_incoming ? &lists->incoming : &lists->outgoing;
    uint first = side->starts[node], stop = side->starts[node + 1];
    if (below) {
        if (node <= lists->pin) {
            uint middle = side->middles[node];
            first = node == lists->pin ? middle : first_place_from(side->neighbours, middle, stop, lists->pin + 1);
        } else {
            first = first_place_from(side->neighbours, first, side->middles[node], lists->pin + 1);
        }
    }
    return (uint2)(first, stop);
}

static inline ulong raised(ulong base, uint power) {
    ulong result = 1;
    for (uint i = 0; i < power; ++i) result *= base;
    return result;
}

static inline ulong entries_between(const Ranked *side, uint from, uint to) {
    uint first = first_place_from(side->neighbours, side->starts[from], side->starts[from + 1], to);
    uint last = first;
    while (last < side->starts[from + 1] && side->neighbours[last] == to) ++last;
    return last - first;
}

static inline ulong multiplicity(const Lists *lists, uint more, uint from, uint to) {
    if (more == 0) return 1;
    ulong on = entries_between(&lists->outgoing, from, to);
    ulong back = more >> 8 ? entries_between(&lists->incoming, from, to) : 0;
    return raised(on, more & 255) * raised(back, more >> 8 & 255) * raised(on + back, more >> 16);
}

static inline global const uint *neighbours_on(const Lists *lists, uint side) {
    return side ? lists->incoming.neighbours : lists->outgoing.neighbours;
}

/* Weights of a node; 1 for NONE. */
static inline ulong weight_at(global const ulong *weights, uint weight, uint node_count, uint node) {
    return weight == NONE ? 1 : weights[(ulong)weight * node_count + node];
}
