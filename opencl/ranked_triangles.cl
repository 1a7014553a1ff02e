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

typedef struct {
    Ranked outgoing, incoming;
    local uint *filters; /* of outgoing and of incoming neighbours, word by word */
    uint weights;
    bool looks_up;
} Search;

static void set_filter(const Ranked *lists, uint x, volatile local uint *filters, uint direction, bool taken_away) {
    for (uint place = lists->starts[x] + get_local_id(0); place < lists->middles[x]; place += GROUP_SIZE) {
        uint bit = lists->neighbours[place] % FILTER;
        volatile local uint *word = filters + 2 * (bit / 32) + direction;
        if (taken_away) *word = 0;
        else atomic_or(word, 1u << (bit % 32));
    }
}

static void set_filters(const Search *search, uint x, bool taken_away) {
    set_filter(&search->outgoing, x, search->filters, 0, taken_away);
    set_filter(&search->incoming, x, search->filters, 1, taken_away);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* How many relationships lead from x to z. */
static uint between(const Ranked *lists, uint x, uint z) {
    uint last = lists->middles[x], first = first_place_from(lists->neighbours, lists->starts[x], last, z), found = 0;
    while (first + found < last && lists->neighbours[first + found] == z) ++found;
    return found;
}

/* An item takes so many entries at once, LANES apart, that one is loaded while it waits for another. */
#define TOGETHER 4
#define EACH(i) _Pragma("unroll") for (uint i = 0; i < TOGETHER; ++i)

/* Embeddings whose lowest node is x and whose highest are these of a list; a third side that starts at x counts `on`. */
static ulong closed(const Search *search, uint x, Ranked lists, uint y, uint on, uint back, bool looks_up) {
    ulong sum = 0;
    local const uint2 *filters = (local const uint2 *)search->filters;
    uint stop = lists.middles[y];
    for (uint entry = lists.starts[y] + get_local_id(0) % LANES; entry < stop; entry += TOGETHER * LANES) {
        uint nodes[TOGETHER];
        EACH(i) nodes[i] = entry + i * LANES < stop ? lists.neighbours[entry + i * LANES] : NONE;
        EACH(i) {
            uint bit = nodes[i] % FILTER;
            uint2 seen = filters[bit / 32] >> (bit % 32) & 1u;
            if (nodes[i] == NONE) seen = 0;
            if (looks_up && (seen.x || seen.y)) {
                seen = (uint2)(between(&search->outgoing, x, nodes[i]), between(&search->incoming, x, nodes[i]));
            }
            sum += (ulong)(on * seen.x) + back * seen.y;
        }
    }
    return sum;
}

/* Those whose lowest node is x, as embeddings; all items of a group together. */
static ulong triangles_from(const Search *search, uint x, ulong *work) {
    ulong sum = 0;
    for (uint ways = 0; ways < 4; ++ways) {
        uint on = search->weights >> 8 * ways & 15, back = search->weights >> (8 * ways + 4) & 15;
        if (!on && !back) continue;
        Ranked first = ways & 2 ? search->incoming : search->outgoing, second = ways & 1 ? search->incoming : search->outgoing;
        uint last = first.middles[x];
        for (uint place = first.starts[x] + get_local_id(0) / LANES; place < last; place += TEAMS) {
            uint y = first.neighbours[place];
            sum += closed(search, x, second, y, on, back, search->looks_up || x > FILTER);
            *work += 1 + (second.middles[y] - second.starts[y]) / LANES;
        }
    }
    return sum;
}

kernel void count_ranked_triangles(
    RANKED_PARAMETERS, uint node_count, uint task_nodes, ulong most_work, uint weights, uint looks_up,
    volatile global uint *counters, global ulong *totals
) {
    local uint2 filters[WORDS];
    local uint next_task;
    local ulong of_items[GROUP_SIZE];
    const Search search = {OUTGOING_RANKED, INCOMING_RANKED, (local uint *)filters, weights, looks_up};
    ulong sum = 0, work = 0;
    for (uint word = get_local_id(0); word < WORDS; word += GROUP_SIZE) filters[word] = 0;
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
