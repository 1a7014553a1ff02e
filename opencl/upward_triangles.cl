/* Counts triangles of one type, not embeddings with loops, in lists of upper neighbours of which a part is on the
   device (see upward_lists.cl, triangles_above.h), for ranges of lowest nodes x and of nodes y between the lowest and the
   highest. Work split: work groups take tasks of task_nodes nodes x from counters[0].

       lists         at x_place, the starts of the lists of x_low … x_high-1 among all lists, uint[2 * (x_high - x_low) + 1]:
                     list 2 v has the ends of relationships from v upwards, 2 v + 1 the starts of relationships to v from
                     above; then these lists. At y_place the same of y_low … y_high-1
       totals        ulong[groups]         each group adds to its own
*/
#include "triangles_above.h"

kernel void count_upward_triangles(
    global const uint *lists, uint x_low, uint x_high, ulong x_place, uint y_low, uint y_high, ulong y_place,
    uint task_nodes, ulong max_work, uint weights, uint looks_up, volatile global uint *counters, global ulong *totals
) {
    local uint filter[WORDS], next_task;
    local ulong of_items[GROUP_SIZE];
    global const uint *x = lists + x_place, *y = lists + y_place;
    global const uint *of_x = x + 2 * (x_high - x_low) + 1, *of_y = y + 2 * (y_high - y_low) + 1;
    const Search search = {
        {of_x, x, x + 1, 2, x[0], x_low}, {of_x, x + 1, x + 2, 2, x[0], x_low},
        {of_y, y, y + 1, 2, y[0], y_low}, {of_y, y + 1, y + 2, 2, y[0], y_low},
        y_low, y_high, filter, weights, looks_up, 0
    };
    count_triangles_of(&search, x_low, x_high, task_nodes, max_work, counters, totals, of_items, &next_task);
}
