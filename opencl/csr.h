/* The data graph: one CSR per direction, with a directory of runs of one type; written by gpugda/device/graph/directory.py.

   Node v has the runs run_offsets[v] … run_offsets[v+1]-1; run i has the type run_types[i] (rising within a row) and the entries
   run_starts[i] … run_starts[i+1]-1, sorted by neighbour. Entry e of an outgoing row is relationship e; an incoming entry says
   which one it is. Where the graph has one type only, run_offsets and run_types are null, and row v is run v.

   A GPU finds a run without a search, in two loads that depend on each other: run_offsets, then run_types and run_starts. In a
   row of more than FEW_RUNS the place to look at is the exclusive or of three words of run_ranks, which the first load need not
   be waited for. For a type that the row has not, it is any place: the type that lies there decides. A CPU searches such a row
   by halving, whose loads lie in few lines of its cache: run_ranks is null. It is on a GPU, too, where runs are there in parts.

   run_ranks   [0] slots of a third of the table, [1] bits of a slot, [2] seed; then the slots, lowest bit first
*/
#include "name_ids.h"

typedef struct {
    global const uint *run_ranks;
    global const uint *neighbours;
    global const uint *run_offsets;
    global const TypeId *run_types;
    global const uint *run_starts;
} Csr;

/* Every kernel that reads the data graph begins with these twelve arguments. Where only a part of the entries is on the device,
   outgoing_relationship_indexes says which relationship an outgoing entry is; else it is null. */
#define GRAPH_PARAMETERS \
    global const uint *outgoing_run_ranks, global const uint *outgoing_neighbours, \
    global const uint *outgoing_run_offsets, global const TypeId *outgoing_run_types, \
    global const uint *outgoing_run_starts, \
    global const uint *incoming_run_ranks, global const uint *incoming_neighbours, \
    global const uint *incoming_run_offsets, global const TypeId *incoming_run_types, \
    global const uint *incoming_run_starts, global const uint *incoming_relationship_indexes, \
    global const uint *outgoing_relationship_indexes

#define OUTGOING_CSR {outgoing_run_ranks, outgoing_neighbours, outgoing_run_offsets, outgoing_run_types, outgoing_run_starts}
#define INCOMING_CSR {incoming_run_ranks, incoming_neighbours, incoming_run_offsets, incoming_run_types, incoming_run_starts}

/* The relationship of an entry. */
static inline uint relationship_at(
    bool is_incoming, uint entry, global const uint *incoming_relationship_indexes,
    global const uint *outgoing_relationship_indexes
) {
    if (is_incoming) return incoming_relationship_indexes[entry];
    return outgoing_relationship_indexes ? outgoing_relationship_indexes[entry] : entry;
}

#define FEW_RUNS 16
#define RANKS_AT 3

#ifndef ON_CPU
static inline ulong mixed(ulong value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ul;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBul;
    return value ^ (value >> 31);
}

static inline uint rank_slot(global const uint *ranks, uint slot, uint bits) {
    ulong place = (ulong)slot * bits, word = RANKS_AT + (place >> 5);
    return (uint)(upsample(ranks[word + 1], ranks[word]) >> (place & 31)) & ((1u << bits) - 1);
}

/* Place of the run of a type among the runs of its row. */
static inline uint rank_of_run(global const uint *ranks, uint node, uint type) {
    uint third = ranks[0], bits = ranks[1];
    ulong hash = mixed(((ulong)node << TYPE_BITS | type) + ((ulong)ranks[2] << 48));
    uint slot = mul_hi((uint)hash, third);
    uint second_slot = third + mul_hi((uint)(hash >> 32), third);
    uint third_slot = 2 * third + mul_hi((uint)(mixed(hash) >> 32), third);
    return rank_slot(ranks, slot, bits) ^ rank_slot(ranks, second_slot, bits) ^ rank_slot(ranks, third_slot, bits);
}

/* The first run of a row, from `run` to before `last`, whose type is no lower. */
static inline uint searched_run(global const TypeId *run_types, uint run, uint last, uint type) {
    while (run < last) {
        uint middle = run + (last - run) / 2;
        if (run_types[middle] < type) run = middle + 1;
        else last = middle;
    }
    return run;
}
#endif

/* Where to look for a type among the runs of a row, as [x, y). */
static inline uint2 runs_to_look_at(const Csr *csr, uint node, uint type) {
    uint run = csr->run_offsets[node], last = csr->run_offsets[node + 1];
#ifdef ON_CPU
    while (last - run > FEW_RUNS) {
        uint middle = run + (last - run) / 2;
        if (csr->run_types[middle] < type) run = middle + 1;
        else last = middle + 1;
    }
    return (uint2)(run, last);
#else
    if (last - run <= FEW_RUNS) return (uint2)(run, last);
    if (csr->run_ranks) run += rank_of_run(csr->run_ranks, node, type);
    else run = searched_run(csr->run_types, run, last, type);
    return (uint2)(run, min(last, run + 1));
#endif
}

/* The entries of one type in one row, as [x, y). Types and starts are loaded together. */
static inline uint2 run_of_type(const Csr *csr, uint node, uint type) {
    if (!csr->run_offsets) return type ? (uint2)(0, 0) : (uint2)(csr->run_starts[node], csr->run_starts[node + 1]);
    uint2 runs = runs_to_look_at(csr, node, type);
    for (uint run = runs.x; run < runs.y; ++run) {
        uint2 found = (uint2)(csr->run_starts[run], csr->run_starts[run + 1]);
        if (csr->run_types[run] == type) return found;
    }
    return (uint2)(0, 0);
}

/* The run itself, of a type that the row has. */
static inline uint place_of_run(const Csr *csr, uint node, uint type) {
    if (!csr->run_offsets) return node;
    uint2 runs = runs_to_look_at(csr, node, type);
    while (runs.x + 1 < runs.y && csr->run_types[runs.x] != type) ++runs.x;
    return runs.x;
}

/* The entries of one row, or of one type in it: type NONE stands for all. */
static inline uint2 run_of(const Csr *csr, uint node, uint type) {
    if (type != NONE) return run_of_type(csr, node, type);
    if (!csr->run_offsets) return (uint2)(csr->run_starts[node], csr->run_starts[node + 1]);
    return (uint2)(csr->run_starts[csr->run_offsets[node]], csr->run_starts[csr->run_offsets[node + 1]]);
}
