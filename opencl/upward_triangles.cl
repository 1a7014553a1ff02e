/* Counts triangles of one type, not embeddings with loops, in lists of upper neighbours of which a part is on the device (see
   upward_lists.cl, triangles_above.h), for ranges of lowest nodes x and of nodes y between the lowest and the
   highest. Work split: work groups take tasks of task_nodes nodes x from counters[0].

       neighbours    the lists of x_low … x_high-1 from x_place on, those of y_low … y_high-1 from y_place on
       starts        uint[2 * nodes + 1]   start of each list among all; list 2 v has the ends of relationships from v
                                           upwards, 2 v + 1 the starts of relationships to v from above
       totals        ulong[groups]         each group adds to its own
*/
#include "triangles_above.h"

kernel void count_upward_triangles(
    global const uint *starts, global const uint *neighbours, uint x_low, uint x_high, ulong x_place, uint y_low, uint y_high,
    ulong y_place, uint task_nodes, ulong max_work, uint weights, uint looks_up, volatile global uint *counters,
    global ulong *totals
) {
    local uint filter[WORDS], next_task;
    local ulong of_items[GROUP_SIZE];
    global const uint *of_x = neighbours + x_place, *of_y = neighbours + y_place;
    uint first_x = starts[2 * x_low], first_y = starts[2 * y_low];
    const Search search = {
        {of_x, starts, starts + 1, 2, first_x}, {of_x, starts + 1, starts + 2, 2, first_x},
        {of_y, starts, starts + 1, 2, first_y}, {of_y, starts + 1, starts + 2, 2, first_y},
        y_low, y_high, filter, weights, looks_up, 0
    };
    count_triangles_of(&search, x_low, x_high, task_nodes, max_work, counters, totals, of_items, &next_task);
}
