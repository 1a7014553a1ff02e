/* Merges the lists of several types, in one direction or both, into one list per node, sorted by neighbour. Work
   split:

          measure_merged   one item per node: lengths[node] = number of entries of its merged list
          merge_lists      one item per entry of one direction: writes its neighbour to its position in merged; raises
                           *most to the number of entries of a list that lead to the same node

       lengths   uint[node_count]
       starts    uint[node_count + 1]    prefix sums of lengths
       merged    uint[starts[node_count]]

   The position of an entry is the number of entries before it in all merged lists of its node, found by binary
   search. Ties between entries to the same node are broken by the order in which lists are visited: outgoing
   before incoming, then by type. A loop is in the outgoing and in the incoming list of its node: if both are
   merged, `drops_loops` leaves the latter out.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"

#define OUTGOING 1u
#define INCOMING 2u

typedef struct {
    global const uint *types;
    uint type_count, directions;
    bool drops_loops;
} Wanted;

#define WANTED_PARAMETERS global const uint *types, uint type_count, uint directions, uint drops_loops
#define WANTED_ARGUMENTS {types, type_count, directions, drops_loops != 0}

/* The number of merged lists of one direction; some of them may be empty. */
static inline uint list_count(const Wanted *wanted, const Csr *csr, uint node) {
    if (wanted->type_count != NONE) return wanted->type_count;
    return csr->run_offsets ? csr->run_offsets[node + 1] - csr->run_offsets[node] : 1;
}

static inline uint2 nth_list(const Wanted *wanted, const Csr *csr, uint node, uint number) {
    if (wanted->type_count != NONE) return run_of_type(csr, node, wanted->types[number]);
    uint run = csr->run_offsets ? csr->run_offsets[node] + number : node;
    return (uint2)(csr->run_starts[run], csr->run_starts[run + 1]);
}

static inline uint loops_in(const Csr *csr, uint2 list, uint node) {
    uint first = first_place_from(csr->neighbours, list.x, list.y, node), last = first;
    while (last < list.y && csr->neighbours[last] == node) ++last;
    return last - first;
}

static inline uint entries_of(const Wanted *wanted, const Csr *csr, uint node, bool is_incoming) {
    uint entries = 0, count = list_count(wanted, csr, node);
    for (uint number = 0; number < count; ++number) {
        uint2 list = nth_list(wanted, csr, node, number);
        entries += list.y - list.x;
        if (is_incoming && wanted->drops_loops) entries -= loops_in(csr, list, node);
    }
    return entries;
}

kernel void measure_merged(GRAPH_PARAMETERS, WANTED_PARAMETERS, uint node_count, global uint *lengths) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    const Wanted wanted = WANTED_ARGUMENTS;
    FOR_EACH(node, node_count) {
        uint length = 0;
        if (directions & OUTGOING) length += entries_of(&wanted, &outgoing, (uint)node, false);
        if (directions & INCOMING) length += entries_of(&wanted, &incoming, (uint)node, true);
        lengths[node] = length;
    }
}

static inline uint row_start(const Csr *csr, uint node) {
    return csr->run_starts[csr->run_offsets ? csr->run_offsets[node] : node];
}

static inline uint node_of_entry(const Csr *csr, uint node_count, uint entry) {
    uint first = 0, last = node_count;
    while (last - first > 1) {
        uint middle = first + (last - first) / 2;
        if (row_start(csr, middle) <= entry) first = middle;
        else last = middle;
    }
    return first;
}

/* Entries before a given entry in its merged list. */
typedef struct {
    uint entries, same_node;
    bool is_found;
} Before;

static inline void count_before(
    const Wanted *wanted, const Csr *csr, uint node, uint neighbour, uint entry, bool is_own, bool is_incoming, Before *before
) {
    uint count = list_count(wanted, csr, node);
    for (uint number = 0; number < count; ++number) {
        uint2 list = nth_list(wanted, csr, node, number);
        if (list.x == list.y) continue;
        uint first = first_place_from(csr->neighbours, list.x, list.y, neighbour), last = first;
        if (is_own && entry >= list.x && entry < list.y) {
            before->is_found = true;
            last = entry;
        } else if (!before->is_found) {
            while (last < list.y && csr->neighbours[last] == neighbour) ++last;
        }
        before->entries += last - list.x;
        before->same_node += last - first;
        if (is_incoming && wanted->drops_loops && neighbour > node) before->entries -= loops_in(csr, list, node);
    }
}

kernel void merge_lists(
    GRAPH_PARAMETERS, WANTED_PARAMETERS, uint node_count, uint entry_count, uint is_incoming, global const uint *starts,
    global uint *merged, volatile global uint *most
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    const Wanted wanted = WANTED_ARGUMENTS;
    Csr own = outgoing;
    if (is_incoming) own = incoming;
    FOR_EACH(entry, entry_count) {
        uint node = node_of_entry(&own, node_count, (uint)entry), neighbour = own.neighbours[entry];
        Before before = {0, 0, false};
        if (is_incoming && wanted.drops_loops && node == neighbour) continue;
        if (directions & OUTGOING) {
            count_before(&wanted, &outgoing, node, neighbour, (uint)entry, !is_incoming, false, &before);
        }
        if (directions & INCOMING) {
            count_before(&wanted, &incoming, node, neighbour, (uint)entry, is_incoming, true, &before);
        }
        if (!before.is_found) continue;
        merged[starts[node] + before.entries] = neighbour;
        if (before.same_node >= *most) atomic_max(most, before.same_node + 1);
    }
}
