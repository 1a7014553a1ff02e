/* Counts triangles in lists of the neighbours above each node, which have higher degree.

          x         x is the lowest node of a triangle, z the highest; y lies between them. Each is found once: y among
          │╲        the neighbours above x, z among those above y, and the third side is looked up. Lists above a node
          y─z       are short even at hubs (Chiba and Nishizeki, 1985).

   `weights` has four bits for each combination of directions of the three sides, 0 for outgoing, 1 for incoming,
   seen from the lower node: x–y is bit 2 of the position, y–z bit 1, x–z bit 0. They are the number of embeddings
   of such a triangle.
   Work split: a work group takes nodes x from a counter of tasks. It keeps a filter of the neighbours above x in
   local memory: two bits per rank modulo FILTER, one per direction, which are read together. Teams of LANES
   items take one y each. If ranks may share bits, or nodes have parallel relationships, nodes that pass the
   filter are looked up in the list.
*/
#include "work_split.h"
#include "search.h"
#include "group_sum.h"
#include "ranked_lists.h"

#define FILTER 65536u
#define WORDS (FILTER / 16)
#define OUTGOING 1u
#define INCOMING 2u

/* Node v has the list starts[stride * (v - node)] - first … stops[stride * (v - node)] - first - 1 of neighbours,
   ascending. */
typedef struct {
    global const uint *neighbours, *starts, *stops;
    uint stride, first, node;
} Above;

typedef struct {
    global const uint *neighbours;
    uint place, stop;
} List;

static inline List list_above(const Above *above, uint v) {
    uint place = above->stride * (v - above->node);
    List list = {above->neighbours, above->starts[place] - above->first, above->stops[place] - above->first};
    return list;
}

/* The part of a list that leads to nodes low … high-1. */
static inline List part_of(List list, uint low, uint high) {
    if (low > 0) list.place = first_place_from(list.neighbours, list.place, list.stop, low);
    if (high != NONE) list.stop = first_place_from(list.neighbours, list.place, list.stop, high);
    return list;
}

static inline void set_filter(List list, volatile local uint *filter, uint direction) {
    for (uint place = list.place + get_local_id(0); place < list.stop; place += GROUP_SIZE) {
        uint rank = list.neighbours[place] % FILTER;
        atomic_or(filter + rank / 16, direction << 2 * (rank % 16));
    }
}

static inline void clear_filter(List list, local uint *filter) {
    for (uint place = list.place + get_local_id(0); place < list.stop; place += GROUP_SIZE) {
        filter[list.neighbours[place] % FILTER / 16] = 0;
    }
}

/* The number of relationships of a list that lead to z. */
static inline uint leading_to(List list, uint z) {
    uint first = first_place_from(list.neighbours, list.place, list.stop, z), found = 0;
    while (first + found < list.stop && list.neighbours[first + found] == z) ++found;
    return found;
}

/* `outgoing` and `incoming` have the lists of nodes x, `outgoing_second` and `incoming_second` those of nodes y,
   which are in y_low … y_high-1 (NONE: no upper bound). If `loops` is not null, a triangle counts as many times
   as its nodes have loops. */
typedef struct {
    Above outgoing, incoming, outgoing_second, incoming_second;
    uint y_low, y_high;
    local uint *filter;
    uint weights;
    bool looks_up;
    global const uint *loops;
} Search;

/* The number of embeddings whose lowest node is x; all items of a group work together. */
static inline ulong triangles_from(const Search *search, uint x, List outgoing, List incoming, ulong *work) {
    ulong sum = 0;
    bool looks_up = search->looks_up || x > FILTER;
    for (uint turn = 0; turn < 4; ++turn) {
        uint on = search->weights >> 8 * turn & 15, back = search->weights >> (8 * turn + 4) & 15;
        uint asked = (on ? OUTGOING : 0) | (back ? INCOMING : 0);
        if (!asked) continue;
        List first = part_of(turn & 2 ? incoming : outgoing, search->y_low, search->y_high);
        Above second = turn & 1 ? search->incoming_second : search->outgoing_second;
        for (uint place = first.place + get_local_id(0) / LANES; place < first.stop; place += TEAMS) {
            uint y = first.neighbours[place];
            List list = list_above(&second, y);
            for (uint entry = list.place + get_local_id(0) % LANES; entry < list.stop; entry += LANES) {
                uint z = list.neighbours[entry], rank = z % FILTER;
                uint passed = search->filter[rank / 16] >> 2 * (rank % 16) & asked;
                ++*work;
                if (!passed) continue;
                ulong found = 0;
                if (passed & OUTGOING) found += on * (ulong)(looks_up ? leading_to(outgoing, z) : 1);
                if (passed & INCOMING) found += back * (ulong)(looks_up ? leading_to(incoming, z) : 1);
                if (search->loops && found) found *= search->loops[x] + search->loops[y] + search->loops[z];
                sum += found;
            }
        }
    }
    return sum;
}

static inline bool leads_to_second(const Search *search, List list) {
    List part = part_of(list, search->y_low, search->y_high);
    return part.place < part.stop;
}

/* The same for node x including its filter, which is empty before and after. */
static inline ulong triangles_of(const Search *search, uint x, ulong *work) {
    List outgoing = list_above(&search->outgoing, x), incoming = list_above(&search->incoming, x);
    if (outgoing.stop - outgoing.place + incoming.stop - incoming.place < 2) return 0;
    if (search->y_low > 0 || search->y_high != NONE) {
        if (!leads_to_second(search, outgoing) && !leads_to_second(search, incoming)) return 0;
    }
    set_filter(outgoing, search->filter, OUTGOING);
    set_filter(incoming, search->filter, INCOMING);
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong sum = triangles_from(search, x, outgoing, incoming, work);
    barrier(CLK_LOCAL_MEM_FENCE);
    clear_filter(outgoing, search->filter);
    clear_filter(incoming, search->filter);
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

/* Takes tasks of task_nodes nodes x from `low` to before `high` until none is left, or the work suffices for a
   launch; adds the counts to the group's total. `of_items` has one element per item, `next_task` one. */
static inline void count_triangles_of(
    const Search *search, uint low, uint high, uint task_nodes, ulong max_work, volatile global uint *counters,
    global ulong *totals, local ulong *of_items, local uint *next_task
) {
    ulong sum = 0, work = 0;
    for (uint word = get_local_id(0); word < WORDS; word += GROUP_SIZE) search->filter[word] = 0;
    for (ulong group_work = 0; group_work < max_work;) {
        if (get_local_id(0) == 0) *next_task = next_of_share(counters);
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
