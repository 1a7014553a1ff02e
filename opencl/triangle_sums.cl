/* Counts undirected triangles per node of a set, the members, in the three-word format of sums of rows: a factor
   for the rest of a pattern that is attached to a node. All relationships may be of the same types; none of these
   has loops. Work split:

          unite_candidates      one item per word: members = union of the candidates of the three query nodes
          measure_members       one item per word of members: their nodes, ascending, and their degrees
          list_higher           one item per member x: its neighbours of higher degree (ties: higher number)
          sum_triangles         items take tasks of members x from counters[0]: y above x, z above y; each triangle is
                                found once, from its lowest node, if z is above x, too
          write_triangle_sums   one item per listed node: twice its triangles, for the two orders of the other nodes

       members   uint[node_words]           ranks    ulong[node_words + 1]        members before each word
       nodes, lengths, counts   uint[member_count]      starts   ulong[member_count + 1]   prefix sums of lengths
       higher    uint[starts[member_count]]
       scratch   uint[items * item_words]

   Lists above a node are short even at hubs (Chiba and Nishizeki, Arboricity and subgraph listing algorithms,
   1985). Each relationship is an entry of its own, so that a triangle over parallel ones counts once for each
   choice.
*/
#include "work_split.h"
#include "csr.h"
#include "cycle_lists.h"

#ifdef ON_CPU
#define SUM_WORDS 3
#define MEMBER_PARAMETERS \
    GRAPH_PARAMETERS, global const uint *words, global const uint *members, global const ulong *ranks
#define TRIANGLE {OUTGOING_CSR, INCOMING_CSR, incoming_relationship_indexes, words, 0, 0, 0, 0}

static inline bool is_member(global const uint *members, uint node) {
    return members[node >> 5] >> (node & 31) & 1;
}

static inline uint number_of(global const uint *members, global const ulong *ranks, uint node) {
    return (uint)ranks[node >> 5] + popcount(members[node >> 5] & ((1u << (node & 31)) - 1));
}

kernel void unite_candidates(
    global const uint *candidates, uint node_words, uint one, uint other, uint third, global uint *members
) {
    FOR_EACH(word, node_words) {
        members[word] = candidates[(ulong)one * node_words + word] | candidates[(ulong)other * node_words + word]
            | candidates[(ulong)third * node_words + word];
    }
}

kernel void measure_members(MEMBER_PARAMETERS, uint node_words, global uint *nodes, global uint *lengths) {
    const Square triangle = TRIANGLE;
    FOR_EACH(word, node_words) {
        ulong number = ranks[word];
        for (uint bits = members[word]; bits; bits &= bits - 1, ++number) {
            uint node = 32 * (uint)word + popcount((bits & -bits) - 1), length = 0;
            Lists lists = all_lists(&triangle, 0, true);
            while (next_list(&lists, &triangle, node)) length += lists.entries.y - lists.entries.x;
            nodes[number] = node;
            lengths[number] = length;
        }
    }
}

/* starts: prefix sums of lengths; `counts` has the length of each list. */
kernel void list_higher(
    MEMBER_PARAMETERS, uint member_count, global const uint *nodes, global const uint *lengths, global const ulong *starts,
    global uint *counts, global uint *higher
) {
    const Square triangle = TRIANGLE;
    FOR_EACH(number, member_count) {
        uint node = nodes[number], length = lengths[number];
        ulong place = starts[number];
        Lists lists = all_lists(&triangle, 0, true);
        while (next_list(&lists, &triangle, node)) {
            global const uint *neighbours = neighbours_of(&triangle, lists.is_incoming);
            for (uint entry = lists.entries.x; entry < lists.entries.y; ++entry) {
                if (!is_member(members, neighbours[entry])) continue;
                uint other = number_of(members, ranks, neighbours[entry]);
                if (lengths[other] > length || (lengths[other] == length && other > number)) higher[place++] = other;
            }
        }
        counts[number] = (uint)(place - starts[number]);
    }
}

/* Adds the triangles whose lowest member is x to the sums of all three nodes; marks are zero before and after. */
static ulong triangles_from(
    uint x, global const ulong *starts, global const uint *counts, global const uint *restrict higher,
    global ulong *restrict sums, global uint *restrict marks
) {
    ulong work = 1, of_x = 0, first = starts[x], last = first + counts[x];
    if (last - first < 2) return work;
    for (ulong entry = first; entry < last; ++entry) ++marks[higher[entry]];
    for (ulong entry = first; entry < last; ++entry) {
        uint y = higher[entry];
        ulong of_y = 0, end = starts[y] + counts[y];
        for (ulong onward = starts[y]; onward < end; ++onward) {
            uint z = higher[onward], z_mark = marks[z];
            sums[z] += z_mark;
            of_y += z_mark;
        }
        work += counts[y];
        sums[y] += of_y;
        of_x += of_y;
    }
    sums[x] += of_x;
    for (ulong entry = first; entry < last; ++entry) marks[higher[entry]] = 0;
    return work;
}

/* Items take members from a counter of tasks until they have read `max_work` entries. Each has `item_words` of
   scratch, zero before the first launch: a sum of two words per member, then a mark per member. */
kernel void sum_triangles(
    uint member_count, uint task_members, ulong max_work, global const ulong *starts, global const uint *counts,
    global const uint *higher, global uint *scratch, ulong item_words, volatile global uint *counters
) {
    global uint *own = scratch + get_global_id(0) * item_words;
    ulong work = 0;
    while (work < max_work) {
        ulong begin = (ulong)atomic_inc(counters) * task_members, end = min(begin + task_members, (ulong)member_count);
        if (begin >= member_count) break;
        for (ulong x = begin; x < end; ++x) {
            work += triangles_from((uint)x, starts, counts, higher, (global ulong *)own, own + 2 * (ulong)member_count);
        }
    }
}

kernel void write_triangle_sums(
    global const uint *members, global const ulong *ranks, global const uint *nodes, uint first, uint listed,
    global const uint *scratch, ulong item_words, uint items, global uint *sums, ulong first_word
) {
    FOR_EACH(i, listed) {
        uint number = number_of(members, ranks, nodes[first + i]);
        ulong sum = 0, place = first_word + i * SUM_WORDS;
        for (uint item = 0; item < items; ++item) sum += ((global const ulong *)(scratch + item * item_words))[number];
        sums[place] = (uint)(2 * sum);
        sums[place + 1] = (uint)(2 * sum >> 32);
        sums[place + 2] = 0;
    }
}
#endif
