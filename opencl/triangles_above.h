/* Counting triangles in lists of the neighbours above each node, which have more relationships than the node itself.

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

/* The list of node v lies at starts[stride * v] - first … stops[stride * v] - first - 1 of neighbours, rising. */
typedef struct {
    global const uint *neighbours, *starts, *stops;
    uint stride, first;
} Above;

typedef struct {
    global const uint *neighbours;
    uint place, stop;
} List;

static inline List list_above(const Above *above, uint v) {
    List list = {above->neighbours, above->starts[above->stride * v] - above->first, above->stops[above->stride * v] - above->first};
    return list;
}

/* The part of a list that leads to nodes low … high-1. */
static inline List part_of(List list, uint low, uint high) {
    if (low > 0) list.place = first_place_from(list.neighbours, list.place, list.stop, low);
    if (high != NONE) list.stop = first_place_from(list.neighbours, list.place, list.stop, high);
    return list;
}

static inline void set_filter(List list, volatile local uint *filter, bool taken_away) {
    for (uint place = list.place + get_local_id(0); place < list.stop; place += GROUP_SIZE) {
        uint bit = list.neighbours[place] % FILTER;
        if (taken_away) filter[bit / 32] = 0;
        else atomic_or(filter + bit / 32, 1u << (bit % 32));
    }
}

/* How many relationships of a list lead to z. */
static inline uint leading_to(List list, uint z, local const uint *filter, bool looks_up) {
    uint bit = z % FILTER;
    if (!(filter[bit / 32] >> (bit % 32) & 1)) return 0;
    if (!looks_up) return 1;
    uint first = first_place_from(list.neighbours, list.place, list.stop, z), found = 0;
    while (first + found < list.stop && list.neighbours[first + found] == z) ++found;
    return found;
}

/* `outgoing` and `incoming` hold the lists of nodes x, `outgoing_second` and `incoming_second` those of nodes y, which are at least
   y_low and below y_high (NONE: there is no end). Where `loops` of nodes are given, a triangle counts as often as its nodes have some. */
typedef struct {
    Above outgoing, incoming, outgoing_second, incoming_second;
    uint y_low, y_high;
    local uint *ends, *starts;
    uint weights;
    bool looks_up;
    global const uint *loops;
} Search;

/* Those whose lowest node is x, as embeddings; all items of a group together. */
static inline ulong triangles_from(const Search *search, uint x, List outgoing, List incoming, ulong *work) {
    ulong sum = 0;
    bool looks_up = search->looks_up || x > FILTER;
    for (uint ways = 0; ways < 4; ++ways) {
        uint on = search->weights >> 8 * ways & 15, back = search->weights >> (8 * ways + 4) & 15;
        if (!on && !back) continue;
        List first = part_of(ways & 2 ? incoming : outgoing, search->y_low, search->y_high);
        Above second = ways & 1 ? search->incoming_second : search->outgoing_second;
        for (uint place = first.place + get_local_id(0) / LANES; place < first.stop; place += TEAMS) {
            uint y = first.neighbours[place];
            List list = list_above(&second, y);
            for (uint entry = list.place + get_local_id(0) % LANES; entry < list.stop; entry += LANES) {
                uint z = list.neighbours[entry];
                ulong found = 0;
                if (on) found += on * leading_to(outgoing, z, search->ends, looks_up);
                if (back) found += back * leading_to(incoming, z, search->starts, looks_up);
                if (search->loops && found) found *= search->loops[x] + search->loops[y] + search->loops[z];
                sum += found;
                ++*work;
            }
        }
    }
    return sum;
}

static inline bool leads_to_second(const Search *search, List list) {
    List part = part_of(list, search->y_low, search->y_high);
    return part.place < part.stop;
}

/* Of node x alone; the filters are empty before and after. */
static inline ulong triangles_of(const Search *search, uint x, ulong *work) {
    List outgoing = list_above(&search->outgoing, x), incoming = list_above(&search->incoming, x);
    if (outgoing.stop - outgoing.place + incoming.stop - incoming.place < 2) return 0;
    if (search->y_low > 0 || search->y_high != NONE) {
        if (!leads_to_second(search, outgoing) && !leads_to_second(search, incoming)) return 0;
    }
    set_filter(outgoing, search->ends, false);
    set_filter(incoming, search->starts, false);
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong sum = triangles_from(search, x, outgoing, incoming, work);
    barrier(CLK_LOCAL_MEM_FENCE);
    set_filter(outgoing, search->ends, true);
    set_filter(incoming, search->starts, true);
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

/* Takes tasks of task_nodes nodes x from `low` to before `high` until there are none, or there was enough work for a launch; adds
   what they count to the group's total. `of_items` has a place per item, `next_task` one. */
static inline void count_triangles_of(
    const Search *search, uint low, uint high, uint task_nodes, ulong most_work, volatile global uint *counters,
    global ulong *totals, local ulong *of_items, local uint *next_task
) {
    ulong sum = 0, work = 0;
    for (uint word = get_local_id(0); word < WORDS; word += GROUP_SIZE) search->ends[word] = search->starts[word] = 0;
    for (ulong group_work = 0; group_work < most_work;) {
        if (get_local_id(0) == 0) *next_task = atomic_inc(counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        ulong begin = low + (ulong)*next_task * task_nodes, end = min(begin + task_nodes, (ulong)high);
        if (begin >= high) break;
        for (uint x = (uint)begin; x < end; ++x, ++work) sum += triangles_of(search, x, &work);
        group_work = group_sum(work, of_items);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = group_sum(sum, of_items);
    if (get_local_id(0) == 0) totals[get_group_id(0)] += sum;
}
