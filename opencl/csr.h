/* The data graph: one CSR per direction, with a directory of runs of one type; written by gpugda/device/graph/directory.py.

   Node v has the runs run_offsets[v] … run_offsets[v+1]-1; run i has the type run_types[i] (rising within a row) and the entries
   run_starts[i] … run_starts[i+1]-1, sorted by neighbour. Entry e of an outgoing row is relationship e; an incoming entry says
   which one it is. Where the graph has one type only, run_offsets and run_types are null, and row v is run v.

   A run of a row is found in two loads that depend on each other: run_offsets, then run_types and run_starts. A row of more than
   FEW_RUNS is halved first, until so many are left: types lie side by side, so that the last of them are read at once.
*/
#include "name_ids.h"

typedef struct {
    global const uint *neighbours;
    global const uint *run_offsets;
    global const TypeId *run_types;
    global const uint *run_starts;
} Csr;

/* Every kernel that reads the data graph begins with these ten arguments. Where only a part of the entries is on the device,
   outgoing_relationship_indexes says which relationship an outgoing entry is; else it is null. */
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

/* Where to look for a type among the runs of a row, as [x, y). */
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
