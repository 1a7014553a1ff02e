/* Counting triangles of one type in lists by rank (see ranked_lists.h, triangles_above.h): of each list the part above its node.

       count_ranked_triangles  all of them
       count_loop_triangles    each as often as its three nodes have loops
*/
#include "triangles_above.h"

kernel void count_ranked_triangles(
    RANKED_PARAMETERS, uint node_count, uint task_nodes, ulong most_work, uint weights, uint looks_up,
    volatile global uint *counters, global ulong *totals
) {
    local uint filter[WORDS], next_task;
    local ulong of_items[GROUP_SIZE];
    const Above outgoing = {outgoing_neighbours, outgoing_starts, outgoing_middles, 1, 0};
    const Above incoming = {incoming_neighbours, incoming_starts, incoming_middles, 1, 0};
    const Search search = {outgoing, incoming, outgoing, incoming, 0, NONE, filter, weights, looks_up, 0};
    count_triangles_of(&search, 0, node_count, task_nodes, most_work, counters, totals, of_items, &next_task);
}

kernel void count_loop_triangles(
    RANKED_PARAMETERS, uint node_count, uint task_nodes, ulong most_work, uint weights, uint looks_up, global const uint *loops,
    volatile global uint *counters, global ulong *totals
) {
    local uint filter[WORDS], next_task;
    local ulong of_items[GROUP_SIZE];
    const Above outgoing = {outgoing_neighbours, outgoing_starts, outgoing_middles, 1, 0};
    const Above incoming = {incoming_neighbours, incoming_starts, incoming_middles, 1, 0};
    const Search search = {outgoing, incoming, outgoing, incoming, 0, NONE, filter, weights, looks_up, loops};
    count_triangles_of(&search, 0, node_count, task_nodes, most_work, counters, totals, of_items, &next_task);
}
