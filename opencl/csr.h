/* The data graph: one CSR per direction, with a directory of runs (entries of one type in a row); written by
   gpugda/device/graph/directory.py.

       neighbours    uint[m]          node at the other end of each entry, ascending within a run
       run_offsets   uint[n + 1]      node v has the runs run_offsets[v] … run_offsets[v + 1] - 1
       run_types     TypeId[runs]     type of each run, ascending within a row
       run_starts    uint[runs + 1]   run i has the entries run_starts[i] … run_starts[i + 1] - 1

   Entry e of an outgoing row is relationship e; for incoming entries an array has the relationship indexes. If the
   graph has only one type, run_offsets and run_types are null, and row v is run v. If only some rows are on the device,
   run_types is null and run_offsets has words that tell where these rows are; all others are empty:

       WINDOWS         one type: first node of the second window, then the words of two windows: first node and number of
                       nodes, place of the first node's start in run_starts, lowest entry and end of those that are here,
                       and what must be added to get their positions (see gpugda/device/graph/row_windows.py)
       LISTED          one type: nothing, then two words for 32 nodes: a bit for each node whose row is listed, and the
                       number of listed rows before these. Row i of the listed ones is run i (see listed_rows.cl)
       TYPED_WINDOWS   several types: first node of the second window, place of the types of runs in the words, then the
                       words of two windows: first node and number of nodes, place of the first node's run offset in the
                       words, and what must be added to run offsets to get places in run_starts and among the types (see
                       gpugda/device/graph/run_windows.py)

   Finding a run takes two dependent loads: run_offsets, then run_types and run_starts. In a row with more than
   FEW_RUNS runs, a binary search comes first until FEW_RUNS are left: their types are adjacent, so they are read
   together.
*/
#include "name_ids.h"

typedef struct {
    global const uint *neighbours;
    global const uint *run_offsets;
    global const TypeId *run_types;
    global const uint *run_starts;
} Csr;

/* Every kernel that reads the data graph begins with these ten arguments. outgoing_relationship_indexes is null
   unless only a part of the entries is on the device. */
#define GRAPH_PARAMETERS \
    global const uint *outgoing_neighbours, global const uint *outgoing_run_offsets, global const TypeId *outgoing_run_types, \
    global const uint *outgoing_run_starts, \
    global const uint *incoming_neighbours, global const uint *incoming_run_offsets, global const TypeId *incoming_run_types, \
    global const uint *incoming_run_starts, global const uint *incoming_relationship_indexes, \
    global const uint *outgoing_relationship_indexes

#define OUTGOING_CSR {outgoing_neighbours, outgoing_run_offsets, outgoing_run_types, outgoing_run_starts}
#define INCOMING_CSR {incoming_neighbours, incoming_run_offsets, incoming_run_types, incoming_run_starts}

/* The relationship of an entry. */
static inline uint relationship_at(
    bool is_incoming, uint entry, global const uint *incoming_relationship_indexes,
    global const uint *outgoing_relationship_indexes
) {
    if (is_incoming) return incoming_relationship_indexes[entry];
    return outgoing_relationship_indexes ? outgoing_relationship_indexes[entry] : entry;
}

#define WINDOWS 0
#define LISTED 1
#define TYPED_WINDOWS 2
#define WINDOW_WORDS 6
#define TYPED_WINDOW_WORDS 4
#define FEW_RUNS 16

/* Narrows the runs of a row to at most FEW_RUNS that may have a type, as [x, y). */
static inline uint2 runs_to_look_at(global const TypeId *run_types, uint run, uint last, uint type) {
    while (last - run > FEW_RUNS) {
        uint middle = run + (last - run) / 2;
        if (run_types[middle] < type) run = middle + 1;
        else last = middle + 1;
    }
    return (uint2)(run, last);
}

/* The entries of one type among the runs of a row, as [x, y). Types and starts are loaded together. */
static inline uint2 run_among(
    global const TypeId *run_types, global const uint *run_starts, uint first, uint last, uint type
) {
    uint2 runs = runs_to_look_at(run_types, first, last, type);
    for (uint run = runs.x; run < runs.y; ++run) {
        uint2 found = (uint2)(run_starts[run], run_starts[run + 1]);
        if (run_types[run] == type) return found;
    }
    return (uint2)(0, 0);
}

/* Not inlined on a CPU, where the code for rows that are all there would suffer. */
#ifdef ON_CPU
#define PART_FUNCTION static __attribute__((noinline))
#else
#define PART_FUNCTION static inline
#endif

static inline uint2 row_in_window(global const uint *words, global const uint *run_starts, uint node) {
    global const uint *window = words + (node < words[1] ? 2 : 2 + WINDOW_WORDS);
    uint number = node - window[0];
    if (number >= window[1]) return (uint2)(0, 0);
    global const uint *starts = run_starts + window[2] + number;
    return clamp((uint2)(starts[0], starts[1]), (uint2)(window[3]), (uint2)(window[4])) + window[5];
}

static inline uint2 listed_row(global const uint *words, global const uint *run_starts, uint node) {
    global const uint *word = words + 2 + 2 * (node >> 5);
    uint bit = 1u << (node & 31);
    if (!(word[0] & bit)) return (uint2)(0, 0);
    uint row = word[1] + popcount(word[0] & (bit - 1));
    return (uint2)(run_starts[row], run_starts[row + 1]);
}

/* The runs of a row, as [x, y), in a graph with several types. */
static inline uint2 runs_in_window(global const uint *words, uint node) {
    global const uint *window = words + (node < words[1] ? 3 : 3 + TYPED_WINDOW_WORDS);
    uint number = node - window[0];
    if (number >= window[1]) return (uint2)(0, 0);
    global const uint *offsets = words + window[2] + number;
    return (uint2)(offsets[0], offsets[1]) + window[3];
}

/* The entries of one type, or of any (NONE), in one row. */
PART_FUNCTION uint2 run_in_part(global const uint *words, global const uint *run_starts, uint node, uint type) {
    if (words[0] != TYPED_WINDOWS) {
        if (type && type != NONE) return (uint2)(0, 0);
        return words[0] == LISTED ? listed_row(words, run_starts, node) : row_in_window(words, run_starts, node);
    }
    uint2 runs = runs_in_window(words, node);
    if (type == NONE) return (uint2)(run_starts[runs.x], run_starts[runs.y]);
    return run_among((global const TypeId *)(words + words[2]), run_starts, runs.x, runs.y, type);
}

PART_FUNCTION uint2 runs_in_part(global const uint *words, uint node) { return runs_in_window(words, node); }

/* True if the entries of a row are in runs by type; rows that nothing reads have none. */
static inline bool has_types(const Csr *csr) {
    return csr->run_types || (csr->run_offsets && csr->run_offsets[0] == TYPED_WINDOWS);
}

/* The entries of one type in one row, as [x, y). */
static inline uint2 run_of_type(const Csr *csr, uint node, uint type) {
    if (!csr->run_offsets) return type ? (uint2)(0, 0) : (uint2)(csr->run_starts[node], csr->run_starts[node + 1]);
    if (!csr->run_types) return run_in_part(csr->run_offsets, csr->run_starts, node, type);
    return run_among(csr->run_types, csr->run_starts, csr->run_offsets[node], csr->run_offsets[node + 1], type);
}

/* The number of the run of a type that the row has. Only a graph that is all on the device has such numbers. */
static inline uint place_of_run(const Csr *csr, uint node, uint type) {
    if (!csr->run_types) return node;
    uint2 runs = runs_to_look_at(csr->run_types, csr->run_offsets[node], csr->run_offsets[node + 1], type);
    while (runs.x + 1 < runs.y && csr->run_types[runs.x] != type) ++runs.x;
    return runs.x;
}

/* The entries of one row, as [x, y), or of one type in it: type NONE stands for all. */
static inline uint2 run_of(const Csr *csr, uint node, uint type) {
    if (type != NONE) return run_of_type(csr, node, type);
    if (!csr->run_offsets) return (uint2)(csr->run_starts[node], csr->run_starts[node + 1]);
    if (!csr->run_types) return run_in_part(csr->run_offsets, csr->run_starts, node, NONE);
    return (uint2)(csr->run_starts[csr->run_offsets[node]], csr->run_starts[csr->run_offsets[node + 1]]);
}
