/* Counts the triangles over each relationship, in ranked lists of both directions (see ranked_lists.h), and patterns
   that follow from these counts. No two nodes may have two relationships between them.

          x         x is the lowest node of a triangle, z the highest. Each triangle is found once: y and z among the
          │╲        neighbours above x, z also among those above y (Chiba and Nishizeki, 1985).
          y─z       A relationship belongs to the list of its lower node: its number is firsts[lower node] plus its
                    place among the neighbours above that node.

          measure_above     one item per node: lengths = number of neighbours above it
          count_edges       triangles[relationship] += 1 for the three sides of each triangle
          add_diamonds      one item per relationship: t * (t - 1), the ordered pairs of triangles over it
          add_fans          per triangle and each of its nodes: (t - 1) * (u - 1) for the two sides at the node

   Work split of count_edges and add_fans: work groups take tasks of `task_nodes` nodes x from counters[0] until they
   have read `max_work` entries. Teams of LANES items read the list of one y each; nodes that pass a filter in local
   memory, a bit per rank modulo FILTER, are looked up in the list of x.

       firsts      uint[node_count + 1]   prefix sums of lengths
       triangles   uint[relationships]
       totals      ulong[groups]          each group adds to its own, modulo 2^64
       carried     uint[1]                how often a total passed 2^64
*/
#include "work_split.h"
#include "search.h"
#include "group_sum.h"
#include "ranked_lists.h"

#define FILTER 65536u

kernel void measure_above(global const uint *starts, global const uint *middles, uint node_count, global uint *lengths) {
    FOR_EACH(v, node_count) lengths[v] = middles[v] - starts[v];
}

static void set_filter(const Ranked *lists, uint x, volatile local uint *filter, bool taken_away) {
    for (uint place = lists->starts[x] + get_local_id(0); place < lists->middles[x]; place += GROUP_SIZE) {
        uint bit = lists->neighbours[place] % FILTER;
        if (taken_away) filter[bit / 32] = 0;
        else atomic_or(filter + bit / 32, 1u << bit % 32);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The triangles whose lowest node is x; all items of a group work together. Counts them per side, or if `fans`,
   returns the sum of what they add. */
static ulong triangles_from(
    const Ranked *lists, uint x, global const ulong *firsts, volatile global uint *triangles, bool fans,
    volatile local uint *filter, ulong *work
) {
    uint first = lists->starts[x], last = lists->middles[x], own = (uint)firsts[x];
    ulong sum = 0;
    set_filter(lists, x, filter, false);
    for (uint place = first + get_local_id(0) / LANES; place < last; place += TEAMS) {
        uint y = lists->neighbours[place], start = lists->starts[y], stop = lists->middles[y], found = 0;
        uint side = own + place - first, of_y = (uint)firsts[y];
        for (uint entry = start + get_local_id(0) % LANES; entry < stop; entry += LANES) {
            uint z = lists->neighbours[entry], bit = z % FILTER;
            ++*work;
            if (!(filter[bit / 32] >> bit % 32 & 1)) continue;
            uint reached = first_place_from(lists->neighbours, first, place, z);
            if (reached >= place || lists->neighbours[reached] != z) continue;
            uint other = own + reached - first, third = of_y + entry - start;
            if (fans) {
                ulong xy = triangles[side] - 1, xz = triangles[other] - 1, yz = triangles[third] - 1;
                sum += xy * xz + xy * yz + xz * yz;
            } else {
                ++found;
                atomic_inc(triangles + other);
                atomic_inc(triangles + third);
            }
        }
        if (found) atomic_add(triangles + side, found);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    set_filter(lists, x, filter, true);
    return sum;
}

static void walk_triangles(
    const Ranked *lists, uint node_count, uint task_nodes, ulong max_work, global const ulong *firsts,
    volatile global uint *triangles, bool fans, volatile global uint *counters, global ulong *totals,
    volatile global uint *carried, local uint *filter, local ulong *of_items, local uint *next_task
) {
    ulong sum = 0, work = 0;
    for (uint word = get_local_id(0); word < FILTER / 32; word += GROUP_SIZE) filter[word] = 0;
    for (ulong group_work = 0; group_work < max_work;) {
        if (get_local_id(0) == 0) *next_task = atomic_inc(counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        ulong begin = (ulong)*next_task * task_nodes, end = min(begin + task_nodes, (ulong)node_count);
        if (begin >= node_count) break;
        for (uint x = (uint)begin; x < end; ++x, ++work) {
            if (lists->middles[x] - lists->starts[x] < 2) continue;
            sum += triangles_from(lists, x, firsts, triangles, fans, filter, &work);
        }
        group_work = group_sum(work, of_items);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = group_sum(sum, of_items);
    if (get_local_id(0) == 0 && fans) add_total(totals, carried, sum);
}

kernel void count_edges(
    RANKED_PARAMETERS, uint node_count, uint task_nodes, ulong max_work, global const ulong *firsts,
    volatile global uint *triangles, volatile global uint *counters
) {
    local uint filter[FILTER / 32], next_task;
    local ulong of_items[GROUP_SIZE];
    const Ranked lists = OUTGOING_RANKED;
    walk_triangles(
        &lists, node_count, task_nodes, max_work, firsts, triangles, false, counters, 0, 0, filter, of_items, &next_task
    );
}

kernel void add_fans(
    RANKED_PARAMETERS, uint node_count, uint task_nodes, ulong max_work, global const ulong *firsts,
    volatile global uint *triangles, volatile global uint *counters, global ulong *totals, volatile global uint *carried
) {
    local uint filter[FILTER / 32], next_task;
    local ulong of_items[GROUP_SIZE];
    const Ranked lists = OUTGOING_RANKED;
    walk_triangles(
        &lists, node_count, task_nodes, max_work, firsts, triangles, true, counters, totals, carried, filter, of_items, &next_task
    );
}

kernel void add_diamonds(global const uint *triangles, ulong count, global ulong *totals, volatile global uint *carried) {
    local ulong of_items[GROUP_SIZE];
    ulong sum = 0;
    FOR_EACH(i, count) {
        ulong over = triangles[i];
        sum += over * (over - 1);
    }
    sum = group_sum(sum, of_items);
    if (get_local_id(0) == 0) add_total(totals, carried, sum);
}
