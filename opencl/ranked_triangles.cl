/* Counts triangles of one type in ranked lists (see ranked_lists.h, triangles_above.h); reads the part of each list
   above its node. Work split: work groups take tasks of task_nodes nodes from counters[0].

          count_ranked_triangles  all triangles
          count_loop_triangles    each triangle as many times as its three nodes have loops
          add_loop_triangles      one group per node v: embeddings of a triangle that map two query nodes, or all
                                  three, to a node with loops

       loops    uint[node_count]   loops of each rank
       totals   ulong[groups]      each group adds to its own
*/
#include "triangles_above.h"

kernel void count_ranked_triangles(
    RANKED_PARAMETERS, uint node_count, uint task_nodes, ulong max_work, uint weights, uint looks_up,
    volatile global uint *counters, global ulong *totals
) {
    local uint filter[WORDS], next_task;
    local ulong of_items[GROUP_SIZE];
    const Above outgoing = {outgoing_neighbours, outgoing_starts, outgoing_middles, 1, 0, 0};
    const Above incoming = {incoming_neighbours, incoming_starts, incoming_middles, 1, 0, 0};
    const Search search = {outgoing, incoming, outgoing, incoming, 0, NONE, filter, weights, looks_up, 0};
    count_triangles_of(&search, 0, node_count, task_nodes, max_work, counters, totals, of_items, &next_task);
}

kernel void count_loop_triangles(
    RANKED_PARAMETERS, uint node_count, uint task_nodes, ulong max_work, uint weights, uint looks_up, global const uint *loops,
    volatile global uint *counters, global ulong *totals
) {
    local uint filter[WORDS], next_task;
    local ulong of_items[GROUP_SIZE];
    const Above outgoing = {outgoing_neighbours, outgoing_starts, outgoing_middles, 1, 0, 0};
    const Above incoming = {incoming_neighbours, incoming_starts, incoming_middles, 1, 0, 0};
    const Search search = {outgoing, incoming, outgoing, incoming, 0, NONE, filter, weights, looks_up, loops};
    count_triangles_of(&search, 0, node_count, task_nodes, max_work, counters, totals, of_items, &next_task);
}

/* A loop of v stands for one relationship of the query, the other two lie between v and u: with p relationships
   from v to u and q back, there are out_out * p * (p - 1) + in_in * q * (q - 1) + out_in * p * q choices to choose
   them. */
kernel void add_loop_triangles(
    RANKED_PARAMETERS, uint node_count, uint out_out, uint in_in, uint out_in, global const uint *loops, global ulong *totals
) {
    local ulong of_items[GROUP_SIZE];
    ulong total = 0;
    for (uint v = get_group_id(0); v < node_count; v += get_num_groups(0)) {
        ulong own = loops[v], choices = 0;
        if (own == 0) continue;
        const List on = {outgoing_neighbours, outgoing_starts[v], outgoing_starts[v + 1]};
        const List back = {incoming_neighbours, incoming_starts[v], incoming_starts[v + 1]};
        for (uint place = on.place + get_local_id(0); place < on.stop; place += GROUP_SIZE) {
            uint u = on.neighbours[place];
            if (place > on.place && on.neighbours[place - 1] == u) continue;
            ulong p = leading_to(on, u), q = leading_to(back, u);
            choices += out_out * p * (p - 1) + in_in * q * (q - 1) + out_in * p * q;
        }
        for (uint place = back.place + get_local_id(0); place < back.stop && in_in; place += GROUP_SIZE) {
            uint u = back.neighbours[place];
            if ((place > back.place && back.neighbours[place - 1] == u) || leading_to(on, u)) continue;
            ulong q = leading_to(back, u);
            choices += in_in * q * (q - 1);
        }
        total += own * choices;
        if (get_local_id(0) == 0) total += own * (own - 1) * (own - 2);
    }
    total = group_sum(total, of_items);
    if (get_local_id(0) == 0) totals[get_group_id(0)] += total;
}
