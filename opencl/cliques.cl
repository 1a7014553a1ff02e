/* Counts cliques of four or five nodes of one type, in ranked lists of both directions (see ranked_lists.h). No two
   nodes may have two relationships between them.

   A clique is found once, from its lowest node x. Neighbours above x are few even at hubs (Chiba and Nishizeki,
   1985). Their adjacency is written as a triangular bit matrix: row i, bit j < i, for the i-th and the j-th of
   them. Cliques of four are common bits of rows i and j if row i has bit j; cliques of five are common bits of
   these with row k of such a bit (Almasri et al., 2022).
   Work split: work groups take tasks of `task_nodes` nodes x from counters[0] until they have read `max_work`
   entries and words. Teams of LANES items read the list of one neighbour each; nodes that pass a filter in local
   memory, a bit per rank modulo FILTER, are looked up in the list of x.

       scratch   uint[groups * words]   rows of the bit matrix, one matrix per group
       totals    ulong[groups]          number of cliques; each group adds to its own
*/
#include "work_split.h"
#include "search.h"
#include "group_sum.h"
#include "ranked_lists.h"

#define FILTER 65536u

static void set_filter(const Ranked *lists, uint x, volatile local uint *filter, bool taken_away) {
    for (uint place = lists->starts[x] + get_local_id(0); place < lists->middles[x]; place += GROUP_SIZE) {
        uint bit = lists->neighbours[place] % FILTER;
        if (taken_away) filter[bit / 32] = 0;
        else atomic_or(filter + bit / 32, 1u << bit % 32);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Writes the rows of all neighbours above x. */
static void write_rows(
    const Ranked *lists, uint x, uint row_words, volatile local uint *filter, volatile global uint *rows, ulong *work
) {
    uint first = lists->starts[x], count = lists->middles[x] - first;
    set_filter(lists, x, filter, false);
    for (uint word = get_local_id(0); word < count * row_words; word += GROUP_SIZE) rows[word] = 0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (uint i = get_local_id(0) / LANES; i < count; i += TEAMS) {
        uint y = lists->neighbours[first + i], stop = lists->middles[y];
        for (uint entry = lists->starts[y] + get_local_id(0) % LANES; entry < stop; entry += LANES) {
            uint z = lists->neighbours[entry], bit = z % FILTER;
            ++*work;
            if (!(filter[bit / 32] >> bit % 32 & 1)) continue;
            uint place = first_place_from(lists->neighbours, first, first + i, z), j = place - first;
            if (j < i && lists->neighbours[place] == z) atomic_or(rows + i * row_words + j / 32, 1u << j % 32);
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    set_filter(lists, x, filter, true);
}

/* The number of nodes up to word `last_word` that are neighbours of all three. */
static ulong in_common(volatile global const uint *i, volatile global const uint *j, volatile global const uint *k, uint last_word) {
    ulong sum = 0;
    for (uint word = 0; word <= last_word; ++word) sum += popcount(i[word] & j[word] & k[word]);
    return sum;
}

/* The number of cliques of x, two neighbours, and `size` - 3 more nodes that precede the second one in both
   rows. */
static ulong before(volatile global const uint *rows, uint row_words, uint i, uint j, uint size, ulong *work) {
    ulong sum = 0;
    volatile global const uint *one = rows + i * row_words, *other = rows + j * row_words;
    for (uint word = 0; word <= j / 32; ++word, ++*work) {
        uint bits = one[word] & other[word];
        if (size == 4) {
            sum += popcount(bits);
            continue;
        }
        for (; bits; bits &= bits - 1, *work += word + 1) {
            uint k = 32 * word + 31 - clz(bits & -bits);
            sum += in_common(one, other, rows + k * row_words, word);
        }
    }
    return sum;
}

kernel void count_cliques(
    RANKED_PARAMETERS, uint node_count, uint task_nodes, ulong max_work, uint size, ulong words, global uint *scratch,
    volatile global uint *counters, global ulong *totals
) {
    const Ranked lists = OUTGOING_RANKED;
    volatile global uint *rows = scratch + get_group_id(0) * words;
    local uint filter[FILTER / 32], next_task;
    local ulong of_items[GROUP_SIZE];
    ulong sum = 0, work = 0;
    for (uint word = get_local_id(0); word < FILTER / 32; word += GROUP_SIZE) filter[word] = 0;
    for (ulong group_work = 0; group_work < max_work;) {
        if (get_local_id(0) == 0) next_task = next_of_share(counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        ulong begin = (ulong)next_task * task_nodes, end = min(begin + task_nodes, (ulong)node_count);
        if (begin >= node_count) break;
        for (uint x = (uint)begin; x < end; ++x, ++work) {
            uint count = lists.middles[x] - lists.starts[x], row_words = (count + 31) / 32;
            if (count < size - 1) continue;
            write_rows(&lists, x, row_words, filter, rows, &work);
            for (uint place = get_local_id(0); place < count * row_words; place += GROUP_SIZE) {
                uint i = place / row_words, word = place % row_words;
                for (uint bits = rows[place]; bits; bits &= bits - 1) {
                    sum += before(rows, row_words, i, 32 * word + 31 - clz(bits & -bits), size, &work);
                }
            }
            barrier(CLK_GLOBAL_MEM_FENCE);
        }
        group_work = group_sum(work, of_items);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = group_sum(sum, of_items);
    if (get_local_id(0) == 0) totals[get_group_id(0)] += sum;
}
