/* Counts the new rows of a step with one link that is a plain sorted list of neighbours (see extension.h). Work
   split:

          count_fitting   one item per candidate of the bound end: fitting[node] = number of its neighbours that are
                          candidates
          count_leaves    one item per row: fitting (or the length of the list) less the excluded nodes; adds the
                          group's sum to totals[group]

       nodes     uint[…]         collected candidates, first_node … first_node+count-1
       fitting   uint[nodes of the data graph]
       totals    ulong[groups]
*/
#include "work_split.h"
#include "search.h"
#include "csr.h"
#include "query_graph.h"
#include "extension.h"
#include "row_ranges.h"
#include "excluded_nodes.h"
#include "group_sum.h"

/* The entries of a link that is one sorted list. */
static inline uint2 list_of(const Step *step, uint link, uint from) {
    return plain_list(step, link, step->words[link + LINK_DIRECTIONS] & INCOMING, from);
}

static inline global const uint *list_neighbours(const Step *step, uint link) {
    return neighbours_of(step, step->words[link + LINK_DIRECTIONS] & INCOMING);
}

/* ------------------------------------------------------------------ leaves */
kernel void count_fitting(
    STEP_PARAMETERS, global const uint *nodes, ulong first_node, ulong count, global uint *fitting
) {
    const Step step = STEP_ARGUMENTS;
    global const uint *neighbours = list_neighbours(&step, step.links);
    FOR_EACH(i, count) {
        uint node = nodes[first_node + i], total = 0;
        uint2 list = list_of(&step, step.links, node);
        for (uint entry = list.x; entry < list.y; ++entry) total += has_bit(step.row_bits, neighbours[entry]);
        fitting[node] = total;
    }
}

#ifdef ON_CPU
#define GROUP_SIZE 1
#else
#define GROUP_SIZE 256
#endif

kernel void count_leaves(STEP_PARAMETERS, ulong row_count, global const uint *fitting, global ulong *totals) {
    const Step step = STEP_ARGUMENTS;
    global const uint *neighbours = list_neighbours(&step, step.links);
    local ulong scratch[GROUP_SIZE];
    ulong total = 0;
    uint excluded[MAX_EXCLUDED];
    FOR_EACH(row, row_count) {
        uint from = old_value(&step, row, words[step.links]);
        uint2 list = list_of(&step, step.links, from);
        RowRanges ranges;
        if (!ranges_of_row(&step, row, step.tests, step.tests_end, &ranges)) continue;
        list = within_ranges(&ranges, neighbours, list);
        total += step.row_bits ? fitting[from] : list.y - list.x;
        uint count = excluded_nodes(&step, row, excluded);
        for (uint i = 0; i < count; ++i) {
            if (step.row_bits && !has_bit(step.row_bits, excluded[i])) continue;
            uint entry = first_place_from(neighbours, list.x, list.y, excluded[i]);
            for (; entry < list.y && neighbours[entry] == excluded[i]; ++entry) --total;
        }
    }
    total = group_sum(total, scratch);
    if (get_local_id(0) == 0) totals[get_group_id(0)] += total;
}
