/* Counting triangles of one type without loops in lists by rank (see ranked_lists.h).

       x         x is the lowest of a triangle, z the highest; y lies between them. Each is found once: y among the
       │╲        neighbours above x, z among those above y, and the third side is looked up. Lists above a node are
       y─z       short even at hubs (Chiba and Nishizeki, 1985).

   Four bits of `weights` for each of the ways that the three sides may run, 0 for outgoing, 1 for incoming, seen from the lower
   node: x–y is bit 2 of the place, y–z bit 1, x–z bit 0. So many embeddings is such a triangle.

   A work group takes nodes x from a counter of tasks. It keeps a filter in local memory, a bit per rank modulo FILTER, of the
   neighbours above x, for either direction; teams of LANES items take a y each. Where ranks may share a bit, or nodes have
   parallel relationships, what passes the filter is looked up in the list.
*/
#include "work_split.h"
#include "search.h"
#include "group_sum.h"
#include "ranked_lists.h"

#define FILTER 65536u
#define WORDS (FILTER / 32)

static void set_filter(const Ranked *lists, uint x, volatile local uint *filter, bool taken_away) {
    for (uint place = lists->starts[x] + get_local_id(0); place < lists->middles[x]; place += GROUP_SIZE) {
        uint bit = lists->neighbours[place] % FILTER;
        if (taken_away) filter[bit / 32] = 0;
        else atomic_or(filter + bit / 32, 1u << (bit % 32));
    }
}

/* How many relationships lead from x to z. */
static uint between(const Ranked *lists, uint x, uint z, local const uint *filter, bool looks_up) {
    uint bit = z % FILTER;
    if (!(filter[bit / 32] >> (bit % 32) & 1)) return 0;
    if (!looks_up) return 1;
    uint last = lists->middles[x], first = first_place_from(lists->neighbours, lists->starts[x], last, z), found = 0;
    while (first + found < last && lists->neighbours[first + found] == z) ++found;
    return found;
}

typedef struct {
    Ranked outgoing, incoming;
    local uint *ends, *starts;
    uint weights;
    bool looks_up;
} Search;

/* Those whose lowest node is x, as embeddings; all items of a group together. */
static ulong triangles_from(const Search *search, uint x, ulong *work) {
    ulong sum = 0;
    bool looks_up = search->looks_up || x > FILTER;
    for (uint ways = 0; ways < 4; ++ways) {
        uint on = search->weights >> 8 * ways & 15, back = search->weights >> (8 * ways + 4) & 15;
        if (!on && !back) continue;
        Ranked first = ways & 2 ? search->incoming : search->outgoing, second = ways & 1 ? search->incoming : search->outgoing;
        uint last = first.middles[x];
        for (uint place = first.starts[x] + get_local_id(0) / LANES; place < last; place += TEAMS) {
            uint y = first.neighbours[place], stop = second.middles[y];
            for (uint entry = second.starts[y] + get_local_id(0) % LANES; entry < stop; entry += LANES) {
                uint z = second.neighbours[entry];
                if (on) sum += on * between(&search->outgoing, x, z, search->ends, looks_up);
                if (back) sum += back * between(&search->incoming, x, z, search->starts, looks_up);
                ++*work;
            }
        }
    }
    return sum;
}

static void set_filters(const Search *search, uint x, bool taken_away) {
    set_filter(&search->outgoing, x, search->ends, taken_away);
    set_filter(&search->incoming, x, search->starts, taken_away);
    barrier(CLK_LOCAL_MEM_FENCE);
}

kernel void count_ranked_triangles(
    RANKED_PARAMETERS, uint node_count, uint task_nodes, ulong most_work, uint weights, uint looks_up,
    volatile global uint *counters, global ulong *totals
) {
    local uint ends[WORDS], starts[WORDS], next_task;
    local ulong of_items[GROUP_SIZE];
    const Search search = {OUTGOING_RANKED, INCOMING_RANKED, ends, starts, weights, looks_up};
    ulong sum = 0, work = 0;
    for (uint word = get_local_id(0); word < WORDS; word += GROUP_SIZE) ends[word] = starts[word] = 0;
    for (ulong group_work = 0; group_work < most_work;) {
        if (get_local_id(0) == 0) next_task = atomic_inc(counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        ulong begin = (ulong)next_task * task_nodes, end = min(begin + task_nodes, (ulong)node_count);
        if (begin >= node_count) break;
        for (uint x = (uint)begin; x < end; ++x, ++work) {
            uint on = outgoing_middles[x] - outgoing_starts[x], back = incoming_middles[x] - incoming_starts[x];
            if (on + back < 2) continue;
            set_filters(&search, x, false);
            sum += triangles_from(&search, x, &work);
            barrier(CLK_LOCAL_MEM_FENCE);
            set_filters(&search, x, true);
        }
        group_work = group_sum(work, of_items);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = group_sum(sum, of_items);
    if (get_local_id(0) == 0) totals[get_group_id(0)] += sum;
}
