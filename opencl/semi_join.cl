/* Semi-joins of candidates along the entries that a link can follow: removes candidates at either end of a link that
   have no candidate at its other end. Work split:

          semi_join      GPU: a group takes 256 nodes at a time, whose entries all its items share, so that none waits
                         for a hub; CPU: one item per 32 nodes. Clears the bits of candidates at the bound end that
                         have no neighbour at the other end, and marks the neighbours that are candidates there
          keep_marked    one item per 32 nodes: clears the bits of candidates at the other end that are not marked, and
                         all marks

       tests        see entry_tests.h
       candidates   uint[rows * words]
       marks        uint[words]   zero before and after

   Each word of the bound row is written by the item, or the group, that takes its nodes. Others may read it meanwhile:
   whatever they see contains all candidates that remain.
*/
#include "work_split.h"
#include "csr.h"
#include "query_graph.h"
#include "candidates.h"
#include "entry_tests.h"

/* A link, and where its ends may be. */
typedef struct {
    uint directions, bound_row, row, types_at, turns;
    bool any_type;
} Link;

static inline Link link_of(global const uint *tests, uint number, uint directions) {
    global const uint *test = TEST(tests, number);
    bool any_type = test[3] == NONE;
    Link link = {directions, test[0], test[1], test[2], any_type ? 2 : 2 * test[3], any_type};
    return link;
}

/* The entries of a node that the link follows in one of its turns: a type, outgoing or incoming. */
static inline uint2 entries_in_turn(
    const Link *link, const Csr *outgoing, const Csr *incoming, global const uint *tests, uint turn, uint node
) {
    if (!(link->directions & (turn & 1 ? INCOMING : OUTGOING))) return (uint2)(0, 0);
    return run_of(turn & 1 ? incoming : outgoing, node, link->any_type ? NONE : tests[link->types_at + turn / 2]);
}

#ifndef ON_CPU
#define GROUP 256
#define GROUP_WORDS (GROUP / 32)

/* Inclusive prefix sums of one number per item. All items must call it. */
static inline void add_up(local uint *sums) {
    uint item = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 1; reach < GROUP; reach *= 2) {
        uint before = item >= reach ? sums[item - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[item] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* The item whose entries contain the given one of all of the group's. */
static inline uint owner_of(local const uint *sums, uint entry) {
    uint owner = 0;
    for (uint step = GROUP / 2; step > 0; step /= 2) {
        if (sums[owner + step - 1] <= entry) owner += step;
    }
    return owner;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void semi_join(
    GRAPH_PARAMETERS, global const uint *tests, uint number, uint directions, uint words, uint node_count,
    volatile global uint *candidates, volatile global uint *marks
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    const Link link = link_of(tests, number, directions);
    global const uint *bits = (global const uint *)candidates;
    local uint begins[GROUP], sums[GROUP];
    volatile local uint found[GROUP_WORDS];
    uint item = get_local_id(0);
    ulong blocks = (words + GROUP_WORDS - 1ul) / GROUP_WORDS;
    for (ulong block = get_group_id(0); block < blocks; block += get_num_groups(0)) {
        uint first_word = (uint)block * GROUP_WORDS, node = 32 * first_word + item;
        bool is_bound = node < node_count && may_be(bits, words, link.bound_row, node);
        if (item < GROUP_WORDS) found[item] = 0;
        for (uint turn = 0; turn < link.turns; ++turn) {
            uint2 entries = (uint2)(0, 0);
            if (is_bound) entries = entries_in_turn(&link, &outgoing, &incoming, tests, turn, node);
            begins[item] = entries.x;
            sums[item] = entries.y - entries.x;
            add_up(sums);
            global const uint *neighbours = turn & 1 ? incoming.neighbours : outgoing.neighbours;
            for (uint i = item; i < sums[GROUP - 1]; i += GROUP) {
                uint owner = owner_of(sums, i), before = owner ? sums[owner - 1] : 0, bit = 1u << (owner & 31);
                uint neighbour = neighbours[begins[owner] + i - before];
                if (!may_be(bits, words, link.row, neighbour)) continue;
                if (link.row != NONE) mark(marks, neighbour);
                if (!(found[owner >> 5] & bit)) atomic_or(&found[owner >> 5], bit);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        uint word = first_word + item;
        if (item < GROUP_WORDS && word < words && link.bound_row != NONE) {
            candidates[(ulong)link.bound_row * words + word] &= found[item];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#else
kernel void semi_join(
    GRAPH_PARAMETERS, global const uint *tests, uint number, uint directions, uint words, uint node_count,
    volatile global uint *candidates, volatile global uint *marks
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    const Link link = link_of(tests, number, directions);
    global const uint *bits = (global const uint *)candidates;
    FOR_EACH(word, words) {
        uint left = NONE, found = 0;
        if (link.bound_row != NONE) left = bits[(ulong)link.bound_row * words + word];
        else if (word == words - 1 && (node_count & 31)) left = (1u << (node_count & 31)) - 1;
        for (; left; left &= left - 1) {
            uint bit = left & -left, node = 32 * (uint)word + 31 - clz(bit);
            for (uint turn = 0; turn < link.turns; ++turn) {
                uint2 entries = entries_in_turn(&link, &outgoing, &incoming, tests, turn, node);
                global const uint *neighbours = turn & 1 ? incoming.neighbours : outgoing.neighbours;
                for (uint entry = entries.x; entry < entries.y; ++entry) {
                    if (!may_be(bits, words, link.row, neighbours[entry])) continue;
                    if (link.row != NONE) mark(marks, neighbours[entry]);
                    found |= bit;
                }
            }
        }
        if (link.bound_row != NONE) candidates[(ulong)link.bound_row * words + word] &= found;
    }
}
#endif

kernel void keep_marked(uint row, uint words, global uint *candidates, global uint *marks) {
    FOR_EACH(word, words) {
        candidates[(ulong)row * words + word] &= marks[word];
        marks[word] = 0;
    }
}
