/* Counting cycles of four query nodes three of whose links lead to one node at most: `count_single_walks`.

       0 ── link 0 ─→ 1      A node in the place of 0 has one node at most along links 0 and 3, and a node in the place of 1 has one
       │              │      along link 1: arrays say which, NONE where there is none. So each node in the place of 0 makes one pair
     link 3         link 1   of nodes, 2 and 3, and what is counted are the relationships between these, found by halving. Where
       ↓              ↓      most nodes belong to one other, as a comment to its author, that is far less than all paths.
       3 ── link 2 ── 2
   No two links may be able to take the same relationship, and the data graph has no loops of these types.
*/
#include "work_split.h"
#include "csr.h"
#include "cycle_lists.h"

#ifdef ON_CPU
static inline ulong relationships_between(const Square *square, uint two, uint three) {
    ulong sum = 0;
    Lists lists = all_lists(square, 2, true);
    while (next_list(&lists, square, two)) {
        uint2 found = entries_to(square, lists.is_incoming, lists.entries, three);
        sum += found.y - found.x;
    }
    return sum;
}

kernel void count_single_walks(
    GRAPH_PARAMETERS, global const uint *words, global const uint *candidates, uint node_words,
    global const uint *along_0, global const uint *along_1, global const uint *along_3, uint first_node, uint count,
    global ulong *totals
) {
    const Square square = {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, words, candidates, candidates, 0, node_words};
    ulong total = 0;
    FOR_EACH(i, count) {
        uint node = first_node + (uint)i;
        if (!fits_place(&square, 0, node)) continue;
        uint one = along_0[node], three = along_3[node];
        if (one == NONE || three == NONE || !fits_place(&square, 1, one) || !fits_place(&square, 3, three)) continue;
        uint two = along_1[one];
        if (two != NONE && fits_place(&square, 2, two)) total += relationships_between(&square, two, three);
    }
    totals[get_group_id(0)] += total;
}
#endif
