/* Counts cycles of four query nodes three of whose links lead to at most one node: `count_single_walks`.

          0 ── link 0 ─→ 1      A node at position 0 has at most one node along links 0 and 3, and a node at position
          │              │      1 at most one along link 1: arrays have these nodes, NONE if there is none. So each
        link 3         link 1   node at position 0 gives one pair of nodes at positions 2 and 3. The relationships
          ↓              ↓      between them are counted by a hash table of pairs, or by binary search. If most nodes
          3 ── link 2 ── 2      belong to one other, as a comment to its author, this costs far less than all paths.

   Work split: one item per node at position 0; adds its count to totals[group].

       ones, twos, threes   uint[nodes]   the only node at positions 1, 2 and 3
       pairs                hash table: pairs[0] bits of a bucket number (0: no table); start of each bucket, and the
                            end; then entries: node at position 2, node at position 3, number of relationships

   No two links may be able to take the same relationship, and the data graph has no loops of these types.
*/
#include "work_split.h"
#include "csr.h"
#include "cycle_lists.h"

#ifdef ON_CPU
/* The lists that have the relationships along link 2, from a node at position 2. */
typedef struct {
    uint count, types[MAX_LISTS];
    bool are_incoming[MAX_LISTS];
} LastLists;

static LastLists lists_to_last(const Square *square) {
    LastLists last_lists = {.count = 0};
    for (uint turn = 0; turn < 2 * square->words[TYPE_COUNT_AT]; ++turn) {
        bool is_incoming = turn & 1;
        if (!(links_of(square, turn >> 1, !is_incoming) >> 2 & 1)) continue;
        last_lists.types[last_lists.count] = turn >> 1;
        last_lists.are_incoming[last_lists.count++] = is_incoming;
    }
    return last_lists;
}

/* The number of occurrences of a node in a list. Branch-free, as the branch would be unpredictable. */
static inline ulong times_in(global const uint *neighbours, uint2 list, uint node) {
    uint first = list.x;
    for (uint size = list.y - list.x; size > 1;) {
        uint half_size = size / 2;
        first += neighbours[first + half_size - 1] < node ? half_size : 0;
        size -= half_size;
    }
    ulong times = 0;
    if (first < list.y && neighbours[first] < node) ++first;
    for (; first < list.y && neighbours[first] == node; ++first) ++times;
    return times;
}

static inline ulong relationships_between(const Square *square, const LastLists *last_lists, uint two, uint three) {
    ulong sum = 0;
    for (uint list = 0; list < last_lists->count; ++list) {
        bool is_incoming = last_lists->are_incoming[list];
        sum += times_in(neighbours_of(square, is_incoming), list_of(square, last_lists->types[list], is_incoming, two), three);
    }
    return sum;
}

/* Same hash as in gpugda/match/special/single_walks.py. */
static inline uint bucket_of(uint two, uint three, uint bits) {
    uint hash = two * 0x9E3779B1u ^ three * 0x85EBCA77u;
    hash = (hash ^ hash >> 15) * 0xC2B2AE3Du;
    return hash >> (32 - bits);
}

static inline ulong times_in_table(global const uint *pairs, uint bits, uint two, uint three) {
    global const uint *first = pairs + 1 + bucket_of(two, three, bits), *entries = pairs + 2 + (1u << bits);
    ulong times = 0;
    for (ulong entry = first[0]; entry < first[1]; ++entry) {
        global const uint *words = entries + 3 * entry;
        times += words[0] == two && words[1] == three ? words[2] : 0;
    }
    return times;
}

kernel void count_single_walks(
    GRAPH_PARAMETERS, global const uint *words, global const uint *candidates, uint node_words,
    global const uint *ones, global const uint *twos, global const uint *threes, global const uint *pairs, uint first_node, uint count,
    global ulong *totals
) {
    const Square square = {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, words, candidates, candidates, 0, node_words};
    const LastLists last_lists = lists_to_last(&square);
    const uint bits = pairs[0];
    const bool asks_one = words[ROWS_AT + 1] != NONE;
    ulong total = 0;
    FOR_EACH(i, count) {
        uint node = first_node + (uint)i;
        uint two = twos[node], three = threes[node];
        if (two == NONE || three == NONE || !fits_place(&square, 0, node)) continue;
        if (asks_one && !fits_place(&square, 1, ones[node])) continue;
        if (!fits_place(&square, 2, two) || !fits_place(&square, 3, three)) continue;
        total += bits ? times_in_table(pairs, bits, two, three) : relationships_between(&square, &last_lists, two, three);
    }
    totals[get_group_id(0)] += total;
}
#endif
