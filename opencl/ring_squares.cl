/* Counting directed cycles of four nodes, of one type without loops, from their highest nodes: `count_ring_squares`, and
   `correct_ring_squares`, which says what that count is wrong by.

       d ──> a          Nodes have ranks; the highest of a cycle has the least. Each c below a is marked with the ways a -> b -> c
       ^     │          over nodes b below a; then the marks along the ways back, a <- d <- c, are added up. So few paths of two
       │     v          are looked at, for lists of lower nodes are short where nodes are many (Chiba and Nishizeki, 1985). Each
       c <── b          cycle of four nodes is found once; it is four embeddings.

   This also counts cycles whose b and d are one node, and none whose a and c are. With p(v, u), the ways v -> u -> v, these are
   known from the neighbours of each v alone: where b and d are v, a is above v, and c another one below a.

   Work groups take nodes a from a counter of tasks, in the order of `nodes`, `task_nodes` at a time, until they looked at
   `most_work` entries. Each has `node_count` words of scratch, marks, zero before and after. Teams of LANES items take one b, or
   d, each.
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"

#define GROUP_SIZE 256
#define LANES 16
#define MARKS 0
#define ADDS 1
#define CLEARS 2

/* Goes over two links of one direction from a; all items of a group together. */
static ulong two_links(
    const Csr *csr, uint type, uint a, global const uint *ranks, volatile global uint *marks, uint what, ulong *work
) {
    ulong sum = 0;
    uint rank = ranks[a];
    uint2 first = run_of(csr, a, type);
    for (uint place = first.x + get_local_id(0) / LANES; place < first.y; place += GROUP_SIZE / LANES) {
        uint middle = csr->neighbours[place];
        if (ranks[middle] < rank) continue;
        uint2 second = run_of(csr, middle, type);
        for (uint entry = second.x + get_local_id(0) % LANES; entry < second.y; entry += LANES) {
            ++*work;
            uint c = csr->neighbours[entry];
            if (ranks[c] <= rank) continue;
            if (what == MARKS) atomic_inc(marks + c);
            else if (what == ADDS) sum += marks[c];
            else marks[c] = 0;
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    return sum;
}

kernel void count_ring_squares(
    GRAPH_PARAMETERS, uint type, uint node_count, global const uint *nodes, global const uint *ranks, uint task_nodes, ulong most_work,
    global uint *scratch, volatile global uint *counters, global ulong *totals
) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    volatile global uint *marks = scratch + get_group_id(0) * (ulong)node_count;
    local uint next_task;
    local ulong of_items[GROUP_SIZE], looks[GROUP_SIZE];
    ulong sum = 0, group_work = 0;
    while (group_work < most_work) {
        ulong work = 1;
        if (get_local_id(0) == 0) next_task = atomic_inc(counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        ulong begin = (ulong)next_task * task_nodes, end = min(begin + task_nodes, (ulong)node_count);
        if (begin >= node_count) break;
        for (ulong i = begin; i < end; ++i) {
            uint a = nodes[i];
            uint2 on = run_of(&outgoing, a, type), back = run_of(&incoming, a, type);
            if (on.x >= on.y || back.x >= back.y) continue;
            two_links(&outgoing, type, a, ranks, marks, MARKS, &work);
            sum += two_links(&incoming, type, a, ranks, marks, ADDS, &work);
            two_links(&outgoing, type, a, ranks, marks, CLEARS, &work);
        }
        looks[get_local_id(0)] = work;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint item = 0; item < GROUP_SIZE; ++item) group_work += looks[item];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    of_items[get_local_id(0)] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        sum = 0;
        for (uint item = 0; item < GROUP_SIZE; ++item) sum += of_items[item];
        totals[get_group_id(0)] += 4 * sum;
    }
}

/* Of the nodes that v has ways to and back: p of those above, of those below, the squares of both, and the pairs of two ways to
   the same one and back whose relationships all differ. */
#define ABOVE 0
#define BELOW 1
#define SQUARES_ABOVE 2
#define SQUARES_BELOW 3
#define BOTH 4
#define SUMS 5

static bool measure_ways(
    const Csr *outgoing, const Csr *incoming, uint type, uint v, global const uint *ranks, local ulong *of_items
) {
    ulong sums[SUMS] = {0, 0, 0, 0, 0};
    uint2 on = run_of(outgoing, v, type), back = run_of(incoming, v, type);
    bool any = false;
    for (uint entry = on.x + get_local_id(0); entry < on.y && back.x < back.y; entry += GROUP_SIZE) {
        uint u = outgoing->neighbours[entry];
        if (entry > on.x && outgoing->neighbours[entry - 1] == u) continue;
        ulong ways_on = 1, ways_back = 0;
        while (entry + ways_on < on.y && outgoing->neighbours[entry + ways_on] == u) ++ways_on;
        uint found = first_place_from(incoming->neighbours, back.x, back.y, u);
        while (found + ways_back < back.y && incoming->neighbours[found + ways_back] == u) ++ways_back;
        ulong ways = ways_on * ways_back;
        bool is_above = ranks[u] < ranks[v];
        sums[is_above ? ABOVE : BELOW] += ways;
        sums[is_above ? SQUARES_ABOVE : SQUARES_BELOW] += ways * ways;
        sums[BOTH] += ways ? ways * (ways_on - 1) * (ways_back - 1) : 0;
        any = any || ways;
    }
    for (uint each = 0; each < SUMS; ++each) of_items[each * GROUP_SIZE + get_local_id(0)] = sums[each];
    return any;
}

kernel void correct_ring_squares(GRAPH_PARAMETERS, uint type, uint node_count, global const uint *ranks, global ulong *totals) {
    const Csr outgoing = OUTGOING_CSR, incoming = INCOMING_CSR;
    local ulong of_items[SUMS * GROUP_SIZE], sums[SUMS];
    local uint seen;
    ulong total = 0;
    for (uint v = get_group_id(0); v < node_count; v += get_num_groups(0)) {
        if (get_local_id(0) == 0) seen = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (measure_ways(&outgoing, &incoming, type, v, ranks, of_items)) atomic_or(&seen, 1u);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (seen && get_local_id(0) < SUMS) {
            ulong sum = 0;
            for (uint item = 0; item < GROUP_SIZE; ++item) sum += of_items[get_local_id(0) * GROUP_SIZE + item];
            sums[get_local_id(0)] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (seen && get_local_id(0) == 0) {
            ulong above = sums[ABOVE], below = sums[BELOW], all = above + below;
            ulong counted = above * below + (above * above - sums[SQUARES_ABOVE]) / 2;
            ulong folded = all * all - sums[SQUARES_ABOVE] - sums[SQUARES_BELOW] + sums[BOTH];
            total += 2 * folded - sums[BOTH] - 4 * counted;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (get_local_id(0) == 0) totals[get_group_id(0)] += total;
}
