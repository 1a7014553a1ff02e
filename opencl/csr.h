/* The data graph: one CSR per direction, with a directory of runs (entries of one type in a row); written by
   gpugda/device/graph/directory.py.

       neighbours    uint[m]          node at the other end of each entry, ascending within a run
       run_offsets   uint[n + 1]      node v has the runs run_offsets[v] … run_offsets[v + 1] - 1
       run_types     TypeId[runs]     type of each run, ascending within a row
       run_starts    uint[runs + 1]   run i has the entries run_starts[i] … run_starts[i + 1] - 1

   Entry e of an outgoing row is relationship e; for incoming entries an array has the relationship indexes. If the
   graph has only one type, run_offsets and run_types are null, and row v is run v.
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

#define FEW_RUNS 16

/* Narrows the runs of a row to at most FEW_RUNS that may have a type, as [x, y). */
static inline uint2 runs_to_look_at(const Csr *csr, uint node, uint type) {
    uint run = csr->run_offsets[node], last = csr->run_offsets[node + 1];
    while (last - run > FEW_RUNS) {
        uint middle = run + (last - run) / 2;
        if (csr->run_types[middle] < type) run = middle + 1;
        else last = middle + 1;
    }
    return (uint2)(run, last);
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

/* The number of the run of a type that the row has. */
static inline uint place_of_run(const Csr *csr, uint node, uint type) {
    if (!csr->run_offsets) return node;
    uint2 runs = runs_to_look_at(csr, node, type);
    while (runs.x + 1 < runs.y && csr->run_types[runs.x] != type) ++runs.x;
    return runs.x;
}

/* The entries of one row, as [x, y), or of one type in it: type NONE stands for all. */
static inline uint2 run_of(const Csr *csr, uint node, uint type) {
    if (type != NONE) return run_of_type(csr, node, type);
    if (!csr->run_offsets) return (uint2)(csr->run_starts[node], csr->run_starts[node + 1]);
    return (uint2)(csr->run_starts[csr->run_offsets[node]], csr->run_starts[csr->run_offsets[node + 1]]);
}
