/* Makes lists of the neighbours above each node, of which only a part is on the device at one time.

   Nodes are numbered by rank, highest degree first (see ranked_lists.cl). A relationship of the type is in the list
   of its lower node: list 2 v if it leads from node v upwards, 2 v + 1 if it leads to v from above. The outgoing
   entries of the data graph arrive in chunks. Self-loops are in no list. Work split:

          count_upwards   one item per entry of the chunk: counts[list] += 1
          pack_upwards    one item per entry: appends number of the list, counted from `first_list`, and neighbour in
                          the lowest `bits`, to numbers at *written, if the list is in the range

       counts    uint[2 * node_count]
       ranks     uint[node_count]
       numbers   ulong[entries of these lists]   in any order
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"

#define CHUNK_PARAMETERS \
    GRAPH_PARAMETERS, uint type, uint node_count, uint run_count, global const uint *ranks, \
    global const uint *neighbours, ulong first_place, uint first_entry, uint count

typedef struct {
    uint list, neighbour;
} Upward;

/* List and neighbour of an entry; list NONE if it has another type or is a self-loop. */
static inline Upward upward_of(
    const Csr *csr, uint type, uint node_count, uint run_count, global const uint *ranks, uint entry, uint neighbour
) {
    uint run = (uint)upper_bound(csr->run_starts, 0, (ulong)run_count + 1, entry) - 1, node = run;
    Upward found = {NONE, 0};
    if (csr->run_offsets) {
        if (csr->run_types[run] != type) return found;
        node = (uint)upper_bound(csr->run_offsets, 0, (ulong)node_count + 1, run) - 1;
    }
    if (node == neighbour) return found;
    uint start = ranks[node], end = ranks[neighbour];
    found.list = start > end ? 2 * start : 2 * end + 1;
    found.neighbour = min(start, end);
    return found;
}

kernel void count_upwards(CHUNK_PARAMETERS, volatile global uint *counts) {
    const Csr csr = OUTGOING_CSR;
    FOR_EACH(i, count) {
        uint neighbour = neighbours[first_place + i];
        Upward found = upward_of(&csr, type, node_count, run_count, ranks, first_entry + (uint)i, neighbour);
        if (found.list != NONE) atomic_inc(counts + found.list);
    }
}

kernel void pack_upwards(
    CHUNK_PARAMETERS, uint first_list, uint list_count, uint bits, volatile global uint *written, global ulong *numbers
) {
    const Csr csr = OUTGOING_CSR;
    FOR_EACH(i, count) {
        uint neighbour = neighbours[first_place + i];
        Upward found = upward_of(&csr, type, node_count, run_count, ranks, first_entry + (uint)i, neighbour);
        if (found.list == NONE || found.list - first_list >= list_count) continue;
        numbers[atomic_inc(written)] = (ulong)(found.list - first_list) << bits | found.neighbour;
    }
}
