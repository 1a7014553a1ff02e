/* Counts undirected cycles of four nodes in the oriented graph, whose relationships all run from lower to higher
   degree: `count_upward_squares`, and `count_relationships`, which computes the degrees.

          c ── b          The highest of the four nodes is a. Its lower neighbours b lead to nodes c below a, and each
          │    │          c is marked with the number of paths (a, b, c): the relationships between a and b times
          d ── a          those between b and c. Two paths over different nodes b and d make a square, so the sum of
                          the squared marks, less the squared number of paths over each single b, counts every set
                          {b, d} twice. Each cycle is found in one of its eight orders.

   So few paths of two are read, as lists of lower nodes are short where nodes are many (Chiba and Nishizeki, 1985).
   Work split: work groups take tasks of `task_nodes` nodes a from counters[0] until they have read `max_work`
   entries. Teams of LANES items take one b each.

       degrees   uint[node_count]
       scratch   uint[groups * node_count]   marks, zero before and after
       totals    ulong[groups]               each group adds to its own
*/
#include "work_split.h"
#include "csr.h"

#define GROUP_SIZE 256
#define LANES 16

typedef struct {
    global const uint *neighbours;
    uint2 entries;
} List;

/* The number of entries from this one on that lead to the same node; 0 if an entry before does. */
static inline uint parallel_from(const List *list, uint entry) {
    uint node = list->neighbours[entry], next = entry + 1;
    if (entry > list->entries.x && list->neighbours[entry - 1] == node) return 0;
    while (next < list->entries.y && list->neighbours[next] == node) ++next;
    return next - entry;
}

/* Marks the nodes of a list that lie below a, or removes their marks. Returns the addend to the sum. */
static ulong take_list(
    const List *list, uint to_b, uint a, global const uint *degrees, volatile global uint *marks, bool marking, ulong *work
) {
    ulong sum = 0;
    uint lane = get_local_id(0) % LANES;
    for (uint entry = list->entries.x + lane; entry < list->entries.y; entry += LANES) {
        ++*work;
        uint c = list->neighbours[entry];
        if (degrees && (c == a || degrees[c] > degrees[a] || (degrees[c] == degrees[a] && c > a))) continue;
        uint paths = parallel_from(list, entry) * to_b;
        if (paths == 0) continue;
        if (marking) {
            atomic_add(marks + c, paths);
            sum -= (ulong)paths * paths;
        } else {
            ulong mark = atomic_xchg(marks + c, 0u);
            sum += mark * mark;
        }
    }
    return sum;
}

/* Walks all paths (a, b, c). */
static ulong walk_paths(
    const Csr *outgoing, const Csr *incoming, uint type, uint a, global const uint *degrees, volatile global uint *marks, bool marking,
    ulong *work
) {
    ulong sum = 0;
    List lower = {incoming->neighbours, run_of(incoming, a, type)};
    for (uint entry = lower.entries.x + get_local_id(0) / LANES; entry < lower.entries.y; entry += GROUP_SIZE / LANES) {
        uint to_b = parallel_from(&lower, entry), b = lower.neighbours[entry];
        if (to_b == 0) continue;
        List before = {incoming->neighbours, run_of(incoming, b, type)}, after = {outgoing->neighbours, run_of(outgoing, b, type)};
        sum += take_list(&before, to_b, a, 0, marks, marking, work);
        sum += take_list(&after, to_b, a, degrees, marks, marking, work);
    }
    return sum;
}

kernel void count_relationships(GRAPH_PARAMETERS, uint node_count, global uint *degrees) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    FOR_EACH(node, node_count) {
        uint2 out = run_of(&outgoing, (uint)node, NONE), in = run_of(&incoming, (uint)node, NONE);
        degrees[node] = out.y - out.x + in.y - in.x;
    }
}

kernel void count_upward_squares(
    GRAPH_PARAMETERS, uint type, uint node_count, global const uint *degrees, uint task_nodes, ulong max_work, global uint *scratch,
    volatile global uint *counters, global ulong *totals
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    volatile global uint *marks = scratch + get_group_id(0) * (ulong)node_count;
    local uint next_task, looked_at;
    local ulong sums[GROUP_SIZE];
    ulong sum = 0, work = 0, group_work = 0;
    if (get_local_id(0) == 0) looked_at = 0;
    while (group_work < max_work) {
        if (get_local_id(0) == 0) next_task = atomic_inc(counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        ulong begin = (ulong)next_task * task_nodes, end = min(begin + task_nodes, (ulong)node_count);
        if (begin >= node_count) break;
        for (uint a = (uint)begin; a < end; ++a) {
            sum += walk_paths(&outgoing, &incoming, type, a, degrees, marks, true, &work);
            barrier(CLK_GLOBAL_MEM_FENCE);
            sum += walk_paths(&outgoing, &incoming, type, a, degrees, marks, false, &work);
            barrier(CLK_GLOBAL_MEM_FENCE);
        }
        atomic_add(&looked_at, (uint)work + 1);
        work = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        group_work = looked_at;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums[get_local_id(0)] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        for (uint item = 1; item < GROUP_SIZE; ++item) sum += sums[item];
        totals[get_group_id(0)] += sum;
    }
}
